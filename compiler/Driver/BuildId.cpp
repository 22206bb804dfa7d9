//===- BuildId.cpp - Which build of the compiler this is ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/BuildId.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <elf.h>
#include <link.h>
#include <span>
#include <string_view>

using namespace tilewright;

/// Whether this code lies in a loaded object.
static bool holdsThisCode(const dl_phdr_info &object) {
  const auto here = reinterpret_cast<ElfW(Addr)>(&holdsThisCode);
  return std::ranges::any_of(std::span(object.dlpi_phdr, object.dlpi_phnum), [&](const ElfW(Phdr) &
                                                                                 segment) {
    return segment.p_type == PT_LOAD && here - object.dlpi_addr - segment.p_vaddr < segment.p_memsz;
  });
}

/// Looks for the build id among the notes of the loaded object that this code is in: the program,
/// or libtilewright.so in somebody else's.
static int findBuildId(dl_phdr_info *object, size_t, void *result) {
  if (!holdsThisCode(*object))
    return 0;
  const auto padded = [](size_t size) { return (size + 3) & ~size_t{3}; };
  for (const ElfW(Phdr) &segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE)
      continue;
    const char *position = reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr);
    const char *end = position + segment.p_memsz;
    while (position + sizeof(ElfW(Nhdr)) <= end) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(position);
      const char *name = position + sizeof(*note);
      const char *bytes = name + padded(note->n_namesz);
      position = bytes + padded(note->n_descsz);
      if (note->n_type != NT_GNU_BUILD_ID ||
          std::string_view(name, note->n_namesz) != std::string_view("GNU", 4))
        continue;
      const std::span<const char> id(bytes, note->n_descsz);
      for (char byte : id)
        *static_cast<std::string *>(result) += fmt::format("{:02x}", static_cast<uint8_t>(byte));
      return 1;
    }
  }
  return 1;
}

std::string tilewright::buildId() {
  std::string id;
  dl_iterate_phdr(findBuildId, &id);
  return id.empty() ? "unknown" : id;
}
