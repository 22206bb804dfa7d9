//===- CInterface.h - Where the compiler meets the C interface --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tilewright/c/tilewright.h is exported by the runtime library as a whole, so that
// a program which only loads images links nothing else. Its compiling function
// opens the compiler library, of the same build, and calls what that exports.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_CINTERFACE_H
#define TILEWRIGHT_RUNTIME_CINTERFACE_H

#include <tilewright/c/tilewright.h>
#include <tilewright/runtime.h>

namespace tilewright {

/// Neither `problem` nor `options` is null; everything in them is hostile until checked.
using CompileForC = void(const tilewright_problem *problem,
                         const tilewright_compile_options *options, Result<Kernel> *kernel);

inline constexpr const char *compileForCName = "tilewright_compile_for_c_1";

/// A status that the caller of the C interface destroys.
tilewright_status *toStatus(const Error &error);

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_CINTERFACE_H
