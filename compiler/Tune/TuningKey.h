//===- TuningKey.h - What a measured schedule holds for ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_TUNINGKEY_H
#define TILEWRIGHT_COMPILER_TUNE_TUNINGKEY_H

#include "compiler/Frontend/ParsedProblem.h"
#include "compiler/Pipelines/Schedule.h"
#include "compiler/Target/CPU/CpuTarget.h"

namespace tilewright {

/// What of a machine the best schedule depends on. Two machines of one description are taken for
/// the same; the name of a processor is no part of it, since it can lie in a virtual machine.
struct Machine {
  /// The architecture and the vector and matrix units that kernels can use, "x86_64,avx,avx2,fma".
  std::string features;
  /// Bytes of the data caches of one core; for a GPU the shared memory of a multiprocessor and the
  /// cache of the device.
  int64_t level1 = 0;
  int64_t level2 = 0;

  bool operator==(const Machine &) const = default;

  /// The machine that this program runs on. Nothing where the system does not tell its caches: what
  /// was measured could not be told from what was measured elsewhere.
  static std::optional<Machine> host(const CpuTarget &target);
};

/// What a measured schedule holds for: one problem on one kind of machine.
///
/// A schedule is part of a kernel, and a kernel serves all lengths, batches and numbers of heads,
/// so that these cannot be part of the key; nor are the values of scalars and tensors. Output
/// dtype, LSE and scale change too little to matter. Everything else is compared as it is: what was
/// measured for one mask says nothing certain of another.
struct TuningKey {
  /// "cpu" or "sm_90a".
  std::string target;
  Machine machine;
  int64_t headDim = 0;
  int64_t valueDim = 0;
  DType dtype = DType::F32;
  /// As Expression's toString() writes them, whatever way they came in.
  std::vector<std::string> scores, masks;

  bool operator==(const TuningKey &) const = default;

  static TuningKey of(std::string target, Machine machine, const ParsedProblem &problem);
};

/// A problem to find the best schedule of.
struct TuningSubject {
  TuningKey key;
  /// The compiler's own choice.
  Schedule own;
  /// Queries of one vector of a register tile; 0 where code is not made of register tiles, or
  /// little of it is.
  int64_t lanes = 0;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_TUNINGKEY_H
