//===- WorkerPool.cpp - Threads shared by all launches --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/WorkerPool.h"
#include "lib/Support/MakeError.h"

#include <algorithm>

#include <pthread.h>

using namespace tilewright;

namespace {
WorkerPool *processPool = nullptr;
}

WorkerPool &WorkerPool::shared() {
  [[maybe_unused]] static const bool once = [] {
    processPool = new WorkerPool;
    pthread_atfork(nullptr, nullptr, [] { processPool = new WorkerPool; });
    return true;
  }();
  return *processPool;
}

unsigned WorkerPool::growTo(unsigned count) {
  count = std::min(count, maxWorkers);
  pthread_attr_t attributes;
  if (workers >= count || pthread_attr_init(&attributes) != 0)
    return workers;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (pthread_attr_setstacksize(&attributes, stackBytes) == 0) {
    auto start = [](void *pool) -> void * {
      static_cast<WorkerPool *>(pool)->serve();
      return nullptr;
    };
    pthread_t worker;
    while (workers < count && pthread_create(&worker, &attributes, start, this) == 0)
      ++workers;
  }
  pthread_attr_destroy(&attributes);
  return workers;
}

void WorkerPool::request(Launch &launch, unsigned count) {
  launch.requested = count;
  requests.insert(requests.end(), count, &launch);
  if (count == 1)
    requested.notify_one();
  else
    requested.notify_all();
}

void WorkerPool::runWithCaller(const std::function<void()> &work, unsigned helpers) {
  if (helpers == 0)
    return work();
  Launch launch(work);
  {
    std::lock_guard lock(mutex);
    request(launch, std::min(helpers, growTo(helpers)));
  }
  work();
  std::unique_lock lock(mutex);
  std::erase(requests, &launch);
  launch.finished.wait(lock, [&] { return launch.running == 0; });
}

Status WorkerPool::runOnWorkers(const std::function<void()> &work, unsigned count) {
  Launch launch(work);
  std::unique_lock lock(mutex);
  unsigned available = growTo(std::max(count, 1u));
  if (available == 0)
    return systemError("no thread with a stack of {} bytes could be made", stackBytes);
  request(launch, std::clamp(count, 1u, available));
  launch.finished.wait(lock, [&] { return launch.requested == 0 && launch.running == 0; });
  return {};
}

void WorkerPool::serve() {
  std::unique_lock lock(mutex);
  while (true) {
    requested.wait(lock, [&] { return !requests.empty(); });
    Launch &launch = *requests.front();
    requests.pop_front();
    --launch.requested;
    ++launch.running;
    lock.unlock();
    launch.work();
    lock.lock();
    // Notified under the lock: the launch lives on its caller's stack and is gone once it wakes.
    if (--launch.running == 0)
      launch.finished.notify_one();
  }
}
