//===- PtxText.h - The syntax of PTX ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text to statements, without knowing any instruction: scopes, declarations,
// labels, guards and operands. What an opcode means is the business of Decode.h.
//
// Names are views into the text, which must outlive the Program.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_PTXTEXT_H
#define TILEWRIGHT_LIB_EMULATOR_PTXTEXT_H

#include "tilewright/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::emulator {

struct Operand {
  enum class Kind : uint8_t {
    Name,    ///< A register, special register, variable or label: `%r1`, `%tid.x`, `buffer`.
    Integer, ///< `bits` is its two's complement.
    Float,   ///< `0f3F800000`: `bits` is the f32 pattern.
    Double,  ///< `0d3FF0000000000000`: `bits` is the f64 pattern.
    Vector,  ///< `{a, b}`: `parts`.
    Address, ///< `[base+offset, ...]`: `parts`, the base first.
    Pair,    ///< `d|p`: two `parts`.
    Sink,    ///< `_`
  };

  Kind kind = Kind::Sink;
  bool negated = false; ///< `!p`
  std::string_view name;
  uint64_t bits = 0;
  int64_t offset = 0; ///< Of `name+offset` and `[base+offset]`.
  std::vector<Operand> parts;

  bool is(Kind other) const { return kind == other; }
};

enum class VariableSpace : uint8_t { Shared, Local };

/// A statement of a kernel's body. Which fields count depends on the kind.
struct Statement {
  enum class Kind : uint8_t {
    Instruction, ///< `parts`, `operands`, `guard`.
    Label,       ///< `name`.
    OpenScope,
    CloseScope,
    Register, ///< `name`, `type`; `count` registers name0, name1, ... or one when `count` is 0.
    Variable, ///< `name`, `space`, `alignment`, `bytes`; 0 bytes: as large as the launch says.
    Location, ///< `.loc`: `file`, `sourceLine`.
  };

  Kind kind = Kind::Instruction;
  uint32_t line = 0;
  std::string_view name; ///< For an instruction: the whole opcode.
  std::string_view type;
  std::vector<std::string_view> parts; ///< The opcode, split at its dots.
  std::vector<Operand> operands;
  std::string_view guard; ///< Empty: none.
  bool guardNegated = false;
  VariableSpace space = VariableSpace::Shared;
  uint32_t count = 0, alignment = 1, bytes = 0;
  uint32_t file = 0, sourceLine = 0;

  /// Whether one of the opcode's modifiers is `modifier`.
  bool has(std::string_view modifier) const;
};

struct KernelParameter {
  std::string_view name;
  uint32_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string_view name;
  std::vector<KernelParameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t maxThreads = 0; ///< 0: not stated.
  std::vector<Statement> body;
};

struct Program {
  std::string_view target;
  std::map<uint32_t, std::string> files;
  std::vector<Statement> variables; ///< Of the module's scope.
  std::vector<Kernel> kernels;
};

/// An error names the line. Texts above 16 MiB, two million statements and scopes nested
/// deeper than 64 are refused.
Result<Program> parsePtx(std::string_view text);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_PTXTEXT_H
