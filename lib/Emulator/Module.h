//===- Module.h - A kernel, decoded -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operand - immediates, special registers and addresses of variables too -
// is a slot of the warp's register file: 32 lanes of 32 bits; a 64-bit register
// takes two slots in a row. So no instruction has an immediate form, and an
// executor is one loop over lanes. Predicates are one 32-bit mask each, numbered
// on their own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_MODULE_H
#define TILEWRIGHT_LIB_EMULATOR_MODULE_H

#include "lib/Emulator/Architecture.h"
#include "tilewright/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright::emulator {

struct Warp;
struct Op;

constexpr uint32_t warpSize = 32;
constexpr uint32_t fullMask = ~0u;
constexpr uint32_t noSlot = ~0u; ///< In operand lists: a sink.
constexpr uint32_t noOp = ~0u;

/// Where generic addresses of the other spaces begin; everything else is global.
constexpr uint64_t windowMask = 0xffffffff00000000;
constexpr uint64_t sharedWindow = 0x7001ull << 32;
constexpr uint64_t localWindow = 0x7002ull << 32;
constexpr uint64_t parameterWindow = 0x7003ull << 32;

/// What an executor tells the warp's loop.
enum class Flow : uint8_t {
  Next,    ///< Go on with the next instruction.
  Jumped,  ///< The executor has set the program counter.
  Blocked, ///< The warp waits; the instruction is executed again when it is woken.
  Fault,   ///< A finding was recorded; the block stops.
};

using Executor = Flow (*)(Warp &warp, const Op &op, uint32_t mask);

enum class RegisterClass : uint8_t { Predicate, Narrow, Wide };

enum class MemorySpace : uint8_t { Generic, Global, Shared, Local, Parameter };

/// How far an access to global memory is atomic or ordered; 0 is an ordinary one.
enum GlobalScope : uint8_t { ScopeNone, ScopeBlock, ScopeDevice };
enum GlobalOrder : uint8_t { OrderAcquire = 1, OrderRelease = 2 };

/// A part of Module::lists.
struct Range {
  uint32_t first = 0, count = 0;
};

/// What the control-flow graph must know of an instruction.
enum class OpKind : uint8_t { Plain, Branch, Exit };

struct Op {
  Executor execute = nullptr;
  uint32_t line = 0;
  uint32_t location = 0; ///< Index into Module::locations; 0: none.
  int32_t guard = -1;    ///< Predicate, or -1.
  bool guardNegated = false;
  bool aligned = false;     ///< All 32 lanes must take part.
  bool wideAddress = false; ///< The address slot holds 64 bits.
  bool discard = false;     ///< The first destination is a sink.
  bool matrix = false;      ///< wgmma: it has rules of its own for the registers it names.
  OpKind kind = OpKind::Plain;
  MemorySpace space = MemorySpace::Generic;
  uint8_t strength = 0; ///< A GlobalScope: how far an access to global memory is strong.
  uint8_t order = 0;    ///< GlobalOrder bits.
  uint8_t elementBytes = 4;
  uint8_t count = 0;    ///< Elements of a vector, coordinates, optional operands present.
  uint32_t variant = 0; ///< Meaning by executor.
  uint32_t slots[6] = {};
  int64_t immediate = 0;
  uint32_t target = 0, reconvergence = noOp; ///< Of branches.
  Range operands;                            ///< Vector elements, accumulators, coordinates.
  Range aRegisters;                          ///< wgmma with A in registers.
  Range tracked; ///< Registers of some wgmma that this instruction touches.
};

enum class SpecialRegister : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  SmId,
  DynamicSharedBytes,
  ClusterRank,
  ClusterSize,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
};

struct SpecialSlot {
  SpecialRegister which;
  RegisterClass registerClass;
  uint32_t slot;
};

struct Parameter {
  std::string name;
  uint32_t offset = 0, bytes = 0;
};

/// For the debugger: a name and the instructions between which it means this slot.
struct RegisterName {
  std::string name;
  RegisterClass registerClass;
  uint32_t slot;
  uint32_t firstOp, lastOp;
};

struct SourceLocation {
  std::string file;
  uint32_t line = 0;
};

struct Module {
  const Architecture *architecture = nullptr;
  std::string kernel;
  std::string text;
  std::vector<uint32_t> lineStarts;
  std::vector<SourceLocation> locations; ///< The first means "none".
  std::vector<Op> ops;
  std::vector<uint32_t> lists;
  uint32_t slots = 0, predicates = 0;
  std::vector<std::pair<uint32_t, uint32_t>> narrowConstants; ///< Slot, value in every lane.
  std::vector<std::pair<uint32_t, uint64_t>> wideConstants;
  std::vector<SpecialSlot> specials;
  std::vector<RegisterName> names;
  /// Slot -> 1 + index among the registers that some wgmma names, or 0.
  std::vector<uint32_t> trackedIndex;
  uint32_t trackedCount = 0;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0, localBytes = 0, staticSharedBytes = 0;
  uint32_t maxThreads = 0; ///< `.maxntid`; 0: not stated.
  /// Blocks can see each other's progress: global atomics or ordered global accesses.
  bool blocksInteract = false;

  /// The text of a line without its indentation; long lines lose their middle.
  std::string lineText(uint32_t line) const;

  /// "file:line" of the source behind an instruction, or nothing.
  std::string sourceOf(const Op &op) const;
};

/// Reads PTX text and decodes one kernel: the one named, or the only one when `kernel` is empty.
/// An error names the line; all unknown instructions are listed in one error.
/// Registers (counted as 32-bit slots) are limited to 65536, instructions to one million.
Result<Module> loadModule(std::string_view ptx, std::string_view kernel = {});

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_MODULE_H
