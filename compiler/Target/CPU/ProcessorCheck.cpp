//===- ProcessorCheck.cpp - Whether a processor can run the code ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of cpuid and XCR0 as in Intel's manual, volume 2A (CPUID) and volume 1,
// chapter 13, and AMD's manual, volume 3, appendix E.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ProcessorCheck.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <array>
#include <map>

using namespace llvm;
using namespace tilewright;

namespace {
enum Register : uint8_t { EAX, EBX, ECX, EDX };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  unsigned bit;
};

/// What the code generator uses by itself. The rest of what a processor's name implies is for
/// systems, or takes an intrinsic that kernels do not have.
constexpr Feature features[] = {
    {"sse3", 1, 0, ECX, 0},
    {"pclmul", 1, 0, ECX, 1},
    {"ssse3", 1, 0, ECX, 9},
    {"fma", 1, 0, ECX, 12},
    {"cx16", 1, 0, ECX, 13},
    {"sse4.1", 1, 0, ECX, 19},
    {"sse4.2", 1, 0, ECX, 20},
    {"movbe", 1, 0, ECX, 22},
    {"popcnt", 1, 0, ECX, 23},
    {"avx", 1, 0, ECX, 28},
    {"f16c", 1, 0, ECX, 29},
    {"bmi", 7, 0, EBX, 3},
    {"avx2", 7, 0, EBX, 5},
    {"bmi2", 7, 0, EBX, 8},
    {"avx512f", 7, 0, EBX, 16},
    {"avx512dq", 7, 0, EBX, 17},
    {"adx", 7, 0, EBX, 19},
    {"avx512ifma", 7, 0, EBX, 21},
    {"avx512cd", 7, 0, EBX, 28},
    {"avx512bw", 7, 0, EBX, 30},
    {"avx512vl", 7, 0, EBX, 31},
    {"avx512vbmi", 7, 0, ECX, 1},
    {"avx512vbmi2", 7, 0, ECX, 6},
    {"gfni", 7, 0, ECX, 8},
    {"vpclmulqdq", 7, 0, ECX, 10},
    {"avx512vnni", 7, 0, ECX, 11},
    {"avx512bitalg", 7, 0, ECX, 12},
    {"avx512vpopcntdq", 7, 0, ECX, 14},
    {"avx512vp2intersect", 7, 0, EDX, 8},
    {"amx-bf16", 7, 0, EDX, 22},
    {"avx512fp16", 7, 0, EDX, 23},
    {"amx-tile", 7, 0, EDX, 24},
    {"amx-int8", 7, 0, EDX, 25},
    {"avxvnni", 7, 1, EAX, 4},
    {"avx512bf16", 7, 1, EAX, 5},
    {"avxifma", 7, 1, EAX, 23},
    {"avxvnniint8", 7, 1, EDX, 4},
    {"avxneconvert", 7, 1, EDX, 5},
    {"avxvnniint16", 7, 1, EDX, 10},
    {"avx10.1", 7, 1, EDX, 19},
    {"egpr", 7, 1, EDX, 21},
    {"sahf", 0x80000001, 0, ECX, 0},
    {"lzcnt", 0x80000001, 0, ECX, 5},
    {"sse4a", 0x80000001, 0, ECX, 6},
    {"xop", 0x80000001, 0, ECX, 11},
    {"fma4", 0x80000001, 0, ECX, 16},
    {"tbm", 0x80000001, 0, ECX, 21},
};

