//===- AttnForward.cpp - Rules and canonical form of attn.forward ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attn/Attn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilewright::attn;

SmallVector<Type> ForwardOp::getMaskArgumentTypes() {
  return SmallVector<Type>(NumPositions, IntegerType::get(getContext(), 32));
}

SmallVector<Type> ForwardOp::getScoreArgumentTypes() {
  SmallVector<Type> types = getMaskArgumentTypes();
  types.insert(types.begin(), getRealType());
  return types;
}

namespace {
struct NamedTensor {
  StringRef name;
  MemRefType type;
};
} // namespace

static LogicalResult verifyLayout(ForwardOp op, NamedTensor tensor) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(tensor.type.getStridesAndOffset(strides, offset)))
    return op.emitOpError() << tensor.name << " has a layout that is not strided: " << tensor.type;
  if (strides.back() != 1)
    return op.emitOpError() << tensor.name << " must have an innermost stride of 1, not "
                            << (ShapedType::isDynamic(strides.back())
                                    ? std::string("a dynamic one")
                                    : std::to_string(strides.back()));
  return success();
}

/// Two extents that must be equal at run time are not known to differ.
static LogicalResult verifySameExtent(ForwardOp op, NamedTensor a, NamedTensor b, unsigned dim,
                                      StringRef what) {
  const int64_t x = a.type.getDimSize(dim), y = b.type.getDimSize(dim);
  if (ShapedType::isDynamic(x) || ShapedType::isDynamic(y) || x == y)
    return success();
  return op.emitOpError() << a.name << " and " << b.name << " differ in " << what << ": " << x
                          << " and " << y;
}

static LogicalResult verifyWidth(ForwardOp op, NamedTensor tensor) {
  const int64_t width = tensor.type.getDimSize(3);
  if (ShapedType::isDynamic(width))
    return op.emitOpError() << tensor.name << " must have a static head dim";
  if (width < 1)
    return op.emitOpError() << tensor.name << " has head dim " << width << "; it must be positive";
  return success();
}

LogicalResult ForwardOp::verify() {
  const NamedTensor query{"query", getQuery().getType()}, key{"key", getKey().getType()},
      value{"value", getValue().getType()}, out{"out", getOut().getType()};
  const Type dtype = query.type.getElementType();

  for (NamedTensor tensor : {query, key, value, out})
    if (failed(verifyLayout(*this, tensor)) || failed(verifyWidth(*this, tensor)))
      return failure();
  for (NamedTensor tensor : {key, value})
    if (tensor.type.getElementType() != dtype)
      return emitOpError() << tensor.name << " is " << tensor.type.getElementType()
                           << " but query is " << dtype;
  if (query.type.getDimSize(3) != key.type.getDimSize(3))
    return emitOpError() << "query and key differ in head dim: " << query.type.getDimSize(3)
                         << " and " << key.type.getDimSize(3);
  if (value.type.getDimSize(3) != out.type.getDimSize(3))
    return emitOpError() << "value and out differ in head dim: " << value.type.getDimSize(3)
                         << " and " << out.type.getDimSize(3);
  if (failed(verifySameExtent(*this, query, key, 0, "batch")) ||
      failed(verifySameExtent(*this, query, value, 0, "batch")) ||
      failed(verifySameExtent(*this, query, out, 0, "batch")) ||
      failed(verifySameExtent(*this, query, out, 1, "heads")) ||
      failed(verifySameExtent(*this, query, out, 2, "length")) ||
      failed(verifySameExtent(*this, key, value, 1, "heads")) ||
      failed(verifySameExtent(*this, key, value, 2, "length")))
    return failure();
  const int64_t heads = query.type.getDimSize(1), keyHeads = key.type.getDimSize(1);
  if (!ShapedType::isDynamic(heads) && !ShapedType::isDynamic(keyHeads) &&
      (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0))
    return emitOpError() << "query heads (" << heads << ") must be a multiple of key heads ("
                         << keyHeads << ")";

  const Type real = dtype.isF64() ? dtype : Type(Float32Type::get(getContext()));
  if (getRealType() != real)
    return emitOpError() << "scale is " << getRealType() << " but a problem in " << dtype
                         << " computes in " << real;
  if (out.type.getElementType() != dtype && out.type.getElementType() != real)
    return emitOpError() << "out is " << out.type.getElementType() << "; it must be " << dtype
                         << " or " << real;
  if (!getLse())
    return success();
  const NamedTensor lse{"lse", getLse().getType()};
  if (lse.type.getElementType() != real)
    return emitOpError() << "lse is " << lse.type.getElementType() << "; it must be " << real;
  if (failed(verifyLayout(*this, lse)))
    return failure();
  if (failed(verifySameExtent(*this, query, lse, 0, "batch")) ||
      failed(verifySameExtent(*this, query, lse, 1, "heads")) ||
      failed(verifySameExtent(*this, query, lse, 2, "length")))
    return failure();
  return success();
}

