//===- compiler.h - From an attention problem to a kernel -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   Problem problem;
//   problem.headDim = 80;
//   problem.masks = {"k <= q && q - k < window"};
//   problem.scalars = {{"window", ScalarType::I32}};
//   Result<Compilation> compilation = compile(problem);
//   if (!compilation)
//     return report(compilation.error());
//   std::cout << *compilation->text(Stage::Tile);
//   Result<Kernel> kernel = compilation->kernel();
//
// All functions may be called from several threads at once.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_H
#define TILEWRIGHT_COMPILER_H

#include <tilewright/export.h>
#include <tilewright/result.h>
#include <tilewright/runtime.h>
#include <tilewright/tensor.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

/// The type of a declared scalar; Real is f32, or f64 in an f64 problem.
enum class ScalarType { I32, Real };

struct ScalarDeclaration {
  std::string name;
  ScalarType type;
};

struct TensorDeclaration {
  std::string name;
  DType dtype;
  size_t rank;
};

/// What is to be computed. docs/semantics.md states the expression language and all rules.
struct Problem {
  /// Width of queries and keys, and of values (headDim if absent); any positive number.
  int64_t headDim = 64;
  std::optional<int64_t> valueDim;
  /// Of query, key and value: F64, F32, F16 or BF16.
  DType dtype = DType::F32;
  /// Of the output: `dtype` if absent, or F32.
  std::optional<DType> outDType;
  /// Whether the kernel also writes the natural logarithm of each row's sum.
  bool lse = true;
  /// Score functions, applied in this order, and masks, which are and-ed.
  std::vector<std::string> scores, masks;
  /// The names that the expressions use, and the order of a kernel's arguments.
  std::vector<ScalarDeclaration> scalars;
  std::vector<TensorDeclaration> tensors;
};

/// The stages of the lowering, from the problem to code:
///
///   cpu     attn  tile  vector     llvm  asm  obj  header
///   sm_90a  attn  tile  sm  nvvm   llvm  ptx  cubin  sass
///
/// attn, tile, vector, sm and nvvm are MLIR, llvm is LLVM IR; obj and cubin are bytes. An object is
/// for programs in C, and header declares its functions (docs/ahead-of-time.md).
enum class Stage { Attn, Tile, Vector, SM, NVVM, LLVM, Asm, Object, Header, PTX, Cubin, SASS };

/// "attn", "tile" and so on.
TILEWRIGHT_EXPORT std::string_view nameOf(Stage stage);
TILEWRIGHT_EXPORT std::optional<Stage> parseStage(std::string_view name);

struct CompileOptions {
  /// "cpu" or "sm_90a".
  std::string target = "cpu";
  /// The processor to compile for: an LLVM CPU name ("haswell", "x86-64", "sapphirerapids",
  /// "neoverse-v1"); empty means this machine with all that it has. A kernel for another processor
  /// can be looked at but not run. Of target cpu only.
  std::string cpu = {};
  /// Choices that override the compiler's, "block_q=64,block_kv=96", and "stages=3" for a GPU or
  /// "vectors=3,rows=4" for a CPU too; fields not named keep theirs.
  std::string schedule = {};
  /// The file of measured schedules that `tilewright tune` writes (docs/tuning.md). If empty it is
  /// $TILEWRIGHT_TUNING_FILE, or tilewright/tuning.jsonl where this user's data is kept. It is
  /// asked only if no schedule is stated.
  std::string tuning = {};
  /// The path of ptxas. If empty it is searched: $CUDA_HOME/bin, PATH, /usr/local/cuda/bin. Of a
  /// GPU's targets only.
  std::string ptxas = {};
  /// What the names of an object's functions begin with, "attention" if empty: an identifier of C
  /// without '_' at its start and two in a row. Of target cpu only.
  std::string name = {};
};

/// Something the compiler decided or could not do, for people who tune.
struct Remark {
  std::string pass;
  std::string message;
};

/// A problem on its way to a kernel. Stages are computed when first asked for, always from the
/// same text, so that what is shown is what runs.
class TILEWRIGHT_EXPORT Compilation {
public:
  class Implementation;

  explicit Compilation(std::shared_ptr<Implementation> implementation)
      : implementation(std::move(implementation)) {}

  /// A stage as text: MLIR, LLVM IR, assembly; or as bytes. Refused: a stage that the target does
  /// not have or that lies before the first one.
  Result<std::string> text(Stage stage) const;

  /// A GPU's kernel with all that launching it needs, as the bytes of a .twk file, which
  /// loadKernel() takes. Refused: target cpu.
  Result<std::string> image() const;

  /// The schedule in force: "block_q=24,block_kv=48,vectors=3,rows=4"; what is fixed by the first
  /// stage is not in it.
  std::string schedule() const;

  /// The passes from attn on as text that `tilewright-opt --pass-pipeline` replays.
  std::string pipeline() const;

  /// What was remarked up to the last stage computed.
  std::vector<Remark> remarks() const;

  /// The kernel, compiled on first use: for this machine's processor, or for its GPU. Refused: code
  /// for another processor.
  Result<Kernel> kernel() const;

private:
  friend struct CompilationAccess;
  std::shared_ptr<Implementation> implementation;
};

/// Starts from a description of the problem.
TILEWRIGHT_EXPORT Result<Compilation> compile(const Problem &problem,
                                              const CompileOptions &options = {});

/// Starts from text at stage `from`, one in MLIR or PTX; the text is hostile until checked.
TILEWRIGHT_EXPORT Result<Compilation> compileText(std::string_view text, Stage from,
                                                  const CompileOptions &options = {});

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_H
