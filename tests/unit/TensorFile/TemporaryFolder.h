//===- TemporaryFolder.h - A folder for the files of one test ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TENSORFILE_TEMPORARYFOLDER_H
#define TILEWRIGHT_TESTS_UNIT_TENSORFILE_TEMPORARYFOLDER_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// Removed with all that it holds at the end of the scope.
class TemporaryFolder {
public:
  TemporaryFolder()
      : path((std::filesystem::temp_directory_path() / "tilewright-XXXXXX").string()) {
    if (!mkdtemp(path.data()))
      std::abort();
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder &) = delete;

  std::string operator/(std::string_view name) const { return path + "/" + std::string(name); }

  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
  }

  std::string contents(std::string_view name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The names of all files, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &item : std::filesystem::directory_iterator(path))
      result.push_back(item.path().filename().string());
    std::ranges::sort(result);
    return result;
  }

private:
  std::string path;
};

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_TENSORFILE_TEMPORARYFOLDER_H
