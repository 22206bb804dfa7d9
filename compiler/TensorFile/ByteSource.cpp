//===- ByteSource.cpp - Where a tensor file's bytes come from -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/ByteSource.h"

#include "lib/Support/MakeError.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tilewright;

namespace {

class FileSource : public ByteSource {
public:
  FileSource(int descriptor, uint64_t size) : ByteSource(size), descriptor(descriptor) {}
  ~FileSource() override { close(descriptor); }

  Status read(uint64_t offset, void *destination, uint64_t count) const override {
    assert(offset <= size() && count <= size() - offset && "reading past the end of a file");
    char *position = static_cast<char *>(destination);
    while (count > 0) {
      // Linux moves at most 2^31 bytes a call.
      const size_t part = static_cast<size_t>(std::min<uint64_t>(count, uint64_t(1) << 30));
      const ssize_t moved = pread(descriptor, position, part, static_cast<off_t>(offset));
      if (moved < 0 && errno == EINTR)
        continue;
      if (moved < 0)
        return systemError("cannot read at byte {}: {}", offset, std::strerror(errno));
      if (moved == 0)
        return systemError("cannot read at byte {}: the file has become shorter", offset);
      position += moved;
      offset += static_cast<uint64_t>(moved);
      count -= static_cast<uint64_t>(moved);
    }
    return {};
  }

private:
  int descriptor;
};

class MemorySource : public ByteSource {
public:
  explicit MemorySource(std::string_view bytes) : ByteSource(bytes.size()), bytes(bytes) {}

  Status read(uint64_t offset, void *destination, uint64_t count) const override {
    assert(offset <= size() && count <= size() - offset && "reading past the end of the bytes");
    if (count > 0)
      std::memcpy(destination, bytes.data() + offset, count);
    return {};
  }

private:
  std::string_view bytes;
};

std::string_view describeKind(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR:
    return "a directory";
  case S_IFIFO:
    return "a FIFO";
  case S_IFSOCK:
    return "a socket";
  default:
    return "a device";
  }
}

} // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::openFile(const std::string &path) {
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError("cannot open: {}", std::strerror(errno));
  struct stat facts;
  if (fstat(descriptor, &facts) != 0) {
    const int code = errno;
    close(descriptor);
    return systemError("cannot open: {}", std::strerror(code));
  }
  if (!S_ISREG(facts.st_mode)) {
    close(descriptor);
    return invalidArgument("not a regular file but {}", describeKind(facts.st_mode));
  }
  return std::unique_ptr<ByteSource>(
      std::make_unique<FileSource>(descriptor, static_cast<uint64_t>(facts.st_size)));
}

std::unique_ptr<ByteSource> ByteSource::fromMemory(std::string_view bytes) {
  return std::make_unique<MemorySource>(bytes);
}
