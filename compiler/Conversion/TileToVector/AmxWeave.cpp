//===- AmxWeave.cpp - Exponentials and products side by side --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A *unit* is a block of keys for two vectors of queries; the units of a block follow one another,
// so that they share its keys and values in the cache. Its keys are cut into groups, and its
// columns of values into as many. While the weights of a group are computed, the scores of the next
// one are, and the group's share of the output of the unit before:
//
//   unit, group   weights of   scores of    output of
//   u, 0          u, group 0   u, group 1   u - 1, first columns
//   u, 1          u, group 1   u + 1, 0     u - 1, last columns
//
// So scores of two groups and weights of two units are live, whatever the block's size. The first
// unit of a loop multiplies zeros for the one before, and the last computes scores that nobody
// reads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxEmitter.h"
#include "compiler/Conversion/TileToVector/Avx512Math.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace tilewright;

/// The code of a group is straight; a longer one is not worth its time in the compiler.
static constexpr int64_t mostVectorOperations = 5000;

/// More than this of keys and values would drive what all groups read out of a first-level cache.
static constexpr int64_t mostGroupBytes = 8192;

/// A block's sum of weights beyond this, or NaN, says that the reference is too low.
static constexpr double largestSum = 1 << 20;

/// References beyond this are too coarse to be scaled and rounded before they are subtracted.
static constexpr double largestReference = 1 << 20;

static constexpr double log2e = 1.4426950408889634074;

/// A number of rows from `rows` on, so many that a second buffer behind the first does not start at
/// the same place of a page: the processor takes such accesses for the same until it knows better.
static int64_t apart(int64_t rows, int64_t rowBytes) {
  const auto isApart = [&] {
    const int64_t distance = rows * rowBytes % 4096;
    return distance >= 1024 && distance <= 3072;
  };
  while (!isApart())
    ++rows;
  return rows;
}

static scf::ForOp forOf(AmxLoop loop) {
  return cast<scf::ForOp>(loop.step->getParentOp());
}

//===----------------------------------------------------------------------===//
// Units, groups and their buffers
//===----------------------------------------------------------------------===//

/// As few groups as are small enough. Paired tiles have 32 keys: a group is half of one or several.
int64_t AmxEmitter::groups() const {
  const int64_t most = std::gcd(program.blockKV / amxRows, program.valueTiles());
  const int64_t width = program.depthTiles() * amxDepth + program.valueTiles() * amxRows;
  int64_t groups = 1;
  for (int64_t count = 2; count <= most && program.blockKV * width * 2 > groups * mostGroupBytes;
       ++count) {
    const int64_t keys = program.blockKV / count;
    if (most % count == 0 && (keys == amxRows || keys % amxDepth == 0))
      groups = count;
  }
  return groups;
}

/// Two vectors of queries share what is read of keys and values; where their number is odd, as few
/// more as divide it.
int64_t AmxEmitter::unitQueries(AmxLoop loop) const {
  const int64_t columns = queries(loop) / amxRows;
  int64_t count = std::min<int64_t>(columns, 2);
  while (columns % count != 0)
    ++count;
  return count * amxRows;
}

/// What keeps the loop from being woven; empty if nothing does.
StringRef AmxEmitter::whyNotWoven(AmxLoop loop) const {
  scf::ForOp op = forOf(loop);
  Value key = loop.key.getIndices().back();
  auto product = key.getDefiningOp<arith::MulIOp>();
  const auto isOutside = [&](Value index) { return op.isDefinedOutsideOfLoop(index); };
  if (getConstantIntValue(op.getStep()) != 1 || !product ||
      product.getLhs() != op.getInductionVar() ||
      getConstantIntValue(product.getRhs()) != program.blockKV ||
      loop.value.getIndices().back() != key ||
      !llvm::all_of(loop.key.getIndices().drop_back(), isOutside) ||
      !llvm::all_of(loop.value.getIndices().drop_back(), isOutside))
    return "a loop does not count the blocks of one head's keys";
  int64_t operations = 16;
  for (Operation &inner : *op.getBody())
    if (inner.hasTrait<OpTrait::Elementwise>())
      operations += isa<math::MathDialect>(inner.getDialect()) ? 20 : 1;
  const int64_t vectors = program.blockKV / groups() * unitQueries(loop) / b.shape.lanes;
  return vectors * operations > mostVectorOperations
             ? "the score function, block_kv and the width of values make its code too long"
             : "";
}

