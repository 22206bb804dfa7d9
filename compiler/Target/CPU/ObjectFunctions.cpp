//===- ObjectFunctions.cpp - The C functions of an object -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/ObjectFunctions.h"
#include "compiler/Target/CPU/ArgumentsStruct.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/EntryPoints.h"
#include "compiler/Target/CPU/LaunchChecks.h"
#include "compiler/Target/CPU/ProcessorCheck.h"
#include "lib/Expression/Spelling.h"
#include "lib/Support/MakeError.h"

#include <llvm/IR/IntrinsicsAArch64.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

using namespace llvm;
using namespace tilewright;

static constexpr size_t maxNameLength = 64;

static bool isIdentifier(std::string_view name) {
  return !name.empty() && name.size() <= maxNameLength && !isDigit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

Result<ObjectDescription> ObjectDescription::make(std::string name, Signature signature,
                                                  LaunchExpressions expressions) {
  if (!isIdentifier(name) || name.front() == '_' || name.find("__") != std::string::npos)
    return invalidArgument("'{}' cannot begin the names of C functions: a letter, then letters, "
                           "digits and single '_', at most {} in all; the option name "
                           "gives another",
                           expression::printable(name, maxNameLength), maxNameLength);
  KernelInterface interface(signature.arguments, std::move(expressions));
  for (auto [i, argument] : enumerate(interface.arguments())) {
    const ProblemTensor *role = interface.role(i);
    if (role && (role->rank != argument.shape.size() ||
                 (role->rank == 4 && argument.shape[3] == KernelArgument::dynamic)))
      return unsupported("{} has {} dimensions, the last of them {}; ahead of time it has {} and "
                         "the last one is fixed",
                         argument.name, argument.shape.size(),
                         !argument.shape.empty() && argument.shape.back() == KernelArgument::dynamic
                             ? "open"
                             : "fixed",
                         role->rank);
  }
  return ObjectDescription{std::move(name), std::move(signature), std::move(interface)};
}

bool tilewright::usesAmx(const Module &module) {
  return any_of(module, [](const Function &function) {
    return function.getName().starts_with("llvm.x86.tile") ||
           function.getName().starts_with("llvm.x86.tdp");
  });
}

namespace {
class ObjectWriter {
public:
  ObjectWriter(Module &module, const ObjectDescription &object, const CpuTarget &target,
               const MCSubtargetInfo &processor, const EntryPoints &entries);

  void run();

private:
  using Linkage = GlobalValue::LinkageTypes;

  Function *makeFunction(const Twine &name, Type *result, ArrayRef<Type *> parameters,
                         Linkage linkage);
  void addProcessorStatus();
  void addWorkspaceBytes();
  void addWorkspaceSize();
  void addItems();
  void addCheck();
  void addRunItem();
  void addRun();
  void addStatusText();

  /// The arguments as the entry points take them.
  Value *bind(IRBuilder<> &b, Value *arguments);
  Value *bindWorkspace(IRBuilder<> &b, Value *workspace, Value *size);
  /// Saves how the thread computes and sets what the code expects (FloatingEnvironment.h); the
  /// result goes to the second one.
  Value *enterEnvironment(IRBuilder<> &b);
  void leaveEnvironment(IRBuilder<> &b, Value *saved);

  Module &module;
  LLVMContext &context;
  const ObjectDescription &object;
  const CpuTarget &target;
  const MCSubtargetInfo &processor;
  const bool isAmx;
  struct Phase {
    Function *countItems, *runItem;
  };
  std::vector<Phase> phases;
  Function *countBytes = nullptr;
  std::vector<std::string> sentences;

  Type *status = Type::getInt32Ty(context), *number = Type::getInt64Ty(context);
  Type *pointer = PointerType::getUnqual(context);
  Function *processorStatus = nullptr, *extentStatus = nullptr, *workspaceBytes = nullptr,
           *items = nullptr, *check = nullptr, *runItem = nullptr;
};
} // namespace

/// What is there already is hidden, and keeps out of the way of names of C.
ObjectWriter::ObjectWriter(Module &module, const ObjectDescription &object, const CpuTarget &target,
                           const MCSubtargetInfo &processor, const EntryPoints &entries)
    : module(module), context(module.getContext()), object(object), target(target),
      processor(processor), isAmx(usesAmx(module)) {
  for (const auto &[countItems, runItem] : entries.phases)
    phases.push_back({module.getFunction(countItems), module.getFunction(runItem)});
  if (!entries.workspaceBytes.empty())
    countBytes = module.getFunction(entries.workspaceBytes);
  for (Function &function : module)
    if (!function.isDeclaration()) {
      function.setLinkage(Linkage::InternalLinkage);
      function.setName("kernel." + function.getName());
    }
}

/// These functions run before it is known what the processor can do.
Function *ObjectWriter::makeFunction(const Twine &name, Type *result, ArrayRef<Type *> parameters,
                                     Linkage linkage) {
  auto *function = Function::Create(FunctionType::get(result, parameters, false), linkage,
                                    object.name + "_" + name, module);
  const bool isX86 = processor.getTargetTriple().isX86();
  function->addFnAttr("target-cpu", isX86 ? "x86-64" : "generic");
  function->addFnAttr("target-features", isX86 ? "+sse2" : "+neon");
  function->addFnAttr("frame-pointer", "all");
  return function;
}

void ObjectWriter::addProcessorStatus() {
  Function *find = makeFunction("find_processor_status", status, {}, Linkage::InternalLinkage);
  CheckBuilder checks(find, sentences);
  addProcessorCheck(checks, processor, isAmx, WrongProcessor, AmxRefused);
  checks.CreateRet(checks.getInt32(Success));

  // Asking a processor is slow in a virtual machine, and the answer stays.
  auto *known =
      new GlobalVariable(module, status, /*isConstant=*/false, Linkage::InternalLinkage,
                         ConstantInt::getSigned(status, -1), object.name + "_processor_known");
  processorStatus = makeFunction("processor_status", status, {}, Linkage::InternalLinkage);
  CheckBuilder b(processorStatus, sentences);
  LoadInst *before = b.CreateAlignedLoad(status, known, Align(4));
  before->setAtomic(AtomicOrdering::Monotonic);
  BasicBlock *ask = b.newBlock(), *answer = b.newBlock();
  b.CreateCondBr(b.CreateICmpSLT(before, b.getInt32(0)), ask, answer);
  b.SetInsertPoint(answer);
  b.CreateRet(before);
  b.SetInsertPoint(ask);
  Value *found = b.CreateCall(find);
  b.CreateAlignedStore(found, known, Align(4))->setAtomic(AtomicOrdering::Monotonic);
  b.CreateRet(found);
}

Value *ObjectWriter::bind(IRBuilder<> &b, Value *pointerToArguments) {
  const ArgumentsStruct arguments(object, pointerToArguments);
  const size_t count = arguments.arguments().size();
  Value *list = b.CreateAlloca(ArrayType::get(pointer, count));
  for (auto [i, argument] : enumerate(arguments.arguments())) {
    Value *value = nullptr;
    if (argument.kind == KernelArgument::Kind::Tensor) {
      // MemRefs.h: two pointers, an offset, extents, strides.
      const size_t rank = argument.shape.size();
      auto *type = StructType::get(pointer, pointer, number, ArrayType::get(number, 2 * rank));
      value = b.CreateAlloca(type);
      const auto set = [&](Value *field, std::initializer_list<unsigned> place) {
        SmallVector<Value *> indices = {b.getInt32(0)};
        for (unsigned index : place)
          indices.push_back(b.getInt32(index));
        b.CreateStore(field, b.CreateInBoundsGEP(type, value, indices));
      };
      Value *data = arguments.data(b, i);
      set(data, {0});
      set(data, {1});
      set(b.getInt64(0), {2});
      for (unsigned dim = 0; dim < rank; ++dim) {
        set(arguments.extent(b, i, dim), {3, dim});
        set(arguments.stride(b, i, dim), {3, static_cast<unsigned>(rank) + dim});
      }
    } else {
      value = arguments.addressOfScalar(b, i);
    }
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(pointer, list, i));
  }
  return list;
}

