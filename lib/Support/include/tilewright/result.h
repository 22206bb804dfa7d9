//===- result.h - How Tilewright reports errors -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing in Tilewright throws or aborts on bad input. A function that can fail
// returns a Result<T>: a value, or an Error whose message names the offending
// argument, the value seen and the limit.
//
//   Result<Kernel> kernel = compile(problem);
//   if (!kernel)
//     return kernel.error();
//   kernel->run(...);
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RESULT_H
#define TILEWRIGHT_RESULT_H

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tilewright {

/// What kind of thing went wrong; a program maps it to its exit code.
enum class ErrorKind {
  /// The caller's input is wrong: an expression, a shape, an option, a file's content.
  InvalidArgument,
  /// The input is meaningful, but this build, target or schedule cannot serve it.
  Unsupported,
  /// A file or the system failed: not found, not readable, disk full, out of memory.
  System,
  /// Tilewright itself is at fault. Please report it.
  Internal,
};

/// An error as a value. The message is one or more sentences without a trailing newline.
class Error {
public:
  Error(ErrorKind kind, std::string message) : errorKind(kind), text(std::move(message)) {}

  ErrorKind kind() const { return errorKind; }
  const std::string &message() const { return text; }

  /// The same error, told from one level further out: "context: message".
  Error within(std::string_view context) const {
    return Error(errorKind, std::string(context) + ": " + text);
  }

private:
  ErrorKind errorKind;
  std::string text;
};

/// A T or an Error. Test it before use; reading the wrong one is an assertion failure.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  T &value() {
    assert(*this && "reading the value of a failed Result");
    return *std::get_if<0>(&state);
  }
  const T &value() const { return const_cast<Result *>(this)->value(); }

  const Error &error() const {
    assert(!*this && "reading the error of a Result that succeeded");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<T, Error> state;
};

/// Success, or an Error.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return state.index() == 0; }
  const Error &error() const {
    assert(!*this && "reading the error of a Result that succeeded");
    return *std::get_if<1>(&state);
  }

private:
  std::variant<std::monostate, Error> state;
};

using Status = Result<void>;

} // namespace tilewright

#endif // TILEWRIGHT_RESULT_H
