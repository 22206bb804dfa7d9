//===- KernelImage.h - A compiled GPU kernel as one value -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's product for a GPU, complete in itself: code, how to launch it,
// and what is needed to check a launch and to explain the kernel. An image that
// a program makes in memory and one that comes from a file are the same thing.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_IMAGE_KERNELIMAGE_H
#define TILEWRIGHT_LIB_IMAGE_KERNELIMAGE_H

#include "lib/Expression/Expression.h"
#include "lib/Image/KernelArgument.h"

#include <tilewright/result.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// What is known of a kernel's expressions, for the checks of a launch: that no index leaves its
/// tensor and no integer its 32 bits (lib/Expression/Bounds.h). Empty for a kernel compiled from
/// the tile stage or below, whose author answers for it.
struct LaunchExpressions {
  expression::Declarations declarations;
  std::vector<expression::Expression> scores, masks;
};

/// An integer computed from the extents of a kernel's tensors, in postfix order: a step pushes a
/// number or takes the last two and pushes what it makes of them.
struct SizeFormula {
  /// Numbers that wait for their operation at the same time.
  static constexpr size_t maxDepth = 16;

  enum class Op : uint8_t {
    Constant,
    Extent,
    Add,
    Subtract,
    Multiply,
    CeilDiv,
    FloorDiv,
    Min,
    Max
  };

  struct Step {
    Op op = Op::Constant;
    int64_t constant = 0;  ///< Of a Constant.
    uint32_t argument = 0; ///< Of an Extent: which argument of the kernel, and which dimension.
    uint32_t dimension = 0;

    bool operator==(const Step &) const = default;
  };

  std::vector<Step> steps;

  bool operator==(const SizeFormula &) const = default;
};

/// Where a parameter of a kernel's entry point comes from.
struct KernelParameter {
  enum class Kind : uint8_t {
    Scalar,    ///< The argument itself.
    Address,   ///< Of a tensor's first element, 64 bits.
    Extent,    ///< Of dimension `detail` of a tensor, 64 bits.
    Stride,    ///< Of dimension `detail` of a tensor, 64 bits, in elements.
    TensorMap, ///< 128 bytes: a tensor [.., t, d] of a 2-byte type for the copy engine. Dimensions
               ///< innermost first, box 64 x `detail` x 1 .., 128-byte swizzle, zero fill.
  };

  Kind kind = Kind::Scalar;
  uint32_t argument = 0;
  uint32_t detail = 0;

  bool operator==(const KernelParameter &) const = default;
};

/// A ring of buffers in the shared memory of a block, with its mbarriers: what addresses there are
/// called in reports. In bytes, from the beginning of the dynamic shared memory.
struct SharedRing {
  /// "keys".
  std::string name;
  uint32_t stages = 0;
  /// A multiple of 1024, the period of the swizzle.
  uint32_t stageBytes = 0;
  /// Of the first stage.
  uint32_t offset = 0;
  /// Of the full barriers of all stages, sharedBarrierBytes each; the empty ones lie behind them.
  uint32_t barriers = 0;

  bool operator==(const SharedRing &) const = default;
};

constexpr uint32_t sharedBarrierBytes = 8;
constexpr uint32_t sharedStageAlignment = 1024;
/// Of one launch.
constexpr size_t maxRings = 64;

/// One launch of one kernel.
struct KernelLaunch {
  std::string kernel;
  /// Thread blocks along x are the product of these; threads along x of each; bytes of dynamic
  /// shared memory.
  std::vector<SizeFormula> grid;
  uint32_t threads = 0;
  uint32_t sharedMemory = 0;
  std::vector<KernelParameter> parameters;
  /// Registers of a thread at launch, as the assembler tells; spills there are none.
  uint32_t registers = 0;
  std::vector<SharedRing> rings;

  bool operator==(const KernelLaunch &) const = default;
};

struct KernelImage {
  /// "sm_90a".
  std::string target;
  /// Who made it: Tilewright's version and build id, and the assembler's version.
  std::string compiler, assembler;
  /// "block_q=128,block_kv=128,stages=2"; empty where the compilation began below attn.
  std::string schedule;
  /// The stage that the compilation began at ("attn", "tile", "sm"), and its text.
  std::string stage, source;
  LaunchExpressions expressions;
  std::vector<KernelArgument> arguments;
  /// In the order of launching; one for now.
  std::vector<KernelLaunch> launches;
  std::string ptx, cubin;
};

/// What CUDA takes, on every GPU that has a target here.
constexpr uint32_t maxThreadsOfBlock = 1024;
constexpr uint32_t maxSharedMemoryOfBlock = 227 << 10;
constexpr size_t maxParameterBytes = 4096;
constexpr size_t maxParameters = maxParameterBytes / 4;
/// Of a tensor map.
constexpr uint32_t maxBoxRows = 256;

/// Bytes of a parameter, which is also what its place among the parameters is a multiple of, but
/// for a TensorMap's, which is 64.
size_t sizeOf(const KernelParameter &parameter, const KernelArgument &argument);

/// Refused: anything that launching could trip over, such as an argument that is not there, an
/// unbalanced formula, more threads or shared memory than there can be.
Status checkImage(const KernelImage &image);

/// As bytes, with a version and a checksum. Equal images give equal bytes.
std::string encode(const KernelImage &image);

/// Reads what encode() wrote; `bytes` are hostile until checked. Refused, with the reason: other
/// files, a newer version, a truncated or altered one, expressions with wrong types, and what
/// checkImage() refuses.
Result<KernelImage> decodeImage(std::span<const std::byte> bytes);

/// Allocates nothing. Refused: an overflow of 64 bits, a division by something not positive.
Result<int64_t> evaluate(const SizeFormula &formula,
                         std::span<const std::span<const int64_t>> extentsOfArguments);

} // namespace tilewright

#endif // TILEWRIGHT_LIB_IMAGE_KERNELIMAGE_H
