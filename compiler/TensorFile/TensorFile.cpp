//===- TensorFile.cpp - Reads tensors from files --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/TensorFile/TensorFile.h"

#include "compiler/TensorFile/ByteSource.h"
#include "compiler/TensorFile/Headers.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <array>
#include <unistd.h>

using namespace tilewright;

TensorFile::TensorFile(std::string path, std::unique_ptr<ByteSource> source,
                       std::vector<Entry> contents)
    : path(std::move(path)), source(std::move(source)), contents(std::move(contents)) {}
TensorFile::TensorFile(TensorFile &&) = default;
TensorFile &TensorFile::operator=(TensorFile &&) = default;
TensorFile::~TensorFile() = default;

Result<TensorFile> TensorFile::open(const std::string &path) {
  Result<std::unique_ptr<ByteSource>> source = ByteSource::openFile(path);
  if (!source)
    return source.error().within(path);
  return read(path, std::move(*source));
}

Result<TensorFile> TensorFile::parse(std::string_view bytes) {
  return read("<memory>", ByteSource::fromMemory(bytes));
}

Result<TensorFile> TensorFile::read(std::string path, std::unique_ptr<ByteSource> source) {
  std::array<char, npyMagic.size()> start{};
  if (Status status = source->read(0, start.data(), std::min(source->size(), start.size()));
      !status)
    return status.error().within(path);
  const bool isNpy = std::string_view(start.data(), start.size()) == npyMagic;
  Result<std::vector<Entry>> contents =
      isNpy ? readNpyHeader(*source) : readSafetensorsHeader(*source);
  if (!contents)
    return contents.error().within(path);
  return TensorFile(std::move(path), std::move(source), std::move(*contents));
}

const TensorFile::Entry *TensorFile::find(std::string_view name) const {
  auto found = std::ranges::find(contents, name, &Entry::name);
  return found == contents.end() ? nullptr : &*found;
}

std::string TensorFile::listEntries() const {
  constexpr size_t limit = 10;
  if (contents.empty())
    return "it has none";
  std::string text = "it has ";
  for (size_t i = 0; i < std::min(contents.size(), limit); ++i)
    text += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", contents[i].name,
                        contents[i].layout.describe());
  if (contents.size() > limit)
    text += fmt::format(" and {} more", contents.size() - limit);
  return text;
}

Result<OwnedTensor> TensorFile::load(std::string_view name) const {
  if (const Entry *entry = find(name))
    return load(*entry);
  return invalidArgument("{}: no entry '{}'; {}", path, name, listEntries());
}

Result<OwnedTensor> TensorFile::loadOnly() const {
  if (contents.size() == 1)
    return load(contents.front());
  return invalidArgument("{}: name one of its {} entries (FILE:entry); {}", path, contents.size(),
                         listEntries());
}

Result<OwnedTensor> TensorFile::load(const Entry &entry) const {
  Result<OwnedTensor> tensor = OwnedTensor::allocate(entry.layout);
  if (!tensor)
    return tensor.error().within(fmt::format("{}: entry '{}'", path, entry.name));
  const std::span<uint8_t> bytes(static_cast<uint8_t *>(tensor->view().data),
                                 tensor->sizeInBytes());
  if (Status status = source->read(entry.offset, bytes.data(), bytes.size()); !status)
    return status.error().within(path);
  if (entry.layout.dtype == DType::Bool) {
    auto wrong = std::ranges::find_if(bytes, [](uint8_t byte) { return byte > 1; });
    if (wrong != bytes.end())
      return invalidArgument("{}: entry '{}' is bool, but byte {} of its data is {}, not 0 or 1",
                             path, entry.name, wrong - bytes.begin(), *wrong);
  }
  return tensor;
}

Result<OwnedTensor> tilewright::loadTensor(std::string_view fileAndEntry) {
  auto exists = [](std::string_view path) { return access(std::string(path).c_str(), F_OK) == 0; };
  size_t end = fileAndEntry.size();
  while (!exists(fileAndEntry.substr(0, end))) {
    const size_t colon = end == 0 ? std::string_view::npos : fileAndEntry.rfind(':', end - 1);
    if (colon == std::string_view::npos) {
      // Nothing of it exists. The error is about the part that most likely was meant.
      end = std::min(fileAndEntry.rfind(':'), fileAndEntry.size());
      break;
    }
    end = colon;
  }
  Result<TensorFile> file = TensorFile::open(std::string(fileAndEntry.substr(0, end)));
  if (!file)
    return file.error();
  return end == fileAndEntry.size() ? file->loadOnly() : file->load(fileAndEntry.substr(end + 1));
}
