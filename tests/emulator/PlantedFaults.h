//===- PlantedFaults.h - Protocol faults in attention.cu --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_EMULATOR_PLANTEDFAULTS_H
#define TILEWRIGHT_TESTS_EMULATOR_PLANTEDFAULTS_H

#include <span>
#include <string>
#include <vector>

namespace tilewright::emulator::test {

/// A mistake that somebody could make in the kernel's source.
struct PlantedFault {
  std::string name;
  std::string variant; ///< Name of the variant it is planted into.
  /// Texts of attention.cu and what stands there instead.
  std::vector<std::pair<std::string, std::string>> edits;
  std::string defines = ""; ///< In addition to the variant's.
};

std::span<const PlantedFault> plantedFaults();

} // namespace tilewright::emulator::test

#endif // TILEWRIGHT_TESTS_EMULATOR_PLANTEDFAULTS_H
