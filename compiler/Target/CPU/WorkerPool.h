//===- WorkerPool.h - Threads shared by all launches ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch asks for helpers and works itself meanwhile. When its work has run
// out it withdraws the requests that no worker has taken up and waits for those
// that one has. So no launch waits for another's work, and one whose helpers are
// all busy elsewhere still comes to its end.
//
// LLVM's thread pool does not serve here: its workers have the stack size of the
// system, and it ends the process where a thread cannot be made. This one is
// never destroyed, so that no order of shutdown matters.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_WORKERPOOL_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_WORKERPOOL_H

#include <tilewright/result.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace tilewright {

class WorkerPool {
public:
  /// Items may use 4 MiB of it for scratch.
  static constexpr size_t stackBytes = size_t{8} << 20;
  /// However many threads a launch asks for.
  static constexpr unsigned maxWorkers = 1024;

  /// The pool of this process; a forked child, which has none of its parent's threads, gets its
  /// own.
  static WorkerPool &shared();

  /// Runs `work` on the calling thread and on up to `helpers` workers at once, and returns when
  /// none runs it any more. `work` takes items until there are none and may find none at all.
  /// Where threads cannot be made, fewer help.
  void runWithCaller(const std::function<void()> &work, unsigned helpers);

  /// The same on workers alone, for work that needs their stack. Fails if the system gives none.
  Status runOnWorkers(const std::function<void()> &work, unsigned count);

private:
  WorkerPool() = default;

  struct Launch {
    explicit Launch(const std::function<void()> &work) : work(work) {}

    const std::function<void()> &work;
    unsigned requested = 0; // entries in `requests`
    unsigned running = 0;
    std::condition_variable finished;
  };

  /// Starts threads until there are `count`; returns how many there are. Holds the mutex.
  unsigned growTo(unsigned count);
  void request(Launch &launch, unsigned count);
  void serve();

  std::mutex mutex;
  std::condition_variable requested;
  std::deque<Launch *> requests;
  unsigned workers = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_WORKERPOOL_H
