//===- Probe.h - Small PTX kernels for the emulator's tests -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_EMULATOR_PROBE_H
#define TILEWRIGHT_TESTS_UNIT_EMULATOR_PROBE_H

#include "lib/Emulator/Device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::emulator::test {

/// A kernel of a few lines. Its body finds %rd0 = out, %rd1 = in (f32 or bits), %r0 = the thread's
/// number in its block and %r1 = the first byte of dynamic shared memory, 1024-aligned; it may use
/// the registers %p0-15, %r0-63, %f0-63, %h0-15, %rd0-31, %d0-7.
struct Probe {
  std::string body;
  uint32_t threads = 32, blocks = 1, sharedBytes = 4096;
  std::string target = "sm_90a";
  std::vector<uint32_t> in = std::vector<uint32_t>(1024);
  std::vector<uint32_t> out = std::vector<uint32_t>(4096);
  std::vector<TensorMap> maps; ///< Parameters map0, map1, ...; buffer 0 is out, 1 is in.
  RunOptions options;

  std::string text() const {
    std::string parameters = ".param .u64 out, .param .u64 in";
    for (size_t i = 0; i < maps.size(); ++i)
      parameters += fmt::format(", .param .align 64 .b8 map{}[128]", i);
    return fmt::format(".version 8.6\n.target {}\n.address_size 64\n"
                       ".extern .shared .align 1024 .b8 smem[];\n"
                       ".visible .entry probe({})\n{{\n"
                       ".reg .pred %p<16>;\n.reg .b32 %r<64>;\n.reg .f32 %f<64>;\n"
                       ".reg .b16 %h<16>;\n.reg .b64 %rd<32>;\n.reg .f64 %d<8>;\n"
                       "ld.param.u64 %rd0, [out];\nld.param.u64 %rd1, [in];\n"
                       "mov.u32 %r0, %tid.x;\nmov.u32 %r1, smem;\n{}\nret;\n}}\n",
                       target, parameters, body);
  }

  Launch launch() {
    Launch result;
    result.grid = {blocks, 1, 1};
    result.block = {threads, 1, 1};
    result.dynamicSharedBytes = sharedBytes;
    result.buffers = {{"out", out.data(), out.size() * 4, true, true},
                      {"in", in.data(), in.size() * 4, false, true}};
    result.maps = maps;
    result.arguments = {Argument::tensor(0), Argument::tensor(1)};
    for (size_t i = 0; i < maps.size(); ++i)
      result.arguments.push_back(Argument::map(i));
    return result;
  }

  Result<Outcome> run() {
    Result<Module> module = loadModule(text());
    if (!module)
      return module.error();
    return emulator::run(*module, launch(), options);
  }

  /// Nothing was found, for a few seeds of every temper.
  void expectClean(uint64_t seeds = 12) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      options.seed = seed;
      Result<Outcome> outcome = run();
      ASSERT_TRUE(outcome) << outcome.error().message();
      ASSERT_FALSE(outcome->finding) << toText(*outcome->finding);
    }
  }

  /// Every seed finds this; `text` is a part of the report.
  void expectFinding(FindingKind kind, const std::string &part = "", uint64_t seeds = 12) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      options.seed = seed;
      Result<Outcome> outcome = run();
      ASSERT_TRUE(outcome) << outcome.error().message();
      ASSERT_TRUE(outcome->finding) << "nothing was found with seed " << seed;
      EXPECT_EQ(nameOf(outcome->finding->kind), nameOf(kind)) << toText(*outcome->finding);
      EXPECT_NE(toText(*outcome->finding).find(part), std::string::npos)
          << toText(*outcome->finding);
    }
  }
};

/// `[out + 4 * thread] = register`, with %rd30.
inline std::string storeResult(const std::string &reg) {
  return "mul.wide.u32 %rd30, %r0, 4;\nadd.s64 %rd30, %rd0, %rd30;\nst.global.b32 [%rd30], " + reg +
         ";\n";
}

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_UNIT_EMULATOR_PROBE_H
