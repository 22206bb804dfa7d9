//===- AmxProgram.cpp - Which tile programs a matrix unit can run ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/AmxProgram.h"
#include "dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace tilewright;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static Type elementOf(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getElementType();
}

/// Whether `value` is certainly a multiple of `factor`, which decides whether a block of keys is a
/// block of what was packed. The depth bounds the search in shared operands.
static bool isMultipleOf(Value value, int64_t factor, int depth = 6) {
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return *known % factor == 0;
  if (depth == 0)
    return false;
  const auto isMultiple = [&](Value operand) { return isMultipleOf(operand, factor, depth - 1); };
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return llvm::any_of(product->getOperands(), isMultiple);
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return llvm::all_of(sum->getOperands(), isMultiple);
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && value == loop.getInductionVar() && isMultiple(loop.getLowerBound()) &&
         isMultiple(loop.getStep());
}

/// Whether `tensor` is the function's argument of that name, of rank 4.
static bool isArgument(Value tensor, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  auto function =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || cast<MemRefType>(tensor.getType()).getRank() != 4)
    return false;
  auto stated = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::nameAttribute);
  return stated && stated.getValue() == name;
}

namespace {
/// The first thing that keeps a loop from being the recurrence.
struct Matcher {
  scf::ForOp loop;
  StringRef problem;

  bool require(bool condition, StringRef message) {
    if (!condition && problem.empty())
      problem = message;
    return condition;
  }

  static bool isOnlyUsedBy(Value value, Operation *op) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) { return user == op; });
  }

  bool isCarried(Value argument, Value yielded) {
    auto position = llvm::find(loop.getRegionIterArgs(), argument);
    if (position == loop.getRegionIterArgs().end())
      return false;
    const auto number = position - loop.getRegionIterArgs().begin();
    return loop.getYieldedValues()[number] == yielded &&
           isOnlyUsedBy(yielded, loop.getBody()->getTerminator());
  }

  std::optional<AmxLoop> match(tile::SoftmaxStepOp step) {
    loop = dyn_cast<scf::ForOp>(step->getParentOp());
    if (!require(static_cast<bool>(loop), "a step is in no loop"))
      return std::nullopt;
    SmallVector<tile::MmaOp> products(loop.getBody()->getOps<tile::MmaOp>());
    const auto counts = [&](auto ops) { return std::distance(ops.begin(), ops.end()); };
    Block *body = loop.getBody();
    if (!require(products.size() == 2 && counts(body->getOps<tile::LoadOp>()) == 2 &&
                     counts(body->getOps<tile::SoftmaxStepOp>()) == 1 &&
                     counts(body->getOps<tile::RescaleOp>()) == 1 &&
                     body->getOps<tile::StoreOp>().empty() && body->getOps<scf::ForOp>().empty() &&
                     llvm::count_if(loop.getRegionIterArgs(), isTile) == 3,
                 "a loop does more than the recurrence"))
      return std::nullopt;
    if (products[0].getLhs() == step.getWeights())
      std::swap(products[0], products[1]);
    AmxLoop result;
    result.step = step;
    result.scores = products[0];
    result.output = products[1];
    if (!matchProducts(result) || !matchCarried(result))
      return std::nullopt;
    return result;
  }

  bool matchProducts(AmxLoop &result) {
    auto [scores, output] = std::pair(result.scores, result.output);
    result.query = scores.getLhs().getDefiningOp<tile::LoadOp>();
    result.key = scores.getRhs().getDefiningOp<tile::LoadOp>();
    result.value = output.getRhs().getDefiningOp<tile::LoadOp>();
    const auto isLoaded = [](tile::LoadOp load) {
      return load && elementOf(load.getResult()).isBF16();
    };
    const bool isRecurrence =
        isLoaded(result.query) && isLoaded(result.key) && isLoaded(result.value) &&
        !loop->isAncestor(result.query) && result.key->getBlock() == loop.getBody() &&
        result.value->getBlock() == loop.getBody() && scores.getTransposeRhs() &&
        !scores.getAccumulator() && elementOf(scores.getResult()).isF32() &&
        output.getLhs() == result.step.getWeights() && !output.getTransposeRhs() &&
        elementOf(output.getResult()).isF32() && isOnlyUsedBy(result.key.getResult(), scores) &&
        isOnlyUsedBy(result.value.getResult(), output);
    if (!require(isRecurrence, "a loop's products are not those of the recurrence on bf16"))
      return false;
    if (!require(isArgument(result.key.getSource(), "key") &&
                     isArgument(result.value.getSource(), "value"),
                 "keys and values are not the arguments of that name"))
      return false;
    const int64_t blockKV = scores.getRhs().getType().getDimSize(0);
    if (!require(blockKV % amxDepth == 0, "block_kv is no multiple of 32"))
      return false;
    return require(isMultipleOf(result.key.getIndices().back(), blockKV) &&
                       isMultipleOf(result.value.getIndices().back(), blockKV),
                   "a block of keys may start elsewhere than at a multiple of its size");
  }

  bool matchCarried(AmxLoop &result) {
    auto [step, output] = std::pair(result.step, result.output);
    auto rescale = output.getAccumulator()
                       ? output.getAccumulator().getDefiningOp<tile::RescaleOp>()
                       : tile::RescaleOp();
    if (!require(rescale && rescale->getBlock() == loop.getBody() &&
                     rescale.getAlpha() == step.getAlpha() &&
                     isOnlyUsedBy(step.getAlpha(), rescale) &&
                     isOnlyUsedBy(rescale.getResult(), output) &&
                     isOnlyUsedBy(step.getWeights(), output) &&
                     isOnlyUsedBy(rescale.getAccumulator(), rescale) &&
                     isOnlyUsedBy(step.getReference(), step) && isOnlyUsedBy(step.getSum(), step) &&
                     isCarried(rescale.getAccumulator(), output.getResult()) &&
                     isCarried(step.getReference(), step.getNewReference()) &&
                     isCarried(step.getSum(), step.getNewSum()),
                 "a loop does not carry accumulator, reference and sum as the recurrence does"))
      return false;
    result.accumulator = rescale.getAccumulator();
    return true;
  }
};
} // namespace

