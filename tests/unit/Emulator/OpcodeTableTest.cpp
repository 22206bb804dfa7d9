//===- OpcodeTableTest.cpp - Every plain operation by its definition ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each row of the table of plain operations runs as a kernel of its own, and the
// results are compared with what the PTX ISA defines, computed here from the
// opcode's words: integers in 128 bits, floats in long double and rounded once.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Opcodes.h"
#include "tests/unit/Emulator/Probe.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <set>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

using Real = long double;
using Integer = __int128;
using Words = std::array<uint64_t, 3>;

struct Type {
  char kind; ///< s, u, b (an integer without a sign), f or p (a predicate).
  uint32_t bits, exponentBits = 0;
  uint32_t count = 1; ///< Numbers packed in the register.

  bool isFloat() const { return kind == 'f'; }
  uint32_t mantissaBits() const { return bits - 1 - exponentBits; }
  Type one() const { return {kind, bits, exponentBits}; }
};

std::optional<Type> typeOf(std::string name) {
  const bool pair = name.ends_with("x2");
  if (pair)
    name.resize(name.size() - 2);
  const uint32_t count = pair ? 2 : 1;
  if (name == "pred")
    return Type{'p', 1};
  if (name == "bf16")
    return Type{'f', 16, 8, count};
  if (name == "e4m3")
    return Type{'f', 8, 4, count};
  if (name == "e5m2")
    return Type{'f', 8, 5, count};
  for (uint32_t bits : {8, 16, 32, 64})
    for (char kind : {'s', 'u', 'b', 'f'})
      if (name == kind + std::to_string(bits))
        return Type{kind, bits, kind != 'f' ? 0u : bits == 16 ? 5u : bits == 32 ? 8u : 11u, count};
  return std::nullopt;
}

