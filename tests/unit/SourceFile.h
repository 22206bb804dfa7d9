//===- SourceFile.h - Where tests find the files that they read -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_SOURCEFILE_H
#define TILEWRIGHT_TESTS_UNIT_SOURCEFILE_H

#include <cstdlib>
#include <string>

namespace tilewright::test {

/// A file by its path in the repository. On a machine that has none, the environment names a folder
/// with those files.
inline std::string sourceFile(const std::string &path) {
  const char *folder = std::getenv("TILEWRIGHT_SOURCE_DIR");
  return std::string(folder ? folder : TILEWRIGHT_SOURCE_DIR) + "/" + path;
}

} // namespace tilewright::test

#endif // TILEWRIGHT_TESTS_UNIT_SOURCEFILE_H
