//===- Progress.cpp - Something to look at while waiting ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Progress.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <unistd.h>

using namespace tilewright::tool;

Progress::Progress(std::string what) : what(std::move(what)) {
  if (isatty(STDERR_FILENO))
    thread = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    finished = true;
  }
  finish.notify_one();
  thread.join();
}

void Progress::show() {
  std::unique_lock lock(mutex);
  int seconds = 0;
  while (!finish.wait_for(lock, std::chrono::seconds(1), [this] { return finished; }))
    fmt::print(stderr, "\r{} ... {} s", what, ++seconds);
  if (seconds > 0)
    fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}
