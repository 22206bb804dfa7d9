//===- Decoder.h - Statements to ops ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of Opcodes.h maps a mnemonic to a function that fills in an Op with
// the help of this class: registers and constants to slots, addresses, lists.
// After the first failure of an instruction its accessors return zeros, so that
// a decode function reads as a list of what the instruction has.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_DECODER_H
#define TILEWRIGHT_LIB_EMULATOR_DECODER_H

#include "lib/Emulator/Module.h"
#include "lib/Emulator/PtxText.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright::emulator {

class Decoder {
public:
  Decoder(const Program &program, const Kernel &kernel, Module &module);

  Status run();

  //===--------------------------------------------------------------------===//
  // For decode functions

  const Statement &statement() const { return *current; }
  bool has(std::string_view modifier) const { return current->has(modifier); }
  std::string_view type() const { return current->parts.back(); }
  /// Part `index` of the opcode, or an empty one.
  std::string_view part(size_t index) const;

  size_t operandCount() const { return current->operands.size(); }
  const Operand &operand(size_t index);
  /// The instruction must have between `least` and `most` operands.
  void expectOperands(size_t least, size_t most);

  uint32_t slot(const Operand &operand, RegisterClass registerClass);
  uint32_t slot(size_t index, RegisterClass registerClass) {
    return slot(operand(index), registerClass);
  }
  /// Elements of a vector operand (or one plain operand); sinks become noSlot.
  std::vector<uint32_t> elements(const Operand &operand, RegisterClass registerClass);
  /// The same without sinks.
  std::vector<uint32_t> registers(const Operand &operand, RegisterClass registerClass);
  int64_t integer(size_t index);
  Range list(const std::vector<uint32_t> &slots);
  /// The class of a register operand as declared.
  RegisterClass classOf(const Operand &operand);
  /// `[base+offset]` into slots[which], immediate and wideAddress.
  void address(Op &op, const Operand &operand, size_t which);
  /// `[base]` or `[base+offset]` of a second address of an instruction: the slot alone, for which
  /// an offset is refused.
  uint32_t plainAddress(const Operand &operand, RegisterClass registerClass);
  uint32_t newPredicate() { return module.predicates++; }

  /// All registers of the list are operands of a wgmma.
  void track(const std::vector<uint32_t> &slots);
  void blocksInteract() { module.blocksInteract = true; }
  void branchTo(std::string_view label);
  void emit(Op op);

  /// The opcode, or this form of it, is unknown.
  void unsupported();
  template <typename... Args> void fail(fmt::format_string<Args...> format, Args &&...args) {
    failWith(fmt::format(format, std::forward<Args>(args)...));
  }

private:
  struct Declaration {
    RegisterClass registerClass;
    uint32_t count; ///< 0: a single register of this name.
  };
  struct Scope {
    uint32_t firstOp = 0;
    std::unordered_map<std::string_view, Declaration> declarations;
    std::unordered_map<std::string_view, std::pair<RegisterClass, uint32_t>> registers;
    std::unordered_map<std::string_view, uint32_t> labels;
    std::vector<std::pair<uint32_t, std::string_view>> branches; ///< Op, label.
  };
  struct Symbol {
    uint64_t address;
  };

  const Program &program;
  const Kernel &kernel;
  Module &module;
  const Statement *current = nullptr;
  std::vector<Scope> scopes;
  std::unordered_map<std::string_view, Symbol> symbols;
  std::map<std::pair<uint64_t, RegisterClass>, uint32_t> constants;
  std::map<std::pair<SpecialRegister, RegisterClass>, uint32_t> specials;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> locations;
  uint32_t location = 0;
  std::vector<uint32_t> matrixRegisters;
  std::vector<uint32_t> touched;              ///< Narrow slots that this instruction names.
  std::vector<std::vector<uint32_t>> opSlots; ///< The same of every op.
  bool dynamicShared = false;
  uint32_t branches = 0;
  bool instructionFailed = false;
  std::vector<std::string> failures;
  size_t failureCount = 0;

  void failWith(const std::string &message);
  uint32_t newSlot(RegisterClass registerClass);
  std::optional<std::pair<RegisterClass, uint32_t>> findRegister(std::string_view name);
  uint32_t constant(uint64_t value, RegisterClass registerClass);
  void declare(const Statement &variable);
  void openScope();
  void closeScope();
  void instruction();
  void finish();
};

/// Fills in Op::reconvergence: the immediate post-dominator of every branch.
void findReconvergence(Module &module);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_DECODER_H
