//===- ParsedProblem.h - A checked problem, its expressions parsed -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both ways in lead to: a Problem of strings is parsed into one, an .mlir
// file with attn.forward is read into one. The IR is built from it, the
// reference computes it, and a launch checks its bounds with it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_FRONTEND_PARSEDPROBLEM_H
#define TILEWRIGHT_COMPILER_FRONTEND_PARSEDPROBLEM_H

#include "lib/Expression/Expression.h"
#include <tilewright/compiler.h>

#include <array>

namespace tilewright {

/// The largest head dim that is accepted.
inline constexpr int64_t maxHeadDim = 65536;

/// The arguments that every kernel may have; nothing declared has one of these names.
inline constexpr std::array<std::string_view, 6> reservedArgumentNames = {"query", "key", "value",
                                                                          "out",   "lse", "scale"};

struct ParsedProblem {
  int64_t headDim = 0;
  int64_t valueDim = 0;
  DType dtype = DType::F32;
  DType outDType = DType::F32;
  bool lse = true;
  /// The scale where an .mlir file fixes it; otherwise it is an argument of each launch.
  std::optional<double> scale;
  expression::Declarations declarations;
  /// In order of application, and to be and-ed.
  std::vector<expression::Expression> scores, masks;
};

/// Refused, by name with value and limit: head dims, dtypes, declarations (a name must not be one
/// of query, key, value, out, lse and scale), expressions.
Result<ParsedProblem> parseProblem(const Problem &problem);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_FRONTEND_PARSEDPROBLEM_H
