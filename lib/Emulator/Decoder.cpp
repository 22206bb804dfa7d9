//===- Decoder.cpp - Statements to ops ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Emulator/Decoder.h"

#include "lib/Emulator/Opcodes.h"
#include "lib/Support/MakeError.h"

#include <algorithm>
#include <bit>
#include <charconv>

using namespace tilewright;
using namespace tilewright::emulator;

namespace {

constexpr uint32_t maxSlots = 65536;
constexpr size_t maxOps = 1'000'000;
/// Post-dominators take quadratic time in the worst case.
constexpr uint32_t maxBranches = 32768;
constexpr uint32_t maxLocalBytes = 512 * 1024; // of one thread, as the CUDA guide limits it
constexpr size_t reportedFailures = 8;

constexpr std::pair<std::string_view, SpecialRegister> specialRegisters[] = {
    {"%tid.x", SpecialRegister::TidX},
    {"%tid.y", SpecialRegister::TidY},
    {"%tid.z", SpecialRegister::TidZ},
    {"%ntid.x", SpecialRegister::NtidX},
    {"%ntid.y", SpecialRegister::NtidY},
    {"%ntid.z", SpecialRegister::NtidZ},
    {"%ctaid.x", SpecialRegister::CtaidX},
    {"%ctaid.y", SpecialRegister::CtaidY},
    {"%ctaid.z", SpecialRegister::CtaidZ},
    {"%nctaid.x", SpecialRegister::NctaidX},
    {"%nctaid.y", SpecialRegister::NctaidY},
    {"%nctaid.z", SpecialRegister::NctaidZ},
    {"%laneid", SpecialRegister::LaneId},
    {"%warpid", SpecialRegister::WarpId},
    {"%smid", SpecialRegister::SmId},
    {"%dynamic_smem_size", SpecialRegister::DynamicSharedBytes},
    {"%cluster_ctarank", SpecialRegister::ClusterRank},
    {"%cluster_nctarank", SpecialRegister::ClusterSize},
    {"%lanemask_eq", SpecialRegister::LaneMaskEq},
    {"%lanemask_lt", SpecialRegister::LaneMaskLt},
    {"%lanemask_le", SpecialRegister::LaneMaskLe},
    {"%lanemask_gt", SpecialRegister::LaneMaskGt},
    {"%lanemask_ge", SpecialRegister::LaneMaskGe},
};

std::optional<SpecialRegister> findSpecial(std::string_view name) {
  for (const auto &[spelling, which] : specialRegisters)
    if (spelling == name)
      return which;
  return std::nullopt;
}

const char *nameOf(RegisterClass registerClass) {
  return registerClass == RegisterClass::Predicate ? "a predicate"
         : registerClass == RegisterClass::Wide    ? "a 64-bit register"
                                                   : "a register of at most 32 bits";
}

/// Modifiers that do not change what the emulator computes. Conversions keep their rounding.
std::string plainKey(const Statement &statement) {
  std::string key(statement.parts[0]);
  const bool convert = key == "cvt";
  for (size_t i = 1; i < statement.parts.size(); ++i) {
    const std::string_view part = statement.parts[i];
    const bool silent = part == "uni" || part == "full" || part == "wrap" ||
                        (!convert && (part == "rn" || part == "approx"));
    if (!silent)
      key.append(".").append(part);
  }
  return key;
}

} // namespace

Decoder::Decoder(const Program &program, const Kernel &kernel, Module &module)
    : program(program), kernel(kernel), module(module) {}

void Decoder::failWith(const std::string &message) {
  if (instructionFailed)
    return;
  instructionFailed = true;
  ++failureCount;
  const uint32_t line = current ? current->line : 0;
  if (failures.size() < reportedFailures)
    failures.push_back(fmt::format("PTX line {}: {}: {}", line, message, module.lineText(line)));
}

void Decoder::unsupported() {
  fail("unsupported instruction '{}'", current->name);
}

std::string_view Decoder::part(size_t index) const {
  return index < current->parts.size() ? current->parts[index] : std::string_view();
}

