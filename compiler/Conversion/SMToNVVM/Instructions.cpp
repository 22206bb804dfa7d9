//===- Instructions.cpp - What an sm_90a thread can be told ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one file that includes NVVM's header, which takes longer to compile than
// everything else in this folder.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/SMToNVVM/Instructions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace tilewright;

namespace {
/// Inline PTX that may not be removed or reordered against its like. Gives as many results as
/// `results` has types.
SmallVector<Value> ptx(ImplicitLocOpBuilder &b, TypeRange results, const std::string &text,
                       const std::string &constraints, ValueRange operands) {
  Type type;
  if (results.size() == 1)
    type = results[0];
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(), llvm::to_vector(results));
  auto call =
      LLVM::InlineAsmOp::create(b, type, operands, text, constraints, /*has_side_effects=*/true,
                                /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                /*asm_dialect=*/{}, /*operand_attrs=*/{});
  if (results.empty())
    return {};
  if (results.size() == 1)
    return {call.getRes()};
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, call.getRes(), static_cast<int64_t>(i)));
  return values;
}

std::string registerClass(Type type) {
  return type.isF32() ? "f" : type.isInteger(64) ? "l" : "r";
}

/// An instruction through which registers pass unchanged.
SmallVector<Value> passThrough(ImplicitLocOpBuilder &b, const std::string &text,
                               ValueRange registers) {
  std::vector<std::string> constraints;
  for (Value value : registers)
    constraints.push_back("=" + registerClass(value.getType()));
  for (size_t i = 0; i < registers.size(); ++i)
    constraints.push_back(std::to_string(i));
  constraints.push_back("~{memory}");
  return ptx(b, registers.getTypes(), text, fmt::format("{}", fmt::join(constraints, ",")),
             registers);
}
} // namespace

Value sm90::constant(LocBuilder &b, int64_t value) {
  return arith::ConstantIntOp::create(b, value, 32);
}

Value sm90::hiddenConstant(LocBuilder &b, int64_t value) {
  return fromFirstLane(b, constant(b, value));
}

Value sm90::threadIndex(LocBuilder &b) {
  return NVVM::ThreadIdXOp::create(b, b.getI32Type());
}
Value sm90::blockIndex(LocBuilder &b) {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}

Value sm90::sharedMemoryBase(LocBuilder &b, llvm::StringRef symbol) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value address = LLVM::AddressOfOp::create(b, pointer, symbol);
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), address);
}

Value sm90::fromFirstLane(LocBuilder &b, Value value) {
  return NVVM::ShflOp::create(b, value.getType(), constant(b, -1), value, constant(b, 0),
                              constant(b, 31), NVVM::ShflKind::idx, UnitAttr());
}

Value sm90::exchange(LocBuilder &b, Value value, int mask) {
  return NVVM::ShflOp::create(b, value.getType(), constant(b, -1), value, constant(b, mask),
                              constant(b, 31), NVVM::ShflKind::bfly, UnitAttr());
}

static Value intrinsic(sm90::LocBuilder &b, StringRef name, Value x) {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name), ValueRange{x})
      .getResult(0);
}
Value sm90::exp2(LocBuilder &b, Value x) {
  return intrinsic(b, "llvm.nvvm.ex2.approx.ftz.f", x);
}
Value sm90::log2(LocBuilder &b, Value x) {
  return intrinsic(b, "llvm.nvvm.lg2.approx.ftz.f", x);
}
Value sm90::reciprocal(LocBuilder &b, Value x) {
  return intrinsic(b, "llvm.nvvm.rcp.approx.ftz.f", x);
}

void sm90::blockBarrier(LocBuilder &b) {
  NVVM::BarrierOp::create(b);
}

void sm90::setRegisters(LocBuilder &b, int64_t count, bool increase) {
  NVVM::SetMaxRegisterOp::create(b, static_cast<uint32_t>(count),
                                 increase ? NVVM::SetMaxRegisterAction::increase
                                          : NVVM::SetMaxRegisterAction::decrease);
}

void sm90::warpBarrier(LocBuilder &b) {
  NVVM::SyncWarpOp::create(b, constant(b, -1));
}

void sm90::sharedProxyFence(LocBuilder &b) {
  ptx(b, {}, "fence.proxy.async.shared::cta;", "~{memory}", {});
}

void sm90::storeShared(LocBuilder &b, Value address, Value word) {
  ptx(b, {}, "st.shared.b32 [$0], $1;", "r,r,~{memory}", {address, word});
}

void sm90::barrierInit(LocBuilder &b, Value address, int64_t count) {
  ptx(b, {}, fmt::format("mbarrier.init.shared::cta.b64 [$0], {};", count), "r,~{memory}",
      {address});
}

