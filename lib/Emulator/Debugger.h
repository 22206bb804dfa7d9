//===- Debugger.h - Stepping through a kernel -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWRIGHT_LIB_EMULATOR_DEBUGGER_H
#define TILEWRIGHT_LIB_EMULATOR_DEBUGGER_H

#include "lib/Emulator/Device.h"

#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::emulator {

/// An observer that stops warps and answers commands, one a line, from a stream:
///
///   break LINE     stop before instructions of this PTX line; delete LINE undoes it
///   warp N         stop warp N only; warp all undoes it
///   step           stop before the next instruction of the warp that stands
///   continue       run on
///   where          the lines at which the block's warps stand
///   print WHAT     r12, f[0..7], p3, smem[1024..1087], barriers
///   quit           end the run
///
/// At the end of the commands the kernel runs on without stopping.
class Debugger : public Observer {
public:
  Debugger(const Module &module, std::istream &commands, std::ostream &answers)
      : module(module), commands(commands), answers(answers) {}

  void breakAt(uint32_t line) { breaks.insert(line); }
  void selectWarp(uint32_t warp) { selected = warp; }
  void stepFromTheStart() { stepping = true; }
  /// Answers these `print` commands at every stop and goes on instead of reading commands.
  void printAndContinue(std::vector<std::string> what) { prints = std::move(what); }

  bool before(Warp &warp, uint32_t op) override;

private:
  const Module &module;
  std::istream &commands;
  std::ostream &answers;
  std::set<uint32_t> breaks;
  std::optional<uint32_t> selected;
  std::vector<std::string> prints;
  bool stepping = false, detached = false;
  Warp *stepped = nullptr; ///< Null: any warp.

  bool converse(Warp &warp, uint32_t op);
  void where(const Warp &warp);
  void print(Warp &warp, uint32_t op, std::string_view what);
  void printRegister(Warp &warp, uint32_t op, const std::string &name);
  void printShared(const Warp &warp, uint32_t first, uint32_t last);
  void printBarriers(const Warp &warp);
};

} // namespace tilewright::emulator

#endif // TILEWRIGHT_LIB_EMULATOR_DEBUGGER_H
