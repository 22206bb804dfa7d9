//===- LaunchArguments.h - A launch, checked and bound ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every target checks before it launches a kernel. The memory is that of
// this object, so that a launch allocates nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_RUNTIME_LAUNCHARGUMENTS_H
#define TILEWRIGHT_RUNTIME_LAUNCHARGUMENTS_H

#include "runtime/KernelInterface.h"

#include <tilewright/runtime.h>

#include <array>
#include <span>

namespace tilewright {

/// A scalar in the representation of its kind.
union ScalarValue {
  int32_t i32;
  float f32;
  double f64;
};

/// An argument of a kernel and what a launch gives for it. Members have no initial values, since
/// filling maxArguments of these would be a good part of what a launch costs.
struct BoundArgument {
  const KernelArgument *argument;
  /// Null for a scalar.
  const TensorView *view;
  /// Null for a tensor of the user's own and for a scalar.
  const ProblemTensor *role;
  /// The bytes from the first element in memory to the end of the last one; equal if it has none.
  uintptr_t begin;
  uintptr_t end;
  ScalarValue scalar;

  bool isEmpty() const { return begin == end; }
  bool isOutput() const;
  /// "query", "tensor 'bias'", for messages.
  std::string label() const;
  /// "head_dim", "the extent of dimension 1", for messages.
  std::string dimension(size_t i) const;
};

/// The arguments of one launch in the order of the kernel's. Points into the kernel's interface
/// and into the caller's Arguments.
class LaunchArguments {
public:
  /// Checks everything that runtime.h and the kernel's interface require of `given`; the first
  /// violation is told by name, with the value seen and the limit. Nothing is read through the
  /// views. Allocates nothing but the message of an error, and 17 bytes for each node of an
  /// expression of more than maxNodes nodes.
  Status check(const KernelInterface &kernel, const Arguments &given);

  static constexpr size_t maxNodes = 128;

  std::span<const BoundArgument> arguments() const { return std::span(bound).first(count); }

  /// As evaluate() takes them; no extents for a scalar.
  std::span<const std::span<const int64_t>> extents() const {
    return std::span(extentList).first(count);
  }

  /// There is no query, so that nothing is to be computed.
  bool nothingToDo() const { return empty; }

private:
  std::array<BoundArgument, maxArguments> bound;
  std::array<std::span<const int64_t>, maxArguments> extentList;
  size_t count = 0;
  bool empty = false;
};

} // namespace tilewright

#endif // TILEWRIGHT_RUNTIME_LAUNCHARGUMENTS_H
