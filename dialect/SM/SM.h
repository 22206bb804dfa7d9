//===- SM.h - The sm dialect ------------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_DIALECT_SM_SM_H
#define TILEWRIGHT_DIALECT_SM_SM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/SM/SMDialect.h.inc"
#include "dialect/SM/SMEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/SM/SMAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/SM/SMTypes.h.inc"

#define GET_OP_CLASSES
#include "dialect/SM/SMOps.h.inc"

namespace tilewright::sm {

/// What one block of an sm_90a multiprocessor may use.
inline constexpr int64_t maxSharedMemory = 232448;
inline constexpr int64_t registerFile = 65536;
inline constexpr int64_t maxThreads = 1024;

/// Columns of a tile.
inline constexpr int64_t maxWidth = 256;

/// Of a ring.
inline constexpr int64_t maxStages = 32;

/// Bytes of an mbarrier, and what those of a stage are a multiple of: the period of the swizzle.
inline constexpr int64_t barrierBytes = 8;
inline constexpr int64_t stageAlignment = 1024;

/// A warpgroup, which computes products together, and the rows of one of its products.
inline constexpr int64_t warpgroupThreads = 128;
inline constexpr int64_t warpgroupWarps = 4;
inline constexpr int64_t productRows = 64;

/// The depth of a product is a multiple of this.
inline constexpr int64_t productDepth = 16;

/// Of a shared tile, which a tensor map's box limits.
inline constexpr int64_t maxSharedRows = 256;

/// Columns of a tile that holds rows of so many elements; the rest is zero.
constexpr int64_t paddedColumns(int64_t columns) {
  return (columns + 7) / 8 * 8;
}

/// The registers of each thread when a block of so many warpgroups starts.
constexpr int64_t registersAtLaunch(int64_t warpgroups) {
  return registerFile / (warpgroups * warpgroupThreads) / 8 * 8;
}

/// The attribute of a lowered kernel with its `#sm.launch`.
inline constexpr llvm::StringLiteral launchAttribute = "sm.launch";

/// The create_ring op from which a ring's stage was taken.
CreateRingOp ringOf(mlir::Value stage);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_SM_H
