//===- ProductKernel.cpp - Running e4m3.cu under the emulator -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/ProductKernel.h"

#include "lib/Support/Half.h"
#include "tests/emulator/AttentionKernel.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <ctime>
#include <limits>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {

constexpr uint32_t blockSize = 64, step = 128, stages = 3;

/// The number behind an e4m3 code: 4 bits of exponent with bias 7, 3 of mantissa, no infinity.
double e4m3Value(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  const double magnitude =
      exponent ? std::ldexp(8 + mantissa, exponent - 10) : std::ldexp(mantissa, -9);
  return code & 128 ? -magnitude : magnitude;
}

/// By search over all codes, ties to the even one: slow, and shares nothing with the emulator.
uint8_t nearestE4M3(double value) {
  uint8_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (uint8_t code = 0; code < 0x7f; ++code) {
    const double here = std::fabs(std::fabs(value) - e4m3Value(code));
    if (here < distance || (here == distance && code % 2 == 0)) {
      best = code;
      distance = here;
    }
  }
  return static_cast<uint8_t>(best | (std::signbit(value) ? 128 : 0));
}

} // namespace

std::string ProductCase::Result::errors() const {
  return fmt::format("error {:.1e}", error);
}

ProductCase::ProductCase(uint32_t rows, uint32_t columns, uint32_t depth)
    : rows(rows), columns(columns), depth(depth) {
  // Some beyond the largest e4m3 number, 448, and some subnormal.
  for (uint16_t code : normalBF16(size_t(rows) * depth, rows + depth)) {
    const float value = bf16ToFloat(code);
    aFloats.push_back(value * value * value * 100);
    a.push_back(nearestE4M3(double(aFloats.back())));
  }
  for (uint16_t code : normalBF16(size_t(columns) * depth, columns * 3 + depth))
    b.push_back(nearestE4M3(double(bf16ToFloat(code))));
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (uint32_t e = 0; e < depth; ++e)
        sum += e4m3Value(a[i * depth + e]) * e4m3Value(b[j * depth + e]);
      expected.push_back(sum);
    }
}

Result<ProductCase::Result> ProductCase::run(const Module &module,
                                             const RunOptions &options) const {
  Result result;
  result.output.assign(expected.size(), std::numeric_limits<float>::quiet_NaN());
  Launch launch;
  launch.grid = {rows / blockSize, columns / blockSize, 1};
  launch.block = {256, 1, 1};
  launch.dynamicSharedBytes = 1024 + 2 * stages * blockSize * step + 16 * stages;
  auto input = [&](const char *name, const auto &data) {
    return Buffer{name, const_cast<void *>(static_cast<const void *>(data.data())),
                  data.size() * sizeof data[0], false, true};
  };
  launch.buffers = {input("a", a),
                    input("b", b),
                    input("a_floats", aFloats),
                    {"c", result.output.data(), result.output.size() * 4, true, false}};
  for (size_t buffer = 0; buffer < 2; ++buffer) {
    TensorMap map;
    map.dtype = DType::U8; // a copy moves bits
    map.rank = 4;
    map.buffer = buffer;
    map.dims = {depth, buffer ? columns : rows, 1, 1};
    map.strides = {1, depth, depth, depth};
    map.box = {step, blockSize, 1, 1};
    map.swizzle = Swizzle::Bytes128;
    launch.maps.push_back(map);
    launch.arguments.push_back(Argument::map(buffer));
  }
  for (const Argument &argument :
       {Argument::tensor(2), Argument::tensor(3), Argument::of(columns), Argument::of(depth)})
    launch.arguments.push_back(argument);

  const std::clock_t start = std::clock();
  tilewright::Result<Outcome> outcome = emulator::run(module, launch, options);
  result.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  if (!outcome)
    return outcome.error();
  result.outcome = std::move(*outcome);
  result.error = relativeError(expected, [&](size_t i) { return double(result.output[i]); });
  return result;
}
