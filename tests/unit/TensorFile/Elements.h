//===- Elements.h - The elements of a tensor that was read ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_TESTS_UNIT_TENSORFILE_ELEMENTS_H
#define TILEWRIGHT_TESTS_UNIT_TENSORFILE_ELEMENTS_H

#include "compiler/TensorFile/OwnedTensor.h"

#include <cstring>
#include <vector>

namespace tilewright {

/// The tensor's memory as a list of T, in the order of the file.
template <typename T> std::vector<T> elements(const OwnedTensor &tensor) {
  std::vector<T> values(tensor.sizeInBytes() / sizeof(T));
  std::memcpy(values.data(), tensor.view().data, values.size() * sizeof(T));
  return values;
}

} // namespace tilewright

#endif // TILEWRIGHT_TESTS_UNIT_TENSORFILE_ELEMENTS_H
