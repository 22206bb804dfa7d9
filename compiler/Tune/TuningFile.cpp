//===- TuningFile.cpp - Where measured schedules are kept -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/TuningFile.h"

#include "compiler/Cache/TrustedFolder.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>

using namespace tilewright;
using expression::printable;
namespace path = llvm::sys::path;

Result<std::string> tilewright::findTuningFile(const std::string &stated) {
  llvm::SmallString<128> file;
  if (!stated.empty()) {
    file = stated;
    if (std::error_code code = llvm::sys::fs::make_absolute(file))
      return systemError("{}: {}", printable(stated, 80), code.message());
    return std::string(file);
  }
  if (const char *variable = std::getenv("TILEWRIGHT_TUNING_FILE")) {
    if (*variable && !path::is_absolute(variable))
      return invalidArgument("TILEWRIGHT_TUNING_FILE is '{}'; it must be an absolute path",
                             printable(variable, 80));
    return std::string(variable);
  }
  const char *data = std::getenv("XDG_DATA_HOME");
  if (data && path::is_absolute(data)) { // others are to be ignored, its specification says
    file = data;
  } else {
    if (!path::home_directory(file))
      return systemError("there is no home directory to keep measured schedules in");
    path::append(file, ".local", "share");
  }
  path::append(file, "tilewright", "tuning.jsonl");
  return std::string(file);
}

/// O_NONBLOCK, lest a pipe of that name be waited for.
static Result<Descriptor> openFile(const std::string &file, int flags) {
  Result<Descriptor> folder = openTrustedFolder(path::parent_path(file).str());
  if (!folder)
    return folder.error();
  Descriptor opened(openat(folder->get(), path::filename(file).str().c_str(),
                           flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, S_IRUSR | S_IWUSR));
  struct stat facts;
  if (!opened || fstat(opened.get(), &facts) != 0)
    return systemError("{}: {}", file, std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return invalidArgument("{} is no plain file", file);
  if (!isOurs(facts) || isWritableByOthers(facts))
    return invalidArgument(
        "{} could have been written by others: its owner is user {} and its mode "
        "{:o}",
        file, facts.st_uid, facts.st_mode & 07777);
  return opened;
}

static Result<off_t> lengthOf(const Descriptor &file) {
  struct stat facts;
  if (fstat(file.get(), &facts) != 0)
    return systemError("{}", std::strerror(errno));
  return facts.st_size;
}

static Result<std::string> readFrom(const Descriptor &file, off_t start, size_t bytes) {
  std::string text(bytes, '\0');
  size_t got = 0;
  while (got < bytes) {
    const ssize_t more = llvm::sys::RetryAfterSignal(-1, pread, file.get(), text.data() + got,
                                                     bytes - got, start + static_cast<off_t>(got));
    if (more < 0)
      return systemError("{}", std::strerror(errno));
    if (more == 0) // somebody made it shorter meanwhile
      break;
    got += static_cast<size_t>(more);
  }
  text.resize(got);
  return text;
}

Result<std::string> tilewright::readTuningFile(const std::string &file) {
  // Reading creates no folders.
  if (!llvm::sys::fs::exists(file))
    return std::string();
  Result<Descriptor> opened = openFile(file, O_RDONLY);
  if (!opened)
    return opened.error();
  Result<off_t> size = lengthOf(*opened);
  if (!size)
    return size.error().within(file);
  const bool isWhole = static_cast<size_t>(*size) <= maxTuningText;
  const size_t wanted = isWhole ? static_cast<size_t>(*size) : maxTuningText;
  Result<std::string> text = readFrom(*opened, *size - static_cast<off_t>(wanted), wanted);
  if (!text)
    return text.error().within(file);
  if (!isWhole)
    text->erase(0, text->find('\n') + 1);
  return text;
}

static Status writeLine(const Descriptor &file, const std::string &line) {
  // It belongs to the open file and ends with it, whatever becomes of this process.
  if (llvm::sys::RetryAfterSignal(-1, flock, file.get(), LOCK_EX) != 0)
    return systemError("cannot lock it: {}", std::strerror(errno));
  Result<off_t> size = lengthOf(file);
  if (!size)
    return size.error();
  std::string text = line;
  if (*size > 0) {
    Result<std::string> last = readFrom(file, *size - 1, 1);
    if (!last)
      return last.error();
    if (*last != "\n")
      text = "\n" + text;
  }
  const ssize_t written =
      llvm::sys::RetryAfterSignal(-1, write, file.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size()))
    return {};
  const int code = written < 0 ? errno : ENOSPC;
  // Half a line would cost the reader a remark for ever.
  [[maybe_unused]] const int shortened = ftruncate(file.get(), *size);
  return systemError("cannot write it: {}", std::strerror(code));
}

Status tilewright::appendToTuningFile(const std::string &file, const std::string &line) {
  Result<Descriptor> opened = openFile(file, O_RDWR | O_APPEND | O_CREAT);
  if (!opened)
    return opened.error();
  if (Status written = writeLine(*opened, line); !written)
    return written.error().within(file);
  return {};
}
