//===- PrintModule.cpp - MLIR as text for people --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/PrintModule.h"

#include "dialect/Attn/Attn.h"
#include "lib/Expression/Declarations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilewright;

static void name(BlockArgument argument, StringRef name) {
  argument.setLoc(NameLoc::get(StringAttr::get(argument.getContext(), name)));
}

static void nameRegionArguments(Region &region, expression::Variable first) {
  if (region.empty())
    return;
  auto variable = static_cast<size_t>(first);
  for (BlockArgument argument : region.getArguments())
    name(argument, expression::nameOf(static_cast<expression::Variable>(variable++)));
}

std::string tilewright::printModule(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto forward = dyn_cast<attn::ForwardOp>(op)) {
      nameRegionArguments(forward.getScore(), expression::Variable::S);
      nameRegionArguments(forward.getMask(), expression::Variable::B);
    }
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function || function.isExternal())
      return;
    for (BlockArgument argument : function.getArguments())
      if (auto known =
              function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::nameAttribute))
        name(argument, known.getValue());
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().printNameLocAsPrefix());
  stream << '\n';
  return text;
}
