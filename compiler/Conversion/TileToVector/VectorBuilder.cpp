//===- VectorBuilder.cpp - Emission of explicit vector code ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/TileToVector/VectorBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilewright;

VectorBuilder::VectorBuilder(Location location, Block *entry, VectorShape shape)
    : ImplicitLocOpBuilder(location, location.getContext()), shape(shape), entry(entry) {
  setInsertionPointToEnd(entry);
}

VectorType VectorBuilder::vectorOf(Type element) {
  return VectorType::get({shape.lanes}, element);
}

template <typename Make> Value VectorBuilder::inPrologue(Make make) {
  InsertionGuard guard(*this);
  if (lastPrologue)
    setInsertionPointAfter(lastPrologue);
  else
    setInsertionPointToStart(entry);
  Value value = make();
  lastPrologue = value.getDefiningOp();
  return value;
}

Value VectorBuilder::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known)
    known = inPrologue([&]() -> Value { return arith::ConstantOp::create(*this, value); });
  return known;
}

Value VectorBuilder::index(int64_t value) {
  return constant(getIndexAttr(value));
}

static TypedAttr splat(Type type, TypedAttr scalar) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? cast<TypedAttr>(DenseElementsAttr::get(vector, Attribute(scalar))) : scalar;
}

Value VectorBuilder::real(Type type, double value) {
  return constant(splat(type, getFloatAttr(getElementTypeOrSelf(type), value)));
}

Value VectorBuilder::integer(Type type, int64_t value) {
  return constant(splat(type, getIntegerAttr(getElementTypeOrSelf(type), value)));
}

Value VectorBuilder::pinned(Value constant) {
  auto type = cast<VectorType>(constant.getType());
  Value &place = pinnedConstants[constant];
  if (!place) {
    place = allocate(MemRefType::get(type.getShape(), type.getElementType()));
    Value start = index(0);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointAfter(lastPrologue);
    lastPrologue = vector::StoreOp::create(*this, constant, place, start);
  }
  return vector::LoadOp::create(*this, type, place, index(0));
}

static LLVM::InlineAsmOp emptyAsm(VectorBuilder &b, TypeRange results, ValueRange operands,
                                  StringRef constraints, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(b, results, operands, "", constraints, hasSideEffects,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr{}, ArrayAttr{});
}

void VectorBuilder::barrier() {
  emptyAsm(*this, {}, {}, "~{memory}", /*hasSideEffects=*/true);
}

Value VectorBuilder::forget(Value index) {
  if (getConstantIntValue(index))
    return index;
  Value number = arith::IndexCastOp::create(*this, getI64Type(), index);
  // Any register, the same before and after.
  number = emptyAsm(*this, number.getType(), number, "=r,0", /*hasSideEffects=*/false).getResult(0);
  return arith::IndexCastOp::create(*this, getIndexType(), number);
}

Value VectorBuilder::allocate(MemRefType type) {
  return inPrologue([&]() -> Value {
    return memref::AllocaOp::create(*this, type, ValueRange{}, getI64IntegerAttr(64));
  });
}

Value VectorBuilder::offset(Value value, int64_t distance) {
  if (distance == 0)
    return value;
  if (std::optional<int64_t> known = getConstantIntValue(value))
    return index(*known + distance);
  return arith::AddIOp::create(*this, value, index(distance));
}

Value VectorBuilder::broadcast(Value scalar) {
  return vector::BroadcastOp::create(*this, vectorOf(scalar.getType()), scalar);
}

Value VectorBuilder::lanesBelow(Value count) {
  const Type i32 = getI32Type();
  count = arith::MinSIOp::create(*this, count, index(shape.lanes));
  const auto lanes = llvm::to_vector(llvm::seq<int32_t>(0, shape.lanes));
  Value numbers = constant(DenseElementsAttr::get(vectorOf(i32), ArrayRef<int32_t>(lanes)));
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, numbers,
                               broadcast(arith::IndexCastOp::create(*this, i32, count)));
}

Value VectorBuilder::load(Value buffer, Value row, Value lane) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  return vector::LoadOp::create(*this, vectorOf(element), buffer, ValueRange{row, lane});
}

void VectorBuilder::store(Value vector, Value buffer, Value row, Value lane) {
  vector::StoreOp::create(*this, vector, buffer, ValueRange{row, lane});
}

Value VectorBuilder::slice(Value buffer, Value first) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 2)
    return buffer;
  const int64_t columns = type.getDimSize(1), width = type.getDimSize(2);
  // The groups before hold `first` queries.
  Value offset = arith::MulIOp::create(*this, first, index(columns));
  auto part =
      MemRefType::get({columns, width}, type.getElementType(),
                      StridedLayoutAttr::get(getContext(), ShapedType::kDynamic, {width, 1}));
  return memref::ReinterpretCastOp::create(
      *this, part, buffer, OpFoldResult(offset),
      ArrayRef<OpFoldResult>{getIndexAttr(columns), getIndexAttr(width)},
      ArrayRef<OpFoldResult>{getIndexAttr(width), getIndexAttr(1)});
}

