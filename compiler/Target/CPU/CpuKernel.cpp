//===- CpuKernel.cpp - Kernels that run on this machine's processor -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CpuKernel.h"
#include "compiler/Target/CPU/Codegen.h"
#include "compiler/Target/CPU/EntryPoints.h"
#include "compiler/Target/CPU/FloatingEnvironment.h"
#include "compiler/Target/CPU/MemRefs.h"
#include "compiler/Target/CPU/ParallelCodegen.h"
#include "compiler/Target/CPU/WorkerPool.h"
#include "lib/Support/MakeError.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ExecutionEngine/JITEventListener.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <cstdlib>

using namespace tilewright;

namespace {
using Count = int64_t(void *const *arguments);
using RunItem = void(void *const *arguments, int64_t item);
using RunItemWithWorkspace = void(void *const *arguments, MemRefDescriptor *workspace,
                                  int64_t item);

/// Above this an item does not run on the caller's thread, whose stack may be small.
constexpr int64_t maxScratchOnCaller = int64_t{256} << 10;

llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>>
createLinkingLayer(llvm::orc::ExecutionSession &session) {
  auto layer = std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
      session, [](const llvm::MemoryBuffer &) {
        // One reservation for all sections keeps them within reach of each other.
        return std::make_unique<llvm::SectionMemoryManager>(nullptr, /*ReserveAlloc=*/true);
      });
  layer->registerJITEventListener(*llvm::JITEventListener::createGDBRegistrationListener());
  // This listener makes files as soon as it exists.
  if (std::getenv("JITDUMPDIR"))
    if (llvm::JITEventListener *perf = llvm::JITEventListener::createPerfJITEventListener())
      layer->registerJITEventListener(*perf);
  return layer;
}

/// The code sees nothing of this process; code generation has found that it needs nothing.
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> createJit(const CpuTarget &target) {
  return llvm::orc::LLJITBuilder()
      .setJITTargetMachineBuilder(llvm::orc::JITTargetMachineBuilder(llvm::Triple(target.triple)))
      .setObjectLinkingLayerCreator(createLinkingLayer)
      .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
      .setLinkProcessSymbolsByDefault(false)
      .create();
}

struct LoadedCode {
  struct Phase {
    Count *countItems;
    void *runItem;
  };
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Phase> phases;
  Count *workspaceBytes = nullptr;
};

Result<LoadedCode> load(llvm::ArrayRef<std::string> objects, const CpuTarget &target,
                        const EntryPoints &entries) {
  auto jit = createJit(target);
  if (!jit)
    return internalError("code cannot be placed in memory: {}", llvm::toString(jit.takeError()));
  // What a lookup returns says that it failed; the reporter hears why.
  auto reason = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter(
      [reason](llvm::Error error) { *reason = llvm::toString(std::move(error)); });
  std::optional<Error> failure;
  const auto fail = [&](llvm::Error error) {
    std::string message = llvm::toString(std::move(error));
    if (!failure)
      failure = internalError("code could not be placed in memory: {}",
                              reason->empty() ? message : *reason);
  };
  for (const std::string &object : objects)
    if (llvm::Error error =
            (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "tilewright")))
      fail(std::move(error));
  const auto find = [&](const std::string &name) {
    llvm::orc::ExecutorAddr address;
    if (failure)
      return address;
    if (auto found = (*jit)->lookup(name))
      address = *found;
    else
      fail(found.takeError());
    return address;
  };
  LoadedCode code;
  for (const auto &[countItems, runItem] : entries.phases)
    code.phases.push_back({find(countItems).toPtr<Count *>(), find(runItem).toPtr<void *>()});
  if (!entries.workspaceBytes.empty())
    code.workspaceBytes = find(entries.workspaceBytes).toPtr<Count *>();
  if (failure)
    return *failure;
  code.jit = std::move(*jit);
  return code;
}

/// Arguments of which only the problem's extents mean something: what a workspace may depend on.
class ExtentsOnly {
public:
  ExtentsOnly(const Signature &signature, const ProblemSizes &sizes)
      : descriptors(signature.arguments.size()) {
    for (size_t i = 0; i < descriptors.size(); ++i) {
      const KernelArgument &argument = signature.arguments[i];
      const bool isKey = argument.name == "key" || argument.name == "value";
      const int64_t extents[] = {sizes.batch, isKey ? sizes.kvHeads : sizes.heads,
                                 isKey ? sizes.keyLength : sizes.queryLength};
      for (size_t dim = 0; dim < argument.shape.size(); ++dim)
        descriptors[i].extentsAndStrides[dim] = dim < std::size(extents) ? extents[dim] : 0;
      pointerList.push_back(&descriptors[i]);
    }
  }
  ExtentsOnly(const ExtentsOnly &) = delete;
  ExtentsOnly &operator=(const ExtentsOnly &) = delete;

  void *const *pointers() const { return pointerList.data(); }

private:
  /// A scalar's pointer leads to the null at the start of one.
  std::vector<MemRefDescriptor> descriptors;
  std::vector<void *> pointerList;
};