const Operand &Decoder::operand(size_t index) {
  static const Operand missing;
  if (index < current->operands.size())
    return current->operands[index];
  fail("'{}' has too few operands", current->name);
  return missing;
}

void Decoder::expectOperands(size_t least, size_t most) {
  if (operandCount() < least || operandCount() > most)
    fail("'{}' with {} operands", current->name, operandCount());
}

uint32_t Decoder::newSlot(RegisterClass registerClass) {
  const uint32_t slot = module.slots;
  const uint32_t size = registerClass == RegisterClass::Wide ? 2 : 1;
  if (slot + size > maxSlots) {
    fail("the kernel has more than {} registers and constants", maxSlots);
    return 0;
  }
  module.slots += size;
  return slot;
}

std::optional<std::pair<RegisterClass, uint32_t>> Decoder::findRegister(std::string_view name) {
  // %r12 belongs to the declaration %r<100>.
  const size_t stemEnd = name.find_last_not_of("0123456789");
  const std::string_view stem = name.substr(0, stemEnd + 1), digits = name.substr(stem.size());
  uint32_t number = UINT32_MAX;
  if (!digits.empty())
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  for (size_t i = scopes.size(); i-- > 0;) {
    Scope &scope = scopes[i];
    if (auto known = scope.registers.find(name); known != scope.registers.end())
      return known->second;
    auto declaration = scope.declarations.find(name);
    if (declaration == scope.declarations.end() || declaration->second.count) {
      declaration = digits.empty() ? scope.declarations.end() : scope.declarations.find(stem);
      if (declaration == scope.declarations.end() || number >= declaration->second.count)
        continue;
    }
    const RegisterClass registerClass = declaration->second.registerClass;
    const uint32_t slot =
        registerClass == RegisterClass::Predicate ? newPredicate() : newSlot(registerClass);
    scope.registers[name] = {registerClass, slot};
    return std::pair(registerClass, slot);
  }
  return std::nullopt;
}

uint32_t Decoder::constant(uint64_t value, RegisterClass registerClass) {
  const auto [entry, fresh] = constants.try_emplace({value, registerClass}, 0);
  if (fresh) {
    entry->second = newSlot(registerClass);
    if (registerClass == RegisterClass::Wide)
      module.wideConstants.push_back({entry->second, value});
    else
      module.narrowConstants.push_back({entry->second, static_cast<uint32_t>(value)});
  }
  return entry->second;
}

uint32_t Decoder::slot(const Operand &operand, RegisterClass registerClass) {
  if (instructionFailed)
    return 0;
  switch (operand.kind) {
  case Operand::Kind::Integer:
  case Operand::Kind::Float:
  case Operand::Kind::Double: {
    if (registerClass == RegisterClass::Predicate) {
      fail("a constant where a predicate belongs");
      return 0;
    }
    uint64_t bits = operand.bits;
    if (operand.is(Operand::Kind::Double) && registerClass == RegisterClass::Narrow)
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (registerClass == RegisterClass::Narrow)
      bits = static_cast<uint32_t>(bits);
    return constant(bits, registerClass);
  }
  case Operand::Kind::Name:
    break;
  default:
    fail("an operand of this kind does not belong here");
    return 0;
  }
  if (auto found = findRegister(operand.name)) {
    if (found->first != registerClass) {
      fail("'{}' is {}, not {}", operand.name, nameOf(found->first), nameOf(registerClass));
      return 0;
    }
    if (registerClass == RegisterClass::Narrow)
      touched.push_back(found->second);
    return found->second;
  }
  if (auto special = findSpecial(operand.name);
      special && registerClass != RegisterClass::Predicate) {
    const auto [entry, fresh] = specials.try_emplace({*special, registerClass}, 0);
    if (fresh) {
      entry->second = newSlot(registerClass);
      module.specials.push_back({*special, registerClass, entry->second});
    }
    return entry->second;
  }
  if (auto symbol = symbols.find(operand.name);
      symbol != symbols.end() && registerClass != RegisterClass::Predicate)
    return constant(symbol->second.address + static_cast<uint64_t>(operand.offset), registerClass);
  fail("unknown name '{}'", operand.name);
  return 0;
}