AmxEmitter::Unit AmxEmitter::unitAt(AmxLoop loop, Value number) {
  Value count = b.index(queries(loop) / unitQueries(loop));
  Value part = arith::RemUIOp::create(b, number, count);
  return {arith::DivUIOp::create(b, number, count),
          arith::MulIOp::create(b, part, b.index(unitQueries(loop))), unitQueries(loop)};
}

/// The number of the loop's first unit and of the one after its last.
std::pair<Value, Value> AmxEmitter::unitBounds(AmxLoop loop) {
  const auto unitOf = [&](Value block) -> Value {
    return arith::MulIOp::create(b, scalars.lookup(block),
                                 b.index(queries(loop) / unitQueries(loop)));
  };
  return {unitOf(forOf(loop).getLowerBound()), unitOf(forOf(loop).getUpperBound())};
}

/// The half of a ring that has what is numbered so; the ring is made at its first use.
Value AmxEmitter::halfOf(Value &ring, MemRefType half, Value number) {
  const int64_t rows = half.getDimSize(0), columns = half.getDimSize(1);
  const int64_t distance = apart(rows, columns * half.getElementTypeBitWidth() / 8);
  if (!ring)
    ring = homes.acquire(MemRefType::get({2 * distance, columns}, half.getElementType()));
  Value parity = arith::AndIOp::create(b, number, b.index(1));
  return b.window(ring, arith::MulIOp::create(b, parity, b.index(distance)), b.index(0), rows,
                  columns);
}

Value AmxEmitter::weightsOf(AmxLoop loop, Value unit) {
  return halfOf(weightRing, pairedType(b, program.blockKV, unitQueries(loop)), unit);
}

/// Groups are numbered through.
Value AmxEmitter::scoresOf(AmxLoop loop, Value group) {
  return halfOf(scoreRing,
                MemRefType::get({program.blockKV / groups(), unitQueries(loop)}, b.getF32Type()),
                group);
}

/// The scores of a group of the unit's keys from `first` on.
void AmxEmitter::appendScores(AmxStream &stream, AmxLoop loop, Unit unit, Value first,
                              Value scores) {
  const int64_t keys = program.blockKV / groups(), depth = program.depthTiles();
  Value row = arith::MulIOp::create(b, first, b.index(depth));
  stream.append({.a = b.window(packedAt(program.packedKey, loop.key, unit.block), row, b.index(0),
                               keys * depth, amxDepth),
                 .b = queriesOf(loop, unit),
                 .c = scores,
                 .rows = keys / amxRows,
                 .columns = unit.queries / amxRows,
                 .depth = depth,
                 .pitch = queries(loop) / amxRows,
                 .accumulates = false},
                [&](int64_t i, int64_t k) {
                  return std::pair(b.index((i * depth + k) * amxRows), b.index(0));
                });
}

//===----------------------------------------------------------------------===//
// A loop
//===----------------------------------------------------------------------===//

void AmxEmitter::beginWovenLoop(AmxLoop loop) {
  auto [first, end] = unitBounds(loop);
  b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, end), [&, first = first] {
    Value none = weightsOf(loop, arith::AddIOp::create(b, first, b.index(1)));
    Value zeros = b.real(VectorType::get({amxDepth}, b.getBF16Type()), 0);
    b.loop(b.index(0), b.index(cast<MemRefType>(none.getType()).getDimSize(0)), 1,
           [&](Value row) { b.store(zeros, none, row, b.index(0)); });
    AmxStream stream(b);
    appendScores(stream, loop, unitAt(loop, first), b.index(0),
                 scoresOf(loop, arith::MulIOp::create(b, first, b.index(groups()))));
    stream.advance(1, 1);
  });
}