uint64_t lowBits(uint64_t value, uint32_t bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

Integer integerOf(Type type, uint64_t value) {
  value = lowBits(value, type.bits);
  if (type.kind == 's' && value >> (type.bits - 1))
    return Integer(value) - (Integer(1) << type.bits);
  return Integer(value);
}

bool isE4M3(Type type) {
  return type.bits == 8 && type.exponentBits == 4;
}

/// The magnitude that `pattern` (without its sign) stands for, infinity taken as the next number
/// after the largest.
Real magnitudeOf(Type type, uint64_t pattern) {
  const int m = static_cast<int>(type.mantissaBits());
  const int bias = (1 << (type.exponentBits - 1)) - 1;
  const uint64_t exponent = pattern >> m, mantissa = lowBits(pattern, type.mantissaBits());
  return exponent == 0 ? std::ldexp(Real(mantissa), 1 - bias - m)
                       : std::ldexp(Real((uint64_t(1) << m) + mantissa),
                                    static_cast<int>(exponent) - bias - m);
}

/// The pattern of infinity; in e4m3 that of NaN, where its numbers end too.
uint64_t endOf(Type type) {
  return isE4M3(type) ? 0x7f : lowBits(~uint64_t(0), type.exponentBits) << type.mantissaBits();
}

Real realOf(Type type, uint64_t value) {
  value = lowBits(value, type.bits);
  const uint64_t pattern = lowBits(value, type.bits - 1);
  const Real sign = value >> (type.bits - 1) ? Real(-1) : Real(1);
  if (pattern < endOf(type))
    return sign * magnitudeOf(type, pattern);
  if (pattern == endOf(type) && !isE4M3(type))
    return sign * std::numeric_limits<Real>::infinity();
  return std::copysign(std::numeric_limits<Real>::quiet_NaN(), sign);
}

/// Rounds to nearest even: a binary search over the patterns, whose order is that of the numbers.
uint64_t patternOf(Type type, Real value) {
  const uint64_t end = endOf(type);
  if (std::isnan(value))
    return type.bits == 8 ? 0x7f : lowBits(~uint64_t(0), type.bits - 1);
  const uint64_t sign = uint64_t(std::signbit(value)) << (type.bits - 1);
  const Real magnitude = std::fabs(value);
  if (magnitude >= magnitudeOf(type, end))
    return sign | end;
  uint64_t low = 0, high = end;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (magnitudeOf(type, middle) <= magnitude ? low : high) = middle;
  }
  const Real below = magnitude - magnitudeOf(type, low),
             above = magnitudeOf(type, high) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

Real flush(Type type, Real value) {
  const Real smallestNormal = magnitudeOf(type, uint64_t(1) << type.mantissaBits());
  return std::fabs(value) < smallestNormal ? std::copysign(Real(0), value) : value;
}

/// What a register may hold afterwards.
struct Expected {
  Type type;
  uint64_t pattern;
  uint32_t ulps = 0;       ///< PTX calls the function an approximation.
  bool canonical = false;  ///< The pattern of NaN is defined.
  bool eitherZero = false; ///< PTX leaves the sign of zero open.

  bool accepts(uint64_t seen) const {
    seen = lowBits(seen, type.bits);
    if (seen == pattern)
      return true;
    if (!type.isFloat())
      return false;
    const Real a = realOf(type, seen), b = realOf(type, pattern);
    if (std::isnan(b))
      return std::isnan(a) && !canonical;
    if (eitherZero && b == 0)
      return a == 0;
    return ulps && std::signbit(a) == std::signbit(b) &&
           (seen > pattern ? seen - pattern : pattern - seen) <= ulps;
  }
};

/// An opcode in words: operation, modifiers, types.
struct Instruction {
  std::string operation;
  std::set<std::string> modifiers;
  std::vector<Type> types;

  explicit Instruction(std::string_view name) {
    size_t begin = 0;
    while (begin <= name.size()) {
      const size_t end = std::min(name.find('.', begin), name.size());
      const std::string word(name.substr(begin, end - begin));
      if (begin == 0)
        operation = word;
      else if (const std::optional<Type> type = typeOf(word))
        types.push_back(*type);
      else
        modifiers.insert(word);
      begin = end + 1;
    }
  }

  bool has(const char *modifier) const { return modifiers.contains(modifier); }
  /// The source type, which conversions name last.
  Type source() const { return types.back(); }
  bool knows(std::initializer_list<const char *> allowed) const {
    return std::all_of(modifiers.begin(), modifiers.end(), [&](const std::string &word) {
      return std::find(allowed.begin(), allowed.end(), word) != allowed.end();
    });
  }
};

Expected bitsOfType(Type type, Integer value) {
  return {type, lowBits(static_cast<uint64_t>(value), type.bits)};
}

Expected predicateOf(bool value) {
  return {{'p', 1}, value};
}

std::optional<Expected> compareReals(const Instruction &op, Real a, Real b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  if (op.has("num") || op.has("nan"))
    return predicateOf(op.has("nan") == unordered);
  for (const auto &[word, value] : {std::pair<const char *, bool>{"eq", a == b},
                                    {"ne", a < b || a > b},
                                    {"lt", a < b},
                                    {"le", a <= b},
                                    {"gt", a > b},
                                    {"ge", a >= b}}) {
    if (op.has(word))
      return predicateOf(!unordered && value);
    if (op.modifiers.contains(std::string(word) + "u"))
      return predicateOf(unordered || value);
  }
  return std::nullopt;
}

std::optional<Expected> compareIntegers(const Instruction &op, Integer a, Integer b) {
  if (op.has("eq") || op.has("ne"))
    return predicateOf(op.has("eq") == (a == b));
  if (op.has("lt") || op.has("lo"))
    return predicateOf(a < b);
  if (op.has("le") || op.has("ls"))
    return predicateOf(a <= b);
  if (op.has("gt") || op.has("hi"))
    return predicateOf(a > b);
  if (op.has("ge") || op.has("hs"))
    return predicateOf(a >= b);
  return std::nullopt;
}

std::optional<Expected> classify(const Instruction &op, Type type, Real a) {
  const bool normal = std::isfinite(a) && a != 0 && flush(type, a) != 0;
  if (op.has("finite"))
    return predicateOf(std::isfinite(a));
  if (op.has("infinite"))
    return predicateOf(std::isinf(a));
  if (op.has("number") || op.has("notanumber"))
    return predicateOf(op.has("notanumber") == std::isnan(a));
  if (op.has("normal"))
    return predicateOf(normal);
  if (op.has("subnormal"))
    return predicateOf(std::isfinite(a) && a != 0 && !normal);
  return std::nullopt;
}

/// a * b + c of numbers whose product a Real holds, such that one more rounding is the only one:
/// where the sum is inexact its last bit is set.
Real fusedSum(Real a, Real b, Real c) {
  const Real product = a * b, sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  const Real part = sum - product, error = (product - (sum - part)) + (c - part);
  int exponent = 0;
  const bool odd = std::fmod(std::ldexp(std::frexp(sum, &exponent), 64), Real(2)) != 0;
  const Real infinity = std::numeric_limits<Real>::infinity();
  return error == 0 || odd ? sum : std::nextafter(sum, error > 0 ? infinity : -infinity);
}

std::optional<Expected> computeReals(const Instruction &op, Type type, const Words &in) {
  if (!op.knows({"ftz", "NaN", "relu"}))
    return std::nullopt;
  const auto flushed = [&](Real value) { return op.has("ftz") ? flush(type, value) : value; };
  const Real a = flushed(realOf(type, in[0])), b = flushed(realOf(type, in[1])),
             c = flushed(realOf(type, in[2]));
  uint32_t ulps = 0;
  Real result = 0;
  const std::string &name = op.operation;
  // Of two doubles a Real does not hold sum and product: the host's own arithmetic rounds once.
  const bool isDouble = type.bits == 64;
  const double da = double(a), db = double(b);
  if (name == "add")
    result = isDouble ? Real(da + db) : a + b;
  else if (name == "sub")
    result = isDouble ? Real(da - db) : a - b;
  else if (name == "mul")
    result = isDouble ? Real(da * db) : a * b;
  else if (name == "div")
    result = isDouble ? Real(da / db) : a / b;
  else if (name == "sqrt")
    result = isDouble ? Real(std::sqrt(da)) : std::sqrt(a);
  else if (name == "fma")
    result = isDouble ? Real(std::fma(da, db, double(c))) : fusedSum(a, b, c);
  else if (name == "neg")
    result = -a;
  else if (name == "abs")
    result = std::fabs(a);
  else if (name == "rcp")
    result = 1 / a;
  else if (name == "copysign")
    result = std::copysign(b, a);
  else if (name == "min" || name == "max") {
    const bool first = a == b ? std::signbit(a) == (name == "min") : (a < b) == (name == "min");
    if (std::isnan(a) || std::isnan(b))
      result = op.has("NaN") ? std::numeric_limits<Real>::quiet_NaN() : std::isnan(a) ? b : a;
    else
      result = first ? a : b;
  } else {
    ulps = 1;
    if (name == "ex2")
      result = std::exp2(a);
    else if (name == "lg2")
      result = std::log2(a);
    else if (name == "rsqrt")
      result = 1 / std::sqrt(a);
    else if (name == "sin")
      result = std::sin(a);
    else if (name == "cos")
      result = std::cos(a);
    else if (name == "tanh")
      result = std::tanh(a);
    else
      return std::nullopt;
  }
  if (op.has("relu") && result < 0)
    result = 0;
  result = realOf(type, patternOf(type, result));
  return Expected{type, patternOf(type, flushed(result)), ulps, false, op.has("relu")};
}

/// bfe as the PTX ISA writes it, bit by bit.
uint32_t extractField(uint32_t a, uint32_t position, uint32_t length, bool isSigned) {
  const auto bit = [&](uint32_t i) { return a >> i & 1; };
  position &= 255;
  length &= 255;
  const uint32_t sign = isSigned && length ? bit(std::min(position + length - 1, 31u)) : 0;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 32; ++i)
    result |= (i < length && position + i < 32 ? bit(position + i) : sign) << i;
  return result;
}

uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), &a, 4);
  std::memcpy(bytes.data() + 4, &b, 4);
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> 4 * i & 15;
    const uint32_t byte = bytes[nibble % 8];
    result |= (nibble < 8 ? byte : byte >= 128 ? 255u : 0u) << 8 * i;
  }
  return result;
}

Integer quotientOrOnes(Integer a, Integer b) {
  return b == 0 ? Integer(-1) : a / b;
}

std::optional<Expected> computeIntegers(const Instruction &op, Type type, const Words &in) {
  if (!op.knows({"lo", "hi", "wide", "relu", "l", "r"}))
    return std::nullopt;
  const Integer a = integerOf(type, in[0]), b = integerOf(type, in[1]);
  const auto word = [&](size_t i) { return static_cast<uint32_t>(in[i]); };
  const uint32_t amount = std::min(word(1), type.bits);
  const Type twice = {type.kind, 2 * type.bits};
  const Type count = {'u', 32};
  const std::string &name = op.operation;
  if (name == "add")
    return bitsOfType(type, a + b);
  if (name == "sub")
    return bitsOfType(type, a - b);
  if (name == "mul") {
    // In 128 bits the product of two u64 wraps, which leaves its bits as they are.
    const auto product = static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b);
    if (op.has("wide"))
      return bitsOfType(twice, static_cast<Integer>(product));
    return bitsOfType(type, static_cast<Integer>(op.has("hi") ? product >> type.bits : product));
  }
  if (name == "mad") {
    const Type result = op.has("wide") ? twice : type;
    return bitsOfType(
        result, static_cast<Integer>(
                    static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b) + in[2]));
  }
  if (name == "div")
    return bitsOfType(type, quotientOrOnes(a, b));
  if (name == "rem")
    return bitsOfType(type, b == 0 ? a : a % b);
  if (name == "min" || name == "max") {
    const Integer chosen = name == "min" ? std::min(a, b) : std::max(a, b);
    return bitsOfType(type, op.has("relu") ? std::max(chosen, Integer(0)) : chosen);
  }
  if (name == "abs")
    return bitsOfType(type, a < 0 ? -a : a);
  if (name == "neg")
    return bitsOfType(type, -a);
  if (name == "and")
    return bitsOfType(type, a & b);
  if (name == "or")
    return bitsOfType(type, a | b);
  if (name == "xor")
    return bitsOfType(type, a ^ b);
  if (name == "not")
    return bitsOfType(type, type.kind == 'p' ? Integer(a == 0) : ~a);
  if (name == "shl")
    return bitsOfType(type, static_cast<Integer>(static_cast<unsigned __int128>(a) << amount));
  if (name == "shr")
    return bitsOfType(type, a >> amount);
  if (name == "popc" || name == "clz" || name == "brev") {
    uint32_t ones = 0, leading = type.bits;
    uint64_t reversed = 0;
    for (uint32_t i = 0; i < type.bits; ++i)
      if (a >> i & 1) {
        ++ones;
        leading = type.bits - 1 - i;
        reversed |= uint64_t(1) << (type.bits - 1 - i);
      }
    if (name == "brev")
      return Expected{type, reversed};
    return Expected{count, name == "popc" ? ones : leading};
  }
  if (name == "prmt")
    return Expected{type, permuteBytes(word(0), word(1), word(2))};
  if (name == "bfe")
    return Expected{type, extractField(word(0), word(1), word(2), type.kind == 's')};
  if (name == "shf" && op.has("l"))
    return Expected{type, std::rotl(uint64_t(word(1)) << 32 | word(0), int(word(2) % 32)) >> 32};
  if (name == "shf" && op.has("r"))
    return Expected{type, lowBits((uint64_t(word(1)) << 32 | word(0)) >> word(2) % 32, 32)};
  return std::nullopt;
}