Value *ObjectWriter::bindWorkspace(IRBuilder<> &b, Value *workspace, Value *size) {
  Value *address = b.CreatePtrToInt(workspace, number);
  Value *above = b.CreateAdd(address, b.getInt64(workspaceAlignment - 1));
  Value *aligned = b.CreateAnd(above, b.getInt64(~uint64_t{workspaceAlignment - 1}));
  aligned = b.CreateIntToPtr(aligned, pointer);
  auto *type = StructType::get(pointer, pointer, number, number, number);
  Value *memref = b.CreateAlloca(type);
  const std::array<Value *, 5> fields = {aligned, aligned, b.getInt64(0), size, b.getInt64(1)};
  for (unsigned i = 0; i < fields.size(); ++i)
    b.CreateStore(fields[i], b.CreateStructGEP(type, memref, i));
  return memref;
}

void ObjectWriter::addWorkspaceBytes() {
  workspaceBytes = makeFunction("workspace_bytes", number, {pointer}, Linkage::InternalLinkage);
  IRBuilder<> b(BasicBlock::Create(context, "", workspaceBytes));
  if (!countBytes) {
    b.CreateRet(b.getInt64(0));
    return;
  }
  Value *bytes = b.CreateCall(countBytes, {bind(b, workspaceBytes->getArg(0))});
  Value *more = b.CreateAdd(bytes, b.getInt64(workspaceAlignment - 1));
  b.CreateRet(b.CreateSelect(b.CreateICmpSGT(bytes, b.getInt64(0)), more, b.getInt64(0)));
}

