//===- MeasuredSchedule.h - A schedule that was measured --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_DRIVER_MEASUREDSCHEDULE_H
#define TILEWRIGHT_COMPILER_DRIVER_MEASUREDSCHEDULE_H

#include "compiler/Driver/Implementation.h"

namespace tilewright {

/// Puts a measured schedule in the place of the compiler's own choice, if there is one for the
/// problem and this machine: from the user's file, else from what is shipped. `tuningFile` is
/// CompileOptions::tuning. The compilation has its first text and nobody else sees it yet.
///
/// A remark says where the schedule in force comes from, and others why lines were ignored. What
/// the lowering refuses under a schedule of the user's file is ignored as well; to know that, the
/// problem is lowered at once. Shipped ones are legal, as tests show.
void useMeasuredSchedule(Compilation::Implementation &state, const std::string &tuningFile);

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_DRIVER_MEASUREDSCHEDULE_H