std::vector<uint32_t> Decoder::elements(const Operand &operand, RegisterClass registerClass) {
  std::vector<uint32_t> result;
  auto add = [&](const Operand &element) {
    result.push_back(element.is(Operand::Kind::Sink) ? noSlot : slot(element, registerClass));
  };
  if (operand.is(Operand::Kind::Vector))
    for (const Operand &element : operand.parts)
      add(element);
  else
    add(operand);
  return result;
}

std::vector<uint32_t> Decoder::registers(const Operand &operand, RegisterClass registerClass) {
  std::vector<uint32_t> result = elements(operand, registerClass);
  if (std::find(result.begin(), result.end(), noSlot) != result.end()) {
    fail("a sink does not belong here");
    std::replace(result.begin(), result.end(), noSlot, 0u);
  }
  return result;
}

int64_t Decoder::integer(size_t index) {
  const Operand &value = operand(index);
  if (!value.is(Operand::Kind::Integer))
    fail("operand {} of '{}' is not a number", index + 1, current->name);
  return static_cast<int64_t>(value.bits);
}

Range Decoder::list(const std::vector<uint32_t> &slots) {
  const Range range = {static_cast<uint32_t>(module.lists.size()),
                       static_cast<uint32_t>(slots.size())};
  module.lists.insert(module.lists.end(), slots.begin(), slots.end());
  return range;
}

RegisterClass Decoder::classOf(const Operand &operand) {
  if (operand.is(Operand::Kind::Name))
    if (auto found = findRegister(operand.name))
      return found->first;
  return RegisterClass::Narrow;
}

void Decoder::address(Op &op, const Operand &operand, size_t which) {
  if (!operand.is(Operand::Kind::Address) || operand.parts.empty()) {
    fail("expected an address");
    return;
  }
  const Operand &base = operand.parts[0];
  op.immediate = operand.offset;
  const bool isRegister = base.is(Operand::Kind::Name) && findRegister(base.name).has_value();
  if (!isRegister) {
    op.slots[which] = slot(base, RegisterClass::Wide);
    op.wideAddress = true;
    return;
  }
  op.immediate = static_cast<int64_t>(static_cast<uint64_t>(operand.offset) +
                                      static_cast<uint64_t>(base.offset));
  op.wideAddress = classOf(base) == RegisterClass::Wide;
  op.slots[which] = slot(base, op.wideAddress ? RegisterClass::Wide : RegisterClass::Narrow);
}

uint32_t Decoder::plainAddress(const Operand &operand, RegisterClass registerClass) {
  if (!operand.is(Operand::Kind::Address) || operand.parts.empty() || operand.offset ||
      operand.parts[0].offset) {
    fail("expected an address without an offset");
    return 0;
  }
  return slot(operand.parts[0], registerClass);
}

void Decoder::track(const std::vector<uint32_t> &slots) {
  for (uint32_t slot : slots)
    if (slot != noSlot)
      matrixRegisters.push_back(slot);
}

void Decoder::branchTo(std::string_view label) {
  if (++branches > maxBranches)
    return fail("the kernel has more than {} branches", maxBranches);
  scopes.back().branches.push_back({static_cast<uint32_t>(module.ops.size()), label});
}

void Decoder::emit(Op op) {
  if (module.ops.size() >= maxOps)
    return fail("the kernel has more than {} instructions", maxOps);
  op.line = current->line;
  op.location = location;
  module.ops.push_back(op);
  opSlots.push_back(std::move(touched));
  touched.clear();
}

void Decoder::declare(const Statement &variable) {
  if (!scopes.empty() && symbols.contains(variable.name))
    return fail("variable '{}' is declared twice", variable.name);
  const uint32_t base =
      variable.space == VariableSpace::Shared ? module.architecture->reservedSharedBytes : 0;
  if (variable.space == VariableSpace::Shared && variable.bytes == 0) {
    dynamicShared = true;
    symbols[variable.name] = {base};
    return;
  }
  const bool shared = variable.space == VariableSpace::Shared;
  uint32_t &used = shared ? module.staticSharedBytes : module.localBytes;
  used = (used + variable.alignment - 1) / variable.alignment * variable.alignment;
  symbols[variable.name] = {base + used};
  used += variable.bytes;
  const uint32_t limit = shared ? module.architecture->maxSharedBytes : maxLocalBytes;
  if (used > limit)
    fail("{} bytes of {} memory; the limit is {}", used, shared ? "shared" : "local", limit);
}

