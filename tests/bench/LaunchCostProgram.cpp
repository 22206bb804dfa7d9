//===- LaunchCostProgram.cpp - LaunchCost as a program --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/bench/LaunchCost.h"

int main() {
  return tilewright::measureLaunchCost();
}
