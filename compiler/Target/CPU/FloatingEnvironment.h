//===- FloatingEnvironment.h - Arithmetic as the code expects it -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hosts such as PyTorch flush subnormal numbers to zero in their threads, and
// new threads inherit it. Results must not depend on that.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TARGET_CPU_FLOATINGENVIRONMENT_H
#define TILEWRIGHT_COMPILER_TARGET_CPU_FLOATINGENVIRONMENT_H

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tilewright {

/// While it lives, this thread rounds to nearest, keeps subnormal numbers and traps nothing; then
/// everything is as it was, exception flags included.
class FloatingEnvironment {
public:
  FloatingEnvironment() : saved(read()) { write(standard); }
  ~FloatingEnvironment() { write(saved); }
  FloatingEnvironment(const FloatingEnvironment &) = delete;
  FloatingEnvironment &operator=(const FloatingEnvironment &) = delete;

private:
#if defined(__x86_64__)
  // MXCSR with all exceptions masked.
  static constexpr uint64_t standard = 0x1f80;
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t value) { _mm_setcsr(static_cast<uint32_t>(value)); }
#elif defined(__aarch64__)
  // FPCR; a set bit would flush, round otherwise or trap.
  static constexpr uint64_t standard = 0;
  static uint64_t read() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  // Kernels do not run here (CpuTarget::host refuses).
  static constexpr uint64_t standard = 0;
  static uint64_t read() { return 0; }
  static void write(uint64_t) {}
#endif

  uint64_t saved;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TARGET_CPU_FLOATINGENVIRONMENT_H