void sm90::barrierInitFence(LocBuilder &b) {
  NVVM::FenceMbarrierInitOp::create(b);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async, NVVM::SharedSpaceAttr());
}

void sm90::barrierArrive(LocBuilder &b, Value address) {
  ptx(b, {}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", {address});
}

void sm90::barrierArriveFromFirstLane(LocBuilder &b, Value address, Value lane, Value after) {
  std::string text = "{\n.reg .pred p;\nsetp.eq.b32 p, $1, 0;\n";
  std::string constraints = "r,r";
  SmallVector<Value> operands = {address, lane};
  if (after) {
    // A signalling NaN: the comparison is always true, but ptxas cannot know.
    text += "setp.ne.and.b32 p, $2, 0xff800001, p;\n";
    constraints += ",r";
    operands.push_back(arith::BitcastOp::create(b, b.getI32Type(), after));
  }
  ptx(b, {}, text + "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}", constraints + ",~{memory}",
      operands);
}

void sm90::barrierExpect(LocBuilder &b, Value address, int64_t bytes) {
  ptx(b, {}, fmt::format("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], {};", bytes),
      "r,~{memory}", {address});
}

void sm90::barrierWait(LocBuilder &b, Value address, Value parity) {
  ptx(b, {},
      "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n"
      "@p bra DONE;\nbra AGAIN;\nDONE:\n}",
      "r,r,~{memory}", {address, parity});
}

void sm90::copyBox(LocBuilder &b, Value destination, Value tensorMap, Value barrier,
                   ValueRange coordinates) {
  std::vector<std::string> names, constraints = {"r", "l", "r"};
  SmallVector<Value> operands = {destination, tensorMap, barrier};
  for (Value coordinate : coordinates) {
    names.push_back(fmt::format("${}", operands.size()));
    constraints.push_back("r");
    operands.push_back(coordinate);
  }
  constraints.push_back("~{memory}");
  ptx(b, {},
      fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes "
                  "[$0], [$1, {{{}}}], [$2];",
                  coordinates.size(), fmt::join(names, ", ")),
      fmt::format("{}", fmt::join(constraints, ",")), operands);
}

SmallVector<Value> sm90::productFence(LocBuilder &b, ValueRange registers) {
  return passThrough(b, "wgmma.fence.sync.aligned;", registers);
}

SmallVector<Value> sm90::product(LocBuilder &b, int64_t columns, Type element, ValueRange lhs,
                                 Value rhsDescriptor, bool rhsIsColumnsByDepth,
                                 ValueRange accumulator) {
  const size_t results = static_cast<size_t>(columns / 2);
  const bool fromRegisters = lhs.size() == 4;
  size_t next = results;
  std::vector<std::string> destination, left, constraints(results, "=f");
  for (size_t i = 0; i < results; ++i)
    destination.push_back(fmt::format("${}", i));
  SmallVector<Value> operands(lhs);
  for (Value value : lhs) {
    left.push_back(fmt::format("${}", next++));
    constraints.push_back(registerClass(value.getType()));
  }
  operands.push_back(rhsDescriptor);
  const size_t right = next++;
  constraints.push_back("l");
  for (size_t i = 0; i < accumulator.size(); ++i)
    constraints.push_back(std::to_string(i));
  operands.append(accumulator.begin(), accumulator.end());

  const std::string type = element.isBF16() ? "bf16" : "f16";
  // Behind the descriptors: whether to add the accumulator, the operands' signs, and whether each
  // operand in shared memory lies depth by rows (or columns) instead of rows by depth.
  std::string text = fmt::format(
      "{{\n.reg .pred p;\nsetp.ne.b32 p, {}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{{}}}, {}, ${}, p, 1, 1{}, {};\n}}",
      accumulator.empty() ? 0 : 1, columns, type, type, fmt::join(destination, ", "),
      fromRegisters ? fmt::format("{{{}}}", fmt::join(left, ", ")) : left[0], right,
      fromRegisters ? "" : ", 0", rhsIsColumnsByDepth ? 0 : 1);
  SmallVector<Type> types(results, b.getF32Type());
  return ptx(b, types, text, fmt::format("{}", fmt::join(constraints, ",")), operands);
}

void sm90::commitProducts(LocBuilder &b) {
  NVVM::WgmmaGroupSyncAlignedOp::create(b);
}

SmallVector<Value> sm90::waitForProducts(LocBuilder &b, int64_t pending, ValueRange registers) {
  return passThrough(b, fmt::format("wgmma.wait_group.sync.aligned {};", pending), registers);
}
