//===- Progress.h - Something to look at while waiting ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROGRESS_H
#define TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROGRESS_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tilewright::tool {

/// While it lives: if stderr is a terminal, a line says what is being done and for how many
/// seconds, from the first second on. The line is erased at the end.
class Progress {
public:
  explicit Progress(std::string what);
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress();

private:
  void show();

  std::string what;
  std::mutex mutex;
  std::condition_variable finish;
  bool finished = false;
  std::thread thread;
};

} // namespace tilewright::tool

#endif // TILEWRIGHT_COMPILER_TOOLS_TILEWRIGHT_PROGRESS_H