void AmxEmitter::endWovenLoop(AmxLoop loop) {
  auto [first, end] = unitBounds(loop);
  b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, end), [&, end = end] {
    Value last = arith::SubIOp::create(b, end, b.index(1));
    emitOutput(loop, unitAt(loop, last), weightsOf(loop, last));
  });
}

void AmxEmitter::emitWovenBlock(AmxLoop loop) {
  const int64_t count = queries(loop) / unitQueries(loop);
  Value first =
      arith::MulIOp::create(b, scalars.lookup(forOf(loop).getInductionVar()), b.index(count));
  if (count == 1)
    return emitWovenUnit(loop, first);
  b.loop(b.index(0), b.index(count), 1,
         [&](Value part) { emitWovenUnit(loop, arith::AddIOp::create(b, first, part)); });
}

void AmxEmitter::emitWovenUnit(AmxLoop loop, Value number) {
  auto [first, end] = unitBounds(loop);
  Value one = b.index(1), after = arith::AddIOp::create(b, number, one);
  const Unit unit = unitAt(loop, number);
  const Unit previous =
      unitAt(loop, arith::MaxSIOp::create(b, arith::SubIOp::create(b, number, one), first));
  const Unit next =
      unitAt(loop, arith::MinSIOp::create(b, after, arith::SubIOp::create(b, end, one)));

  const auto truth = [&](bool value) { return b.integer(b.getI1Type(), value); };
  const auto either = [&](Value condition, function_ref<Value()> then,
                          function_ref<Value()> otherwise) -> Value {
    auto choice = scf::IfOp::create(b, b.getI1Type(), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (auto [block, value] :
         {std::pair(choice.thenBlock(), then), {choice.elseBlock(), otherwise}}) {
      b.setInsertionPointToStart(block);
      scf::YieldOp::create(b, value());
    }
    return choice.getResult(0);
  };
  const auto firstScoresOf = [&](Value number) {
    return scoresOf(loop, arith::MulIOp::create(b, number, b.index(groups())));
  };
  Value ready = either(
      isReady(loop, unit), [&] { return truth(true); },
      [&] {
        emitFirstReference(loop, unit, firstScoresOf(number));
        return isReady(loop, unit);
      });
  Value isRight = either(
      ready, [&] { return emitWovenWeights(loop, number, unit, previous, next); },
      [&] {
        AmxStream stream(b);
        appendScores(stream, loop, next, b.index(0), firstScoresOf(after));
        stream.advance(1, 1);
        emitOutput(loop, previous, weightsOf(loop, after));
        return truth(false);
      });
  b.branch(arith::XOrIOp::create(b, isRight, truth(true)),
           [&] { emitScoresAndWeights(loop, unit, weightsOf(loop, number)); });
}

/// Whether all rows have a reference, and none a huge one.
Value AmxEmitter::isReady(AmxLoop loop, Unit unit) {
  Value reference = homes.bufferOf(loop.step.getReference());
  Value isReady;
  for (int64_t j = 0; j < unit.queries; j += b.shape.lanes) {
    Value lane = arith::AddIOp::create(b, unit.lane, b.index(j));
    Value size = math::AbsFOp::create(b, b.load(reference, b.index(0), lane));
    Value isSmall = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, size,
                                          b.real(size.getType(), largestReference));
    isReady = isReady ? arith::AndIOp::create(b, isReady, isSmall).getResult() : isSmall;
  }
  return vector::ReductionOp::create(b, vector::CombiningKind::AND, isReady);
}

