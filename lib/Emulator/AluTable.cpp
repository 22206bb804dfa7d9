//===- AluTable.cpp - Plain operations on lanes ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row is an opcode and a lambda; the register classes follow from the lambda's
// types. (g++ wants lambdas in template arguments in parentheses.) Registers of 16 and 8 bits live
// in 32-bit lanes whose upper bits mean nothing: operations on them mask.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Machine.h"
#include "lib/Emulator/Numbers.h"
#include "lib/Emulator/Opcodes.h"
#include "lib/Support/Half.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

template <typename T>
constexpr RegisterClass classOf = sizeof(T) == 8 ? RegisterClass::Wide : RegisterClass::Narrow;

template <auto function, typename Destination, typename... Sources>
void computeLanes(Warp &warp, const Op &op, uint32_t mask, Destination (*)(Sources...)) {
  [&]<size_t... i>(std::index_sequence<i...>) {
    Destination *destination = warp.lanes<Destination>(op.slots[0]);
    const std::tuple<const Sources *...> sources(warp.lanes<Sources>(op.slots[i + 1])...);
    // Through a buffer of its own the loop has no aliases to fear and becomes vector code.
    Destination result[warpSize];
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      result[lane] = function(std::get<i>(sources)[lane]...);
    if (mask == fullMask)
      for (uint32_t lane = 0; lane < warpSize; ++lane)
        destination[lane] = result[lane];
    else
      for (uint32_t lane = 0; lane < warpSize; ++lane)
        destination[lane] = mask >> lane & 1 ? result[lane] : destination[lane];
  }(std::make_index_sequence<sizeof...(Sources)>());
}

template <auto function> Flow executeLanes(Warp &warp, const Op &op, uint32_t mask) {
  computeLanes<function>(warp, op, mask, +function);
  return Flow::Next;
}

template <auto function, typename... Sources>
uint32_t compareLanes(Warp &warp, const Op &op, bool (*)(Sources...)) {
  return [&]<size_t... i>(std::index_sequence<i...>) {
    const std::tuple<const Sources *...> sources(warp.lanes<Sources>(op.slots[i + 1])...);
    uint32_t bits[warpSize], result = 0;
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      bits[lane] = function(std::get<i>(sources)[lane]...) ? 1u << lane : 0u;
    for (uint32_t lane = 0; lane < warpSize; ++lane)
      result |= bits[lane];
    return result;
  }(std::make_index_sequence<sizeof...(Sources)>());
}

template <auto function> Flow executeCompare(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t result = compareLanes<function>(warp, op, +function);
  uint32_t &bits = warp.predicates[op.slots[0]];
  bits = (bits & ~mask) | (result & mask);
  return Flow::Next;
}

template <auto function> Flow executePredicates(Warp &warp, const Op &op, uint32_t mask) {
  const uint32_t result = function(warp.predicates[op.slots[1]], warp.predicates[op.slots[2]]);
  uint32_t &bits = warp.predicates[op.slots[0]];
  bits = (bits & ~mask) | (result & mask);
  return Flow::Next;
}

template <typename Destination, typename... Sources>
std::span<const RegisterClass> signatureOf(Destination (*)(Sources...)) {
  static constexpr RegisterClass classes[] = {
      std::is_same_v<Destination, bool> ? RegisterClass::Predicate : classOf<Destination>,
      classOf<Sources>...};
  return classes;
}

class Table {
public:
  std::unordered_map<std::string_view, PlainOpcode> rows;

  template <auto function> void lanes(std::string name) {
    add(std::move(name), executeLanes<function>, signatureOf(+function));
  }
  template <auto function> void compare(std::string name) {
    add(std::move(name), executeCompare<function>, signatureOf(+function));
  }
  template <auto function> void predicates(std::string name, size_t operands) {
    static constexpr RegisterClass classes[] = {RegisterClass::Predicate, RegisterClass::Predicate,
                                                RegisterClass::Predicate};
    add(std::move(name), executePredicates<function>, std::span(classes, operands + 1));
  }
  void alias(std::string name, std::string_view existing) {
    const PlainOpcode row = rows.at(existing);
    add(std::move(name), row.execute, row.signature);
  }

private:
  std::deque<std::string> names;

  void add(std::string name, Executor execute, std::span<const RegisterClass> signature) {
    const std::string &kept = names.emplace_back(std::move(name));
    rows[kept] = {kept, execute, signature};
  }
};

template <typename T> std::string suffix();
template <> std::string suffix<int32_t>() {
  return ".s32";
}
template <> std::string suffix<uint32_t>() {
  return ".u32";
}
template <> std::string suffix<int64_t>() {
  return ".s64";
}
template <> std::string suffix<uint64_t>() {
  return ".u64";
}