Real roundToWhole(const Instruction &op, Real value) {
  return op.has("rzi")   ? std::trunc(value)
         : op.has("rni") ? std::nearbyint(value)
         : op.has("rmi") ? std::floor(value)
         : op.has("rpi") ? std::ceil(value)
                         : value;
}

/// NaN is 0, but beside 64 bits on either side the highest bit; beyond the limits are the limits.
Expected clampToInteger(Type from, Type to, Real value) {
  if (std::isnan(value))
    return bitsOfType(to, from.bits == 64 || to.bits == 64 ? Integer(1) << (to.bits - 1) : 0);
  const bool isSigned = to.kind == 's';
  const Integer smallest = isSigned ? -(Integer(1) << (to.bits - 1)) : 0;
  const Integer largest = (Integer(1) << (to.bits - isSigned)) - 1;
  return bitsOfType(to, value <= Real(smallest)  ? smallest
                        : value >= Real(largest) ? largest
                                                 : static_cast<Integer>(value));
}

std::optional<Expected> convert(const Instruction &op, uint64_t in) {
  if (!op.knows({"rn", "rzi", "rni", "rmi", "rpi", "ftz", "sat", "relu", "satfinite", "wide"}) ||
      op.types.size() != 2)
    return std::nullopt;
  const Type to = op.types[0].one(), from = op.types[1].one();
  if (!from.isFloat() && !to.isFloat()) {
    // Registers have at least 16 bits; the result is extended to them.
    const Integer value = integerOf(to, static_cast<uint64_t>(integerOf(from, in)));
    return bitsOfType({to.kind, std::max(to.bits, 16u)}, value);
  }
  Real value = from.isFloat() ? realOf(from, in) : Real(integerOf(from, in));
  const Type single = {'f', 32, 8};
  const bool flushesSource = op.has("ftz") && from.bits == 32;
  if (flushesSource)
    value = flush(single, value);
  value = roundToWhole(op, value);
  if (!to.isFloat())
    return clampToInteger(from, to, value);
  if (op.has("relu") && value < 0)
    value = 0;
  if (op.has("sat"))
    value = std::isnan(value) ? 0 : std::clamp(value, Real(0), Real(1));
  uint64_t pattern = patternOf(to, value);
  if (op.has("ftz") && to.bits == 32)
    pattern = patternOf(to, flush(single, realOf(to, pattern)));
  if (op.has("satfinite") && !std::isnan(value) && lowBits(pattern, to.bits - 1) >= endOf(to))
    pattern = (pattern & uint64_t(1) << (to.bits - 1)) | (endOf(to) - 1);
  return Expected{to, pattern, 0, to.bits <= 16, op.has("relu") || op.has("sat")};
}