/// Scalar code without side effects and without undefined results, which has a counterpart in the
/// expression language. Divisions of arith are missing on purpose: they are undefined for zero.
static bool isScoreOrMaskCode(Operation *op) {
  return isa<YieldOp, ElementOp, FloorDivOp, FloorModOp, arith::ConstantOp, arith::AddIOp,
             arith::SubIOp, arith::MulIOp, arith::CmpIOp, arith::CmpFOp, arith::SelectOp,
             arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp,
             arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::NegFOp,
             arith::MinimumFOp, arith::MaximumFOp, arith::SIToFPOp, arith::ExtFOp, arith::ExtSIOp,
             arith::ExtUIOp, math::AbsFOp, math::AbsIOp, math::ExpOp, math::Exp2Op, math::LogOp,
             math::Log2Op, math::TanhOp, math::SqrtOp, math::FloorOp>(op);
}

static LogicalResult verifyRegion(ForwardOp op, Region &region, StringRef name,
                                  TypeRange argumentTypes, Type resultType) {
  if (region.empty())
    return success();
  Block &body = region.front();
  if (TypeRange(body.getArgumentTypes()) != argumentTypes) {
    InFlightDiagnostic diagnostic = op.emitOpError() << name << " region must have the arguments (";
    llvm::interleaveComma(argumentTypes, diagnostic);
    diagnostic << "), not (";
    llvm::interleaveComma(body.getArgumentTypes(), diagnostic);
    return diagnostic << ")";
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getValue().getType() != resultType)
    return op.emitOpError() << name << " region must end in attn.yield of " << resultType;
  auto isScalar = [](Type type) { return type.isIntOrFloat(); };
  for (Operation &inner : body)
    if (!isScoreOrMaskCode(&inner) || !llvm::all_of(inner.getResultTypes(), isScalar))
      return inner.emitOpError() << "is not allowed in a " << name
                                 << " region: it holds scalar arith and math, attn.floor_div, "
                                    "attn.floor_mod and attn.element";
  return success();
}

LogicalResult ForwardOp::verifyRegions() {
  if (failed(verifyRegion(*this, getScore(), "score", getScoreArgumentTypes(), getRealType())))
    return failure();
  return verifyRegion(*this, getMask(), "mask", getMaskArgumentTypes(),
                      IntegerType::get(getContext(), 1));
}

/// A mask that keeps everything and a score function that changes nothing are no mask and no
/// function; later passes need not look for them.
LogicalResult ForwardOp::canonicalize(ForwardOp op, PatternRewriter &rewriter) {
  auto yielded = [](Region &region) {
    return cast<YieldOp>(region.front().getTerminator()).getValue();
  };
  auto drop = [&](Region &region) {
    rewriter.modifyOpInPlace(op, [&] {
      for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(region.front())))
        rewriter.eraseOp(&inner);
      rewriter.eraseBlock(&region.front());
    });
    return success();
  };
  if (!op.getMask().empty() && matchPattern(yielded(op.getMask()), m_One()))
    return drop(op.getMask());
  if (!op.getScore().empty() && yielded(op.getScore()) == op.getScore().getArgument(0))
    return drop(op.getScore());
  return failure();
}