void Decoder::openScope() {
  scopes.emplace_back();
  scopes.back().firstOp = static_cast<uint32_t>(module.ops.size());
}

void Decoder::closeScope() {
  Scope &scope = scopes.back();
  for (const auto &[op, label] : scope.branches) {
    if (auto found = scope.labels.find(label); found != scope.labels.end())
      module.ops[op].target = found->second;
    else if (scopes.size() > 1)
      scopes[scopes.size() - 2].branches.push_back({op, label});
    else {
      ++failureCount;
      failures.push_back(
          fmt::format("PTX line {}: unknown label '{}'", module.ops[op].line, label));
    }
  }
  for (const auto &[name, place] : scope.registers)
    module.names.push_back({std::string(name), place.first, place.second, scope.firstOp,
                            static_cast<uint32_t>(module.ops.size())});
  scopes.pop_back();
}

void Decoder::instruction() {
  Op op;
  if (!current->guard.empty()) {
    Operand guard;
    guard.kind = Operand::Kind::Name;
    guard.name = current->guard;
    op.guard = static_cast<int32_t>(slot(guard, RegisterClass::Predicate));
    op.guardNegated = current->guardNegated;
  }
  if (instructionFailed)
    return;
  std::string key = plainKey(*current);
  // PTX lets the source of a conversion be wider than its type; LLVM writes sign extensions within
  // a 64-bit register so.
  if (key == "cvt.s64.s32" && current->operands.size() == 2)
    if (auto source = findRegister(current->operands[1].name);
        current->operands[1].is(Operand::Kind::Name) && source &&
        source->first == RegisterClass::Wide)
      key += ".wide";
  const auto plain = plainOpcodes().find(key);
  if (plain != plainOpcodes().end()) {
    const PlainOpcode &row = plain->second;
    expectOperands(row.signature.size(), row.signature.size());
    for (size_t i = 0; i < row.signature.size() && !instructionFailed; ++i) {
      if (operand(i).negated)
        return fail("a negated operand of '{}'", current->name);
      op.slots[i] = slot(i, row.signature[i]);
    }
    op.execute = row.execute;
    if (!instructionFailed)
      emit(op);
    return;
  }
  const OpcodeFamily *family = findFamily(current->name);
  if (!family)
    return unsupported();
  if (family->needs > module.architecture->instructions)
    return fail("'{}' does not exist on {}", current->name, module.architecture->name);
  family->decode(*this, op);
}

Status Decoder::run() {
  module.maxThreads = kernel.maxThreads;
  module.parameterBytes = kernel.parameterBytes;
  for (const KernelParameter &parameter : kernel.parameters) {
    module.parameters.push_back({std::string(parameter.name), parameter.offset, parameter.bytes});
    symbols[parameter.name] = {parameterWindow + parameter.offset};
  }
  module.locations.emplace_back();
  for (const Statement &variable : program.variables) {
    current = &variable;
    declare(variable);
  }
  openScope();
  for (const Statement &statement : kernel.body) {
    current = &statement;
    instructionFailed = false;
    touched.clear();
    switch (statement.kind) {
    case Statement::Kind::OpenScope:
      openScope();
      break;
    case Statement::Kind::CloseScope:
      closeScope();
      break;
    case Statement::Kind::Label:
      scopes.back().labels[statement.name] = static_cast<uint32_t>(module.ops.size());
      break;
    case Statement::Kind::Register: {
      const RegisterClass registerClass = statement.type == ".pred" ? RegisterClass::Predicate
                                          : statement.type.ends_with("64") ? RegisterClass::Wide
                                                                           : RegisterClass::Narrow;
      if (statement.type.ends_with("128"))
        fail("128-bit registers are not supported");
      scopes.back().declarations[statement.name] = {registerClass, statement.count};
      break;
    }
    case Statement::Kind::Variable:
      declare(statement);
      break;
    case Statement::Kind::Location: {
      const auto [entry, fresh] =
          locations.try_emplace({statement.file, statement.sourceLine}, module.locations.size());
      if (fresh) {
        const auto file = program.files.find(statement.file);
        module.locations.push_back(
            {file == program.files.end() ? "?" : file->second, statement.sourceLine});
      }
      location = entry->second;
      break;
    }
    case Statement::Kind::Instruction:
      instruction();
      break;
    }
  }
  closeScope();
  if (failureCount) {
    std::string message = fmt::format("{}", fmt::join(failures, "\n"));
    if (failureCount > failures.size())
      message += fmt::format("\nand {} more", failureCount - failures.size());
    return Error(ErrorKind::Unsupported, message);
  }
  finish();
  if (dynamicShared && module.staticSharedBytes)
    return tilewright::unsupported(
        "kernel '{}' has dynamic and {} bytes of static shared memory: use one of them",
        kernel.name, module.staticSharedBytes);
  return {};
}

