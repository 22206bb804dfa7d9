//===- PtxKernel.cpp - What a launch of a kernel needs to know ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/PTX/PtxKernel.h"
#include "dialect/SM/SM.h"
#include "lib/Support/MakeError.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace tilewright;

Result<std::vector<PtxKernel>> tilewright::kernelsOf(mlir::ModuleOp module) {
  std::vector<PtxKernel> kernels;
  for (auto function : module.getOps<mlir::LLVM::LLVMFuncOp>()) {
    if (!function->hasAttr("nvvm.kernel"))
      continue;
    auto threads = function->getAttrOfType<mlir::DenseI32ArrayAttr>("nvvm.reqntid");
    auto shared = function->getAttrOfType<mlir::IntegerAttr>(sm::sharedMemoryAttribute);
    auto parameters = function->getAttrOfType<mlir::ArrayAttr>(sm::parametersAttribute);
    if (!threads || threads.size() != 3 || !shared || !parameters)
      return invalidArgument("kernel {} lacks nvvm.reqntid, {} or {}", function.getName().str(),
                             sm::sharedMemoryAttribute.str(), sm::parametersAttribute.str());
    PtxKernel kernel{.name = function.getName().str(),
                     .threads = threads[0],
                     .sharedMemory = shared.getInt(),
                     .parameters = {}};
    for (mlir::Attribute attribute : parameters) {
      auto parameter = mlir::dyn_cast<sm::ParameterAttr>(attribute);
      if (!parameter)
        return invalidArgument("kernel {} has a parameter that is no #sm.parameter", kernel.name);
      kernel.parameters.push_back({sm::stringifyParameterKind(parameter.getKind()).str(),
                                   parameter.getArgument(), parameter.getDetail()});
    }
    if (kernel.parameters.size() != function.getNumArguments())
      return invalidArgument("kernel {} has {} parameters and describes {}", kernel.name,
                             function.getNumArguments(), kernel.parameters.size());
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::string tilewright::toJson(const PtxKernel &kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attribute("name", kernel.name);
    json.attribute("threads", kernel.threads);
    json.attribute("shared_memory", kernel.sharedMemory);
    json.attributeArray("parameters", [&] {
      for (const PtxParameter &parameter : kernel.parameters)
        json.object([&] {
          json.attribute("kind", parameter.kind);
          json.attribute("argument", parameter.argument);
          json.attribute("detail", parameter.detail);
        });
    });
  });
  return text;
}
