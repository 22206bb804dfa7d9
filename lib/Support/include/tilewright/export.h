//===- export.h - What the shared libraries make visible --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_EXPORT_H
#define TILEWRIGHT_EXPORT_H

/// Everything is built with hidden visibility; this marks the interface.
#define TILEWRIGHT_EXPORT __attribute__((visibility("default")))

/// For a class within a visible one that is not part of the interface.
#define TILEWRIGHT_HIDDEN __attribute__((visibility("hidden")))

#endif // TILEWRIGHT_EXPORT_H
