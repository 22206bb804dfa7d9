//===- Mutations.cpp - Faults planted into PTX ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/Mutations.h"

#include <fmt/format.h>

#include <map>
#include <regex>

using namespace tilewright::emulator::test;

namespace {

class Mutator {
public:
  Mutator(uint32_t stageBytes, uint32_t sample) : stageBytes(stageBytes), sample(sample) {}

  std::vector<Mutant> mutants;

  void mutateLine(const std::string &text, uint32_t number) {
    line = number;
    drops(text);
    waits(text);
    barriers(text);
    copies(text);
    matrices(text);
  }

private:
  uint32_t stageBytes, sample, line = 0;
  std::map<std::string, uint32_t> seen;

  void add(const std::string &kind, const std::string &replacement) {
    mutants.push_back({kind, line, replacement});
  }

  /// The instruction with `q` in place of an operand, q being computed first.
  void addWith(const std::string &kind, const std::string &type, const std::string &compute,
               const std::string &instruction) {
    add(kind, fmt::format("{{ .reg .{} q; {} {} }}", type, compute, instruction));
  }

  void drops(const std::string &text) {
    for (const char *instruction :
         {"wgmma.wait_group", "wgmma.fence", "wgmma.commit_group", "fence.proxy",
          "fence.mbarrier_init", "bar.sync", "bar.arrive", "bar.warp.sync", "setmaxnreg.dec",
          "mbarrier.init", "mbarrier.arrive", "cp.async.bulk.tensor"})
      if (text.starts_with(instruction))
        add(std::string("drop ") + instruction, "");
    if (text.starts_with("st.shared"))
      add("drop st.shared", "");
  }

  void waits(const std::string &text) {
    std::smatch m;
    if (std::regex_match(text, m, std::regex(R"((wgmma\.wait_group\S+) (\d+);)")))
      add("wait_group one too weak", fmt::format("{} {};", m.str(1), std::stoi(m[2]) + 1));
    if (std::regex_match(
            text, m, std::regex(R"((mbarrier\.try_wait\.parity\S+) (\w+), (\[\S+\]), (%r\d+);)"))) {
      add("drop wait", fmt::format("setp.eq.b32 {}, {}, {};", m.str(2), m.str(4), m.str(4)));
      add("wrong parity", fmt::format(".reg .b32 q; xor.b32 q, {}, 1; {} {}, {}, q;", m.str(4),
                                      m.str(1), m.str(2), m.str(3)));
    }
    if (std::regex_match(text, m, std::regex(R"((setmaxnreg\.inc\S+)\s+(\d+);)")))
      add("setmaxnreg over the file", fmt::format("{} {};", m.str(1), std::stoi(m[2]) + 16));
  }

  void barriers(const std::string &text) {
    std::smatch m;
    if (std::regex_match(text, m, std::regex(R"((mbarrier\.init\S+) (\[\S+\]), (%r\d+);)")))
      for (int change : {1, -1})
        addWith(fmt::format("init count {:+}", change), "b32",
                fmt::format("add.s32 q, {}, {};", m.str(3), change),
                fmt::format("{} {}, q;", m.str(1), m.str(2)));
    if (std::regex_match(text, m, std::regex(R"(mbarrier\.arrive\.shared\S+ _, \[\S+\];)")))
      add("arrive twice", text + " " + text);
    if (std::regex_match(text, m,
                         std::regex(R"((mbarrier\.arrive\.expect_tx\S+) _, (\[\S+\]), (%r\d+);)")))
      for (int change : {-128, 128})
        addWith(fmt::format("expect_tx bytes {:+}", change), "b32",
                fmt::format("add.s32 q, {}, {};", m.str(3), change),
                fmt::format("{} _, {}, q;", m.str(1), m.str(2)));
  }

