//===- AttentionKernel.cpp - Running attention.cu under the emulator ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/AttentionKernel.h"

#include "lib/Emulator/Random.h"
#include "lib/Support/Half.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

std::string Variant::defines() const {
  return fmt::format("-DHD={} -DNWG={} -DBN={} -DST={} -DQBUF={} -DMODE={} -DPP={} -DCAUSAL={} "
                     "-DWSKIP={}",
                     headDim, warpgroups, blockKeys, stages, queryBuffers, mode, pingPong, causal,
                     skip);
}

AttentionCase::AttentionCase(const Variant &variant, const Shape &shape)
    : variant(variant), shape(shape) {
  const size_t d = variant.headDim, T = shape.length, count = shape.heads * T * d;
  for (std::vector<uint16_t> *tensor : {&q, &k, &v})
    *tensor = normalBF16(count, T * 31 + d + (tensor - &q));
  for (size_t i = 0; i < count; ++i) {
    double a = bf16ToFloat(q[i]), b = bf16ToFloat(k[i]);
    const double place = double(i / d % T) / double(T - 1);
    if (shape.amplitude > 1) { // the kernel visits the keys from the last to the first
      a *= shape.amplitude;
      b *= 1 - 0.98 * place;
    }
    if (shape.amplitude < 0)
      a = -std::fabs(a), b = std::fabs(b);
    q[i] = doubleToBF16(a);
    k[i] = doubleToBF16(b);
  }
  const double scale = 1 / std::sqrt(double(d));
  std::vector<float> keys(T * d), values(T * d), query(d);
  std::vector<double> scores(T), row(d);
  for (size_t head = 0; head < shape.heads; ++head) {
    for (size_t i = 0; i < T * d; ++i) {
      keys[i] = bf16ToFloat(k[head * T * d + i]);
      values[i] = bf16ToFloat(v[head * T * d + i]);
    }
    for (size_t i = 0; i < T; ++i) {
      for (size_t e = 0; e < d; ++e)
        query[e] = bf16ToFloat(q[(head * T + i) * d + e]);
      const size_t visible = variant.causal ? i + 1 : T;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (size_t j = 0; j < visible; ++j) {
        double dot = 0;
        for (size_t e = 0; e < d; ++e)
          dot += double(query[e]) * keys[j * d + e];
        scores[j] = dot * scale;
        largest = std::max(largest, scores[j]);
      }
      std::fill(row.begin(), row.end(), 0.0);
      for (size_t j = 0; j < visible; ++j) {
        const double p = std::exp(scores[j] - largest);
        sum += p;
        for (size_t e = 0; e < d; ++e)
          row[e] += p * values[j * d + e];
      }
      lse.push_back(largest + std::log(sum));
      for (double element : row)
        output.push_back(element / sum);
    }
  }
}

