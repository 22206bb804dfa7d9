//===- Program.cpp - Where the tilewright program starts ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/Commands.h"

int main(int argc, char **argv) {
  return tilewright::tool::programMain(argc, argv);
}
