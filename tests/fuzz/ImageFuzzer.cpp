//===- ImageFuzzer.cpp - Any bytes are an image or refused ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first byte of an input says what the rest is: a whole file, or a payload that is framed here
// with a right checksum, so that most inputs get past it.
//
//===----------------------------------------------------------------------===//

#include "lib/Image/Format.h"
#include "lib/Image/KernelImage.h"

#include <cstdlib>

using namespace tilewright;

static void append(std::string &bytes, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i)
    bytes += static_cast<char>(value >> (8 * i));
}

static std::string frame(std::string_view input) {
  const char kind = input.front();
  input.remove_prefix(1);
  if (kind % 8 == 0)
    return std::string(input);
  std::string bytes(image::magic);
  append(bytes, image::version, 4);
  append(bytes, input.size(), 8);
  bytes += input;
  append(bytes, image::checksum(std::as_bytes(std::span(bytes))), 8);
  return bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string bytes = frame({reinterpret_cast<const char *>(data), size});
  Result<KernelImage> image = decodeImage(std::as_bytes(std::span(bytes)));
  if (image && encode(*image) != bytes)
    std::abort();
  if (!image && image.error().message().empty())
    std::abort();
  return 0;
}
