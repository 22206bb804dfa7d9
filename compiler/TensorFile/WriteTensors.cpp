//===- WriteTensors.cpp - Writes tensors to files -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/WriteTensors.h"

#include "compiler/TensorFile/AtomicFile.h"
#include "compiler/TensorFile/Headers.h"

#include <algorithm>
#include <tuple>
#include <vector>

using namespace tilewright;

namespace {

/// Writes the elements in row-major order, gathered through a buffer.
Status writeElements(AtomicFile &file, const TensorView &view) {
  constexpr size_t bufferSize = size_t(1) << 20;
  const size_t elementSize = sizeOf(view.dtype);
  const int64_t count = *view.elementCount();
  std::vector<char> buffer;
  buffer.reserve(bufferSize);
  std::array<int64_t, TensorView::maxRank> index{};
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    const char *element =
        static_cast<const char *>(view.data) + offset * static_cast<int64_t>(elementSize);
    buffer.insert(buffer.end(), element, element + elementSize);
    if (buffer.size() == bufferSize) {
      if (Status status = file.write({buffer.data(), buffer.size()}); !status)
        return status;
      buffer.clear();
    }
    for (size_t d = view.rank; d-- > 0;) {
      offset += view.strides[d];
      if (++index[d] < view.shape[d])
        break;
      offset -= view.shape[d] * view.strides[d];
      index[d] = 0;
    }
  }
  return file.write({buffer.data(), buffer.size()});
}

Status writeFile(const std::string &path, std::string_view header,
                 std::span<const TensorView> views) {
  AtomicFile file(path);
  if (Status status = file.create(); !status)
    return status;
  if (Status status = file.write(header); !status)
    return status;
  for (const TensorView &view : views)
    if (Status status = writeElements(file, view); !status)
      return status;
  return file.commit();
}

} // namespace

Status tilewright::writeSafetensors(const std::string &path, std::span<const NamedTensor> tensors) {
  std::vector<NamedTensor> ordered(tensors.begin(), tensors.end());
  std::ranges::sort(ordered, {}, [](const NamedTensor &tensor) {
    return std::tuple(-static_cast<int>(sizeOf(tensor.view.dtype)), std::string_view(tensor.name));
  });
  Result<std::string> header = makeSafetensorsHeader(ordered);
  if (!header)
    return header.error().within(path);
  std::vector<TensorView> views;
  for (const NamedTensor &tensor : ordered)
    views.push_back(tensor.view);
  return writeFile(path, *header, views);
}

Status tilewright::writeNpy(const std::string &path, const TensorView &view) {
  Result<std::string> header = makeNpyHeader(view);
  if (!header)
    return header.error().within(path);
  return writeFile(path, *header, std::span(&view, 1));
}