void ObjectWriter::addWorkspaceSize() {
  extentStatus = makeFunction("extent_status", status, {pointer}, Linkage::InternalLinkage);
  CheckBuilder checks(extentStatus, sentences);
  checks.require(checks.CreateIsNotNull(extentStatus->getArg(0)), "the arguments are null");
  addExtentChecks(checks, ArgumentsStruct(object, extentStatus->getArg(0)));
  checks.CreateRet(checks.getInt32(Success));

  Function *size = makeFunction("workspace_size", number, {pointer}, Linkage::ExternalLinkage);
  CheckBuilder b(size, sentences);
  Value *known = b.CreateCall(processorStatus);
  known = b.CreateOr(known, b.CreateCall(extentStatus, {size->getArg(0)}));
  BasicBlock *ask = b.newBlock(), *refuse = b.newBlock();
  b.CreateCondBr(b.CreateIsNull(known), ask, refuse);
  b.SetInsertPoint(refuse);
  b.CreateRet(b.getInt64(0));
  b.SetInsertPoint(ask);
  b.CreateRet(b.CreateCall(workspaceBytes, {size->getArg(0)}));
}

void ObjectWriter::addItems() {
  items = makeFunction("items", number, {pointer, status}, Linkage::ExternalLinkage);
  CheckBuilder b(items, sentences);
  Value *list = bind(b, items->getArg(0));
  BasicBlock *none = b.newBlock();
  SwitchInst *choice = b.CreateSwitch(items->getArg(1), none);
  b.SetInsertPoint(none);
  b.CreateRet(b.getInt64(0));
  for (auto [phase, entry] : enumerate(phases)) {
    BasicBlock *block = b.newBlock();
    choice->addCase(b.getInt32(static_cast<uint32_t>(phase)), block);
    b.SetInsertPoint(block);
    Value *count = b.CreateCall(entry.countItems, {list});
    b.CreateRet(b.maximum(count, b.getInt64(0)));
  }
}

