//===- GpuPipeline.cpp - The passes from a problem to a GPU's code --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/GpuPipeline.h"

std::string tilewright::smToNVVMPipeline() {
  return "sm-plan-shared-memory,convert-sm-to-nvvm,canonicalize,cse";
}

std::string tilewright::nvvmToLLVMPipeline() {
  return "convert-scf-to-cf,arith-expand,convert-nvvm-to-llvm,convert-to-llvm,"
         "reconcile-unrealized-casts,canonicalize,cse";
}
