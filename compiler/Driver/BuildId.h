//===- BuildId.h - Which build this program is ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_BUILDID_H
#define TILEWRIGHT_COMPILER_DRIVER_BUILDID_H

#include <string>

namespace tilewright {

/// The build id that the linker computed from this program's contents, in hexadecimal digits, as
/// `readelf --notes` shows it; "unknown" if there is none.
std::string buildId();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_BUILDID_H
