//===- Opcodes.cpp - Families of instructions -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How each family's operands and modifiers fill an Op. What the fields mean
// stands at the executor.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Opcodes.h"

#include "lib/Emulator/Executors.h"

#include <algorithm>
#include <array>
#include <charconv>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

constexpr RegisterClass predicate = RegisterClass::Predicate;
constexpr RegisterClass narrow = RegisterClass::Narrow;
constexpr RegisterClass wide = RegisterClass::Wide;

uint32_t bytesOf(std::string_view type) {
  return type.ends_with("128")  ? 16
         : type.ends_with("64") ? 8
         : type.ends_with("32") ? 4
         : type.ends_with("16") ? 2
         : type.ends_with("8")  ? 1
                                : 0;
}

RegisterClass classOf(std::string_view type) {
  return type == "pred" ? predicate : type.ends_with("64") ? wide : narrow;
}

/// The index of the first name that is a modifier, or the number of names.
template <size_t n>
uint32_t choose(const Decoder &decoder, const std::array<std::string_view, n> &names) {
  for (uint32_t i = 0; i < n; ++i)
    if (decoder.has(names[i]))
      return i;
  return n;
}

void decodeNothing(Decoder &decoder, Op &op) {
  op.execute = executeNothing;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Control flow and warps

void decodeBranch(Decoder &decoder, Op &op) {
  decoder.expectOperands(1, 1);
  const Operand &label = decoder.operand(0);
  if (!label.is(Operand::Kind::Name))
    return decoder.unsupported();
  op.execute = executeBranch;
  op.kind = OpKind::Branch;
  decoder.branchTo(label.name);
  decoder.emit(op);
}

void decodeExit(Decoder &decoder, Op &op) {
  op.execute = executeExit;
  op.kind = OpKind::Exit;
  decoder.emit(op);
}

void decodeTrap(Decoder &decoder, Op &op) {
  op.execute = executeTrap;
  decoder.emit(op);
}

void decodeShuffle(Decoder &decoder, Op &op) {
  decoder.expectOperands(5, 5);
  op.variant = choose(decoder, std::array<std::string_view, 4>{"up", "down", "bfly", "idx"});
  if (op.variant > ShuffleIndex)
    return decoder.unsupported();
  const Operand &destination = decoder.operand(0);
  op.count = destination.is(Operand::Kind::Pair);
  if (op.count) {
    op.slots[0] = decoder.slot(destination.parts[0], narrow);
    op.slots[5] = decoder.slot(destination.parts[1], predicate);
  } else
    op.slots[0] = decoder.slot(destination, narrow);
  for (size_t i = 1; i < 5; ++i)
    op.slots[i] = decoder.slot(i, narrow);
  op.execute = executeShuffle;
  decoder.emit(op);
}

void decodeVote(Decoder &decoder, Op &op) {
  decoder.expectOperands(3, 3);
  op.variant = choose(decoder, std::array<std::string_view, 4>{"any", "all", "uni", "ballot"});
  if (op.variant > VoteBallot)
    return decoder.unsupported();
  op.slots[0] = decoder.slot(0, op.variant == VoteBallot ? narrow : predicate);
  op.slots[1] = decoder.slot(1, predicate);
  op.slots[2] = decoder.slot(2, narrow);
  if (decoder.operand(1).negated)
    op.variant |= VoteNegate;
  op.execute = executeVote;
  decoder.emit(op);
}

void decodeActiveMask(Decoder &decoder, Op &op) {
  op.slots[0] = decoder.slot(0, narrow);
  op.execute = executeActiveMask;
  decoder.emit(op);
}

void decodeReduce(Decoder &decoder, Op &op) {
  constexpr std::array<std::string_view, 6> names = {"add", "min", "max", "and", "or", "xor"};
  constexpr uint32_t operations[] = {AtomicAdd, AtomicMin, AtomicMax,
                                     AtomicAnd, AtomicOr,  AtomicXor};
  const uint32_t which = choose(decoder, names);
  if (which == names.size() || bytesOf(decoder.type()) != 4 || decoder.type()[0] == 'f')
    return decoder.unsupported();
  op.variant = operations[which] | (decoder.type()[0] == 's' ? AtomicSigned : 0u);
  for (size_t i = 0; i < 3; ++i)
    op.slots[i] = decoder.slot(i, narrow);
  op.execute = executeReduce;
  decoder.emit(op);
}

void decodeElect(Decoder &decoder, Op &op) {
  const Operand &destination = decoder.operand(0);
  if (!destination.is(Operand::Kind::Pair))
    return decoder.unsupported();
  op.discard = destination.parts[0].is(Operand::Kind::Sink);
  if (!op.discard)
    op.slots[0] = decoder.slot(destination.parts[0], narrow);
  op.slots[5] = decoder.slot(destination.parts[1], predicate);
  op.slots[1] = decoder.slot(1, narrow);
  op.execute = executeElect;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Moves

void decodeMove(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  const Operand &destination = decoder.operand(0), &source = decoder.operand(1);
  const RegisterClass registers = classOf(decoder.type());
  if (destination.is(Operand::Kind::Vector)) {
    op.slots[1] = decoder.slot(source, registers);
    op.operands = decoder.list(decoder.elements(destination, narrow));
    op.execute = registers == wide ? executeUnpackWide : executeUnpackNarrow;
  } else if (source.is(Operand::Kind::Vector)) {
    op.slots[0] = decoder.slot(destination, registers);
    op.operands = decoder.list(decoder.registers(source, narrow));
    op.execute = registers == wide ? executePackWide : executePackNarrow;
  } else {
    op.slots[0] = decoder.slot(destination, registers);
    const std::string_view name = source.name;
    if (name == "%clock64" || name == "%globaltimer" || name == "%clock" ||
        name == "%globaltimer_lo")
      op.execute = registers == wide ? executeClockWide : executeClockNarrow;
    else {
      op.slots[1] = decoder.slot(source, registers);
      op.execute = registers == predicate ? executeMovePredicate
                   : registers == wide    ? executeMoveWide
                                          : executeMoveNarrow;
    }
    return decoder.emit(op);
  }
  if (op.operands.count != 2 || registers == predicate || bytesOf(decoder.type()) < 4)
    return decoder.unsupported();
  decoder.emit(op);
}

void decodeConvertAddress(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  const bool to = decoder.part(1) == "to";
  const std::string_view space = decoder.part(to ? 2 : 1);
  const RegisterClass registers = classOf(decoder.type());
  uint64_t window = 0;
  if (space.starts_with("shared"))
    window = sharedWindow;
  else if (space == "local")
    window = localWindow;
  else if (space != "global" && space != "param" && space != "const")
    return decoder.unsupported();
  if (window && registers != wide)
    return decoder.unsupported();
  op.slots[0] = decoder.slot(0, registers);
  op.slots[1] = decoder.slot(1, registers);
  op.immediate = static_cast<int64_t>(to ? 0 - window : window);
  op.execute = registers == wide ? executeAddWindow : executeMoveNarrow;
  decoder.emit(op);
}

void decodeSelect(Decoder &decoder, Op &op) {
  decoder.expectOperands(4, 4);
  const RegisterClass registers = classOf(decoder.type());
  for (size_t i = 0; i < 3; ++i)
    op.slots[i] = decoder.slot(i, registers);
  op.slots[3] = decoder.slot(3, predicate);
  op.execute = registers == wide ? executeSelectWide : executeSelectNarrow;
  decoder.emit(op);
}

void decodeBitFieldInsert(Decoder &decoder, Op &op) {
  decoder.expectOperands(5, 5);
  if (decoder.type() != "b32")
    return decoder.unsupported();
  for (size_t i = 0; i < 5; ++i)
    op.slots[i] = decoder.slot(i, narrow);
  op.execute = executeBitFieldInsert;
  decoder.emit(op);
}

void decodeLogic3(Decoder &decoder, Op &op) {
  decoder.expectOperands(5, 5);
  for (size_t i = 0; i < 4; ++i)
    op.slots[i] = decoder.slot(i, narrow);
  op.immediate = decoder.integer(4);
  op.execute = executeLogic3;
  decoder.emit(op);
}

/// setp with a boolean operator: the comparison alone, then the combination with a predicate.
void decodeCombinedCompare(Decoder &decoder, Op &op) {
  constexpr std::array<std::string_view, 3> operators = {"and", "or", "xor"};
  const uint32_t combine = choose(decoder, operators);
  if (combine == operators.size() || decoder.operandCount() != 4)
    return decoder.unsupported();
  std::string name = "setp";
  for (size_t i = 1; i < decoder.statement().parts.size(); ++i)
    if (decoder.part(i) != operators[combine])
      name.append(".").append(decoder.part(i));
  const auto row = plainOpcodes().find(name);
  if (row == plainOpcodes().end())
    return decoder.unsupported();
  Op compare = op;
  compare.execute = row->second.execute;
  compare.slots[0] = decoder.newPredicate();
  compare.slots[1] = decoder.slot(1, row->second.signature[1]);
  compare.slots[2] = decoder.slot(2, row->second.signature[2]);
  op.execute = executePredicateLogic;
  op.variant = combine | (decoder.operand(3).negated ? 4 : 0);
  op.slots[0] = decoder.slot(0, predicate);
  op.slots[1] = compare.slots[0];
  op.slots[2] = decoder.slot(3, predicate);
  decoder.emit(compare);
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Memory

/// The state space among the modifiers; false for one that is not modelled.
bool decodeSpace(const Decoder &decoder, Op &op) {
  op.space = MemorySpace::Generic;
  for (std::string_view modifier : decoder.statement().parts) {
    if (modifier == "shared::cluster" || modifier == "const")
      return false;
    if (modifier == "global")
      op.space = MemorySpace::Global;
    else if (modifier.starts_with("shared"))
      op.space = MemorySpace::Shared;
    else if (modifier == "local")
      op.space = MemorySpace::Local;
    else if (modifier.starts_with("param"))
      op.space = MemorySpace::Parameter;
  }
  return true;
}

bool isOrdered(const Decoder &decoder) {
  return decoder.has("acquire") || decoder.has("release") || decoder.has("relaxed") ||
         decoder.has("volatile") || decoder.has("mmio");
}

/// How the access orders others, for the race rules of global memory.
void decodeOrder(const Decoder &decoder, Op &op) {
  op.strength = decoder.has("cta") ? ScopeBlock : ScopeDevice;
  const bool both = decoder.has("acq_rel");
  op.order = static_cast<uint8_t>((both || decoder.has("acquire") ? OrderAcquire : 0) |
                                  (both || decoder.has("release") ? OrderRelease : 0));
}

bool reachesGlobal(const Op &op) {
  return op.space == MemorySpace::Global || op.space == MemorySpace::Generic;
}

void decodeLoadStore(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  const bool load = decoder.part(0) != "st";
  const std::string_view type = decoder.type();
  const uint32_t bytes = bytesOf(type);
  const Operand &value = decoder.operand(load ? 0 : 1);
  if (!decodeSpace(decoder, op) || bytes == 0 || bytes > 8)
    return decoder.unsupported();
  decoder.address(op, decoder.operand(load ? 1 : 0), 2);
  // Registers may be wider than the elements.
  RegisterClass registers = bytes == 8 ? wide : narrow;
  const bool vector = value.is(Operand::Kind::Vector);
  for (const Operand &element : vector ? value.parts : std::vector<Operand>{value})
    if (decoder.classOf(element) == wide)
      registers = wide;
  op.operands =
      decoder.list(load ? decoder.elements(value, registers) : decoder.registers(value, registers));
  const uint32_t count = op.operands.count;
  if ((count != 1 && count != 2 && count != 4) || bytes * count > 16)
    return decoder.unsupported();
  op.elementBytes = static_cast<uint8_t>(bytes);
  op.discard = registers == wide && bytes < 8;
  op.variant = type[0] == 's' && bytes < (registers == wide ? 8u : 4u);
  op.execute = load ? executeLoad : executeStore;
  if (reachesGlobal(op) && isOrdered(decoder)) {
    decodeOrder(decoder, op);
    decoder.blocksInteract();
  }
  decoder.emit(op);
}

void decodeAtomic(Decoder &decoder, Op &op) {
  constexpr std::array<std::string_view, 10> names = {"add", "min", "max", "exch", "cas",
                                                      "inc", "dec", "and", "or",   "xor"};
  const bool returns = decoder.part(0) == "atom";
  const std::string_view type = decoder.type();
  const uint32_t which = choose(decoder, names);
  if (which == names.size() || !decodeSpace(decoder, op) || bytesOf(type) < 4 ||
      bytesOf(type) > 8 || decoder.has("noftz"))
    return decoder.unsupported();
  if (reachesGlobal(op)) {
    decodeOrder(decoder, op);
    decoder.blocksInteract();
  }
  const size_t first = returns ? 1 : 0;
  decoder.address(op, decoder.operand(first), 2);
  if (decoder.has("v2") || decoder.has("v4")) {
    op.operands = decoder.list(decoder.registers(decoder.operand(1), narrow));
    if (returns || type != "f32" || which != AtomicAdd ||
        op.operands.count != (decoder.has("v2") ? 2 : 4))
      return decoder.unsupported();
    op.execute = executeVectorReduction;
    return decoder.emit(op);
  }
  if (type[0] == 'f' && which != AtomicAdd)
    return decoder.unsupported();
  decoder.expectOperands(first + (which == AtomicCompareSwap ? 3 : 2),
                         first + (which == AtomicCompareSwap ? 3 : 2));
  const RegisterClass registers = classOf(type);
  op.elementBytes = static_cast<uint8_t>(bytesOf(type));
  op.variant = which | (type[0] == 'f' ? AtomicFloat : 0u) | (type[0] == 's' ? AtomicSigned : 0u);
  op.discard = !returns || decoder.operand(0).is(Operand::Kind::Sink);
  if (!op.discard)
    op.slots[0] = decoder.slot(0, registers);
  op.slots[3] = decoder.slot(first + 1, registers);
  if (which == AtomicCompareSwap)
    op.slots[4] = decoder.slot(first + 2, registers);
  op.execute = executeAtomic;
  decoder.emit(op);
}

void decodeMatrixMove(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  const bool load = decoder.part(0) == "ldmatrix";
  if (!decoder.has("m8n8") || decoder.type() != "b16" || decoder.has("shared::cluster"))
    return decoder.unsupported();
  op.operands = decoder.list(decoder.registers(decoder.operand(load ? 0 : 1), narrow));
  const uint32_t matrices = decoder.has("x4") ? 4 : decoder.has("x2") ? 2 : 1;
  if (op.operands.count != matrices)
    return decoder.unsupported();
  decoder.address(op, decoder.operand(load ? 1 : 0), 2);
  op.space = MemorySpace::Shared;
  op.aligned = true;
  op.variant = decoder.has("trans");
  op.execute = load ? executeLoadMatrix : executeStoreMatrix;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Blocks

void decodeNamedBarrier(Decoder &decoder, Op &op) {
  decoder.expectOperands(1, 2);
  const bool arrive = decoder.has("arrive");
  if (decoder.has("red") || decoder.has("cluster") || (!arrive && !decoder.has("sync")) ||
      (arrive && decoder.operandCount() != 2))
    return decoder.unsupported();
  op.slots[0] = decoder.slot(0, narrow);
  op.count = static_cast<uint8_t>(decoder.operandCount());
  if (op.count > 1)
    op.slots[1] = decoder.slot(1, narrow);
  op.aligned = true;
  op.execute = arrive ? executeBarrierArrive : executeBarrierSync;
  decoder.emit(op);
}

void decodeWarpSync(Decoder &decoder, Op &op) {
  op.slots[0] = decoder.slot(0, narrow);
  op.execute = executeWarpSync;
  decoder.emit(op);
}

void decodeFence(Decoder &decoder, Op &op) {
  bool proxy = false, async = false;
  for (std::string_view modifier : decoder.statement().parts) {
    proxy |= modifier.starts_with("proxy");
    async |= modifier == "async" || modifier.starts_with("async::");
  }
  if (proxy && !async)
    return decoder.unsupported();
  op.variant = proxy                          ? FenceProxyAsync
               : decoder.has("mbarrier_init") ? FenceMbarrierInit
                                              : FenceOrdinary;
  op.execute = executeFence;
  decoder.emit(op);
}

void decodeSetRegisters(Decoder &decoder, Op &op) {
  decoder.expectOperands(1, 1);
  op.variant = decoder.part(1) == "inc";
  if (!op.variant && decoder.part(1) != "dec")
    return decoder.unsupported();
  op.immediate = decoder.integer(0);
  op.aligned = true;
  op.execute = executeSetRegisters;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// mbarriers

void decodeMbarrierInit(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  decoder.address(op, decoder.operand(0), 2);
  op.slots[1] = decoder.slot(1, narrow);
  op.execute = executeMbarrierInit;
  decoder.emit(op);
}

void decodeMbarrierInvalidate(Decoder &decoder, Op &op) {
  decoder.expectOperands(1, 1);
  decoder.address(op, decoder.operand(0), 2);
  op.execute = executeMbarrierInvalidate;
  decoder.emit(op);
}

void decodeMbarrierArrive(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 3);
  if (decoder.has("noComplete") || decoder.has("cluster") || decoder.has("shared::cluster"))
    return decoder.unsupported();
  op.variant = (decoder.has("expect_tx") ? MbarrierExpect : 0u) |
               (decoder.has("relaxed") ? MbarrierRelaxed : 0u);
  op.discard = decoder.operand(0).is(Operand::Kind::Sink);
  if (!op.discard)
    op.slots[0] = decoder.slot(0, wide);
  decoder.address(op, decoder.operand(1), 2);
  op.count = decoder.operandCount() == 3;
  if (op.count)
    op.slots[1] = decoder.slot(2, narrow);
  if (op.variant & MbarrierExpect && !op.count)
    return decoder.unsupported();
  op.execute = executeMbarrierArrive;
  decoder.emit(op);
}

void decodeMbarrierExpect(Decoder &decoder, Op &op) {
  decoder.expectOperands(2, 2);
  if (decoder.has("shared::cluster"))
    return decoder.unsupported();
  decoder.address(op, decoder.operand(0), 2);
  op.slots[1] = decoder.slot(1, narrow);
  op.execute = executeMbarrierExpect;
  decoder.emit(op);
}

void decodeMbarrierWait(Decoder &decoder, Op &op) {
  decoder.expectOperands(3, 4); // a time limit may follow; it changes nothing here
  if (!decoder.has("parity") || decoder.has("cluster"))
    return decoder.unsupported();
  op.slots[0] = decoder.slot(0, predicate);
  decoder.address(op, decoder.operand(1), 2);
  op.slots[1] = decoder.slot(2, narrow);
  op.variant = (decoder.part(1) == "test_wait" ? MbarrierTest : 0u) |
               (decoder.has("relaxed") ? MbarrierRelaxed : 0u);
  op.execute = executeMbarrierWait;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Copies

/// `[address]` of shared memory into a slot; `isWide` tells its class.
uint32_t sharedOperand(Decoder &decoder, const Operand &operand, bool &isWide) {
  isWide = operand.is(Operand::Kind::Address) && !operand.parts.empty() &&
           decoder.classOf(operand.parts[0]) == wide;
  return decoder.plainAddress(operand, isWide ? wide : narrow);
}

/// `[map, {coordinates}]` into slot 1, immediate, count and operands.
void decodeMapOperand(Decoder &decoder, Op &op, const Operand &operand) {
  const std::string_view rank = decoder.part(4).ends_with("d") ? decoder.part(4) : decoder.part(5);
  if (!operand.is(Operand::Kind::Address) || operand.parts.size() != 2 || rank.size() != 2 ||
      rank[0] < '1' || rank[0] > '5')
    return decoder.unsupported();
  op.count = static_cast<uint8_t>(rank[0] - '0');
  Op address;
  Operand map = operand;
  map.parts.resize(1);
  decoder.address(address, map, 1);
  op.slots[1] = address.slots[1];
  op.immediate = address.immediate;
  op.operands = decoder.list(decoder.registers(operand.parts[1], narrow));
  if (!address.wideAddress || op.operands.count != op.count)
    return decoder.unsupported();
}

bool isPlainTile(const Decoder &decoder) {
  for (std::string_view modifier : decoder.statement().parts)
    if (modifier.starts_with("multicast") || modifier.starts_with("im2col") ||
        modifier.starts_with("tile::") || modifier.starts_with("cta_group"))
      return false;
  return true;
}

void decodeTensorCopy(Decoder &decoder, Op &op) {
  const bool load = decoder.has("mbarrier::complete_tx::bytes");
  const bool reduce = decoder.part(1) == "reduce";
  const size_t operands = (load ? 3 : 2) + decoder.has("L2::cache_hint");
  decoder.expectOperands(operands, operands);
  if (!isPlainTile(decoder) || (!load && !decoder.has("bulk_group")) ||
      (reduce && !decoder.has("add")))
    return decoder.unsupported();
  const Operand &shared = decoder.operand(load ? 0 : 1), &map = decoder.operand(load ? 1 : 0);
  op.slots[0] = sharedOperand(decoder, shared, op.wideAddress);
  decodeMapOperand(decoder, op, map);
  if (load)
    op.slots[3] = sharedOperand(decoder, decoder.operand(2), op.discard);
  else
    op.variant = reduce;
  if (reduce) {
    op.strength = ScopeDevice;
    decoder.blocksInteract();
  }
  op.execute = load ? executeTensorLoad : executeTensorStore;
  decoder.emit(op);
}

void decodeBulkCopy(Decoder &decoder, Op &op) {
  const bool load = decoder.has("mbarrier::complete_tx::bytes");
  const bool reduce = decoder.part(1) == "reduce";
  const size_t operands = (load ? 4 : 3) + decoder.has("L2::cache_hint");
  decoder.expectOperands(operands, operands);
  if (!isPlainTile(decoder) || !decoder.has("global") || (!load && !decoder.has("bulk_group")) ||
      (reduce && (!decoder.has("add") || decoder.type() != "f32")))
    return decoder.unsupported();
  decoder.address(op, decoder.operand(0), 0);
  op.slots[2] = decoder.slot(2, narrow);
  if (load) {
    op.slots[1] = decoder.plainAddress(decoder.operand(1), wide);
    op.slots[3] = sharedOperand(decoder, decoder.operand(3), op.discard);
  } else {
    if (!op.wideAddress)
      return decoder.unsupported();
    op.slots[1] = sharedOperand(decoder, decoder.operand(1), op.discard);
    op.variant = reduce;
  }
  if (reduce) {
    op.strength = ScopeDevice;
    decoder.blocksInteract();
  }
  op.execute = load ? executeBulkLoad : executeBulkStore;
  decoder.emit(op);
}

void decodeGroupCommit(Decoder &decoder, Op &op) {
  op.execute = decoder.has("bulk") ? executeStoreCommit : executeAsyncCommit;
  decoder.emit(op);
}

void decodeGroupWait(Decoder &decoder, Op &op) {
  const bool all = decoder.has("wait_all");
  decoder.expectOperands(all ? 0 : 1, all ? 0 : 1);
  op.immediate = all ? -1 : decoder.integer(0);
  if (!all && (op.immediate < 0 || op.immediate > 64))
    return decoder.fail("{} pending groups; it is 0 to 64", op.immediate);
  op.variant = decoder.has("read");
  op.execute = decoder.has("bulk") ? executeStoreWait : executeAsyncWait;
  decoder.emit(op);
}

void decodeAsyncCopy(Decoder &decoder, Op &op) {
  const bool hint = decoder.has("L2::cache_hint");
  decoder.expectOperands(3 + hint, 4 + hint);
  const int64_t size = decoder.integer(2);
  if ((size != 4 && size != 8 && size != 16) || !decoder.has("global"))
    return decoder.unsupported();
  Op source;
  decoder.address(source, decoder.operand(1), 1);
  decoder.address(op, decoder.operand(0), 0);
  if (!source.wideAddress || source.immediate != static_cast<int32_t>(source.immediate))
    return decoder.unsupported();
  op.slots[1] = source.slots[1];
  op.variant = static_cast<uint32_t>(source.immediate);
  op.elementBytes = static_cast<uint8_t>(size);
  if (decoder.operandCount() == 4u + hint) {
    if (decoder.has("ignore-src"))
      return decoder.unsupported();
    op.count = 2;
    op.slots[3] = decoder.slot(3, narrow);
  }
  op.execute = executeAsyncCopy;
  decoder.emit(op);
}

//===----------------------------------------------------------------------===//
// Matrices

constexpr std::array<std::string_view, 4> matrixTypes = {"bf16", "f16", "e4m3", "e5m2"};

uint32_t matrixType(std::string_view name) {
  return static_cast<uint32_t>(std::find(matrixTypes.begin(), matrixTypes.end(), name) -
                               matrixTypes.begin());
}

/// mma.sync.aligned.m16n8k16.row.col.f32.T.T.f32
void decodeMma(Decoder &decoder, Op &op) {
  decoder.expectOperands(4, 4);
  const uint32_t type = matrixType(decoder.part(7));
  if (decoder.statement().parts.size() != 10 || decoder.part(3) != "m16n8k16" ||
      decoder.part(4) != "row" || decoder.part(5) != "col" || decoder.part(6) != "f32" ||
      decoder.part(9) != "f32" || decoder.part(7) != decoder.part(8) || type > MatrixF16)
    return decoder.unsupported();
  std::vector<uint32_t> slots;
  constexpr size_t counts[] = {4, 4, 2, 4};
  for (size_t i = 0; i < 4; ++i) {
    const std::vector<uint32_t> part = decoder.registers(decoder.operand(i), narrow);
    if (part.size() != counts[i])
      return decoder.unsupported();
    slots.insert(slots.end(), part.begin(), part.end());
  }
  op.operands = decoder.list(slots);
  op.variant = type;
  op.aligned = true;
  op.execute = executeMmaSync;
  decoder.emit(op);
}

void decodeWgmmaFence(Decoder &decoder, Op &op) {
  op.aligned = true;
  op.execute = executeWgmmaFence;
  decoder.emit(op);
}

void decodeWgmmaCommit(Decoder &decoder, Op &op) {
  op.aligned = true;
  op.execute = executeWgmmaCommit;
  decoder.emit(op);
}

void decodeWgmmaWait(Decoder &decoder, Op &op) {
  decoder.expectOperands(1, 1);
  op.immediate = decoder.integer(0);
  if (op.immediate < 0 || op.immediate > 7)
    return decoder.fail("{} pending groups; it is 0 to 7", op.immediate);
  op.aligned = true;
  op.execute = executeWgmmaWait;
  decoder.emit(op);
}

/// The N of "m64n128k16", or 0 when the shape is not one of wgmma's for this k.
uint32_t wgmmaColumns(std::string_view shape, uint32_t depth) {
  const std::string tail = fmt::format("k{}", depth);
  if (!shape.starts_with("m64n") || !shape.ends_with(tail))
    return 0;
  const std::string_view digits = shape.substr(4, shape.size() - 4 - tail.size());
  uint32_t columns = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  if (code != std::errc() || end != digits.data() + digits.size() || columns % 8 || columns > 256)
    return 0;
  return columns;
}

/// wgmma.mma_async.sync.aligned.m64nNkK.f32.A.B D, a, b, scale-d, imm-a, imm-b {, tnsp-a} {,
/// tnsp-b}
void decodeWgmma(Decoder &decoder, Op &op) {
  const uint32_t a = matrixType(decoder.part(6)), b = matrixType(decoder.part(7));
  if (decoder.statement().parts.size() != 8 || decoder.part(5) != "f32" ||
      a == matrixTypes.size() || b == matrixTypes.size() || (a <= MatrixF16) != (b <= MatrixF16) ||
      (a <= MatrixF16 && a != b))
    return decoder.unsupported();
  const bool half = a <= MatrixF16;
  const uint32_t columns = wgmmaColumns(decoder.part(4), half ? 16 : 32);
  if (!columns)
    return decoder.unsupported();
  const bool fromRegisters = decoder.operand(1).is(Operand::Kind::Vector);
  const size_t operands = 6 + (half ? (fromRegisters ? 1 : 2) : 0);
  decoder.expectOperands(operands, operands);
  const std::vector<uint32_t> accumulators = decoder.registers(decoder.operand(0), narrow);
  if (accumulators.size() != columns / 2)
    return decoder.fail("wgmma with {} accumulators; N = {} has {}", accumulators.size(), columns,
                        columns / 2);
  std::vector<uint32_t> aRegisters;
  if (fromRegisters) {
    aRegisters = decoder.registers(decoder.operand(1), narrow);
    if (aRegisters.size() != 4)
      return decoder.unsupported();
  } else
    op.slots[0] = decoder.slot(1, wide);
  op.operands = decoder.list(accumulators);
  op.aRegisters = decoder.list(aRegisters);
  op.slots[1] = decoder.slot(2, wide);
  op.slots[2] = decoder.slot(3, predicate);
  op.variant = a | b << 2 | (decoder.integer(4) < 0 ? WgmmaNegateA : 0u) |
               (decoder.integer(5) < 0 ? WgmmaNegateB : 0u);
  if (half && !fromRegisters)
    op.variant |= decoder.integer(6) ? WgmmaTransposeA : 0u;
  if (half)
    op.variant |= decoder.integer(operands - 1) ? WgmmaTransposeB : 0u;
  decoder.track(accumulators);
  decoder.track(aRegisters);
  op.immediate = columns;
  op.aligned = true;
  op.matrix = true;
  op.execute = executeWgmma;
  decoder.emit(op);
}

constexpr OpcodeFamily families[] = {
    {"bra", InstructionSet::Base, decodeBranch},
    {"ret", InstructionSet::Base, decodeExit},
    {"exit", InstructionSet::Base, decodeExit},
    {"trap", InstructionSet::Base, decodeTrap},
    {"nanosleep", InstructionSet::Base, decodeNothing},
    {"prefetch", InstructionSet::Base, decodeNothing},
    {"prefetchu", InstructionSet::Base, decodeNothing},
    {"discard", InstructionSet::Base, decodeNothing},
    {"shfl.sync", InstructionSet::Base, decodeShuffle},
    {"vote.sync", InstructionSet::Base, decodeVote},
    {"activemask", InstructionSet::Base, decodeActiveMask},
    {"mov", InstructionSet::Base, decodeMove},
    {"cvta", InstructionSet::Base, decodeConvertAddress},
    {"selp", InstructionSet::Base, decodeSelect},
    {"bfi", InstructionSet::Base, decodeBitFieldInsert},
    {"lop3", InstructionSet::Base, decodeLogic3},
    {"setp", InstructionSet::Base, decodeCombinedCompare},
    {"ld", InstructionSet::Base, decodeLoadStore},
    {"ldu", InstructionSet::Base, decodeLoadStore},
    {"st", InstructionSet::Base, decodeLoadStore},
    {"atom", InstructionSet::Base, decodeAtomic},
    {"red", InstructionSet::Base, decodeAtomic},
    {"bar", InstructionSet::Base, decodeNamedBarrier},
    {"barrier", InstructionSet::Base, decodeNamedBarrier},
    {"bar.warp.sync", InstructionSet::Base, decodeWarpSync},
    {"fence", InstructionSet::Base, decodeFence},
    {"membar", InstructionSet::Base, decodeFence},
    {"redux.sync", InstructionSet::Ampere, decodeReduce},
    {"ldmatrix.sync.aligned", InstructionSet::Ampere, decodeMatrixMove},
    {"mma.sync.aligned", InstructionSet::Ampere, decodeMma},
    {"mbarrier.init", InstructionSet::Ampere, decodeMbarrierInit},
    {"mbarrier.inval", InstructionSet::Ampere, decodeMbarrierInvalidate},
    {"mbarrier.arrive", InstructionSet::Ampere, decodeMbarrierArrive},
    {"mbarrier.test_wait", InstructionSet::Ampere, decodeMbarrierWait},
    {"cp.async.ca", InstructionSet::Ampere, decodeAsyncCopy},
    {"cp.async.cg", InstructionSet::Ampere, decodeAsyncCopy},
    {"cp.async.commit_group", InstructionSet::Ampere, decodeGroupCommit},
    {"cp.async.wait_group", InstructionSet::Ampere, decodeGroupWait},
    {"cp.async.wait_all", InstructionSet::Ampere, decodeGroupWait},
    {"stmatrix.sync.aligned", InstructionSet::Hopper, decodeMatrixMove},
    {"elect.sync", InstructionSet::Hopper, decodeElect},
    {"griddepcontrol", InstructionSet::Hopper, decodeNothing},
    {"mbarrier.try_wait", InstructionSet::Hopper, decodeMbarrierWait},
    {"mbarrier.expect_tx", InstructionSet::Hopper, decodeMbarrierExpect},
    {"cp.async.bulk", InstructionSet::Hopper, decodeBulkCopy},
    {"cp.async.bulk.tensor", InstructionSet::Hopper, decodeTensorCopy},
    {"cp.async.bulk.prefetch", InstructionSet::Hopper, decodeNothing},
    {"cp.async.bulk.commit_group", InstructionSet::Hopper, decodeGroupCommit},
    {"cp.async.bulk.wait_group", InstructionSet::Hopper, decodeGroupWait},
    {"cp.reduce.async.bulk", InstructionSet::Hopper, decodeBulkCopy},
    {"cp.reduce.async.bulk.tensor", InstructionSet::Hopper, decodeTensorCopy},
    {"setmaxnreg", InstructionSet::HopperSpecific, decodeSetRegisters},
    {"wgmma.mma_async.sync.aligned", InstructionSet::HopperSpecific, decodeWgmma},
    {"wgmma.fence.sync.aligned", InstructionSet::HopperSpecific, decodeWgmmaFence},
    {"wgmma.commit_group.sync.aligned", InstructionSet::HopperSpecific, decodeWgmmaCommit},
    {"wgmma.wait_group.sync.aligned", InstructionSet::HopperSpecific, decodeWgmmaWait},
};

} // namespace

const OpcodeFamily *emulator::findFamily(std::string_view opcode) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpcodeFamily *> result;
    for (const OpcodeFamily &family : families)
      result[family.mnemonic] = &family;
    return result;
  }();
  for (std::string_view prefix = opcode;; prefix = prefix.substr(0, prefix.rfind('.'))) {
    if (auto found = index.find(prefix); found != index.end())
      return found->second;
    if (prefix.find('.') == prefix.npos)
      return nullptr;
  }
}
