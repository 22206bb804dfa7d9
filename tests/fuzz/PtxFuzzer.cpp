//===- PtxFuzzer.cpp - Any text is a kernel or an error -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text is the body of a kernel, or a whole module when it begins with '.'.
// What can be decoded is run: one warp, a small budget.
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Device.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

using namespace tilewright;
using namespace tilewright::emulator;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  if (!text.starts_with('.'))
    text = ".version 8.6\n.target sm_90a\n.extern .shared .align 128 .b8 smem[];\n"
           ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {\n"
           ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .b64 %rd<8>;\n"
           "ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, smem;\n" +
           text + "\nret; }\n";
  Result<Module> module = loadModule(text);
  if (!module) {
    if (module.error().message().empty())
      std::abort();
    return 0;
  }
  std::vector<uint32_t> out(1024);
  Launch launch;
  launch.block = {32, 1, 1};
  launch.dynamicSharedBytes = 8192;
  launch.buffers = {{"out", out.data(), out.size() * 4, true, true}};
  TensorMap map;
  map.dtype = DType::F32;
  map.rank = 2;
  map.dims = {32, 32};
  map.strides = {4, 128};
  map.box = {8, 8};
  launch.maps = {map};
  for (const Parameter &parameter : module->parameters) {
    Argument zeros;
    zeros.bytes.resize(parameter.bytes);
    launch.arguments.push_back(parameter.name == "out"   ? Argument::tensor(0)
                               : parameter.name == "map" ? Argument::map(0)
                                                         : zeros);
  }
  RunOptions options;
  options.seed = size;
  options.budget = 20000;
  Result<Outcome> outcome = run(*module, launch, options);
  if (outcome && outcome->finding)
    (void)toJson(*outcome->finding);
  return 0;
}
