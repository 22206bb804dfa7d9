//===- VerifyProtocol.cpp - Do the roles of a program fit together? -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Transforms/Passes.h"
#include "dialect/SM/SM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include <map>

namespace tilewright {
#define GEN_PASS_DEF_VERIFYPROTOCOL
#include "compiler/Transforms/Passes.h.inc"
} // namespace tilewright

using namespace mlir;
using namespace tilewright;

namespace {

//===----------------------------------------------------------------------===//
// How often a role goes round a ring
//===----------------------------------------------------------------------===//

/// A polynomial in SSA values with integer coefficients: each key is a product of values. Trip
/// counts of loops are differences of bounds, so two roles that split the same blocks over other
/// loops, or peel the first or the last one, have equal polynomials.
class Count {
public:
  Count() = default;
  explicit Count(int64_t constant) { add({}, constant); }

  /// An integer value, taken apart where it is a sum, a difference or a multiple.
  static Count of(Value value) {
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return Count(constant.getSExtValue());
    if (auto sum = value.getDefiningOp<arith::AddIOp>())
      return of(sum.getLhs()).plus(of(sum.getRhs()), 1);
    if (auto difference = value.getDefiningOp<arith::SubIOp>())
      return of(difference.getLhs()).plus(of(difference.getRhs()), -1);
    if (auto product = value.getDefiningOp<arith::MulIOp>())
      return of(product.getLhs()).times(of(product.getRhs()));
    Count count;
    count.add({value.getAsOpaquePointer()}, 1);
    return count;
  }

  Count plus(const Count &other, int64_t factor) const {
    Count sum = *this;
    for (const auto &[values, coefficient] : other.terms)
      sum.add(values, coefficient * factor);
    return sum;
  }

  Count times(const Count &other) const {
    Count product;
    for (const auto &[left, x] : terms)
      for (const auto &[right, y] : other.terms) {
        Product values = left;
        values.insert(values.end(), right.begin(), right.end());
        llvm::sort(values);
        product.add(values, x * y);
      }
    return product;
  }

  bool isZero() const { return terms.empty(); }
  bool operator==(const Count &) const = default;

private:
  using Product = std::vector<const void *>;

  void add(const Product &values, int64_t coefficient) {
    if ((terms[values] += coefficient) == 0)
      terms.erase(values);
  }