class CpuKernel : public Kernel::Implementation {
public:
  CpuKernel(LoadedCode code, Signature signature, LaunchExpressions expressions)
      : code(std::move(code)), signature(std::move(signature)),
        interface(this->signature.arguments, std::move(expressions)) {}

  /// Scratch is on the stack; the workspace is for what passes from one phase to the next.
  Result<size_t> workspaceSize(const ProblemSizes &sizes) const override {
    Status checked = expression::checkSizes(
        {sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength});
    if (!checked)
      return checked.error();
    if (!code.workspaceBytes)
      return size_t{0};
    return workspaceFor(ExtentsOnly(signature, sizes).pointers());
  }

  Status run(const Arguments &arguments, std::span<std::byte> workspace,
             const Execution &execution) const override {
    LaunchArguments launch;
    if (Status checked = launch.check(interface, arguments); !checked)
      return checked;
    if (launch.nothingToDo())
      return {};
    const MemRefs memrefs(launch);
    const size_t needed = code.workspaceBytes ? workspaceFor(memrefs.pointers()) : 0;
    if (workspace.size() < needed)
      return invalidArgument("workspace has {} bytes; this launch needs {} (see workspaceSize)",
                             workspace.size(), needed);
    const auto address = reinterpret_cast<uintptr_t>(workspace.data());
    void *aligned = reinterpret_cast<void *>(llvm::alignTo(address, workspaceAlignment));
    MemRefDescriptor temporary{aligned, aligned, 0, {static_cast<int64_t>(workspace.size()), 1}};
    for (const LoadedCode::Phase &phase : code.phases)
      if (Status done = runPhase(phase, memrefs, temporary, execution); !done)
        return done;
    return {};
  }

private:
  size_t workspaceFor(void *const *pointers) const {
    const auto bytes = static_cast<size_t>(code.workspaceBytes(pointers));
    return bytes == 0 ? 0 : bytes + workspaceAlignment - 1;
  }

  Status runPhase(const LoadedCode::Phase &phase, const MemRefs &memrefs,
                  MemRefDescriptor &temporary, const Execution &execution) const {
    void *const *pointers = memrefs.pointers();
    const int64_t items = phase.countItems(pointers);
    if (items <= 0)
      return {};
    std::atomic<int64_t> next = items;
    // Backwards: under a causal mask a head's last blocks of queries have the most keys, and what
    // is light ends a launch evenly.
    const std::function<void()> work = [&] {
      FloatingEnvironment environment;
      for (int64_t item = --next; item >= 0; item = --next) {
        if (signature.hasWorkspace)
          reinterpret_cast<RunItemWithWorkspace *>(phase.runItem)(pointers, &temporary, item);
        else
          reinterpret_cast<RunItem *>(phase.runItem)(pointers, item);
      }
    };
    const auto threads = static_cast<unsigned>(std::min<int64_t>(
        items, execution.threads ? execution.threads
                                 : llvm::hardware_concurrency().compute_thread_count()));
    if (execution.executor) {
      execution.executor(work, threads);
      // Who finds no item left takes the number below the first.
      if (next < 0)
        return {};
      return invalidArgument("the executor returned and {} of {} pieces of the launch are not "
                             "done; it must call its work at least once and wait for each call",
                             next.load(), items);
    }
    if (signature.scratchBytes > maxScratchOnCaller)
      return WorkerPool::shared().runOnWorkers(work, threads);
    WorkerPool::shared().runWithCaller(work, threads - 1);
    return {};
  }

  LoadedCode code;
  Signature signature;
  KernelInterface interface;
};
} // namespace

Result<Kernel> tilewright::makeCpuKernel(mlir::ModuleOp llvmModule, const CpuTarget &target,
                                         Signature signature, LaunchExpressions expressions) {
  if (!target.isHost)
    return unsupported("code for {} cannot run on this machine, which lacks some of its features",
                       target.cpu);
  if (target.amx && !requestAmx())
    return unsupported("the code uses AMX, and the system does not let this process use it "
                       "(arch_prctl with ARCH_REQ_XCOMP_PERM fails)");
  if (signature.arguments.size() > maxArguments)
    return unsupported("the kernel takes {} arguments, '{}' beyond the limit of {}",
                       signature.arguments.size(), signature.arguments[maxArguments].name,
                       maxArguments);
  llvm::LLVMContext context;
  Result<std::unique_ptr<llvm::Module>> module = translateToLLVM(llvmModule, target, context);
  if (!module)
    return module.error();
  Result<EntryPoints> entries = makeEntryPoints(**module, signature);
  if (!entries)
    return entries.error();
  std::vector<std::string> kernels;
  for (const EntryPoints::Phase &phase : entries->phases)
    kernels.push_back(phase.runItem);
  Result<std::vector<std::string>> objects = emitObjectsInParallel(**module, kernels, target);
  if (!objects)
    return objects.error();

  Result<LoadedCode> code = load(*objects, target, *entries);
  if (!code)
    return code.error();
  return Kernel(std::make_shared<const CpuKernel>(*std::move(code), std::move(signature),
                                                  std::move(expressions)));
}