/// Gives rows that have no reference one from the scores of the unit's first group. They have seen
/// no key, so that there is nothing to be scaled.
void AmxEmitter::emitFirstReference(AmxLoop loop, Unit unit, Value scores) {
  const Type type = b.vectorOf(b.getF32Type());
  const Value none = b.real(type, -std::numeric_limits<double>::infinity());
  Value reference = homes.bufferOf(loop.step.getReference());
  for (int64_t j = 0; j < unit.queries; j += b.shape.lanes) {
    Value lane = b.offset(unit.lane, j);
    LaneCode code(b, homes, scalars, lane);
    code.hoist(loop.step.getScores());
    const auto larger = [&](Value key, ValueRange maximum) {
      code.moveTo(key);
      code.define(loop.scores.getResult(), b.load(scores, key, b.index(j)));
      return SmallVector<Value>{b.maximum(code.vector(loop.step.getScores()), maximum.front())};
    };
    Value maximum =
        b.loop(b.index(0), b.index(program.blockKV / groups()), 1, none, larger).front();
    Value old = b.load(reference, b.index(0), lane);
    Value isFirst =
        arith::AndIOp::create(b, arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, old, none),
                              arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, maximum,
                                                    b.real(type, largestReference)));
    Value first = b.subtract(maximum, b.real(type, logOfLargestWeight));
    b.store(arith::SelectOp::create(b, isFirst, first, old), reference, b.index(0), lane);
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

namespace {
/// 2^(value * factor - shift) is the weight; the value is a product or what a score function makes
/// of it.
struct Exponent {
  Value factor;
  bool isOfProduct;
};
} // namespace

/// A score function that only scales is part of the exponent.
static Exponent exponentOf(VectorBuilder &b, const IRMapping &scalars, AmxLoop loop) {
  const Type f32 = b.getF32Type();
  Value score = loop.step.getScores(), product = loop.scores.getResult();
  if (score == product)
    return {b.real(b.vectorOf(f32), log2e), true};
  if (auto scaled = score.getDefiningOp<arith::MulFOp>(); scaled && scaled.getLhs() == product)
    if (auto factor = scaled.getRhs().getDefiningOp<tile::BroadcastOp>();
        factor && factor.getSource().getType() == f32)
      return {b.broadcast(b.multiply(scalars.lookup(factor.getSource()), b.real(f32, log2e))),
              true};
  return {b.real(b.vectorOf(f32), log2e), false};
}