/// LaunchArguments.cpp: with none of these there is nothing to compute.
static Value *hasNothingToDo(IRBuilder<> &b, const ArgumentsStruct &arguments) {
  Value *isEmpty = b.getFalse();
  for (Dimension dimension : {Dimension::Batch, Dimension::Heads, Dimension::QueryLength})
    isEmpty = b.CreateOr(isEmpty, b.CreateIsNull(arguments.extent(b, dimension)));
  return isEmpty;
}

void ObjectWriter::addCheck() {
  check = makeFunction("check", status, {pointer, pointer, number}, Linkage::ExternalLinkage);
  CheckBuilder b(check, sentences);
  const ArgumentsStruct arguments(object, check->getArg(0));
  b.passOn(b.CreateCall(processorStatus));
  b.passOn(b.CreateCall(extentStatus, {check->getArg(0)}));
  addArgumentChecks(b, arguments);
  BasicBlock *right = b.newBlock(), *more = b.newBlock();
  b.CreateCondBr(hasNothingToDo(b, arguments), right, more);
  b.SetInsertPoint(more);
  Value *needed = b.CreateCall(workspaceBytes, {check->getArg(0)});
  Value *suffices =
      b.CreateAnd(b.CreateIsNotNull(check->getArg(1)), b.CreateICmpUGE(check->getArg(2), needed));
  b.requireAs(WrongWorkspace, b.CreateOr(b.CreateIsNull(needed), suffices));
  b.CreateBr(right);
  b.SetInsertPoint(right);
  b.CreateRet(b.getInt32(Success));
}

Value *ObjectWriter::enterEnvironment(IRBuilder<> &b) {
  if (!processor.getTargetTriple().isX86()) {
    Value *saved = b.CreateIntrinsic(Intrinsic::aarch64_get_fpcr, {});
    b.CreateIntrinsic(Intrinsic::aarch64_set_fpcr, {b.getInt64(0)});
    return saved;
  }
  Value *saved = b.CreateAlloca(status), *standard = b.CreateAlloca(status);
  b.CreateIntrinsic(Intrinsic::x86_sse_stmxcsr, {saved});
  b.CreateStore(b.getInt32(0x1f80), standard);
  b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {standard});
  return saved;
}

void ObjectWriter::leaveEnvironment(IRBuilder<> &b, Value *saved) {
  if (processor.getTargetTriple().isX86())
    b.CreateIntrinsic(Intrinsic::x86_sse_ldmxcsr, {saved});
  else
    b.CreateIntrinsic(Intrinsic::aarch64_set_fpcr, {saved});
}

void ObjectWriter::addRunItem() {
  runItem = makeFunction("run_item", status, {pointer, pointer, number, status, number},
                         Linkage::ExternalLinkage);
  Value *arguments = runItem->getArg(0), *phase = runItem->getArg(3), *item = runItem->getArg(4);
  CheckBuilder b(runItem, sentences);
  Value *list = bind(b, arguments);
  Value *workspace = bindWorkspace(b, runItem->getArg(1), runItem->getArg(2));
  Value *count = b.CreateCall(items, {arguments, phase});
  b.requireAs(NoSuchItem, b.CreateICmpULT(item, count));
  Value *saved = enterEnvironment(b);
  BasicBlock *done = b.newBlock();
  SwitchInst *choice = b.CreateSwitch(phase, done);
  for (auto [number, entry] : enumerate(phases)) {
    BasicBlock *block = b.newBlock();
    choice->addCase(b.getInt32(static_cast<uint32_t>(number)), block);
    b.SetInsertPoint(block);
    SmallVector<Value *> values = {list};
    if (object.signature.hasWorkspace)
      values.push_back(workspace);
    values.push_back(item);
    b.CreateCall(entry.runItem, values);
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  leaveEnvironment(b, saved);
  b.CreateRet(b.getInt32(Success));
}

void ObjectWriter::addRun() {
  Function *run = makeFunction("run", status, {pointer, pointer, number}, Linkage::ExternalLinkage);
  Value *arguments = run->getArg(0), *workspace = run->getArg(1), *size = run->getArg(2);
  CheckBuilder b(run, sentences);
  b.passOn(b.CreateCall(check, {arguments, workspace, size}));
  BasicBlock *nothing = b.newBlock(), *next = b.newBlock();
  b.CreateCondBr(hasNothingToDo(b, ArgumentsStruct(object, arguments)), nothing, next);
  b.SetInsertPoint(nothing);
  b.CreateRet(b.getInt32(Success));
  b.SetInsertPoint(next);
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    Value *number = b.getInt32(static_cast<uint32_t>(phase));
    Value *count = b.CreateCall(items, {arguments, number});
    BasicBlock *before = b.GetInsertBlock(), *loop = b.newBlock(), *body = b.newBlock(),
               *after = b.newBlock();
    b.CreateBr(loop);
    b.SetInsertPoint(loop);
    PHINode *left = b.CreatePHI(count->getType(), 2);
    left->addIncoming(count, before);
    b.CreateCondBr(b.CreateICmpSGT(left, b.getInt64(0)), body, after);
    b.SetInsertPoint(body);
    Value *item = b.CreateSub(left, b.getInt64(1));
    b.CreateCall(runItem, {arguments, workspace, size, number, item});
    left->addIncoming(item, body);
    b.CreateBr(loop);
    b.SetInsertPoint(after);
  }
  b.CreateRet(b.getInt32(Success));
}