std::optional<AmxProgram> tilewright::matchAmxProgram(scf::ForallOp forall) {
  SmallVector<tile::SoftmaxStepOp> steps;
  bool hasBF16 = false;
  forall.walk([&](Operation *op) {
    if (auto step = dyn_cast<tile::SoftmaxStepOp>(op))
      steps.push_back(step);
    if (auto product = dyn_cast<tile::MmaOp>(op))
      hasBF16 |= elementOf(product.getRhs()).isBF16();
  });
  if (steps.empty() || !hasBF16)
    return std::nullopt;
  const auto refuse = [&](Operation *op, StringRef problem) {
    remark::missed(op->getLoc(),
                   remark::RemarkOpts::name("no-amx").category("convert-tile-to-vector"))
        << remark::add("products are computed in f32 and not with AMX: {0}", problem);
    return std::nullopt;
  };
  if (forall->hasAttr(tile::columnsOnLanesAttribute))
    return refuse(forall, "the program puts columns on the lanes");
  AmxProgram program;
  for (tile::SoftmaxStepOp step : steps) {
    Matcher matcher;
    std::optional<AmxLoop> loop = matcher.match(step);
    if (!loop)
      return refuse(step, matcher.problem);
    auto key = loop->key.getResult().getType(), value = loop->value.getResult().getType();
    if (program.loops.empty()) {
      program.key = loop->key.getSource();
      program.value = loop->value.getSource();
      program.blockKV = key.getDimSize(0);
      program.headDim = key.getDimSize(1);
      program.valueDim = value.getDimSize(1);
    } else if (key.getDimSize(0) != program.blockKV) {
      return refuse(step, "blocks of keys differ in size");
    }
    program.loops[matcher.loop] = *loop;
  }
  return program;
}

void tilewright::allocatePacked(AmxProgram &program, scf::ForallOp forall) {
  OpBuilder builder(forall);
  const Location location = forall.getLoc();
  const auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, location, value);
  };
  const auto dim = [&](int64_t dimension) -> Value {
    return memref::DimOp::create(builder, location, program.key, dimension);
  };
  Value blocks = arith::CeilDivSIOp::create(builder, location, dim(2), index(program.blockKV));
  for (auto [low, high] :
       llvm::zip_equal(forall.getMixedLowerBound(), forall.getMixedUpperBound())) {
    Value isNotEmpty =
        arith::CmpIOp::create(builder, location, arith::CmpIPredicate::slt,
                              getValueOrCreateConstantIndexOp(builder, location, low),
                              getValueOrCreateConstantIndexOp(builder, location, high));
    blocks = arith::SelectOp::create(builder, location, isNotEmpty, blocks, index(0));
  }
  const SmallVector<Value> extents = {dim(0), dim(1), blocks};
  const auto allocate = [&](int64_t rows, int64_t columns) -> Value {
    const int64_t any = ShapedType::kDynamic;
    auto type = MemRefType::get({any, any, any, rows, columns}, builder.getBF16Type());
    return memref::AllocOp::create(builder, location, type, extents);
  };
  program.packedValue =
      allocate(program.blockKV / amxDepth * program.valueTiles() * amxRows, amxDepth);
  program.packedKey = allocate(program.blockKV * program.depthTiles(), amxDepth);
}
