//===- TuningKey.cpp - What a measured schedule holds for -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Tune/TuningKey.h"

#include "compiler/Target/CPU/CacheSizes.h"
#include "lib/Expression/Parse.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Triple.h"

using namespace tilewright;

/// Of what LLVM knows of a processor, that which decides how fast the inner loops are.
static constexpr llvm::StringLiteral unitNames[] = {
    "avx",      "avx2",       "f16c",       "fma",  "avx512f", "avx512bw", "avx512dq",
    "avx512vl", "avx512bf16", "avx512fp16", "neon", "fp16fml", "bf16",     "sve"};

std::optional<Machine> Machine::host(const CpuTarget &target) {
  const CacheSizes caches = CacheSizes::ofThisMachine();
  if (!caches.measured)
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',');
  std::string units = llvm::Triple(target.triple).getArchName().str();
  for (llvm::StringRef name : unitNames)
    if (llvm::is_contained(features, ("+" + name).str()))
      units += "," + name.str();
  if (target.amx)
    units += ",amx-bf16";
  return Machine{std::move(units), caches.level1, caches.level2};
}

TuningKey TuningKey::of(std::string target, Machine machine, const ParsedProblem &problem) {
  TuningKey key{.target = std::move(target),
                .machine = std::move(machine),
                .headDim = problem.headDim,
                .valueDim = problem.valueDim,
                .dtype = problem.dtype,
                .scores = {},
                .masks = {}};
  for (const expression::Expression &score : problem.scores)
    key.scores.push_back(toString(score, problem.declarations));
  for (const expression::Expression &mask : problem.masks)
    key.masks.push_back(toString(mask, problem.declarations));
  return key;
}