Result<AttentionCase::Result> AttentionCase::run(const Module &module,
                                                 const RunOptions &options) const {
  const uint32_t d = variant.headDim, T = shape.length;
  const uint32_t blockQueries = 64 * variant.warpgroups;
  const uint32_t tiles = (T + blockQueries - 1) / blockQueries;
  constexpr uint16_t bf16NaN = 0x7fff;
  Result result;
  result.output.assign(output.size(), bf16NaN);
  std::vector<float> lseOut(lse.size(), std::numeric_limits<float>::quiet_NaN());
  std::vector<uint32_t> counter(4);

  Launch launch;
  launch.grid = {std::min(shape.blocks, tiles * shape.heads), 1, 1};
  launch.block = {(variant.warpgroups + 1) * 128, 1, 1};
  launch.dynamicSharedBytes = 1024 + variant.queryBuffers * blockQueries * d * 2 +
                              2 * variant.stages * variant.blockKeys * d * 2 + 512;
  auto input = [&](const char *name, const std::vector<uint16_t> &data) {
    return Buffer{name, const_cast<uint16_t *>(data.data()), data.size() * 2, false, true};
  };
  launch.buffers = {input("q", q),
                    input("k", k),
                    input("v", v),
                    {"o", result.output.data(), result.output.size() * 2, true, false},
                    {"lse", lseOut.data(), lseOut.size() * 4, true, false},
                    {"counter", counter.data(), counter.size() * 4, true, true}};
  for (size_t buffer = 0; buffer < 3; ++buffer) {
    TensorMap map;
    map.rank = 4;
    map.buffer = buffer;
    map.dims = {64, T, d / 64, shape.heads};
    map.strides = {2, d * 2, 128, uint64_t(T) * d * 2};
    map.box = {64, buffer == 0 ? blockQueries : variant.blockKeys, d / 64, 1};
    map.swizzle = Swizzle::Bytes128;
    launch.maps.push_back(map);
    launch.arguments.push_back(Argument::map(buffer));
  }
  const float scale = static_cast<float>(1 / std::sqrt(double(d)) * 1.4426950408889634);
  for (const Argument &argument :
       {Argument::tensor(3), Argument::tensor(4), Argument::of(T), Argument::of(shape.heads),
        Argument::of(tiles), Argument::of(shape.heads), Argument::of(scale), Argument::tensor(5),
        Argument::of(uint64_t(0))})
    launch.arguments.push_back(argument);

  const std::clock_t start = std::clock(); // of this process: others on the machine do not count
  tilewright::Result<Outcome> outcome = emulator::run(module, launch, options);
  result.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  if (!outcome)
    return outcome.error();
  result.outcome = std::move(*outcome);
  result.outputError =
      relativeError(output, [&](size_t i) { return double(bf16ToFloat(result.output[i])); });
  for (size_t i = 0; i < lse.size(); ++i) {
    const double error = std::fabs(lseOut[i] - lse[i]);
    result.lseError = error <= result.lseError ? result.lseError
                      : std::isnan(error)      ? std::numeric_limits<double>::infinity()
                                               : error;
  }
  return result;
}

std::string AttentionCase::Result::errors() const {
  return fmt::format("error {:.5f}, lse {:.1e}", outputError, lseError);
}

std::vector<uint16_t> emulator::test::normalBF16(size_t count, uint64_t seed) {
  Random random(seed, 7);
  std::vector<uint16_t> result(count);
  for (uint16_t &element : result) {
    const double u = (random.below(1 << 30) + 1) / double(1 << 30);
    const double w = random.below(1 << 30) / double(1 << 30);
    element = doubleToBF16(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * w));
  }
  return result;
}

double emulator::test::relativeError(const std::vector<double> &expected,
                                     const std::function<double(size_t)> &actual) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = actual(i) - expected[i];
    difference += error * error;
    norm += expected[i] * expected[i];
  }
  const double result = std::sqrt(difference / norm);
  return std::isnan(result) ? std::numeric_limits<double>::infinity() : result;
}

std::string emulator::test::readTestFile(const std::string &name) {
  std::ifstream file(std::string(TILEWRIGHT_SOURCE_DIR) + "/tests/emulator/" + name);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string emulator::test::ptxOf(const std::string &source, const std::string &defines,
                                  const std::string &stored) {
  return stored.empty() ? compile(readTestFile("kernels/" + source), defines)
                        : readTestFile("kernels/" + stored);
}

std::string emulator::test::ptxOf(const Variant &variant) {
  return ptxOf("attention.cu", variant.defines(), variant.stored);
}

std::string emulator::test::compile(const std::string &source, const std::string &defines) {
  const std::string compiler = TILEWRIGHT_NVCC;
  if (compiler.empty())
    return "";
  std::string folder = std::filesystem::temp_directory_path() / "tilewright-XXXXXX";
  if (!mkdtemp(folder.data()))
    return "";
  std::ofstream(folder + "/kernel.cu") << source;
  const std::string command =
      fmt::format("'{}' -std=c++17 -O3 -ptx -arch=sm_90a -diag-suppress 177,550 {} "
                  "-I'{}/tests/emulator/kernels' '{}/kernel.cu' -o '{}/kernel.ptx'",
                  compiler, defines, TILEWRIGHT_SOURCE_DIR, folder, folder);
  std::stringstream content;
  if (std::system(command.c_str()) == 0)
    content << std::ifstream(folder + "/kernel.ptx").rdbuf();
  std::filesystem::remove_all(folder);
  return content.str();
}