  void copies(const std::string &text) {
    std::smatch m;
    if (!std::regex_match(
            text, m,
            std::regex(
                R"((cp\.async\.bulk\.tensor\S+) \[(%r\d+)\], \[(%rd\d+), \{(\S+?),(\S+?),(\S+?),(\S+?)\}\], \[(%r\d+)\];)")))
      return;
    auto copy = [&](const std::string &target, const std::string &row, const std::string &barrier) {
      return fmt::format("{} [{}], [{}, {{{}, {}, {}, {}}}], [{}];", m.str(1), target, m.str(3),
                         m.str(4), row, m.str(6), m.str(7), barrier);
    };
    auto plus = [](const std::string &reg, uint32_t number) {
      return fmt::format("add.s32 q, {}, {};", reg, number);
    };
    addWith("copy into the next stage", "b32", plus(m[2], stageBytes), copy("q", m[5], m[8]));
    addWith("copy off by 128 bytes", "b32", plus(m[2], 128), copy("q", m[5], m[8]));
    addWith("row coordinate +8", "b32", plus(m[5], 8), copy(m[2], "q", m[8]));
    addWith("copy signals the next barrier", "b32", plus(m[8], 8), copy(m[2], m[5], "q"));
  }

  void addSampled(const std::string &kind, const std::string &type, const std::string &compute,
                  const std::string &instruction) {
    if (seen[kind]++ % sample == 0)
      addWith(kind, type, compute, instruction);
  }

  void matrices(const std::string &text) {
    std::smatch m;
    if (!std::regex_match(
            text, m,
            std::regex(
                R"((wgmma\.mma_async\S+) (\{[^}]*\}), (\{[^}]*\}|%rd\d+), (%rd\d+), (\w+), 1, 1, (.*);)")))
      return;
    const bool registers = m.str(3)[0] == '{';
    auto wgmma = [&](const std::string &a, const std::string &b, const std::string &scale,
                     const std::string &tail) {
      return fmt::format("{} {}, {}, {}, {}, 1, 1, {};", m.str(1), m.str(2), a, b, scale, tail);
    };
    const std::pair<const char *, int64_t> descriptors[] = {
        {"B swizzle 128B to 64B", INT64_MIN | int64_t(1) << 62},
        {"B swizzle 128B to none", int64_t(1) << 62},
        {"B stride 1024 to 1536", int64_t(0x20) << 32},
        {"B start + 32 bytes", 2},
        {"B start + 128 bytes", 8},
        {registers ? "B LBO wrong, MN-major" : "B LBO wrong, K-major (ignored)", int64_t(0x100)
                                                                                     << 16}};
    for (const auto &[kind, bits] : descriptors)
      addSampled(kind, "b64", fmt::format("xor.b64 q, {}, {};", m.str(4), bits),
                 wgmma(m[3], "q", m[5], m[6]));
    if (!registers)
      addSampled("A start + 32 bytes", "b64", fmt::format("xor.b64 q, {}, 2;", m.str(3)),
                 wgmma("q", m[4], m[5], m[6]));
    std::string tail = m[6];
    tail.back() = tail.back() == '0' ? '1' : '0';
    addSampled("tnsp-b flipped", "b32", "", wgmma(m[3], m[4], m[5], tail));
    addSampled("scale-d flipped", "pred", fmt::format("not.pred q, {};", m.str(5)),
               wgmma(m[3], m[4], "q", m[6]));
    std::smatch a;
    const std::string aText = m[3];
    if (std::regex_match(aText, a, std::regex(R"(\{(\S+), (\S+), (\S+), (\S+)\})")))
      addSampled("A registers swapped", "b32", "",
                 wgmma(fmt::format("{{{}, {}, {}, {}}}", a.str(2), a.str(1), a.str(3), a.str(4)),
                       m[4], m[5], m[6]));
  }
};

} // namespace

std::vector<Mutant> tilewright::emulator::test::mutate(std::string_view ptx, uint32_t stageBytes,
                                                       uint32_t sample) {
  Mutator mutator(stageBytes, sample);
  uint32_t number = 0;
  for (size_t at = 0; at < ptx.size();) {
    const size_t end = std::min(ptx.find('\n', at), ptx.size());
    std::string line(ptx.substr(at, end - at));
    line.erase(0, line.find_first_not_of(" \t"));
    mutator.mutateLine(line, ++number);
    at = end + 1;
  }
  return std::move(mutator.mutants);
}

std::string tilewright::emulator::test::plant(std::string_view ptx, const Mutant &mutant) {
  size_t begin = 0;
  for (uint32_t line = 1; line < mutant.line; ++line)
    begin = ptx.find('\n', begin) + 1;
  std::string result(ptx);
  return result.replace(begin, ptx.find('\n', begin) - begin, mutant.replacement);
}