template <typename T> void integerRows(Table &table) {
  using Unsigned = std::make_unsigned_t<T>; // so that wrapping is defined
  const std::string type = suffix<T>();
  table.lanes<([](Unsigned a, Unsigned b) { return Unsigned(a + b); })>("add" + type);
  table.lanes<([](Unsigned a, Unsigned b) { return Unsigned(a - b); })>("sub" + type);
  table.lanes<([](Unsigned a, Unsigned b) { return Unsigned(a * b); })>("mul.lo" + type);
  table.lanes<([](Unsigned a, Unsigned b, Unsigned c) { return Unsigned(a * b + c); })>("mad.lo" +
                                                                                        type);
  table.lanes<([](T a, T b) { return a < b ? a : b; })>("min" + type);
  table.lanes<([](T a, T b) { return a > b ? a : b; })>("max" + type);
  // Division by zero, and the one quotient that overflows, are as on the hardware: all ones, and
  // the dividend.
  table.lanes<([](T a, T b) {
    if (b == 0)
      return T(-1);
    return std::is_signed_v<T> && b == T(-1) ? T(Unsigned(0) - Unsigned(a)) : T(a / b);
  })>("div" + type);
  table.lanes<([](T a, T b) {
    if (b == 0)
      return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  })>("rem" + type);
  table.lanes<([](Unsigned a) { return T(a) < 0 ? Unsigned(0) - a : a; })>("abs" + type);
  table.lanes<([](Unsigned a) { return Unsigned(0) - a; })>("neg" + type);
}

template <typename T> void bitRows(Table &table, const std::string &type) {
  constexpr uint32_t bits = 8 * sizeof(T);
  table.lanes<([](T a, T b) { return T(a & b); })>("and" + type);
  table.lanes<([](T a, T b) { return T(a | b); })>("or" + type);
  table.lanes<([](T a, T b) { return T(a ^ b); })>("xor" + type);
  table.lanes<([](T a) { return T(~a); })>("not" + type);
  table.lanes<([](T a, uint32_t b) { return b >= bits ? T(0) : T(a << b); })>("shl" + type);
  table.lanes<([](T a, uint32_t b) { return b >= bits ? T(0) : T(a >> b); })>("shr" + type);
  table.lanes<([](T a) { return static_cast<uint32_t>(std::popcount(a)); })>("popc" + type);
  table.lanes<([](T a) { return static_cast<uint32_t>(std::countl_zero(a)); })>("clz" + type);
}

uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t choice = selector >> 4 * i & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> 8 * (choice & 7)) & 255;
    if (choice & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}

uint32_t reverseBits(uint32_t value) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 32; ++i)
    result |= (value >> i & 1) << (31 - i);
  return result;
}

uint32_t extractField(uint32_t value, uint32_t position, uint32_t length, bool isSigned) {
  position &= 255;
  length = std::min(length & 255, 32u);
  if (length == 0)
    return 0;
  const int64_t extended = isSigned ? int64_t(static_cast<int32_t>(value)) : int64_t(value);
  const uint64_t window = (uint64_t(1) << length) - 1;
  uint64_t field = static_cast<uint64_t>(extended >> std::min(position, 32u)) & window;
  const uint32_t top = std::min(position + length - 1, 31u);
  if (isSigned && value >> top & 1)
    field |= ~window;
  return static_cast<uint32_t>(field);
}

void wordRows(Table &table) {
  integerRows<int32_t>(table);
  integerRows<uint32_t>(table);
  integerRows<int64_t>(table);
  integerRows<uint64_t>(table);
  bitRows<uint32_t>(table, ".b32");
  bitRows<uint64_t>(table, ".b64");
  table.alias("shr.u32", "shr.b32");
  table.alias("shr.u64", "shr.b64");
  table.lanes<([](int32_t a, uint32_t b) { return a >> std::min(b, 31u); })>("shr.s32");
  table.lanes<([](int64_t a, uint32_t b) { return a >> std::min(b, 63u); })>("shr.s64");
  table.lanes<([](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t(a) * b >> 32); })>(
      "mul.hi.s32");
  table
      .lanes<([](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t(a) * b >> 32); })>(
          "mul.hi.u32");
  table.lanes<([](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<__int128>(a) * b >> 64);
  })>("mul.hi.s64");
  table.lanes<([](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64);
  })>("mul.hi.u64");
  table.lanes<([](int32_t a, int32_t b) { return std::max(std::min(a, b), 0); })>("min.relu.s32");
  table.lanes<([](int32_t a, int32_t b) { return std::max({a, b, 0}); })>("max.relu.s32");
  table.lanes<([](int32_t a, int32_t b) { return int64_t(a) * b; })>("mul.wide.s32");
  table.lanes<([](uint32_t a, uint32_t b) { return uint64_t(a) * b; })>("mul.wide.u32");
  table.lanes<([](int32_t a, int32_t b, uint64_t c) {
    return static_cast<uint64_t>(int64_t(a) * b) + c;
  })>("mad.wide.s32");
  table.lanes<([](uint32_t a, uint32_t b, uint64_t c) { return uint64_t(a) * b + c; })>(
      "mad.wide.u32");
  table.lanes<reverseBits>("brev.b32");
  table.lanes<([](uint64_t a) {
    const uint64_t upper = reverseBits(static_cast<uint32_t>(a));
    return upper << 32 | reverseBits(static_cast<uint32_t>(a >> 32));
  })>("brev.b64");
  table.lanes<permuteBytes>("prmt.b32");
  table.lanes<([](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t(b) << 32 | a) << (c & 31) >> 32);
  })>("shf.l.b32");
  table.lanes<([](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t(b) << 32 | a) >> (c & 31));
  })>("shf.r.b32");
  table.lanes<([](uint32_t a, uint32_t b, uint32_t c) { return extractField(a, b, c, false); })>(
      "bfe.u32");
  table.lanes<([](uint32_t a, uint32_t b, uint32_t c) { return extractField(a, b, c, true); })>(
      "bfe.s32");
  table.predicates<([](uint32_t a, uint32_t b) { return a & b; })>("and.pred", 2);
  table.predicates<([](uint32_t a, uint32_t b) { return a | b; })>("or.pred", 2);
  table.predicates<([](uint32_t a, uint32_t b) { return a ^ b; })>("xor.pred", 2);
  table.predicates<([](uint32_t a, uint32_t) { return ~a; })>("not.pred", 1);
}

