//===- KernelDescription.cpp - How a kernel is launched -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/KernelDescription.h"
#include "compiler/Frontend/ParseModule.h"
#include "compiler/Target/Arguments.h"
#include "dialect/SM/SM.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AffineExpr.h"

using namespace tilewright;
using namespace tilewright::ptx;

/// The attribute beside #sm.launch in the comment.
static constexpr llvm::StringLiteral kernelAttribute = "sm.kernel";
static constexpr llvm::StringLiteral commentMark = "// ";

Result<std::string> ptx::describeInComment(mlir::ModuleOp module) {
  mlir::StringAttr name;
  sm::LaunchAttr launch;
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr("nvvm.kernel"))
      continue;
    if (name)
      return unsupported("the module has two kernels, @{} and @{}, and one is expected", name.str(),
                         function.getName().str());
    name = function.getNameAttr();
    launch = function->getAttrOfType<sm::LaunchAttr>(sm::launchAttribute);
    if (!launch)
      return invalidArgument("kernel @{} has no attribute {}", name.str(),
                             sm::launchAttribute.str());
  }
  if (!name)
    return invalidArgument("the module has no kernel, which is an llvm.func with nvvm.kernel");
  std::string text;
  llvm::raw_string_ostream(text) << commentMark << "module attributes {" << kernelAttribute << " = "
                                 << name << ", " << sm::launchAttribute << " = "
                                 << mlir::Attribute(launch) << "} {}\n";
  return text;
}

namespace {
/// Writes one bound of a grid in postfix order.
class FormulaWriter {
public:
  explicit FormulaWriter(sm::LaunchAttr launch) : launch(launch) {}

  Result<SizeFormula> write(mlir::AffineExpr bound) {
    formula.steps.clear();
    add(bound);
    if (formula.steps.size() > maxSteps)
      return unsupported("the grid's bounds are formulas of more than {} steps", maxSteps);
    return formula;
  }

private:
  using Op = SizeFormula::Op;
  /// Equal parts of an expression are one object, and written out they can be many.
  static constexpr size_t maxSteps = 256;

  void add(mlir::AffineExpr expression) {
    if (formula.steps.size() > maxSteps)
      return;
    if (auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expression)) {
      formula.steps.push_back({.op = Op::Constant, .constant = constant.getValue()});
    } else if (auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(expression)) {
      auto extent = mlir::cast<sm::ParameterAttr>(launch.getExtents()[symbol.getPosition()]);
      formula.steps.push_back({.op = Op::Extent,
                               .argument = static_cast<uint32_t>(extent.getArgument()),
                               .dimension = static_cast<uint32_t>(extent.getDetail())});
    } else {
      auto binary = mlir::cast<mlir::AffineBinaryOpExpr>(expression);
      addBinary(binary.getKind(), binary.getLHS(), binary.getRHS());
    }
  }

  void addBinary(mlir::AffineExprKind kind, mlir::AffineExpr left, mlir::AffineExpr right) {
    add(left);
    if (kind == mlir::AffineExprKind::Mod) { // left - left / right * right
      addBinary(mlir::AffineExprKind::FloorDiv, left, right);
      addRight(right, Op::Multiply);
      formula.steps.push_back({.op = Op::Subtract});
      return;
    }
    addRight(right, kind == mlir::AffineExprKind::Add        ? Op::Add
                    : kind == mlir::AffineExprKind::Mul      ? Op::Multiply
                    : kind == mlir::AffineExprKind::FloorDiv ? Op::FloorDiv
                                                             : Op::CeilDiv);
  }

  void addRight(mlir::AffineExpr right, Op op) {
    add(right);
    formula.steps.push_back({.op = op});
  }

  sm::LaunchAttr launch;
  SizeFormula formula;
};

KernelParameter::Kind kindOf(sm::ParameterKind kind) {
  switch (kind) {
  case sm::ParameterKind::Scalar:
    return KernelParameter::Kind::Scalar;
  case sm::ParameterKind::Address:
    return KernelParameter::Kind::Address;
  case sm::ParameterKind::Extent:
    return KernelParameter::Kind::Extent;
  case sm::ParameterKind::Stride:
    return KernelParameter::Kind::Stride;
  case sm::ParameterKind::TensorMap:
    return KernelParameter::Kind::TensorMap;
  }
  llvm_unreachable("all kinds are above");
}
} // namespace

Result<KernelDescription> ptx::readDescription(std::string_view ptx, mlir::MLIRContext &context) {
  llvm::StringRef line = llvm::StringRef(ptx).split('\n').first;
  if (!line.consume_front(commentMark) || !line.starts_with("module"))
    return invalidArgument("the PTX does not say how it is launched: its first line must be the "
                           "comment with {} that stage ptx begins with",
                           sm::launchAttribute.str());
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module = parseModule(line, context);
  if (!module)
    return module.error().within("the PTX's first line");
  auto name = (**module)->getAttrOfType<mlir::StringAttr>(kernelAttribute);
  auto launch = (**module)->getAttrOfType<sm::LaunchAttr>(sm::launchAttribute);
  if (!name || !launch)
    return invalidArgument("the PTX's first line lacks {} or {}", kernelAttribute.str(),
                           sm::launchAttribute.str());

  llvm::SmallVector<llvm::StringRef> names;
  for (auto argument : launch.getNames().getAsRange<mlir::StringAttr>())
    names.push_back(argument.getValue());
  Result<std::vector<KernelArgument>> arguments =
      kernelArguments(name.getValue(), launch.getFunction().getInputs(), names);
  if (!arguments)
    return arguments.error();
  KernelDescription description{.arguments = *std::move(arguments), .launch = {}};
  description.launch.kernel = name.str();
  description.launch.threads = static_cast<uint32_t>(launch.getThreads());
  description.launch.sharedMemory = static_cast<uint32_t>(launch.getSharedMemory());
  for (mlir::AffineExpr bound : launch.getGrid().getResults()) {
    Result<SizeFormula> formula = FormulaWriter(launch).write(bound);
    if (!formula)
      return formula.error();
    description.launch.grid.push_back(*std::move(formula));
  }
  for (auto parameter : launch.getParameters().getAsRange<sm::ParameterAttr>())
    description.launch.parameters.push_back({kindOf(parameter.getKind()),
                                             static_cast<uint32_t>(parameter.getArgument()),
                                             static_cast<uint32_t>(parameter.getDetail())});
  if (launch.getRings())
    for (auto ring : launch.getRings().getAsRange<sm::RingPlaceAttr>())
      description.launch.rings.push_back({.name = ring.getName().str(),
                                          .stages = static_cast<uint32_t>(ring.getStages()),
                                          .stageBytes = static_cast<uint32_t>(ring.getStageBytes()),
                                          .offset = static_cast<uint32_t>(ring.getOffset()),
                                          .barriers = static_cast<uint32_t>(ring.getBarriers())});
  return description;
}