void ObjectWriter::addStatusText() {
  Function *text = makeFunction("status_text", pointer, {status}, Linkage::ExternalLinkage);
  CheckBuilder b(text, sentences);
  SmallVector<Constant *> strings;
  for (const std::string &sentence : sentences)
    strings.push_back(b.CreateGlobalString(sentence, object.name + "_sentence"));
  auto *type = ArrayType::get(pointer, strings.size());
  auto *table = new GlobalVariable(module, type, /*isConstant=*/true, Linkage::PrivateLinkage,
                                   ConstantArray::get(type, strings), object.name + "_sentences");
  BasicBlock *known = b.newBlock(), *unknown = b.newBlock();
  b.CreateCondBr(
      b.CreateICmpULT(text->getArg(0), b.getInt32(static_cast<uint32_t>(strings.size()))), known,
      unknown);
  b.SetInsertPoint(unknown);
  b.CreateRet(b.CreateGlobalString("unknown status", object.name + "_sentence"));
  b.SetInsertPoint(known);
  Value *index = b.CreateZExt(text->getArg(0), number);
  b.CreateRet(b.CreateLoad(pointer, b.CreateInBoundsGEP(pointer, table, index)));
}

void ObjectWriter::run() {
  sentences = {
      "success",
      fmt::format("the code is for {}: the processor lacks a feature, or the system does not save "
                  "its registers; needed are {}",
                  target.cpu, fmt::join(requiredFeatures(processor, isAmx), ", ")),
      "the code uses AMX, and the system does not let this process use it (arch_prctl with "
      "ARCH_REQ_XCOMP_PERM fails)",
      fmt::format("the workspace is null or too small; {}_workspace_size tells what it must have",
                  object.name),
      "there is no such phase or item"};
  addProcessorStatus();
  addWorkspaceBytes();
  addWorkspaceSize();
  addItems();
  addCheck();
  addRunItem();
  addRun();
  addStatusText();
}

Status tilewright::addObjectFunctions(Module &module, const ObjectDescription &object,
                                      const CpuTarget &target) {
  Result<std::unique_ptr<TargetMachine>> machine = createTargetMachine(target);
  if (!machine)
    return machine.error();
  const MCSubtargetInfo &processor = *(*machine)->getMCSubtargetInfo();
  if (!canBeAsked(processor))
    return unsupported(
        "{} has AVX10.2, which an object cannot ask a processor for yet; compile for "
        "an older one",
        target.cpu);
  Result<EntryPoints> entries = makeEntryPoints(module, object.signature);
  if (!entries)
    return entries.error();
  ObjectWriter(module, object, target, processor, *entries).run();
  return {};
}