constexpr uint32_t low16(uint32_t value) {
  return value & 0xffff;
}
constexpr int32_t signed16(uint32_t value) {
  return static_cast<int16_t>(value);
}

template <int32_t (*narrow)(uint32_t)> uint32_t smallerWord(uint32_t a, uint32_t b) {
  return low16(narrow(a) < narrow(b) ? a : b);
}
template <int32_t (*narrow)(uint32_t)> uint32_t largerWord(uint32_t a, uint32_t b) {
  return low16(narrow(a) > narrow(b) ? a : b);
}
uint32_t sumWord(uint32_t a, uint32_t b) {
  return low16(a + b);
}
/// Negative results become zero.
template <uint32_t (*function)(uint32_t, uint32_t)> uint32_t reluWord(uint32_t a, uint32_t b) {
  return largerWord<signed16>(function(a, b), 0);
}
/// The same for the upper and the lower half.
template <uint32_t (*each)(uint32_t, uint32_t)> uint32_t bothWords(uint32_t a, uint32_t b) {
  return each(a >> 16, b >> 16) << 16 | each(a, b);
}

/// What division and minima mean depends on the sign, unlike the lower half of a product.
template <int32_t (*narrow)(uint32_t)>
void signedHalfWordRows(Table &table, const std::string &type) {
  constexpr auto n = narrow;
  // In 32 bits no quotient overflows; by zero it is all ones, and the dividend remains.
  table.lanes<([](uint32_t a, uint32_t b) {
    return low16(n(b) == 0 ? ~0u : static_cast<uint32_t>(n(a) / n(b)));
  })>("div" + type);
  table.lanes<([](uint32_t a, uint32_t b) {
    return low16(n(b) == 0 ? a : static_cast<uint32_t>(n(a) % n(b)));
  })>("rem" + type);
  table.lanes<([](uint32_t a, uint32_t b) {
    return low16(static_cast<uint32_t>(int64_t(n(a)) * n(b) >> 16));
  })>("mul.hi" + type);
  table.lanes<smallerWord<narrow>>("min" + type);
  table.lanes<largerWord<narrow>>("max" + type);
  table.lanes<bothWords<smallerWord<narrow>>>("min" + type + "x2");
  table.lanes<bothWords<largerWord<narrow>>>("max" + type + "x2");
  table.lanes<bothWords<sumWord>>("add" + type + "x2");
}

int32_t unsigned16(uint32_t value) {
  return static_cast<int32_t>(low16(value));
}

void halfWordRows(Table &table) {
  signedHalfWordRows<signed16>(table, ".s16");
  signedHalfWordRows<unsigned16>(table, ".u16");
  table.lanes<bothWords<reluWord<smallerWord<signed16>>>>("min.relu.s16x2");
  table.lanes<bothWords<reluWord<largerWord<signed16>>>>("max.relu.s16x2");
  table.lanes<([](uint32_t a) { return low16(0 - a); })>("neg.s16");
  table.lanes<([](uint32_t a) { return low16(signed16(a) < 0 ? 0 - a : a); })>("abs.s16");
  for (const char *type : {".s16", ".u16"}) {
    const std::string name = type;
    table.lanes<([](uint32_t a, uint32_t b) { return low16(a + b); })>("add" + name);
    table.lanes<([](uint32_t a, uint32_t b) { return low16(a - b); })>("sub" + name);
    table.lanes<([](uint32_t a, uint32_t b) { return low16(a * b); })>("mul.lo" + name);
  }
  table.lanes<([](uint32_t a, uint32_t b) { return a & b; })>("and.b16");
  table.lanes<([](uint32_t a, uint32_t b) { return a | b; })>("or.b16");
  table.lanes<([](uint32_t a, uint32_t b) { return a ^ b; })>("xor.b16");
  table.lanes<([](uint32_t a) { return low16(~a); })>("not.b16");
  table.lanes<([](uint32_t a, uint32_t b) { return b > 15 ? 0 : low16(a << b); })>("shl.b16");
  table.lanes<([](uint32_t a, uint32_t b) { return b > 15 ? 0 : low16(a) >> b; })>("shr.u16");
  table.alias("shr.b16", "shr.u16");
  table.lanes<([](uint32_t a, uint32_t b) {
    return low16(static_cast<uint32_t>(signed16(a) >> std::min(b, 15u)));
  })>("shr.s16");
  table.lanes<([](uint32_t a, uint32_t b) { return low16(a) * low16(b); })>("mul.wide.u16");
  table.lanes<([](uint32_t a, uint32_t b) { return signed16(a) * signed16(b); })>("mul.wide.s16");
}

