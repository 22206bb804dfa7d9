//===- ObjectFunctions.h - The C functions of an object ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that is compiled ahead of time is an object file with six functions
// for C and a header that declares them (docs/ahead-of-time.md). Both are made
// from one description, this one.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTFUNCTIONS_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTFUNCTIONS_H

#include "compiler/Target/CPU/CpuTarget.h"
#include "compiler/Target/CPU/Signature.h"
#include "runtime/KernelInterface.h"

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// What an object is told that its kernel does not say itself.
struct ObjectDescription {
  /// The prefix of all names.
  std::string name;
  Signature signature;
  KernelInterface interface;

  /// Refused: a name that is no identifier of C, or one that is reserved; problem tensors of
  /// another rank than theirs.
  static Result<ObjectDescription> make(std::string name, Signature signature,
                                        LaunchExpressions expressions);
};

/// The extents that a problem has; the widths are part of the kernel.
constexpr Dimension problemExtents[] = {Dimension::Batch, Dimension::Heads, Dimension::KvHeads,
                                        Dimension::QueryLength, Dimension::KeyLength};

/// The statuses that have a name; further ones are wrong arguments.
enum ObjectStatus : int32_t {
  Success,
  WrongProcessor,
  AmxRefused,
  WrongWorkspace,
  NoSuchItem,
  FirstWrongArgument
};

/// Whether the code has instructions of AMX.
bool usesAmx(const llvm::Module &module);

/// Adds the functions to a kernel's module and hides all others, so that any number of objects may
/// be linked into one program.
Status addObjectFunctions(llvm::Module &module, const ObjectDescription &object,
                          const CpuTarget &target);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_OBJECTFUNCTIONS_H
