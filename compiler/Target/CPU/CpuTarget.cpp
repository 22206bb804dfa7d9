//===- CpuTarget.cpp - What a processor offers ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuTarget.h"
#include "lib/Support/MakeError.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/AArch64TargetParser.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <memory>
#include <vector>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace tilewright;

namespace {
void initializeTargets() {
  [[maybe_unused]] static const bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
}

using Subtarget = std::unique_ptr<llvm::MCSubtargetInfo>;

Subtarget subtargetFor(const llvm::Triple &triple, llvm::StringRef cpu, llvm::StringRef features) {
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  return Subtarget(target ? target->createMCSubtargetInfo(triple, cpu, features) : nullptr);
}

/// A subtarget that has the name and can run 64-bit code, or nothing. The list of all names is
/// searched since making a subtarget of an unknown one prints a warning.
Subtarget findProcessor(const llvm::Triple &triple, llvm::StringRef cpu) {
  if (triple.isAArch64()) // where names that stand for others (apple-m1) are in a list of their own
    cpu = llvm::AArch64::resolveCPUAlias(cpu);
  Subtarget any = subtargetFor(triple, "generic", "");
  if (!any || llvm::none_of(any->getAllProcessorDescriptions(),
                            [&](const auto &known) { return cpu == known.Key; }))
    return nullptr;
  Subtarget subtarget = subtargetFor(triple, cpu, "");
  if (triple.isX86() && !subtarget->checkFeatures("+64bit"))
    return nullptr;
  return subtarget;
}

void chooseRegisterTile(CpuTarget &target, const llvm::MCSubtargetInfo &subtarget) {
  if (llvm::Triple(target.triple).isAArch64()) {
    target.lanes = 4, target.vectors = 4, target.rows = 6;
  } else if (subtarget.checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl")) {
    target.lanes = 16, target.vectors = 4, target.rows = 6;
  } else if (subtarget.checkFeatures("+avx2,+fma")) {
    target.lanes = 8, target.vectors = 3, target.rows = 4;
  } else {
    target.lanes = 4, target.vectors = 3, target.rows = 4;
  }
}

bool hasAmx(const llvm::MCSubtargetInfo &subtarget) {
  return llvm::Triple(subtarget.getTargetTriple()).isX86() &&
         subtarget.checkFeatures("+amx-tile,+amx-bf16,+avx512f,+avx512bw,+avx512dq,+avx512vl");
}

/// Whether this machine has what `subtarget`, a processor of the same architecture, implies.
bool hostCanRun(const llvm::MCSubtargetInfo &subtarget) {
  // On AArch64 LLVM reports what it finds and says nothing of what it did not look for, so that
  // only the same name is safe.
  if (subtarget.getTargetTriple().isAArch64())
    return subtarget.getCPU() == "generic" ||
           subtarget.getCPU() == llvm::AArch64::resolveCPUAlias(llvm::sys::getHostCPUName());
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(subtarget.getAllProcessorFeatures(), [&](const auto &feature) {
    // What the processor is not asked about is tuning, or common to all that run 64-bit code.
    auto known = host.find(feature.Key);
    return !subtarget.getFeatureBits().test(feature.Value) || known == host.end() || known->second;
  });
}
} // namespace

bool tilewright::requestAmx() {
#if defined(__x86_64__) && defined(__linux__)
  // Names of Linux's asm/prctl.h and of its documentation of extended states (arch/x86/xstate.rst).
  constexpr long requestPermission = 0x1023, tileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
#else
  return false;
#endif
}

Result<CpuTarget> CpuTarget::host() {
  initializeTargets();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  if (triple.getArch() != llvm::Triple::x86_64 && triple.getArch() != llvm::Triple::aarch64)
    return unsupported("kernels run on x86-64 and AArch64 processors, and this is a {} one",
                       triple.getArchName().str());
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::ranges::sort(features); // the map's order is no order, and code must repeat

  CpuTarget target;
  target.triple = triple.str();
  target.cpu = llvm::sys::getHostCPUName().str();
  target.features = fmt::format("{}", fmt::join(features, ","));
  target.isHost = true;
  Subtarget subtarget = subtargetFor(triple, target.cpu, target.features);
  if (!subtarget)
    return internalError("LLVM has no target for {}", target.triple);
  chooseRegisterTile(target, *subtarget);
  if (hasAmx(*subtarget)) {
    target.amx = requestAmx();
    target.amxRefused = !target.amx;
  }
  return target;
}

Result<CpuTarget> CpuTarget::named(std::string_view cpu) {
  initializeTargets();
  for (const char *name : {"x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"}) {
    const llvm::Triple triple(name);
    Subtarget subtarget = findProcessor(triple, cpu);
    if (!subtarget)
      continue;
    CpuTarget target;
    target.triple = name;
    target.cpu = cpu;
    target.isHost =
        llvm::Triple(triple).getArch() == llvm::Triple(llvm::sys::getProcessTriple()).getArch() &&
        hostCanRun(*subtarget);
    chooseRegisterTile(target, *subtarget);
    target.amx = hasAmx(*subtarget);
    return target;
  }
  return invalidArgument(
      "unknown processor '{}'; LLVM's names are known, such as x86-64, x86-64-v3, haswell, "
      "sapphirerapids, znver4, neoverse-v1: all are listed by `llc -march=x86-64 "
      "-mcpu=help` and `llc -march=aarch64 -mcpu=help`",
      cpu.substr(0, 64));
}