/// Operands hold one number each.
std::optional<Expected> computeOne(const Instruction &op, Type type, const Words &in) {
  if (op.operation == "setp" && type.isFloat()) {
    const auto read = [&](uint64_t value) {
      const Real number = realOf(type, value);
      return op.has("ftz") ? flush(type, number) : number;
    };
    return compareReals(op, read(in[0]), read(in[1]));
  }
  if (op.operation == "setp")
    return compareIntegers(op, integerOf(type, in[0]), integerOf(type, in[1]));
  if (op.operation == "testp")
    return classify(op, type, realOf(type, in[0]));
  return type.isFloat() ? computeReals(op, type, in) : computeIntegers(op, type, in);
}

/// The numbers that the destination holds, the lowest first; nothing for an unknown opcode.
std::optional<std::vector<Expected>> define(const Instruction &op, const Words &in) {
  if (op.types.empty())
    return std::nullopt;
  const Type type = op.source();
  const uint32_t count = op.types[0].count;
  std::vector<Expected> result;
  for (uint32_t i = 0; i < count; ++i) {
    std::optional<Expected> one;
    if (op.operation == "cvt")
      // Of two operands the first becomes the upper half.
      one = convert(op, count == type.count ? in[0] >> i * type.bits : in[1 - i]);
    else
      one = computeOne(op, type.one(),
                       {in[0] >> i * type.bits, in[1] >> i * type.bits, in[2] >> i * type.bits});
    if (!one)
      return std::nullopt;
    result.push_back(*one);
  }
  return result;
}

/// Numbers of the type that are at an edge of something.
std::array<uint64_t, 16> edgesOf(Type type) {
  const uint64_t sign = uint64_t(1) << (type.bits - 1);
  if (!type.isFloat())
    return {0, 1, ~uint64_t(0), sign, sign - 1, sign + 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64};
  const uint64_t end = endOf(type), smallestNormal = uint64_t(1) << type.mantissaBits();
  const auto pattern = [&](Real value) { return patternOf(type, value); };
  const uint64_t nan = end | end >> 1 | 1;
  return {0,
          sign,
          pattern(1),
          pattern(-1),
          end,
          sign | end,
          nan,
          1,
          sign | 1,
          smallestNormal - 1,
          smallestNormal,
          end - 1,
          pattern(2.5),
          pattern(-0.5),
          pattern(3) + 1,
          pattern(40000)};
}

constexpr uint32_t threads = 512;

/// All pairs of edges, then numbers at random: any bits, and such whose magnitudes are alike.
std::vector<Words> operandsOf(const Instruction &op) {
  std::mt19937_64 random(7);
  const Type type = op.source();
  const std::array<uint64_t, 16> edges = edgesOf(type.one());
  std::vector<Words> result;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    Words words;
    for (uint32_t i = 0; i < 3; ++i) {
      const uint32_t which = i == 0 ? thread : i == 1 ? thread / 16 : thread * 7 + thread / 16;
      words[i] = random();
      for (uint32_t position = 0; position < type.count; ++position) {
        uint64_t value = lowBits(random(), type.bits);
        if (thread < 256)
          value = edges[(which + 5 * position) % 16];
        else if (type.isFloat() && type.bits >= 16 && thread % 2)
          value = patternOf(type.one(), std::ldexp(Real(static_cast<int64_t>(random())), -60));
        else if (!type.isFloat() && i > 0 && thread % 4 == 0)
          value %= 40;
        // Bits above the type stay random: they mean nothing.
        const uint64_t mask = lowBits(~uint64_t(0), type.bits) << position * type.bits;
        words[i] = (words[i] & ~mask) | (value << position * type.bits & mask);
      }
      // Counts of shifts are whole words.
      if (i > 0 && (op.operation == "shl" || op.operation == "shr"))
        words[i] = thread % 3 ? lowBits(words[i], 6) : lowBits(words[i], 32);
    }
    result.push_back(words);
  }
  return result;
}