template <typename T> T keep(T value) {
  return value;
}

/// Single precision; `flush` is the identity or, for .ftz, takes subnormals to zero.
template <float (*flush)(float)> void floatRows(Table &table, const std::string &ftz) {
  const std::string type = ftz + ".f32";
  constexpr auto f = flush;
  table.lanes<([](float a, float b) { return f(f(a) + f(b)); })>("add" + type);
  table.lanes<([](float a, float b) { return f(f(a) - f(b)); })>("sub" + type);
  table.lanes<([](float a, float b) { return f(f(a) * f(b)); })>("mul" + type);
  table.lanes<([](float a, float b) { return f(f(a) / f(b)); })>("div" + type);
  table.lanes<([](float a, float b, float c) { return f(__builtin_fmaf(f(a), f(b), f(c))); })>(
      "fma" + type);
  table.lanes<([](float a, float b) { return minNumber(f(a), f(b)); })>("min" + type);
  table.lanes<([](float a, float b) { return maxNumber(f(a), f(b)); })>("max" + type);
  table.lanes<([](float a, float b) {
    return isNaN(a) || isNaN(b) ? floatOf(0x7fffffff) : minNumber(f(a), f(b));
  })>("min" + ftz + ".NaN.f32");
  table.lanes<([](float a, float b) {
    return isNaN(a) || isNaN(b) ? floatOf(0x7fffffff) : maxNumber(f(a), f(b));
  })>("max" + ftz + ".NaN.f32");
  table.lanes<([](float a) { return floatOf(bitsOf(f(a)) ^ 0x80000000); })>("neg" + type);
  table.lanes<([](float a) { return floatOf(bitsOf(f(a)) & 0x7fffffff); })>("abs" + type);
  // The hardware approximates these; here they are the correctly rounded functions.
  table.lanes<([](float a) { return f(exp2Rounded(f(a))); })>("ex2" + type);
  table.lanes<([](float a) { return f(static_cast<float>(std::log2(double(f(a))))); })>("lg2" +
                                                                                        type);
  table.lanes<([](float a) { return f(1.f / f(a)); })>("rcp" + type);
  table.lanes<([](float a) { return f(std::sqrt(f(a))); })>("sqrt" + type);
  table.lanes<([](float a) { return f(static_cast<float>(1.0 / std::sqrt(double(f(a))))); })>(
      "rsqrt" + type);
  table.lanes<([](float a) { return f(static_cast<float>(std::sin(double(f(a))))); })>("sin" +
                                                                                       type);
  table.lanes<([](float a) { return f(static_cast<float>(std::cos(double(f(a))))); })>("cos" +
                                                                                       type);
}

/// testp; exponents of all ones are infinities and NaNs, exponents of zero are subnormal.
template <typename T> void classRows(Table &table, const std::string &type) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  table.compare<([](T a) { return std::fabs(a) < infinity; })>("testp.finite" + type);
  table.compare<([](T a) { return std::fabs(a) == infinity; })>("testp.infinite" + type);
  table.compare<([](T a) { return a == a; })>("testp.number" + type);
  table.compare<([](T a) { return a != a; })>("testp.notanumber" + type);
  table.compare<([](T a) {
    return std::fabs(a) < infinity && std::fabs(a) >= std::numeric_limits<T>::min();
  })>("testp.normal" + type);
  table.compare<([](T a) { return a != 0 && std::fabs(a) < std::numeric_limits<T>::min(); })>(
      "testp.subnormal" + type);
}

void doubleRows(Table &table) {
  classRows<double>(table, ".f64");
  // The number beside a NaN; -0 is less than +0.
  table.lanes<([](double a, double b) {
    return a < b || b != b || (a == b && std::signbit(a)) ? a : b;
  })>("min.f64");
  table.lanes<([](double a, double b) {
    return a > b || b != b || (a == b && !std::signbit(a)) ? a : b;
  })>("max.f64");
  table.lanes<([](double a, double b) { return std::copysign(b, a); })>("copysign.f64");
  table.lanes<([](double a, double b) { return a + b; })>("add.f64");
  table.lanes<([](double a, double b) { return a - b; })>("sub.f64");
  table.lanes<([](double a, double b) { return a * b; })>("mul.f64");
  table.lanes<([](double a, double b) { return a / b; })>("div.f64");
  table.lanes<([](double a, double b, double c) { return std::fma(a, b, c); })>("fma.f64");
  table.lanes<([](double a) { return -a; })>("neg.f64");
  table.lanes<([](double a) { return std::fabs(a); })>("abs.f64");
  table.lanes<([](double a) { return std::sqrt(a); })>("sqrt.f64");
}

uint32_t narrowBF16(double value) {
  return value != value ? 0x7fff : doubleToBF16(value);
}
uint32_t narrowF16(double value) {
  return value != value ? 0x7fff : doubleToF16(value);
}

using Arithmetic = double (*)(double, double, double);

