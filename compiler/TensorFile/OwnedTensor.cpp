//===- OwnedTensor.cpp - A tensor with its memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/OwnedTensor.h"

#include "lib/Support/MakeError.h"

#include <unistd.h>

using namespace tilewright;

static constexpr int64_t alignment = 64;

Result<OwnedTensor> OwnedTensor::allocate(const TensorView &layout) {
  const std::optional<int64_t> count = layout.elementCount();
  const int64_t elementSize = static_cast<int64_t>(sizeOf(layout.dtype));
  int64_t bytes = 0;
  int64_t rounded = 0;
  if (!count || __builtin_mul_overflow(*count, elementSize, &bytes) ||
      __builtin_add_overflow(bytes, alignment - 1, &rounded))
    return invalidArgument("{} has a negative extent or more than 2^63 bytes", layout.describe());
  // An allocation past the memory would succeed here and have the process killed on first use.
  const int64_t pages = sysconf(_SC_PHYS_PAGES);
  const int64_t pageSize = sysconf(_SC_PAGESIZE);
  if (bytes / pageSize > pages)
    return systemError("{} takes {} bytes, but this machine has {} bytes of memory",
                       layout.describe(), bytes, pages * pageSize);
  // A tensor without elements has memory all the same, so that its address is not null.
  rounded = std::max(rounded / alignment * alignment, alignment);

  OwnedTensor result;
  result.memory.reset(
      std::aligned_alloc(static_cast<size_t>(alignment), static_cast<size_t>(rounded)));
  if (!result.memory)
    return systemError("no memory for {}, which takes {} bytes", layout.describe(), bytes);
  result.bytes = static_cast<size_t>(bytes);
  result.tensor = layout;
  result.tensor.data = result.memory.get();
  return result;
}