/// The row as a kernel that reads three words of 64 bits a thread and writes one.
std::string kernelOf(const PlainOpcode &row) {
  std::string body = "mul.wide.u32 %rd2, %r0, 24;\nadd.s64 %rd2, %rd1, %rd2;\n"
                     "mul.wide.u32 %rd3, %r0, 8;\nadd.s64 %rd3, %rd0, %rd3;\n"
                     "mov.b64 %rd20, 0;\nmov.b32 %r20, 0;\n",
              operands;
  for (size_t i = 0; i < row.signature.size(); ++i) {
    const RegisterClass registers = row.signature[i];
    const std::string number = std::to_string(i == 0 ? 20 : 9 + i);
    const size_t offset = i == 0 ? 0 : 8 * (i - 1);
    if (i > 0)
      operands += ", ";
    if (registers == RegisterClass::Predicate) {
      const std::string predicate = std::to_string(i);
      operands += "%p" + predicate;
      if (i > 0)
        body += fmt::format("ld.global.b32 %r{0}, [%rd2+{1}];\nand.b32 %r{0}, %r{0}, 1;\n"
                            "setp.ne.u32 %p{2}, %r{0}, 0;\n",
                            number, offset, predicate);
      continue;
    }
    const bool isWide = registers == RegisterClass::Wide;
    operands += (isWide ? "%rd" : "%r") + number;
    if (i > 0)
      body += fmt::format("ld.global.{} %{}{}, [%rd2+{}];\n", isWide ? "b64" : "b32",
                          isWide ? "rd" : "r", number, offset);
  }
  // The decoder tells this conversion of a wide register apart by the register.
  const std::string_view name = row.name == "cvt.s64.s32.wide" ? "cvt.s64.s32" : row.name;
  body += fmt::format("{} {};\n", name, operands);
  switch (row.signature[0]) {
  case RegisterClass::Wide:
    return body + "st.global.b64 [%rd3], %rd20;\n";
  case RegisterClass::Narrow:
    return body + "st.global.b32 [%rd3], %r20;\n";
  default:
    return body + "selp.b32 %r20, 1, 0, %p0;\nst.global.b32 [%rd3], %r20;\n";
  }
}

void checkRow(const PlainOpcode &row) {
  const Instruction op(row.name);
  ASSERT_TRUE(define(op, {0, 0, 0})) << "no definition covers " << row.name;
  const std::vector<Words> operands = operandsOf(op);
  Probe probe;
  probe.threads = threads;
  probe.in.resize(threads * 6);
  std::memcpy(probe.in.data(), operands.data(), threads * sizeof(Words));
  probe.body = kernelOf(row);
  const Result<Outcome> outcome = probe.run();
  ASSERT_TRUE(outcome) << row.name << ": " << outcome.error().message();
  ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    uint64_t seen = 0;
    std::memcpy(&seen, &probe.out[2 * thread], 8);
    const Words &in = operands[thread];
    const std::vector<Expected> results = *define(op, in);
    for (const Expected &expected : results) {
      ASSERT_TRUE(expected.accepts(seen))
          << fmt::format("{} of {:#x}, {:#x}, {:#x} is {:#x} where {:#x} belongs", row.name, in[0],
                         in[1], in[2], lowBits(seen, expected.type.bits), expected.pattern);
      seen >>= expected.type.bits % 64;
    }
  }
}

TEST(EmulatorOpcodeTable, EveryRowHasADefinition) {
  EXPECT_GT(plainOpcodes().size(), 500u);
  for (const auto &[name, row] : plainOpcodes())
    EXPECT_TRUE(define(Instruction(name), {0, 0, 0})) << name;
}

TEST(EmulatorOpcodeTable, EveryRowComputesWhatPtxDefines) {
  for (const auto &[name, row] : plainOpcodes())
    checkRow(row);
}

} // namespace