/// Two 16-bit numbers in a register, computed in double and rounded.
template <float (*widen)(uint32_t), uint32_t (*narrow)(double), Arithmetic function>
uint32_t packed(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (uint32_t shift : {0, 16}) {
    auto at = [&](uint32_t value) { return double(widen(value >> shift & 0xffff)); };
    result |= narrow(function(at(a), at(b), at(c))) << shift;
  }
  return result;
}

template <float (*widen)(uint32_t), uint32_t (*narrow)(double), Arithmetic function>
uint32_t packed(uint32_t a, uint32_t b) {
  return packed<widen, narrow, function>(a, b, 0);
}

/// The product is exact. An inexact sum gets an odd last bit, so that rounding it once more is as
/// rounding the exact one.
double fusedSum(double a, double b, double c) {
  const double product = a * b, sum = product + c, part = sum - product;
  const double error = (product - (sum - part)) + (c - part);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  if (!(std::fabs(error) > 0) || bits & 1)
    return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}
double sum(double a, double b, double) {
  return a + b;
}
double difference(double a, double b, double) {
  return a - b;
}
double product(double a, double b, double) {
  return a * b;
}
double smaller(double a, double b, double) {
  return minNumber(static_cast<float>(a), static_cast<float>(b));
}
double larger(double a, double b, double) {
  return maxNumber(static_cast<float>(a), static_cast<float>(b));
}
double smallerOrNaN(double a, double b, double) {
  return a != a || b != b ? a + b : smaller(a, b, 0);
}
double largerOrNaN(double a, double b, double) {
  return a != a || b != b ? a + b : larger(a, b, 0);
}
/// .relu: negative results become +0, NaN stays.
double fusedSumOrZero(double a, double b, double c) {
  const double result = fusedSum(a, b, c);
  return result < 0 ? 0 : result;
}

/// Operations on two 16-bit numbers, or on the lower one alone.
template <float (*widen)(uint32_t), uint32_t (*narrow)(double)>
void packedRows(Table &table, const std::string &type) {
  using Two = uint32_t (*)(uint32_t, uint32_t);
  using Three = uint32_t (*)(uint32_t, uint32_t, uint32_t);
  for (const std::string &name : {type + "x2", type}) {
    table.lanes<static_cast<Three>(packed<widen, narrow, fusedSum>)>("fma." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, sum>)>("add." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, difference>)>("sub." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, product>)>("mul." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, smaller>)>("min." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, larger>)>("max." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, smallerOrNaN>)>("min.NaN." + name);
    table.lanes<static_cast<Two>(packed<widen, narrow, largerOrNaN>)>("max.NaN." + name);
    table.lanes<static_cast<Three>(packed<widen, narrow, fusedSumOrZero>)>("fma.relu." + name);
    table.lanes<([](uint32_t a) { return a ^ 0x80008000; })>("neg." + name);
    table.lanes<([](uint32_t a) { return a & 0x7fff7fff; })>("abs." + name);
  }
}

template <typename T> void comparisons(Table &table, const std::string &type) {
  table.compare<([](T a, T b) { return a == b; })>("setp.eq" + type);
  table.compare<([](T a, T b) { return a != b; })>("setp.ne" + type);
  table.compare<([](T a, T b) { return a < b; })>("setp.lt" + type);
  table.compare<([](T a, T b) { return a <= b; })>("setp.le" + type);
  table.compare<([](T a, T b) { return a > b; })>("setp.gt" + type);
  table.compare<([](T a, T b) { return a >= b; })>("setp.ge" + type);
}

/// Without u a comparison with NaN is false, ne too; with u it is true.
template <typename T, T (*flush)(T)> void floatComparisons(Table &table, const std::string &type) {
  constexpr auto f = flush;
  table.compare<([](T a, T b) { return f(a) == f(b); })>("setp.eq" + type);
  table.compare<([](T a, T b) { return f(a) < f(b) || f(a) > f(b); })>("setp.ne" + type);
  table.compare<([](T a, T b) { return f(a) < f(b); })>("setp.lt" + type);
  table.compare<([](T a, T b) { return f(a) <= f(b); })>("setp.le" + type);
  table.compare<([](T a, T b) { return f(a) > f(b); })>("setp.gt" + type);
  table.compare<([](T a, T b) { return f(a) >= f(b); })>("setp.ge" + type);
  table.compare<([](T a, T b) { return !(f(a) < f(b) || f(a) > f(b)); })>("setp.equ" + type);
  table.compare<([](T a, T b) { return f(a) != f(b); })>("setp.neu" + type);
  table.compare<([](T a, T b) { return !(f(a) >= f(b)); })>("setp.ltu" + type);
  table.compare<([](T a, T b) { return !(f(a) > f(b)); })>("setp.leu" + type);
  table.compare<([](T a, T b) { return !(f(a) <= f(b)); })>("setp.gtu" + type);
  table.compare<([](T a, T b) { return !(f(a) < f(b)); })>("setp.geu" + type);
  table.compare<([](T a, T b) { return a != a || b != b; })>("setp.nan" + type);
  table.compare<([](T a, T b) { return a == a && b == b; })>("setp.num" + type);
}

