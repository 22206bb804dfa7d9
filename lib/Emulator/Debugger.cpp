//===- Debugger.cpp - Stepping through a kernel ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Debugger.h"

#include "lib/Emulator/Machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <istream>
#include <ostream>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

std::optional<uint32_t> parseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return number;
}

/// "name[first..last]" into its parts.
struct Indexed {
  std::string_view name;
  uint32_t first, last;
};

std::optional<Indexed> parseRange(std::string_view text) {
  const size_t open = text.find('['), dots = text.find("..");
  if (open == text.npos || dots == text.npos || dots < open || text.back() != ']')
    return std::nullopt;
  const auto first = parseNumber(text.substr(open + 1, dots - open - 1));
  const auto last = parseNumber(text.substr(dots + 2, text.size() - dots - 3));
  if (!first || !last || *last < *first || *last - *first >= 4096)
    return std::nullopt;
  return Indexed{text.substr(0, open), *first, *last};
}

template <typename T, typename Format> std::string describeLanes(const T *lanes, Format format) {
  bool same = true;
  for (uint32_t lane = 1; lane < warpSize; ++lane)
    same &= std::memcmp(&lanes[lane], &lanes[0], sizeof(T)) == 0;
  if (same)
    return format(lanes[0]) + " in all lanes";
  std::vector<std::string> values;
  for (uint32_t lane = 0; lane < warpSize; ++lane)
    values.push_back(format(lanes[lane]));
  return fmt::format("{}", fmt::join(values, " "));
}

} // namespace

bool Debugger::before(Warp &warp, uint32_t op) {
  if (detached || (selected && *selected != warp.id))
    return true;
  const bool atBreak = breaks.contains(module.ops[op].line);
  const bool atStep = stepping && (!stepped || stepped == &warp);
  return atBreak || atStep ? converse(warp, op) : true;
}

bool Debugger::converse(Warp &warp, uint32_t op) {
  stepping = false;
  stepped = nullptr;
  const CodeLine line = warp.block->codeLine(module.ops[op].line, &module.ops[op]);
  answers << fmt::format("block ({}), warp {}, lanes {:08x}, line {}: {}{}\n",
                         fmt::join(warp.block->position, ", "), warp.id, warp.paths.back().mask,
                         line.line, line.text,
                         line.source.empty() ? "" : "  (" + line.source + ")");
  if (!prints.empty()) {
    for (const std::string &what : prints)
      print(warp, op, what);
    return true;
  }
  for (std::string text; std::getline(commands, text);) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string command = text.substr(0, space);
    const std::string_view argument =
        std::string_view(text).substr(std::min(space + 1, text.size()));
    const std::optional<uint32_t> number = parseNumber(argument);
    if (command == "continue")
      return true;
    if (command == "quit")
      return false;
    if (command == "step") {
      stepping = true;
      stepped = &warp;
      return true;
    }
    if (command == "break" && number)
      breaks.insert(*number);
    else if (command == "delete" && number)
      breaks.erase(*number);
    else if (command == "warp" && argument == "all")
      selected.reset();
    else if (command == "warp" && number)
      selected = *number;
    else if (command == "where")
      where(warp);
    else if (command == "print")
      print(warp, op, argument);
    else
      answers << fmt::format("unknown command '{}'; there are break, delete, warp, step, continue, "
                             "where, print, quit\n",
                             text);
  }
  detached = true;
  return true;
}

void Debugger::where(const Warp &warp) {
  for (const std::unique_ptr<Warp> &other : warp.block->warps) {
    if (other->state == WarpState::Done) {
      answers << fmt::format("warp {}: done\n", other->id);
      continue;
    }
    const uint32_t line = module.ops[other->pc()].line;
    answers << fmt::format("warp {}: line {}: {}\n", other->id, line, module.lineText(line));
  }
}

void Debugger::print(Warp &warp, uint32_t op, std::string_view what) {
  if (what == "barriers")
    return printBarriers(warp);
  if (const std::optional<Indexed> range = parseRange(what)) {
    if (range->name == "smem")
      return printShared(warp, range->first, range->last);
    for (uint32_t i = range->first; i <= range->last; ++i)
      printRegister(warp, op, fmt::format("{}{}", range->name, i));
    return;
  }
  printRegister(warp, op, std::string(what));
}

void Debugger::printRegister(Warp &warp, uint32_t op, const std::string &name) {
  // The innermost scope that holds this instruction is the shortest.
  const RegisterName *best = nullptr;
  for (const RegisterName &candidate : module.names)
    if ((candidate.name == name || candidate.name == "%" + name) && candidate.firstOp <= op &&
        op < candidate.lastOp &&
        (!best || candidate.lastOp - candidate.firstOp < best->lastOp - best->firstOp))
      best = &candidate;
  if (!best) {
    answers << fmt::format("no register '{}' here\n", name);
    return;
  }
  std::string value;
  switch (best->registerClass) {
  case RegisterClass::Predicate:
    value = fmt::format("lanes {:08x}", warp.predicates[best->slot]);
    break;
  case RegisterClass::Wide:
    value = describeLanes(warp.lanes<uint64_t>(best->slot),
                          [](uint64_t v) { return fmt::format("0x{:x}", v); });
    break;
  case RegisterClass::Narrow:
    if (best->name.starts_with("%f"))
      value = describeLanes(warp.lanes<float>(best->slot),
                            [](float v) { return fmt::format("{}", v); });
    else
      value = describeLanes(warp.lanes<uint32_t>(best->slot),
                            [](uint32_t v) { return fmt::format("0x{:x}", v); });
    break;
  }
  answers << fmt::format("{} = {}\n", best->name, value);
}

void Debugger::printShared(const Warp &warp, uint32_t first, uint32_t last) {
  const Block &block = *warp.block;
  if (!block.ownsShared(first, uint64_t(last) - first + 1)) {
    answers << fmt::format("the block has shared memory from {} to {}\n", block.firstShared(),
                           block.shared.size() - 1);
    return;
  }
  for (uint32_t row = first; row <= last; row += 16) {
    answers << fmt::format("{}:", row);
    for (uint32_t at = row; at <= std::min(last, row + 15); ++at)
      answers << (block.shadow.isWritten(at, 1) ? fmt::format(" {:02x}", block.shared[at]) : " ??");
    answers << '\n';
  }
}

void Debugger::printBarriers(const Warp &warp) {
  const Block &block = *warp.block;
  for (const Mbarrier &barrier : block.mbarriers)
    if (barrier.live)
      answers << fmt::format(
          "mbarrier at {}: phase {}, {} of {} arrivals pending, transaction count "
          "{}, waiting warps [{}]\n",
          barrier.address, barrier.phase, barrier.pending, barrier.count, barrier.transactions,
          fmt::join(barrier.waiters, ", "));
  for (size_t id = 0; id < block.namedBarriers.size(); ++id)
    if (const NamedBarrier &barrier = block.namedBarriers[id]; barrier.arrived)
      answers << fmt::format("named barrier {}: {} of {} threads, waiting warps [{}]\n", id,
                             barrier.arrived, barrier.expected, fmt::join(barrier.waiters, ", "));
}
