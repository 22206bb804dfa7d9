//===- MakeError.h - Errors with formatted messages -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_SUPPORT_MAKEERROR_H
#define TILEWRIGHT_LIB_SUPPORT_MAKEERROR_H

#include "tilewright/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewright {

template <typename... Args>
Error invalidArgument(fmt::format_string<Args...> format, Args &&...args) {
  return Error(ErrorKind::InvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args> Error unsupported(fmt::format_string<Args...> format, Args &&...args) {
  return Error(ErrorKind::Unsupported, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args> Error systemError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(ErrorKind::System, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Error internalError(fmt::format_string<Args...> format, Args &&...args) {
  return Error(ErrorKind::Internal, fmt::format(format, std::forward<Args>(args)...));
}

} // namespace tilewright

#endif // TILEWRIGHT_LIB_SUPPORT_MAKEERROR_H