template <typename T, T (*narrow)(uint32_t)>
void halfWordComparisons(Table &table, const std::string &type) {
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) == narrow(b); })>("setp.eq" + type);
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) != narrow(b); })>("setp.ne" + type);
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) < narrow(b); })>("setp.lt" + type);
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) <= narrow(b); })>("setp.le" + type);
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) > narrow(b); })>("setp.gt" + type);
  table.compare<([](uint32_t a, uint32_t b) { return narrow(a) >= narrow(b); })>("setp.ge" + type);
}

template <float (*widen)(uint32_t)> float lowHalf(uint32_t value) {
  return widen(low16(value));
}

template <float (*widen)(uint32_t)> void halfComparisons(Table &table, const std::string &type) {
  constexpr auto w = lowHalf<widen>;
  using Half = uint32_t;
  table.compare<([](Half a, Half b) { return w(a) == w(b); })>("setp.eq" + type);
  table.compare<([](Half a, Half b) { return w(a) < w(b) || w(a) > w(b); })>("setp.ne" + type);
  table.compare<([](Half a, Half b) { return w(a) < w(b); })>("setp.lt" + type);
  table.compare<([](Half a, Half b) { return w(a) <= w(b); })>("setp.le" + type);
  table.compare<([](Half a, Half b) { return w(a) > w(b); })>("setp.gt" + type);
  table.compare<([](Half a, Half b) { return w(a) >= w(b); })>("setp.ge" + type);
  table.compare<([](Half a, Half b) { return !(w(a) < w(b) || w(a) > w(b)); })>("setp.equ" + type);
  table.compare<([](Half a, Half b) { return w(a) != w(b); })>("setp.neu" + type);
  table.compare<([](Half a, Half b) { return !(w(a) >= w(b)); })>("setp.ltu" + type);
  table.compare<([](Half a, Half b) { return !(w(a) > w(b)); })>("setp.leu" + type);
  table.compare<([](Half a, Half b) { return !(w(a) <= w(b)); })>("setp.gtu" + type);
  table.compare<([](Half a, Half b) { return !(w(a) < w(b)); })>("setp.geu" + type);
  table.compare<([](Half a, Half b) { return isNaN(w(a)) || isNaN(w(b)); })>("setp.nan" + type);
  table.compare<([](Half a, Half b) { return !isNaN(w(a)) && !isNaN(w(b)); })>("setp.num" + type);
}

void comparisonRows(Table &table) {
  halfComparisons<fromBF16>(table, ".bf16");
  halfComparisons<fromF16>(table, ".f16");
  comparisons<int32_t>(table, ".s32");
  comparisons<uint32_t>(table, ".u32");
  comparisons<uint32_t>(table, ".b32");
  comparisons<int64_t>(table, ".s64");
  comparisons<uint64_t>(table, ".u64");
  comparisons<uint64_t>(table, ".b64");
  for (const char *unsignedName : {"lo", "ls", "hi", "hs"})
    for (const char *type : {".u32", ".u64"})
      table.alias(std::string("setp.") + unsignedName + type,
                  std::string("setp.") +
                      (unsignedName[0] == 'l' ? (unsignedName[1] == 'o' ? "lt" : "le")
                                              : (unsignedName[1] == 'i' ? "gt" : "ge")) +
                      type);
  halfWordComparisons<uint32_t, low16>(table, ".u16");
  halfWordComparisons<uint32_t, low16>(table, ".b16");
  halfWordComparisons<int32_t, signed16>(table, ".s16");
  floatComparisons<float, keep>(table, ".f32");
  floatComparisons<float, flushed>(table, ".ftz.f32");
  floatComparisons<double, keep>(table, ".f64");
}

double wideFloat(float value) {
  return double(value);
}
float roundedFloat(double value) {
  return static_cast<float>(value);
}
double wideDouble(double value) {
  return value;
}
double wideBF16(uint32_t value) {
  return double(fromBF16(low16(value)));
}
double wideF16(uint32_t value) {
  return double(fromF16(low16(value)));
}

/// PTX: NaN becomes 0, but for f64 sources and 64-bit results, where only the highest bit is set.
template <typename Integer> Integer integerOf(double value, bool fromDouble) {
  if (value != value && (fromDouble || sizeof(Integer) == 8))
    return static_cast<Integer>(uint64_t(1) << (8 * sizeof(Integer) - 1));
  return toInteger<Integer>(value);
}

