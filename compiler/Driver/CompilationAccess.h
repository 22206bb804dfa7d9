//===- CompilationAccess.h - What our own tools see of a compilation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_COMPILATIONACCESS_H
#define TILEWRIGHT_COMPILER_DRIVER_COMPILATIONACCESS_H

#include "compiler/Frontend/ParsedProblem.h"
#include "compiler/Target/CPU/Signature.h"
#include "compiler/Tune/TuningKey.h"
#include "lib/Image/KernelImage.h"

namespace tilewright {

struct CompilationAccess {
  /// The problem as the reference takes it; none where the compilation started below attn. It lives
  /// as long as a copy of the compilation.
  static const ParsedProblem *problem(const Compilation &compilation);

  /// What there is to tune, whatever schedule is in force; nothing where the compilation started
  /// below attn or is for another machine.
  static std::optional<TuningSubject> tuningSubject(const Compilation &compilation);

  /// What the kernel takes.
  static Result<Signature> signature(const Compilation &compilation);

  /// A GPU's kernel; without cubin and registers unless `assembled`, which takes ptxas.
  static Result<KernelImage> image(const Compilation &compilation, bool assembled);
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_COMPILATIONACCESS_H