  std::map<Product, int64_t> terms;
};

/// How often `block` takes a stage of `ring`; failure is reported where paths differ.
FailureOr<Count> countTakes(Block &block, sm::CreateRingOp ring) {
  Count count;
  for (Operation &op : block) {
    if (isa<sm::AcquireOp, sm::WaitOp>(op) && op.getOperand(0) == ring.getRing()) {
      count = count.plus(Count(1), 1);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      FailureOr<Count> body = countTakes(*loop.getBody(), ring);
      if (failed(body))
        return failure();
      if (body->isZero())
        continue;
      if (!matchPattern(loop.getStep(), m_One()))
        return loop.emitError() << "loop moves in ring " << ring.getNameAttr()
                                << " with a step that is not 1";
      Count trips = Count::of(loop.getUpperBound()).plus(Count::of(loop.getLowerBound()), -1);
      count = count.plus(trips.times(*body), 1);
    } else if (op.getNumRegions() != 0) {
      std::optional<Count> first;
      for (Region &region : op.getRegions()) {
        FailureOr<Count> path = region.empty() ? Count() : countTakes(region.front(), ring);
        if (failed(path))
          return failure();
        if (first && !(*first == *path))
          return op.emitError() << "one path moves in ring " << ring.getNameAttr()
                                << " more often than another";
        first = *path;
      }
      count = count.plus(*first, 1);
    }
  }
  return count;
}

//===----------------------------------------------------------------------===//
// The checks
//===----------------------------------------------------------------------===//

StringAttr nameOf(Operation *role) {
  return role->getAttrOfType<StringAttr>("name");
}

LogicalResult verifyRing(sm::GridOp grid, sm::CreateRingOp ring) {
  SmallVector<Operation *> producers, consumers;
  int64_t warps = 0;
  for (Operation &role : grid.getBody().front()) {
    if (!isa<sm::ProducerOp, sm::ConsumersOp>(role))
      continue;
    bool takes = false;
    role.walk([&](Operation *op) {
      takes |= isa<sm::AcquireOp, sm::WaitOp>(op) && op->getOperand(0) == ring.getRing();
    });
    if (!takes)
      continue;
    if (isa<sm::ProducerOp>(role))
      producers.push_back(&role);
    else
      consumers.push_back(&role);
    if (auto group = dyn_cast<sm::ConsumersOp>(role))
      warps += static_cast<int64_t>(group.getWarpgroups()) * sm::warpgroupWarps;
  }
  if (producers.size() != 1)
    return ring.emitError() << "ring " << ring.getNameAttr() << " has " << producers.size()
                            << " producers; it takes one";
  if (consumers.empty())
    return ring.emitError() << "nobody reads ring " << ring.getNameAttr();
  if (static_cast<int64_t>(ring.getArrivals()) != warps)
    return ring.emitError() << "ring " << ring.getNameAttr() << " waits for " << ring.getArrivals()
                            << " warps to release a stage, but " << warps << " do";
  FailureOr<Count> filled = countTakes(producers[0]->getRegion(0).front(), ring);
  if (failed(filled))
    return failure();
  for (Operation *role : consumers) {
    FailureOr<Count> read = countTakes(role->getRegion(0).front(), ring);
    if (failed(read))
      return failure();
    if (!(*read == *filled))
      return role->emitError() << "consumers " << nameOf(role) << " and producer "
                               << nameOf(producers[0]) << " go round ring " << ring.getNameAttr()
                               << " a different number of times";
  }
  return success();
}

/// Taken and given once, in one block of code.
template <typename Give> LogicalResult verifyGivenOnce(Operation *take, StringRef verb) {
  SmallVector<Operation *> gives;
  for (Operation *user : take->getResult(0).getUsers())
    if (isa<Give>(user))
      gives.push_back(user);
  if (gives.size() != 1)
    return take->emitError() << "stage is " << verb << " " << gives.size() << " times, not once";
  if (gives[0]->getBlock() != take->getBlock())
    return gives[0]->emitError() << "stage is " << verb
                                 << " in another block of code than it was taken in";
  return success();
}

LogicalResult verifyAcquire(sm::AcquireOp take) {
  if (failed(verifyGivenOnce<sm::CommitOp>(take, "committed")))
    return failure();
  SmallVector<sm::CopyOp> copies;
  Operation *commit = nullptr;
  for (Operation *user : take.getStage().getUsers()) {
    if (auto copy = dyn_cast<sm::CopyOp>(user))
      copies.push_back(copy);
    else if (isa<sm::CommitOp>(user))
      commit = user;
  }
  if (copies.size() != 1)
    return take.emitError() << "stage is filled by " << copies.size() << " copies, not one";
  if (copies[0]->getBlock() != commit->getBlock() || !copies[0]->isBeforeInBlock(commit))
    return copies[0].emitError() << "stage is filled after it was committed";
  return success();
}

/// Whether some wait between the product and `before` covers it; later products complete later.
bool isAwaited(sm::MmaOp mma, Operation *before) {
  for (Operation *op = mma->getNextNode(); op && op != before; op = op->getNextNode())
    if (auto await = dyn_cast<sm::AwaitOp>(op)) {
      Operation *product = await.getProduct().getDefiningOp();
      if (product == mma || mma->isBeforeInBlock(product))
        return true;
    }
  return false;
}

LogicalResult verifyWait(sm::WaitOp take) {
  if (failed(verifyGivenOnce<sm::ReleaseOp>(take, "released")))
    return failure();
  Operation *release = nullptr;
  for (Operation *user : take.getStage().getUsers())
    if (isa<sm::ReleaseOp>(user))
      release = user;
  for (Operation *user : take.getStage().getUsers()) {
    auto mma = dyn_cast<sm::MmaOp>(user);
    if (!mma)
      continue;
    Operation *here = release->getBlock()->findAncestorOpInBlock(*mma);
    if (!here || !here->isBeforeInBlock(release))
      return mma.emitError() << "product reads a stage that was released before";
    if (here == mma && !isAwaited(mma, release))
      return release->emitError() << "stage is released while a product that reads it is in flight";
  }
  return success();
}

LogicalResult verifyProduct(sm::MmaOp mma) {
  SmallVector<Operation *> users(mma.getResult().getUsers());
  if (users.size() != 1)
    return mma.emitError() << "product is awaited " << users.size() << " times, not once";
  for (Operation *parent = mma->getParentOp(); parent; parent = parent->getParentOp())
    if (isa<scf::IfOp>(parent))
      return mma.emitError() << "product is under a condition";
  for (Operation *op = mma->getNextNode(); op != users[0]; op = op->getNextNode()) {
    WalkResult touched = op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (isa<RankedTensorType>(operand.getType()) &&
            (operand == mma.getLhs() || operand == mma.getAccumulator()))
          return inner->emitError() << "touches an operand of a product in flight",
                 WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (touched.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult verifyBudgets(sm::GridOp grid) {
  SmallVector<sm::ProducerOp> producers(grid.getBody().getOps<sm::ProducerOp>());
  if (producers.size() > static_cast<size_t>(sm::warpgroupWarps))
    return grid.emitError() << "has " << producers.size() << " producers; a warpgroup has "
                            << sm::warpgroupWarps << " warps";
  int64_t warpgroups = 0, sum = 0;
  auto verifyRegisters = [](Operation *role, int64_t registers) -> LogicalResult {
    if (registers < 24 || registers > 256 || registers % 8 != 0)
      return role->emitError() << "role " << nameOf(role) << " asks for " << registers
                               << " registers a thread; the choice is 24 to 256 in steps of 8";
    return success();
  };
  for (sm::ProducerOp role : producers) {
    if (failed(verifyRegisters(role, role.getRegisters())))
      return failure();
    if (role.getRegisters() != producers[0].getRegisters())
      return role.emitError() << "producers share a warpgroup and its registers, but "
                              << role.getNameAttr() << " asks for " << role.getRegisters()
                              << " and " << producers[0].getNameAttr() << " for "
                              << producers[0].getRegisters();
  }
  if (!producers.empty()) {
    warpgroups = 1;
    sum = producers[0].getRegisters();
  }
  for (auto role : grid.getBody().getOps<sm::ConsumersOp>()) {
    if (failed(verifyRegisters(role, role.getRegisters())))
      return failure();
    warpgroups += role.getWarpgroups();
    sum += role.getRegisters() * role.getWarpgroups();
  }
  const int64_t threads = warpgroups * sm::warpgroupThreads;
  if (threads > sm::maxThreads)
    return grid.emitError() << "has " << threads << " threads, a block takes " << sm::maxThreads;
  if (threads == 0)
    return grid.emitError() << "has no roles";
  const int64_t atLaunch = sm::registersAtLaunch(warpgroups);
  if (sum > atLaunch * warpgroups)
    return grid.emitError() << "roles ask for " << sum * sm::warpgroupThreads
                            << " registers, a launch of " << threads << " threads has "
                            << atLaunch * threads;
  if (grid.getSharedMemory().value_or(0) > sm::maxSharedMemory)
    return grid.emitError() << "needs " << *grid.getSharedMemory()
                            << " bytes of shared memory, a block has " << sm::maxSharedMemory;
  return success();
}

LogicalResult verifyGrid(sm::GridOp grid) {
  if (failed(verifyBudgets(grid)))
    return failure();
  WalkResult ops = grid.walk([](Operation *op) {
    LogicalResult verified = success();
    if (auto take = dyn_cast<sm::AcquireOp>(op))
      verified = verifyAcquire(take);
    else if (auto take = dyn_cast<sm::WaitOp>(op))
      verified = verifyWait(take);
    else if (auto mma = dyn_cast<sm::MmaOp>(op))
      verified = verifyProduct(mma);
    return succeeded(verified) ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (ops.wasInterrupted())
    return failure();
  for (auto ring : grid.getBody().getOps<sm::CreateRingOp>())
    if (failed(verifyRing(grid, ring)))
      return failure();
  return success();
}

struct VerifyProtocol : tilewright::impl::VerifyProtocolBase<VerifyProtocol> {
  void runOnOperation() override {
    if (failed(verifyProtocol(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

LogicalResult tilewright::verifyProtocol(Operation *module) {
  WalkResult verified = module->walk([](sm::GridOp grid) {
    return succeeded(verifyGrid(grid)) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(verified.wasInterrupted());
}
