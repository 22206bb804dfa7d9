//===- Main.cpp - The tool and the tests as one program -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tilewright unit-tests [--gtest_...]   what tilewright-unit-tests is elsewhere
//   tilewright gpu-tests [--gtest_...]    what tilewright-gpu-tests is elsewhere
//   tilewright launch-cost                what tilewright-launch-cost is elsewhere
//   tilewright ...                        the tool
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Commands.h"
#include "tests/bench/LaunchCost.h"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char **argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "launch-cost")
    return tilewright::measureLaunchCost();
  if (first != "unit-tests" && first != "gpu-tests")
    return tilewright::tool::programMain(argc, argv);
  // The suites of tests/gpu start with OnGpu, and no others do.
  GTEST_FLAG_SET(filter, first == "gpu-tests" ? "OnGpu*" : "-OnGpu*");
  argv[1] = argv[0];
  int count = argc - 1;
  testing::InitGoogleTest(&count, argv + 1);
  return RUN_ALL_TESTS();
}
