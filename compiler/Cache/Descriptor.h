//===- Descriptor.h - An open file ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_COMPILER_CACHE_DESCRIPTOR_H
#define TILEWRIGHT_COMPILER_CACHE_DESCRIPTOR_H

#include <unistd.h>
#include <utility>

namespace tilewright {

/// A file descriptor, closed at the end of its scope; negative if there is none.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }

  explicit operator bool() const { return number >= 0; }
  int get() const { return number; }

private:
  int number;
};

} // namespace tilewright

#endif // TILEWRIGHT_COMPILER_CACHE_DESCRIPTOR_H
