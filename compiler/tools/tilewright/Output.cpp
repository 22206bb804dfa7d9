//===- Output.cpp - Where results and messages go -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Output.h"

#include "compiler/TensorFile/AtomicFile.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace tilewright;

Status tool::writeStdout(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
      std::fflush(stdout) != 0)
    return systemError("cannot write to stdout: {}", std::strerror(errno));
  return {};
}

Status tool::writeFile(const std::string &path, std::string_view bytes) {
  if (path == "-")
    return writeStdout(bytes);
  AtomicFile file(path);
  if (Status created = file.create(); !created)
    return created;
  if (Status written = file.write(bytes); !written)
    return written;
  return file.commit();
}

/// A stderr that is closed or full loses the message, not the exit code: fmt::print would throw.
static void writeStderr(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void tool::printError(const Error &error) {
  // A message quotes names out of files, and a terminal obeys control characters.
  std::string message = error.message();
  std::ranges::replace_if(
      message, [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0x7f; }, '?');
  writeStderr(fmt::format("tilewright: error: {}\n", message));
}

void tool::printRemarks(const std::vector<Remark> &remarks) {
  for (const Remark &remark : remarks)
    writeStderr(fmt::format("tilewright: remark: {}: {}\n", remark.pass, remark.message));
}

int tool::exitCodeOf(const Error &error) {
  switch (error.kind()) {
  case ErrorKind::InvalidArgument:
  case ErrorKind::Unsupported:
    return 2;
  case ErrorKind::System:
    return 3;
  case ErrorKind::Internal:
    return 4;
  }
  return 4;
}

std::string tool::formatBytes(double bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit)
    bytes /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}
