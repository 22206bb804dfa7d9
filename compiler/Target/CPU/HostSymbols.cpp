//===- HostSymbols.cpp - Functions that generated code may call -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/HostSymbols.h"

#include <cmath>
#include <cstring>

using namespace tilewright;

// Of the compiler's runtime library; only their addresses are taken, so that their types, which
// need _Float16, do not matter.
extern "C" {
void __extendhfsf2();
void __extendhfdf2();
void __truncsfhf2();
void __truncdfhf2();
}

namespace {
template <typename Function> void *addressOf(Function *function) {
  return reinterpret_cast<void *>(function);
}

using Unary = double(double);
using UnaryF = float(float);
using Binary = double(double, double);
using BinaryF = float(float, float);
using Ternary = double(double, double, double);
using TernaryF = float(float, float, float);
} // namespace

std::span<const HostSymbol> tilewright::hostSymbols() {
#define TILEWRIGHT_MATH(type, name)                                                                \
  {#name, addressOf<type>(::name)}, {                                                              \
    #name "f", addressOf<type##F>(::name##f)                                                       \
  }
  static const HostSymbol symbols[] = {
      {"memcpy", addressOf<void *(void *, const void *, size_t)>(::memcpy)},
      {"memmove", addressOf<void *(void *, const void *, size_t)>(::memmove)},
      {"memset", addressOf<void *(void *, int, size_t)>(::memset)},
      TILEWRIGHT_MATH(Unary, exp),
      TILEWRIGHT_MATH(Unary, exp2),
      TILEWRIGHT_MATH(Unary, log),
      TILEWRIGHT_MATH(Unary, log2),
      TILEWRIGHT_MATH(Unary, tanh),
      TILEWRIGHT_MATH(Unary, sqrt),
      TILEWRIGHT_MATH(Unary, floor),
      TILEWRIGHT_MATH(Unary, ceil),
      TILEWRIGHT_MATH(Unary, trunc),
      TILEWRIGHT_MATH(Unary, round),
      TILEWRIGHT_MATH(Unary, roundeven),
      TILEWRIGHT_MATH(Unary, rint),
      TILEWRIGHT_MATH(Unary, sin),
      TILEWRIGHT_MATH(Unary, cos),
      TILEWRIGHT_MATH(Unary, erf),
      TILEWRIGHT_MATH(Unary, log1p),
      TILEWRIGHT_MATH(Unary, expm1),
      TILEWRIGHT_MATH(Binary, pow),
      TILEWRIGHT_MATH(Binary, fmod),
      TILEWRIGHT_MATH(Binary, fmin),
      TILEWRIGHT_MATH(Binary, fmax),
      TILEWRIGHT_MATH(Ternary, fma),
      {"__extendhfsf2", addressOf(__extendhfsf2)},
      {"__extendhfdf2", addressOf(__extendhfdf2)},
      {"__truncsfhf2", addressOf(__truncsfhf2)},
      {"__truncdfhf2", addressOf(__truncdfhf2)},
  };
#undef TILEWRIGHT_MATH
  return symbols;
}
