//===- BlockMap.cpp - Which blocks a kernel visits ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Explain/BlockMap.h"

#include "compiler/Frontend/ParseModule.h"
#include "compiler/Pipelines/Register.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/Attn/Attn.h"
#include "dialect/Tile/Tile.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace tilewright;

int64_t BlockMap::full() const {
  int64_t count = 0;
  for (const BlockRow &row : rows)
    count += row.fullEnd - row.fullBegin;
  return count;
}

int64_t BlockMap::partial() const {
  int64_t count = 0;
  for (const BlockRow &row : rows)
    count += (row.fullBegin - row.begin) + (row.end - row.fullEnd);
  return count;
}

int64_t BlockMap::skipped() const {
  return static_cast<int64_t>(rows.size()) * keyBlocks - full() - partial();
}

namespace {

/// Evaluates straight-line code on constants by each op's own fold. What does not fold has no
/// value, which matters only if the result depends on it.
class Folder {
public:
  void set(Value value, Attribute constant) { constants[value] = constant; }

  std::optional<int64_t> get(Value value) const {
    auto number = dyn_cast_or_null<IntegerAttr>(constants.lookup(value));
    return number ? std::optional(number.getInt()) : std::nullopt;
  }

  void fold(Operation *op) {
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands())
      operands.push_back(constants.lookup(operand));
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.size() != op->getNumResults())
      return;
    for (auto [result, folded] : llvm::zip_equal(op->getResults(), results)) {
      if (auto constant = dyn_cast<Attribute>(folded))
        constants[result] = constant;
      else if (Attribute constant = constants.lookup(cast<Value>(folded)))
        constants[result] = constant;
    }
  }

private:
  DenseMap<Value, Attribute> constants;
};

/// The program with its block ranges written out, and where they are.
struct Program {
  func::FuncOp function;
  scf::ForallOp grid;
  /// Holds the four numbers as operands, in the order of the op's results.
  Operation *ranges;
  int64_t blockKV;
};

std::string nameOfArgument(func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, attn::nameAttribute);
  return name ? name.str() : std::string();
}

/// The extents of the launch and the values of its scalars, for the function's arguments.
void bindArguments(Folder &folder, func::FuncOp function, const ProblemSizes &sizes,
                   const std::map<std::string, double, std::less<>> &scalars) {
  const std::map<std::string, std::array<int64_t, 3>, std::less<>> extents = {
      {"query", {sizes.batch, sizes.heads, sizes.queryLength}},
      {"out", {sizes.batch, sizes.heads, sizes.queryLength}},
      {"lse", {sizes.batch, sizes.heads, sizes.queryLength}},
      // One head for each of keys: the map is that of a head.
      {"key", {sizes.batch, sizes.heads, sizes.keyLength}},
      {"value", {sizes.batch, sizes.heads, sizes.keyLength}}};
  Builder builder(function.getContext());
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    const std::string name = nameOfArgument(function, index);
    if (auto scalar = scalars.find(name);
        scalar != scalars.end() && argument.getType().isInteger(32))
      folder.set(argument, builder.getI32IntegerAttr(static_cast<int32_t>(scalar->second)));
    auto shape = extents.find(name);
    if (shape == extents.end())
      continue;
    for (Operation *user : argument.getUsers()) {
      auto dim = dyn_cast<memref::DimOp>(user);
      std::optional<int64_t> dimension = dim ? dim.getConstantIndex() : std::nullopt;
      if (dimension && *dimension >= 0 && *dimension < 3)
        folder.set(dim.getResult(), builder.getIndexAttr(shape->second[*dimension]));
    }
  }
}

/// Folds all that precedes `end` in its block.
void foldUpTo(Folder &folder, Operation *end) {
  for (Operation &op : *end->getBlock()) {
    if (&op == end)
      return;
    if (op.getNumRegions() == 0)
      folder.fold(&op);
  }
}

} // namespace

Result<BlockMap>
tilewright::computeBlockMap(std::string_view tileText, const ProblemSizes &sizes,
                            const std::map<std::string, double, std::less<>> &scalars) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  Result<OwningOpRef<ModuleOp>> module = parseModule(tileText, context);
  if (!module)
    return module.error();

  SmallVector<Program> programs;
  BlockMap map;
  OpBuilder builder(&context);
  WalkResult walk = (*module)->walk([&](tile::BlockRangesOp op) {
    auto grid = dyn_cast<scf::ForallOp>(op->getParentOp());
    if (!grid || grid.getRank() == 0 || !isa<func::FuncOp>(grid->getParentOp()))
      return WalkResult::interrupt();
    builder.setInsertionPointAfter(op);
    programs.push_back({cast<func::FuncOp>(grid->getParentOp()), grid,
                        UnrealizedConversionCastOp::create(builder, op.getLoc(),
                                                           builder.getI1Type(), op->getResults()),
                        static_cast<int64_t>(op.getBlockKv())});
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return unsupported("tile.block_ranges is not directly within the scf.forall of a function");
  if (programs.empty())
    return unsupported("the program has no tile.block_ranges; a block map is made of one");

  PassManager passes(&context);
  passes.addPass(createExpandBlockRanges());
  if (failed(passes.run(**module)))
    return internalError("the block ranges of the program could not be expanded");

  // Of several programs, these lengths give only one any blocks of queries.
  Program program = programs.front();
  Folder common;
  std::optional<int64_t> queryBlocks;
  for (Program &candidate : programs) {
    Folder folder;
    bindArguments(folder, candidate.function, sizes, scalars);
    foldUpTo(folder, candidate.grid);
    std::optional<int64_t> count = folder.get(candidate.grid.getDynamicUpperBound().back());
    if (!count)
      return unsupported("the number of query blocks depends on more than extents and scalars");
    if (queryBlocks.value_or(0) > 0)
      continue;
    program = candidate;
    common = std::move(folder);
    queryBlocks = count;
  }
  program.grid.walk(
      [&](tile::StoreOp store) { map.blockQ = store.getValue().getType().getDimSize(0); });
  map.blockKV = program.blockKV;
  map.keyBlocks = (sizes.keyLength + map.blockKV - 1) / map.blockKV;
  if (*queryBlocks > maxBlockRows)
    return unsupported("{} queries are {} blocks; at most {} are counted", sizes.queryLength,
                       *queryBlocks, maxBlockRows);
  for (int64_t block = 0; block < *queryBlocks; ++block) {
    Folder folder = common;
    for (Value position : program.grid.getInductionVars())
      folder.set(position, builder.getIndexAttr(0));
    folder.set(program.grid.getInductionVars().back(), builder.getIndexAttr(block));
    foldUpTo(folder, program.ranges);
    std::array<int64_t, 4> numbers;
    for (auto [number, value] : llvm::zip_equal(numbers, program.ranges->getOperands())) {
      std::optional<int64_t> folded = folder.get(value);
      if (!folded)
        return unsupported("the block ranges depend on more than extents and scalars");
      number = *folded;
    }
    map.rows.push_back({numbers[0], numbers[1], numbers[2], numbers[3]});
  }
  return map;
}
