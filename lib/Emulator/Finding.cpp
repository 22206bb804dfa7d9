//===- Finding.cpp - What the emulator has to say -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Finding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace tilewright;
using namespace tilewright::emulator;

std::string_view emulator::nameOf(FindingKind kind) {
  switch (kind) {
  case FindingKind::Race:
    return "race";
  case FindingKind::MissingProxyFence:
    return "missing fence.proxy.async";
  case FindingKind::InFlightRegister:
    return "in-flight register";
  case FindingKind::MissingWgmmaFence:
    return "missing wgmma.fence";
  case FindingKind::Unwritten:
    return "unwritten";
  case FindingKind::OutOfBounds:
    return "out of bounds";
  case FindingKind::ReadOnly:
    return "read-only";
  case FindingKind::Misaligned:
    return "misaligned";
  case FindingKind::Mbarrier:
    return "mbarrier misuse";
  case FindingKind::NamedBarrier:
    return "named barrier misuse";
  case FindingKind::NonUniform:
    return "non-uniform";
  case FindingKind::Descriptor:
    return "descriptor";
  case FindingKind::TensorMap:
    return "tensor map";
  case FindingKind::Registers:
    return "setmaxnreg misuse";
  case FindingKind::Deadlock:
    return "deadlock";
  case FindingKind::Unfinished:
    return "unfinished work";
  case FindingKind::Trap:
    return "trap";
  case FindingKind::Budget:
    return "budget";
  case FindingKind::Unsupported:
    return "unsupported";
  }
  return "";
}

namespace {
std::string textOf(const CodeLine &code) {
  std::string result = fmt::format("line {}: {}", code.line, code.text);
  if (!code.source.empty())
    result += fmt::format("  ({})", code.source);
  return result;
}

std::string jsonOf(const CodeLine &code) {
  return fmt::format(R"({{"line": {}, "ptx": {}, "loc": {}}})", code.line, jsonString(code.text),
                     code.source.empty() ? "null" : jsonString(code.source));
}
} // namespace

std::string emulator::jsonString(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\', result += c;
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

std::string emulator::toText(const Finding &finding) {
  std::string result = fmt::format("{}: {}", nameOf(finding.kind), finding.message);
  if (finding.at.line)
    result += "\n  at " + textOf(finding.at);
  if (finding.other)
    result += "\n  and " + textOf(*finding.other);
  if (finding.warp)
    result +=
        fmt::format("\n  in block ({}), warp {} (threads {} to {})", fmt::join(finding.block, ", "),
                    *finding.warp, *finding.warp * 32, *finding.warp * 32 + 31);
  if (!finding.space.empty())
    result += fmt::format("\n  {} address {}", finding.space, finding.address);
  if (!finding.place.empty())
    result += ": " + finding.place;
  for (const WaitingWarp &warp : finding.waiting)
    result += fmt::format("\n  block ({}), warp {} waits for {}\n    {}",
                          fmt::join(warp.block, ", "), warp.warp, warp.reason, textOf(warp.at));
  return result + fmt::format("\n  seed {}", finding.seed);
}

std::string emulator::toJson(const Finding &finding) {
  std::string result = fmt::format(
      R"({{"kind": {}, "message": {}, "at": {}, "other": {}, "block": [{}], "warp": {}, "seed": {})",
      jsonString(nameOf(finding.kind)), jsonString(finding.message), jsonOf(finding.at),
      finding.other ? jsonOf(*finding.other) : "null", fmt::join(finding.block, ", "),
      finding.warp ? std::to_string(*finding.warp) : "null", finding.seed);
  if (!finding.space.empty())
    result +=
        fmt::format(R"(, "space": {}, "address": {})", jsonString(finding.space), finding.address);
  if (!finding.place.empty())
    result += R"(, "place": )" + jsonString(finding.place);
  if (!finding.waiting.empty()) {
    std::vector<std::string> warps;
    for (const WaitingWarp &warp : finding.waiting)
      warps.push_back(fmt::format(R"({{"block": [{}], "warp": {}, "at": {}, "reason": {}}})",
                                  fmt::join(warp.block, ", "), warp.warp, jsonOf(warp.at),
                                  jsonString(warp.reason)));
    result += fmt::format(R"(, "waiting": [{}])", fmt::join(warps, ", "));
  }
  return result + "}";
}