void Decoder::finish() {
  static const Statement end = [] {
    Statement statement;
    statement.parts = {"exit"};
    statement.name = "exit";
    return statement;
  }();
  current = &end;
  Op op;
  findFamily("exit")->decode(*this, op);
  module.ops.back().line = static_cast<uint32_t>(module.lineStarts.size());
  module.trackedIndex.assign(module.slots, 0);
  for (uint32_t slot : matrixRegisters)
    if (!module.trackedIndex[slot])
      module.trackedIndex[slot] = ++module.trackedCount;
  for (size_t i = 0; i < module.ops.size(); ++i) {
    if (module.ops[i].matrix)
      continue;
    std::vector<uint32_t> indices;
    for (uint32_t slot : opSlots[i])
      if (const uint32_t index = module.trackedIndex[slot])
        indices.push_back(index - 1);
    module.ops[i].tracked = list(indices);
  }
  findReconvergence(module);
}

std::string Module::lineText(uint32_t line) const {
  if (line == 0 || line > lineStarts.size())
    return "";
  const size_t begin = lineStarts[line - 1];
  const size_t end = std::min(text.find('\n', begin), text.size());
  std::string result = text.substr(begin, end - begin);
  result.erase(0, std::min(result.find_first_not_of(" \t"), result.size()));
  std::replace(result.begin(), result.end(), '\t', ' ');
  constexpr size_t shown = 120, tail = 40;
  if (result.size() > shown)
    result = result.substr(0, shown - tail) + " ... " + result.substr(result.size() - tail);
  return result;
}

std::string Module::sourceOf(const Op &op) const {
  if (!op.location)
    return "";
  return fmt::format("{}:{}", locations[op.location].file, locations[op.location].line);
}

Result<Module> emulator::loadModule(std::string_view ptx, std::string_view kernel) {
  Module module;
  module.text = ptx;
  Result<Program> program = parsePtx(module.text);
  if (!program)
    return program.error();
  Result<const Architecture *> architecture = findArchitecture(program->target);
  if (!architecture)
    return architecture.error();
  module.architecture = *architecture;
  const Kernel *chosen = nullptr;
  std::vector<std::string_view> names;
  for (const Kernel &candidate : program->kernels) {
    names.push_back(candidate.name);
    if (candidate.name == kernel || (kernel.empty() && program->kernels.size() == 1))
      chosen = &candidate;
  }
  if (!chosen)
    return invalidArgument("kernel '{}': the PTX has {}{}", kernel,
                           names.empty() ? "no kernel" : "the kernels ", fmt::join(names, ", "));
  module.kernel = chosen->name;
  module.lineStarts.push_back(0);
  for (size_t i = 0; i < module.text.size(); ++i)
    if (module.text[i] == '\n')
      module.lineStarts.push_back(static_cast<uint32_t>(i + 1));
  if (Status status = Decoder(*program, *chosen, module).run(); !status)
    return status.error();
  return module;
}
