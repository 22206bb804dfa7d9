//===- CpuTarget.h - What a processor offers --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_CPUTARGET_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_CPUTARGET_H

#include <tilewright/result.h>

#include <string>
#include <string_view>

namespace tilewright {

/// A processor to compile for, and the register tile that suits it: an accumulator of `rows` x
/// `vectors` vectors of `lanes` f32, plus one row of operands and a broadcast, fills its registers.
///
/// | processor          | lanes | vectors | rows | registers        |
/// |--------------------|-------|---------|------|------------------|
/// | AVX-512 F BW DQ VL | 16    | 4       | 6    | 29 of 32 x 512   |
/// | AVX2 and FMA       | 8     | 3       | 4    | 16 of 16 x 256   |
/// | any other x86-64   | 4     | 3       | 4    | 16 of 16 x 128   |
/// | AArch64            | 4     | 4       | 6    | 29 of 32 x 128   |
struct CpuTarget {
  /// In LLVM's spelling: "x86_64-unknown-linux-gnu", "sapphirerapids", "+avx2,+fma,...". For the
  /// host the features were found by asking the processor, since its name can lie in a virtual
  /// machine; for a named processor they are those that the name implies.
  std::string triple;
  std::string cpu;
  std::string features;

  unsigned lanes = 4;
  unsigned vectors = 3;
  unsigned rows = 4;

  /// Products of bf16 run on AMX: the processor has AMX-TILE, AMX-BF16 and AVX-512, and where it is
  /// the host, the system lets this process use them.
  bool amx = false;
  /// What the host has and the system refuses.
  bool amxRefused = false;

  /// Code for it can run here: the host has every feature that the processor implies.
  bool isHost = false;

  /// The machine this program runs on, with all that it has.
  static Result<CpuTarget> host();

  /// A processor by LLVM's name for it ("x86-64", "haswell", "sapphirerapids", "neoverse-v1").
  /// Refused: a name that LLVM's X86 and AArch64 targets do not know.
  static Result<CpuTarget> named(std::string_view cpu);
};

/// Asks the system, once for the process, to let it use the tile registers of AMX, which Linux
/// wants before their first use since they make the state of a thread 8 KiB larger.
bool requestAmx();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_CPUTARGET_H
