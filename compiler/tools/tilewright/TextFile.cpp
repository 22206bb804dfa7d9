//===- TextFile.cpp - Reads files of text ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/tilewright/TextFile.h"

#include "compiler/TensorFile/ByteSource.h"
#include "lib/Support/MakeError.h"

using namespace tilewright;

Result<std::string> tool::readTextFile(const std::string &path, uint64_t maxBytes) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::openFile(path);
  if (!source)
    return source.error().within(path);
  const uint64_t size = (*source)->size();
  if (size > maxBytes)
    return invalidArgument("{}: the file has {} bytes; such a file has at most {}", path, size,
                           maxBytes);
  std::string text(size, '\0');
  if (Status read = (*source)->read(0, text.data(), size); !read)
    return read.error().within(path);
  return text;
}
