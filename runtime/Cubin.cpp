//===- Cubin.cpp - Code for a GPU, before a driver sees it ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Cubin.h"

#include "lib/Support/MakeError.h"

#include <cstring>
#include <elf.h>

using namespace tilewright;

namespace {
bool holds(std::string_view file, uint64_t offset, uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset;
}

template <typename T> T read(std::string_view file, uint64_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

/// A table of headers, of which each begins with a T and leads to a range of the file.
template <typename T, typename LeadsInside>
bool isInside(std::string_view file, uint64_t offset, uint64_t entryBytes, uint64_t count,
              const LeadsInside &leadsInside) {
  if (count == 0)
    return true;
  if (entryBytes < sizeof(T) || !holds(file, offset, entryBytes * count))
    return false;
  for (uint64_t i = 0; i < count; ++i)
    if (!leadsInside(read<T>(file, offset + i * entryBytes)))
      return false;
  return true;
}
} // namespace

Status tilewright::checkCubin(std::string_view cubin) {
  if (cubin.empty())
    return unsupported("the image has no machine code, only PTX: it was made without ptxas");
  if (cubin.size() < sizeof(Elf64_Ehdr) || std::memcmp(cubin.data(), ELFMAG, SELFMAG) != 0 ||
      cubin[EI_CLASS] != ELFCLASS64 || cubin[EI_DATA] != ELFDATA2LSB)
    return invalidArgument("the image's machine code is no 64-bit ELF file");
  const auto header = read<Elf64_Ehdr>(cubin, 0);
  const bool sections = isInside<Elf64_Shdr>(
      cubin, header.e_shoff, header.e_shentsize, header.e_shnum, [&](const Elf64_Shdr &section) {
        return section.sh_type == SHT_NOBITS || holds(cubin, section.sh_offset, section.sh_size);
      });
  const bool segments = isInside<Elf64_Phdr>(
      cubin, header.e_phoff, header.e_phentsize, header.e_phnum,
      [&](const Elf64_Phdr &segment) { return holds(cubin, segment.p_offset, segment.p_filesz); });
  if (!sections || !segments)
    return invalidArgument("the image's machine code is an ELF file whose headers lead beyond its "
                           "{} bytes",
                           cubin.size());
  return {};
}
