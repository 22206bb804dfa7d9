//===- ShippedDefaults.h - Measured schedules that come along ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_TUNE_SHIPPEDDEFAULTS_H
#define TILEWRIGHT_COMPILER_TUNE_SHIPPEDDEFAULTS_H

#include <string_view>

namespace tilewright {

/// The lines of defaults/*.jsonl, which the build puts into the library: what `tilewright tune`
/// wrote on machines of ours.
std::string_view shippedDefaults();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_TUNE_SHIPPEDDEFAULTS_H
