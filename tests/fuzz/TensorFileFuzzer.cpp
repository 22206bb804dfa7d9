//===- TensorFileFuzzer.cpp - Any bytes are read or refused ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first byte of an input says what the rest is: a whole file, or a header and data that are
// framed here with a right length, so that most inputs get past the first check.
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"
#include "lib/Support/Half.h"

#include <cstdlib>

using namespace tilewright;

static std::string frame(std::string_view input) {
  const uint8_t kind = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  const size_t headerEnd = input.find('\0');
  const size_t length = std::min(headerEnd, input.size());
  const char bytes[] = {static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  std::string result;
  if (kind % 3 == 1)
    result = std::string(bytes, 2) + std::string(6, '\0');
  if (kind % 3 == 2)
    result = std::string("\x93NUMPY\x01\0", 8) + std::string(bytes, 2);
  if (kind % 3 != 0 && headerEnd < input.size())
    return result.append(input.substr(0, headerEnd)).append(input.substr(headerEnd + 1));
  return result.append(input);
}

/// Every element of every entry must be there to be read, through the strides.
static void readAll(const TensorFile &file) {
  for (const TensorFile::Entry &entry : file.entries()) {
    Result<OwnedTensor> tensor = file.load(entry.name);
    if (!tensor)
      continue;
    const TensorView &view = tensor->view();
    const int64_t count = *view.elementCount();
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      int64_t offset = 0;
      for (size_t d = view.rank; d-- > 0; rest /= view.shape[d])
        offset += rest % view.shape[d] * view.strides[d];
      volatile double value = loadAsDouble(view.data, view.dtype, offset);
      (void)value;
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string bytes = frame({reinterpret_cast<const char *>(data), size});
  Result<TensorFile> file = TensorFile::parse(bytes);
  if (file)
    readAll(*file);
  else if (file.error().message().empty())
    std::abort();
  return 0;
}