/// Registers that the system must save, for a feature that has them: bits of XCR0.
constexpr std::pair<const char *, uint32_t> states[] = {
    {"avx", 0b110}, {"avx512f", 0b1110'0110}, {"amx-tile", 0b11 << 17}, {"egpr", 1 << 19}};
constexpr unsigned savesStatesBit = 27; // of ecx, leaf 1: OSXSAVE

/// Names of Linux's asm/prctl.h and of its documentation of extended states (arch/x86/xstate.rst).
constexpr int64_t archPrctl = 158, requestPermission = 0x1023, tileData = 18;

bool has(const MCSubtargetInfo &processor, bool usesAmx, StringRef feature) {
  if (feature.starts_with("amx") && !usesAmx)
    return false;
  return any_of(processor.getAllProcessorFeatures(), [&](const SubtargetFeatureKV &known) {
    return feature == known.Key && processor.getFeatureBits().test(known.Value);
  });
}

/// The four registers for one leaf, or four zeros if the processor has no such leaf.
std::array<Value *, 4> askProcessor(CheckBuilder &b, uint32_t leaf, uint32_t subleaf) {
  Type *word = b.getInt32Ty();
  auto *four = StructType::get(word, word, word, word);
  auto *code = InlineAsm::get(FunctionType::get(four, {word, word}, false), "cpuid",
                              "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}",
                              /*hasSideEffects=*/true);
  const auto ask = [&](uint32_t which, uint32_t part) {
    return b.CreateCall(code, {b.getInt32(which), b.getInt32(part)});
  };
  // The first leaf of each range says which is the last; leaf 7 does so for its parts.
  Value *isThere =
      b.CreateICmpUGE(b.CreateExtractValue(ask(leaf & 0x80000000, 0), EAX), b.getInt32(leaf));
  if (subleaf > 0)
    isThere = b.CreateAnd(
        isThere, b.CreateICmpUGE(b.CreateExtractValue(ask(leaf, 0), EAX), b.getInt32(subleaf)));
  CallInst *answer = ask(leaf, subleaf);
  std::array<Value *, 4> registers{};
  for (unsigned i = 0; i < registers.size(); ++i)
    registers[i] = b.CreateSelect(isThere, b.CreateExtractValue(answer, i), b.getInt32(0));
  return registers;
}
} // namespace

bool tilewright::canBeAsked(const MCSubtargetInfo &processor) {
  return !processor.getTargetTriple().isX86() || !has(processor, false, "avx10.2");
}

std::vector<std::string> tilewright::requiredFeatures(const MCSubtargetInfo &processor,
                                                      bool usesAmx) {
  std::vector<std::string> names;
  if (processor.getTargetTriple().isX86())
    for (const Feature &feature : features)
      if (has(processor, usesAmx, feature.name))
        names.emplace_back(feature.name);
  return names;
}

void tilewright::addProcessorCheck(CheckBuilder &b, const MCSubtargetInfo &processor, bool usesAmx,
                                   int32_t wrongProcessor, int32_t amxRefused) {
  if (!processor.getTargetTriple().isX86())
    return;
  std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>> needed;
  for (const Feature &feature : features)
    if (has(processor, usesAmx, feature.name))
      needed[{feature.leaf, feature.subleaf}][feature.where] |= uint32_t{1} << feature.bit;
  uint32_t state = 0;
  for (const auto &[name, bits] : states)
    if (has(processor, usesAmx, name))
      state |= bits;
  if (state != 0)
    needed[{1, 0}][ECX] |= uint32_t{1} << savesStatesBit;
  for (const auto &[leaf, masks] : needed) {
    const std::array<Value *, 4> registers = askProcessor(b, leaf.first, leaf.second);
    for (unsigned i = 0; i < masks.size(); ++i)
      if (masks[i] != 0)
        b.requireAs(wrongProcessor,
                    b.CreateICmpEQ(b.CreateAnd(registers[i], masks[i]), b.getInt32(masks[i])));
  }
  if (state != 0) {
    Type *word = b.getInt32Ty();
    auto *code =
        InlineAsm::get(FunctionType::get(StructType::get(word, word), {word}, false), "xgetbv",
                       "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}", /*hasSideEffects=*/true);
    Value *low = b.CreateExtractValue(b.CreateCall(code, {b.getInt32(0)}), 0);
    b.requireAs(wrongProcessor, b.CreateICmpEQ(b.CreateAnd(low, state), b.getInt32(state)));
  }
  if (!usesAmx || !processor.getTargetTriple().isOSLinux())
    return;
  Type *wide = b.getInt64Ty();
  auto *code =
      InlineAsm::get(FunctionType::get(wide, {wide, wide, wide}, false), "syscall",
                     "={ax},{ax},{di},{si},~{rcx},~{r11},~{memory},~{dirflag},~{fpsr},~{flags}",
                     /*hasSideEffects=*/true);
  Value *result =
      b.CreateCall(code, {b.number(archPrctl), b.number(requestPermission), b.number(tileData)});
  b.requireAs(amxRefused, b.CreateIsNull(result));
}
