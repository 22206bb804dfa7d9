//===- Opcodes.h - The table of instructions --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A new opcode is a row: in the table of plain operations (AluTable.cpp) when it
// maps lanes to lanes, else in the table of families (Opcodes.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_OPCODES_H
#define TILEWRIGHT_LIB_EMULATOR_OPCODES_H

#include "lib/Emulator/Decoder.h"

#include <span>
#include <unordered_map>

namespace tilewright::emulator {

/// An instruction that computes each lane from the same lane of its operands.
struct PlainOpcode {
  std::string_view name; ///< The opcode without the modifiers that change nothing here.
  Executor execute;
  /// Register classes, the destination first.
  std::span<const RegisterClass> signature;
};

const std::unordered_map<std::string_view, PlainOpcode> &plainOpcodes();

/// Instructions that share their first words and a decode function.
struct OpcodeFamily {
  std::string_view mnemonic;
  InstructionSet needs;
  void (*decode)(Decoder &decoder, Op &op);
};

/// The family with the longest mnemonic that `opcode` begins with, or nothing.
const OpcodeFamily *findFamily(std::string_view opcode);

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_OPCODES_H
