//===- BuildId.h - Which build of the compiler this is ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_BUILDID_H
#define TILEWRIGHT_COMPILER_DRIVER_BUILDID_H

#include <string>

namespace tilewright {

/// The build id that the linker computed from the contents of the program or library that has the
/// compiler in it, in hexadecimal digits, as `readelf --notes` shows it; "unknown" if there is
/// none.
std::string buildId();

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_BUILDID_H
