//===- LaunchFile.h - A launch written down as JSON -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   {
//     "kernel": "attn",                          optional: the only kernel of the PTX
//     "grid": [2, 1, 1], "block": [384, 1, 1], "shared_bytes": 66048,
//     "tensors": [
//       {"name": "q", "file": "qkv.safetensors:q"},
//       {"name": "o", "dtype": "bf16", "shape": [256, 64], "output": "o.safetensors"},
//       {"name": "counter", "dtype": "i32", "shape": [2], "fill": 0, "writable": true}],
//     "tensor_maps": [
//       {"tensor": "q", "dims": [64, 256], "strides": [2, 128], "box": [64, 128],
//        "swizzle": 128, "offset": 0}],
//     "arguments": [{"map": 0}, {"tensor": "o", "offset": 0}, {"i32": 256}, {"f32": 0.125},
//                   {"u64": 0}]
//   }
//
// A tensor without a file is poisoned with NaN bit patterns (0xff bytes) and counts as never
// written, unless it has "fill" (a number). One with "output" is writable and written to that file
// at the end: .npy, which holds one tensor and no bf16, or else safetensors, which holds all
// tensors that name it. Strides are in bytes. Arguments are i32, u32, i64, u64, f32, a map or a
// tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_EMULATE_LAUNCHFILE_H
#define TILEWRIGHT_COMPILER_EMULATE_LAUNCHFILE_H

#include "compiler/TensorFile/OwnedTensor.h"
#include "lib/Emulator/Launch.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

struct LaunchFile {
  struct Output {
    std::string path;
    std::vector<size_t> tensors;
  };

  std::string kernel; ///< Empty: the only one.
  emulator::Launch launch;
  std::vector<OwnedTensor> tensors; ///< Behind launch.buffers.
  std::vector<Output> outputs;
};

/// Reads a launch; relative paths are looked up in `folder` (empty: the current one). An error
/// names the place in the text. Refused: brackets nested deeper than 8, unknown keys, tensors of
/// more than 4 GiB together.
Result<LaunchFile> parseLaunchFile(std::string_view json, const std::string &folder);

/// Writes the tensors that have an "output", each file once.
Status writeOutputs(const LaunchFile &file);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_EMULATE_LAUNCHFILE_H
