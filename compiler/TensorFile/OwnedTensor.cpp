//===- OwnedTensor.cpp - A tensor with its memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/OwnedTensor.h"

#include "lib/Support/MakeError.h"

#include <fstream>
#include <string>
#include <unistd.h>

using namespace tilewright;

static constexpr int64_t alignment = 64;

/// What is not worth asking the system about.
static constexpr int64_t alwaysAvailable = int64_t{16} << 20;

/// What can be had without swapping, as Linux estimates it; where it does not, all of the memory.
static int64_t availableMemory() {
  std::ifstream info("/proc/meminfo");
  std::string field, unit;
  int64_t kibibytes = 0;
  while (info >> field >> kibibytes && std::getline(info, unit))
    if (field == "MemAvailable:")
      return kibibytes * 1024;
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

Result<OwnedTensor> OwnedTensor::allocate(const TensorView &layout) {
  const std::optional<int64_t> count = layout.elementCount();
  const int64_t elementSize = static_cast<int64_t>(sizeOf(layout.dtype));
  int64_t bytes = 0;
  int64_t rounded = 0;
  if (!count || __builtin_mul_overflow(*count, elementSize, &bytes) ||
      __builtin_add_overflow(bytes, alignment - 1, &rounded))
    return invalidArgument("{} has a negative extent or more than 2^63 bytes", layout.describe());
  // An allocation past the memory would succeed here and have the process killed on first use.
  if (bytes > alwaysAvailable)
    if (const int64_t available = availableMemory(); bytes > available)
      return systemError("{} takes {} bytes, but this machine has {} bytes of memory left",
                         layout.describe(), bytes, available);
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
