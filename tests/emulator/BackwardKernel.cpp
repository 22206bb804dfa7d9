//===- BackwardKernel.cpp - Running backward.cu under the emulator --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/BackwardKernel.h"

#include "lib/Support/Half.h"
#include "tests/emulator/AttentionKernel.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

using namespace tilewright;
using namespace tilewright::emulator;
using namespace tilewright::emulator::test;

namespace {
constexpr uint32_t width = 64, blockSize = 64, stages = 2;
constexpr uint32_t tileBytes = blockSize * width * 2;
const double scale = 1 / std::sqrt(double(width));
} // namespace

std::string BackwardCase::Result::errors() const {
  return fmt::format("error of dQ {:.5f}, dK {:.5f}, dV {:.5f}", dqError, dkError, dvError);
}

BackwardCase::BackwardCase(uint32_t length, uint32_t heads, bool causal)
    : length(length), heads(heads) {
  const size_t T = length, count = heads * T * width;
  for (std::vector<uint16_t> *tensor : {&q, &k, &v, &gradient})
    *tensor = normalBF16(count, T * 31 + width + (tensor - &q));
  for (std::vector<double> *tensor : {&dq, &dk, &dv})
    tensor->assign(count, 0.0);
  std::vector<double> weights(T);
  for (size_t head = 0; head < heads; ++head) {
    auto at = [&](const std::vector<uint16_t> &tensor, size_t row, size_t e) {
      return double(bf16ToFloat(tensor[(head * T + row) * width + e]));
    };
    auto dot = [&](const std::vector<uint16_t> &a, size_t i, const std::vector<uint16_t> &b,
                   size_t j) {
      double sum = 0;
      for (size_t e = 0; e < width; ++e)
        sum += at(a, i, e) * at(b, j, e);
      return sum;
    };
    for (size_t i = 0; i < T; ++i) {
      const size_t visible = causal ? i + 1 : T;
      double sum = 0, rowDelta = 0;
      for (size_t j = 0; j < visible; ++j)
        sum += weights[j] = std::exp(dot(q, i, k, j) * scale);
      for (size_t j = 0; j < visible; ++j)
        rowDelta += (weights[j] /= sum) * dot(gradient, i, v, j);
      lse2.push_back(static_cast<float>(std::log2(sum)));
      delta.push_back(static_cast<float>(rowDelta));
      for (size_t j = 0; j < visible; ++j) {
        const double ds = weights[j] * (dot(gradient, i, v, j) - rowDelta) * scale;
        for (size_t e = 0; e < width; ++e) {
          dv[(head * T + j) * width + e] += weights[j] * at(gradient, i, e);
          dk[(head * T + j) * width + e] += ds * at(q, i, e);
          dq[(head * T + i) * width + e] += ds * at(k, j, e);
        }
      }
    }
  }
}

Result<BackwardCase::Result> BackwardCase::run(const Module &module,
                                               const RunOptions &options) const {
  constexpr uint16_t bf16NaN = 0x7fff;
  Result result;
  result.output.assign(2 * dk.size(), bf16NaN);
  std::vector<float> dqOut(dq.size());
  const size_t half = dk.size();

  Launch launch;
  launch.grid = {(length + blockSize - 1) / blockSize, heads, 1};
  launch.block = {256, 1, 1};
  launch.dynamicSharedBytes =
      1024 + (3 + 2 * stages) * tileBytes + blockSize * width * 4 + 8 * (2 * stages + 1);
  auto input = [&](const char *name, const auto &data) {
    return Buffer{name, const_cast<void *>(static_cast<const void *>(data.data())),
                  data.size() * sizeof data[0], false, true};
  };
  launch.buffers = {input("q", q),
                    input("k", k),
                    input("v", v),
                    input("do", gradient),
                    input("lse2", lse2),
                    input("delta", delta),
                    {"dq", dqOut.data(), dqOut.size() * 4, true, true},
                    {"dk", result.output.data(), half * 2, true, false},
                    {"dv", result.output.data() + half, half * 2, true, false}};
  for (size_t buffer = 0; buffer < 4; ++buffer) {
    TensorMap map;
    map.rank = 4;
    map.buffer = buffer;
    map.dims = {width, length, 1, heads};
    map.strides = {2, width * 2, width * 2, uint64_t(length) * width * 2};
    map.box = {width, blockSize, 1, 1};
    map.swizzle = Swizzle::Bytes128;
    launch.maps.push_back(map);
    launch.arguments.push_back(Argument::map(buffer));
  }
  for (size_t buffer = 4; buffer < launch.buffers.size(); ++buffer)
    launch.arguments.push_back(Argument::tensor(buffer));
  launch.arguments.push_back(Argument::of(length));
  launch.arguments.push_back(Argument::of(static_cast<float>(scale)));

  const std::clock_t start = std::clock();
  tilewright::Result<Outcome> outcome = emulator::run(module, launch, options);
  result.seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  if (!outcome)
    return outcome.error();
  result.outcome = std::move(*outcome);
  result.dqError = relativeError(dq, [&](size_t i) { return double(dqOut[i]); });
  result.dkError = relativeError(dk, [&](size_t i) { return bf16ToFloat(result.output[i]); });
  result.dvError =
      relativeError(dv, [&](size_t i) { return bf16ToFloat(result.output[half + i]); });
  return result;
}
