//===- Cubin.h - Code for a GPU, before a driver sees it --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CUBIN_H
#define TILEWRIGHT_RUNTIME_CUBIN_H

#include <tilewright/result.h>

#include <string_view>

namespace tilewright {

/// A driver is told where a cubin begins and not how long it is, so it must not lead beyond its
/// end. Refused: nothing, what is no 64-bit ELF file, and one whose headers or sections are not all
/// inside.
Status checkCubin(std::string_view cubin);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_CUBIN_H