Value VectorBuilder::window(Value tensor, Value row, Value column, int64_t rows, int64_t columns) {
  auto parts = memref::ExtractStridedMetadataOp::create(*this, tensor);
  Value start = arith::MulIOp::create(*this, row, parts.getStrides()[0]);
  start = arith::AddIOp::create(*this, parts.getOffset(), start);
  start = arith::AddIOp::create(*this, start, column);
  const int64_t any = ShapedType::kDynamic;
  auto type = MemRefType::get({rows, columns}, cast<MemRefType>(tensor.getType()).getElementType(),
                              StridedLayoutAttr::get(getContext(), any, {any, 1}));
  return memref::ReinterpretCastOp::create(
      *this, type, parts.getBaseBuffer(), OpFoldResult(start),
      ArrayRef<OpFoldResult>{getIndexAttr(rows), getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{parts.getStrides()[0], getIndexAttr(1)});
}

Value VectorBuilder::add(Value a, Value b) {
  return arith::AddFOp::create(*this, a, b);
}
Value VectorBuilder::subtract(Value a, Value b) {
  return arith::SubFOp::create(*this, a, b);
}
Value VectorBuilder::multiply(Value a, Value b) {
  return arith::MulFOp::create(*this, a, b);
}

Value VectorBuilder::multiplyAdd(Value a, Value b, Value c) {
  if (shape.fusedMultiplyAdd)
    return vector::FMAOp::create(*this, a, b, c);
  Value product = arith::MulFOp::create(*this, a, b, arith::FastMathFlags::contract);
  return arith::AddFOp::create(*this, product, c, arith::FastMathFlags::contract);
}

Value VectorBuilder::choose(arith::CmpFPredicate predicate, Value a, Value b, Value then,
                            Value otherwise) {
  Value condition = arith::CmpFOp::create(*this, predicate, a, b);
  return arith::SelectOp::create(*this, condition, then, otherwise);
}

Value VectorBuilder::maximum(Value a, Value b) {
  return choose(arith::CmpFPredicate::OGT, a, b, a, b);
}

Value VectorBuilder::widen(Value value, Type element) {
  const Type from = getElementTypeOrSelf(value);
  if (from == element)
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  const auto shaped = [&](Type type) -> Type { return vector ? vector.clone(type) : type; };
  if (!from.isBF16())
    return arith::ExtFOp::create(*this, shaped(element), value);
  // The upper half of the f32 is the bf16.
  Value bits = arith::BitcastOp::create(*this, shaped(getI16Type()), value);
  bits = arith::ExtUIOp::create(*this, shaped(getI32Type()), bits);
  bits = arith::ShLIOp::create(*this, bits, integer(bits.getType(), 16));
  return widen(arith::BitcastOp::create(*this, shaped(getF32Type()), bits), element);
}

SmallVector<Value> VectorBuilder::loop(Value low, Value high, int64_t step, ValueRange carried,
                                       Body body) {
  auto loop = scf::ForOp::create(*this, low, high, index(step), carried);
  InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(*this, results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void VectorBuilder::loop(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  loop(low, high, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>{};
  });
}

void VectorBuilder::branch(Value condition, function_ref<void()> then,
                           function_ref<void()> otherwise) {
  auto branch =
      scf::IfOp::create(*this, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

void VectorBuilder::forEachGroup(int64_t queries, function_ref<void(QueryGroup)> body, Value used) {
  const int64_t padded = shape.padded(queries), width = shape.vectors * shape.lanes;
  const int64_t whole = padded / width * width;
  const auto run = [&](Value first, int64_t vectors) {
    body(shape.restsInGroups ? QueryGroup{first, index(0), vectors}
                             : QueryGroup{index(0), first, vectors});
  };
  if (whole == width)
    run(index(0), shape.vectors);
  else if (whole > 0)
    loop(index(0), used ? arith::MinSIOp::create(*this, used, index(whole)) : index(whole), width,
         [&](Value first) { run(first, shape.vectors); });
  if (whole == padded)
    return;
  const auto rest = [&] { run(index(whole), (padded - whole) / shape.lanes); };
  if (whole == 0 || !used)
    return rest();
  branch(arith::CmpIOp::create(*this, arith::CmpIPredicate::sgt, used, index(whole)), rest);
}

void VectorBuilder::forEachVector(int64_t queries, function_ref<void(Value, Value)> body,
                                  Value used) {
  const int64_t padded = shape.padded(queries), width = shape.groupWidth(queries);
  Value end = index(padded);
  if (used)
    end = arith::MinSIOp::create(*this, used, end);
  if (width == padded)
    return loop(index(0), end, shape.lanes, [&](Value lane) { body(index(0), lane); });
  loop(index(0), end, width, [&](Value first) {
    loop(index(0), index(width), shape.lanes, [&](Value lane) { body(first, lane); });
  });
}