/// An empty instruction that LLVM's scheduler must not move: without it all additions to the sums
/// sink below the weights, which then must be kept, and are spilled.
static Value pinned(VectorBuilder &b, Value sum) {
  return LLVM::InlineAsmOp::create(b, sum.getType(), sum, "", "=v,0", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

/// The unit's weights, and whether they are right, in which case they are added to the sums.
Value AmxEmitter::emitWovenWeights(AmxLoop loop, Value number, Unit unit, Unit previous,
                                   Unit next) {
  const Type type = b.vectorOf(b.getF32Type());
  const int64_t columns = unit.queries / amxRows, keys = program.blockKV / groups(),
                valueTiles = program.valueTiles(), groupTiles = valueTiles / groups(),
                depth = program.blockKV / amxDepth;
  const Value zero = b.index(0), one = b.index(1);
  Value reference = homes.bufferOf(loop.step.getReference()),
        accumulator = homes.bufferOf(loop.accumulator);
  const Exponent exponent = exponentOf(b, scalars, loop);
  const auto polynomial = llvm::map_to_vector(avx512CoarseExponentialCoefficients(),
                                              [&](double c) { return b.real(type, c); });
  SmallVector<Value> lanes, shifts;
  SmallVector<LaneCode> code;
  for (int64_t j = 0; j < columns; ++j) {
    lanes.push_back(arith::AddIOp::create(b, unit.lane, b.index(j * amxRows)));
    shifts.push_back(b.multiply(b.load(reference, zero, lanes[j]), b.real(type, -log2e)));
    code.emplace_back(b, homes, scalars, lanes[j]).hoist(loop.step.getScores());
  }
  Value values = packedAt(program.packedValue, loop.value, previous.block);
  Value weights = weightsOf(loop, number),
        pending = weightsOf(loop, arith::AddIOp::create(b, number, one));
  Value firstGroup = arith::MulIOp::create(b, number, b.index(groups()));

  const auto fillStream = [&](AmxStream &stream, Value group, Value groupNumber) {
    Value after = arith::AddIOp::create(b, group, one);
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, after, b.index(groups()));
    const auto select = [&](Value then, Value otherwise) -> Value {
      return arith::SelectOp::create(b, isLast, then, otherwise);
    };
    appendScores(stream, loop,
                 {select(next.block, unit.block), select(next.lane, unit.lane), unit.queries},
                 select(zero, arith::MulIOp::create(b, after, b.index(keys))),
                 scoresOf(loop, arith::AddIOp::create(b, groupNumber, one)));
    Value first = arith::MulIOp::create(b, group, b.index(groupTiles * amxRows));
    stream.append(
        {.a = b.window(values, first, zero, ((depth - 1) * valueTiles + groupTiles) * amxRows,
                       amxDepth),
         .b = pending,
         .c = b.window(accumulator, first, previous.lane, groupTiles * amxRows, unit.queries),
         .rows = groupTiles,
         .columns = columns,
         .depth = depth,
         .pitch = columns,
         .accumulates = true},
        [&](int64_t i, int64_t k) {
          return std::pair(b.index((i + k * valueTiles) * amxRows), zero);
        });
  };

  const auto emitGroup = [&](Value group, ValueRange carried) {
    SmallVector<Value> sums(carried);
    Value groupNumber = arith::AddIOp::create(b, firstGroup, group);
    AmxStream stream(b);
    fillStream(stream, group, groupNumber);
    Value scores = scoresOf(loop, groupNumber);
    Value firstKey = arith::MulIOp::create(b, group, b.index(keys));
    // A group may be half a paired tile: 8 of its 16 rows.
    Value tile = arith::DivUIOp::create(b, firstKey, b.index(amxDepth));
    Value row = arith::DivUIOp::create(b, arith::RemUIOp::create(b, firstKey, b.index(amxDepth)),
                                       b.index(2));
    row = arith::AddIOp::create(b, row, arith::MulIOp::create(b, tile, b.index(columns * amxRows)));
    Value pairs = b.window(weights, row, zero, llvm::divideCeil(keys, amxDepth) * columns * amxRows,
                           amxDepth);

    const int64_t steps = keys / 2;
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t key = step * 2;
      SmallVector<Value> exponents;
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < 2; ++i) {
          Value value = b.load(scores, b.index(key + i), b.index(j * amxRows));
          if (!exponent.isOfProduct) {
            code[j].moveTo(b.offset(firstKey, key + i));
            code[j].define(loop.scores.getResult(), value);
            value = code[j].vector(loop.step.getScores());
          }
          exponents.push_back(b.multiplyAdd(value, exponent.factor, shifts[j]));
        }
      const SmallVector<Value> exponentials = avx512ExponentialBase2(b, exponents, polynomial);
      stream.advance(2 * step + 1, 2 * steps);
      for (int64_t j = 0; j < columns; ++j) {
        Value &exact = sums[j], &rounded = sums[columns + j];
        const int64_t row = (key / amxDepth * columns + j) * amxRows + key % amxDepth / 2;
        emitPair(ArrayRef(exponentials).slice(2 * j, 2), pairs, b.index(row), exact, rounded);
        exact = pinned(b, exact);
        rounded = pinned(b, rounded);
      }
      stream.advance(2 * step + 2, 2 * steps);
    }
    return sums;
  };
  SmallVector<Value> sums(2 * columns, b.real(type, 0));
  sums =
      groups() == 1 ? emitGroup(zero, sums) : b.loop(zero, b.index(groups()), 1, sums, emitGroup);

  Value isRight;
  for (int64_t j = 0; j < columns; ++j) {
    Value isSmall =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, sums[j], b.real(type, largestSum));
    isRight = isRight ? arith::AndIOp::create(b, isRight, isSmall).getResult() : isSmall;
  }
  isRight = vector::ReductionOp::create(b, vector::CombiningKind::AND, isRight);
  b.branch(isRight, [&] {
    for (int64_t j = 0; j < columns; ++j)
      for (auto [buffer, more] : {std::pair(homes.bufferOf(loop.step.getSum()), sums[j]),
                                  std::pair(roundedSum, sums[columns + j])})
        b.store(b.add(b.load(buffer, zero, lanes[j]), more), buffer, zero, lanes[j]);
  });
  return isRight;
}