/// A double that rounds to fewer bits as the integer itself does: of what a double cannot hold
/// one bit says that it was not zero.
template <typename Integer> double stickyDouble(Integer value) {
  if constexpr (sizeof(Integer) < 8)
    return static_cast<double>(value);
  const bool negative = std::is_signed_v<Integer> && value < 0;
  uint64_t magnitude = static_cast<uint64_t>(value);
  magnitude = negative ? 0 - magnitude : magnitude;
  if (magnitude >> 53)
    magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
  const double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

template <typename Register> constexpr uint32_t asHalfWord(Register value) {
  return low16(static_cast<uint32_t>(value));
}

/// Between one floating type and one integer type of 32 or 64 bits.
template <typename Float, double (*widen)(Float), auto narrow, typename Integer>
void integerFloatPair(Table &table, const std::string &type, const std::string &integer) {
  constexpr auto w = widen;
  constexpr auto n = narrow;
  constexpr bool fromDouble = std::is_same_v<Float, double>;
  const std::string to = integer + type, from = type + integer;
  table.lanes<([](Float a) { return integerOf<Integer>(std::trunc(w(a)), fromDouble); })>(
      "cvt.rzi" + to);
  table.lanes<([](Float a) { return integerOf<Integer>(std::nearbyint(w(a)), fromDouble); })>(
      "cvt.rni" + to);
  table.lanes<([](Float a) { return integerOf<Integer>(std::floor(w(a)), fromDouble); })>(
      "cvt.rmi" + to);
  table.lanes<([](Float a) { return integerOf<Integer>(std::ceil(w(a)), fromDouble); })>("cvt.rpi" +
                                                                                         to);
  if constexpr (std::is_same_v<Float, double>)
    table.lanes<([](Integer a) { return static_cast<double>(a); })>("cvt.rn" + from);
  else
    table.lanes<([](Integer a) { return n(stickyDouble(a)); })>("cvt.rn" + from);
}

/// Everything between one floating type and the integers, and its roundings to whole numbers.
template <typename Float, double (*widen)(Float), auto narrow>
void integerFloatRows(Table &table, const std::string &type) {
  constexpr auto w = widen;
  constexpr auto n = narrow;
  integerFloatPair<Float, widen, narrow, int32_t>(table, type, ".s32");
  integerFloatPair<Float, widen, narrow, uint32_t>(table, type, ".u32");
  integerFloatPair<Float, widen, narrow, int64_t>(table, type, ".s64");
  integerFloatPair<Float, widen, narrow, uint64_t>(table, type, ".u64");
  constexpr bool fromDouble = std::is_same_v<Float, double>;
  table.lanes<([](Float a) {
    return asHalfWord(integerOf<int16_t>(std::trunc(w(a)), fromDouble));
  })>("cvt.rzi.s16" + type);
  table.lanes<([](Float a) {
    return asHalfWord(integerOf<uint16_t>(std::trunc(w(a)), fromDouble));
  })>("cvt.rzi.u16" + type);
  table.lanes<([](uint32_t a) { return n(double(signed16(a))); })>("cvt.rn" + type + ".s16");
  table.lanes<([](uint32_t a) { return n(double(low16(a))); })>("cvt.rn" + type + ".u16");
  table.lanes<([](Float a) { return n(std::trunc(w(a))); })>("cvt.rzi" + type + type);
  table.lanes<([](Float a) { return n(std::nearbyint(w(a))); })>("cvt.rni" + type + type);
  table.lanes<([](Float a) { return n(std::floor(w(a))); })>("cvt.rmi" + type + type);
  table.lanes<([](Float a) { return n(std::ceil(w(a))); })>("cvt.rpi" + type + type);
}

/// .ftz of conversions that read f32. A subnormal is zero to all of these anyway, but for floor and
/// ceil.
void flushingConversions(Table &table) {
  for (const char *integer : {".s16", ".u16", ".s32", ".u32", ".s64", ".u64", ".f32"})
    for (const char *rounding : {"rzi", "rni"})
      if (const std::string name = fmt::format("cvt.{}{}.f32", rounding, integer);
          table.rows.contains(name))
        table.alias(fmt::format("cvt.{}.ftz{}.f32", rounding, integer), name);
  table.lanes<([](float a) { return std::floor(flushed(a)); })>("cvt.rmi.ftz.f32.f32");
  table.lanes<([](float a) { return std::ceil(flushed(a)); })>("cvt.rpi.ftz.f32.f32");
  table.lanes<([](float a) { return integerOf<int32_t>(std::floor(flushed(a)), false); })>(
      "cvt.rmi.ftz.s32.f32");
  table.lanes<([](float a) { return integerOf<int32_t>(std::ceil(flushed(a)), false); })>(
      "cvt.rpi.ftz.s32.f32");
  table.lanes<([](float a) { return double(flushed(a)); })>("cvt.ftz.f64.f32");
  table.lanes<([](double a) { return flushed(static_cast<float>(a)); })>("cvt.rn.ftz.f32.f64");
  table.lanes<([](uint32_t a) { return flushed(fromBF16(low16(a))); })>("cvt.ftz.f32.bf16");
  table.alias("cvt.ftz.f32.f16", "cvt.f32.f16"); // no f16 is a subnormal f32
}

/// NaN becomes 0.
float saturated(float value) {
  return isNaN(value) || value < 0.f ? 0.f : value > 1.f ? 1.f : value;
}

uint32_t positiveBF16(float value) {
  return value < 0 ? 0 : toBF16(value);
}
uint32_t positiveF16(float value) {
  return value < 0 ? 0 : toF16(value);
}

void conversionRows(Table &table) {
  table.lanes<([](uint32_t a) { return uint64_t(a); })>("cvt.u64.u32");
  table.alias("cvt.s64.u32", "cvt.u64.u32");
  table.lanes<([](int32_t a) { return int64_t(a); })>("cvt.s64.s32");
  table.alias("cvt.u64.s32", "cvt.s64.s32");
  table.lanes<([](uint64_t a) { return int64_t(static_cast<int32_t>(a)); })>("cvt.s64.s32.wide");
  table.lanes<([](uint64_t a) { return static_cast<uint32_t>(a); })>("cvt.u32.u64");
  for (const char *name : {"cvt.s32.s64", "cvt.s32.u64", "cvt.u32.s64"})
    table.alias(name, "cvt.u32.u64");
  table.lanes<([](uint64_t a) { return static_cast<uint32_t>(a & 0xffff); })>("cvt.u16.u64");
  table.lanes<([](uint32_t a) { return uint64_t(low16(a)); })>("cvt.u64.u16");
  table.lanes<([](uint32_t a) { return low16(a); })>("cvt.u16.u32");
  for (const char *name :
       {"cvt.u16.s32", "cvt.s16.s32", "cvt.s16.u32", "cvt.u32.u16", "cvt.s32.u16"})
    table.alias(name, "cvt.u16.u32");
  table.lanes<([](uint32_t a) { return signed16(a); })>("cvt.s32.s16");
  table.lanes<([](uint32_t a) { return a & 255; })>("cvt.u32.u8");
  for (const char *name : {"cvt.u16.u8", "cvt.u8.u32", "cvt.u8.u16", "cvt.s32.u8"})
    table.alias(name, "cvt.u32.u8");
  table.lanes<([](uint32_t a) { return int32_t(int8_t(a)); })>("cvt.s32.s8");
  table.alias("cvt.s16.s8", "cvt.s32.s8");
  integerFloatRows<float, wideFloat, roundedFloat>(table, ".f32");
  integerFloatRows<double, wideDouble, wideDouble>(table, ".f64");
  integerFloatRows<uint32_t, wideBF16, narrowBF16>(table, ".bf16");
  integerFloatRows<uint32_t, wideF16, narrowF16>(table, ".f16");
  table.lanes<saturated>("cvt.sat.f32.f32");
  table.lanes<([](float a) { return saturated(flushed(a)); })>("cvt.ftz.sat.f32.f32");
  table.lanes<([](float a) { return double(a); })>("cvt.f64.f32");
  table.lanes<([](double a) { return static_cast<float>(a); })>("cvt.rn.f32.f64");
  table.lanes<([](float a) { return toBF16(a); })>("cvt.rn.bf16.f32");
  table.lanes<([](float a) { return toF16(a); })>("cvt.rn.f16.f32");
  table.lanes<([](uint32_t a) { return fromBF16(low16(a)); })>("cvt.f32.bf16");
  table.lanes<([](uint32_t a) { return fromF16(low16(a)); })>("cvt.f32.f16");
  // Of two operands the first becomes the upper half.
  table.lanes<([](float a, float b) { return toBF16(a) << 16 | toBF16(b); })>("cvt.rn.bf16x2.f32");
  table.lanes<([](float a, float b) { return toF16(a) << 16 | toF16(b); })>("cvt.rn.f16x2.f32");
  table.lanes<positiveBF16>("cvt.rn.relu.bf16.f32");
  table.lanes<positiveF16>("cvt.rn.relu.f16.f32");
  table.lanes<([](float a, float b) { return positiveBF16(a) << 16 | positiveBF16(b); })>(
      "cvt.rn.relu.bf16x2.f32");
  table.lanes<([](float a, float b) { return positiveF16(a) << 16 | positiveF16(b); })>(
      "cvt.rn.relu.f16x2.f32");
  table.lanes<([](double a) { return narrowBF16(a); })>("cvt.rn.bf16.f64");
  table.lanes<([](double a) { return narrowF16(a); })>("cvt.rn.f16.f64");
  table.lanes<wideBF16>("cvt.f64.bf16");
  table.lanes<wideF16>("cvt.f64.f16");
  table.lanes<([](float a, float b) { return to8(a, 3) << 8 | to8(b, 3); })>(
      "cvt.rn.satfinite.e4m3x2.f32");
  table.lanes<([](float a, float b) { return to8(a, 2) << 8 | to8(b, 2); })>(
      "cvt.rn.satfinite.e5m2x2.f32");
  table.lanes<([](uint32_t a) { return toF16(fromE4M3(a >> 8)) << 16 | toF16(fromE4M3(a)); })>(
      "cvt.rn.f16x2.e4m3x2");
  table.lanes<([](uint32_t a) { return toF16(fromE5M2(a >> 8)) << 16 | toF16(fromE5M2(a)); })>(
      "cvt.rn.f16x2.e5m2x2");
  flushingConversions(table);
}

Table build() {
  Table table;
  wordRows(table);
  halfWordRows(table);
  floatRows<keep>(table, "");
  floatRows<flushed>(table, ".ftz");
  table.lanes<([](float a) { return static_cast<float>(std::tanh(double(a))); })>("tanh.f32");
  // PTX: the result has the sign of a and the magnitude of b.
  table.lanes<([](uint32_t a, uint32_t b) { return (b & 0x7fffffff) | (a & 0x80000000); })>(
      "copysign.f32");
  doubleRows(table);
  classRows<float>(table, ".f32");
  packedRows<fromBF16, narrowBF16>(table, "bf16");
  packedRows<fromF16, narrowF16>(table, "f16");
  comparisonRows(table);
  conversionRows(table);
  return table;
}

} // namespace

const std::unordered_map<std::string_view, PlainOpcode> &emulator::plainOpcodes() {
  static const Table table = build();
  return table.rows;
}
