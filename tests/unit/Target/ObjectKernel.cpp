//===- ObjectKernel.cpp - An object's functions as a kernel ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tests/unit/Target/ObjectKernel.h"
#include "compiler/Driver/CompilationAccess.h"
#include "lib/Support/MakeError.h"
#include "runtime/KernelInterface.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

namespace tilewright::test {
namespace {
/// The bytes of a struct of C, field by field.
class StructBytes {
public:
  template <typename T> void add(T value) {
    bytes.resize((bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T) + sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  void addAll(std::span<const int64_t> values) {
    for (int64_t value : values)
      add(value);
  }
  const void *data() const { return bytes.data(); }

private:
  std::vector<std::byte> bytes;
};

class ObjectKernel : public Kernel::Implementation {
public:
  ObjectKernel(std::unique_ptr<llvm::orc::LLJIT> jit, std::vector<KernelArgument> arguments)
      : jit(std::move(jit)), interface(std::move(arguments), {}),
        statusText(find<const char *(int)>("status_text")),
        sizeOfWorkspace(find<size_t(const void *)>("workspace_size")),
        runAll(find<int(const void *, void *, size_t)>("run")),
        check(find<int(const void *, const void *, size_t)>("check")),
        items(find<int64_t(const void *, int)>("items")),
        runItem(find<int(const void *, void *, size_t, int, int64_t)>("run_item")) {}

  Result<size_t> workspaceSize(const ProblemSizes &sizes) const override {
    // What is not an extent may be anything.
    StructBytes given;
    given.addAll(
        std::array{sizes.batch, sizes.heads, sizes.kvHeads, sizes.queryLength, sizes.keyLength});
    for (int i = 0; i < 1000; ++i)
      given.add(int64_t{0});
    return sizeOfWorkspace(given.data());
  }

  Status run(const Arguments &arguments, std::span<std::byte> workspace,
             const Execution &execution) const override {
    const StructBytes given = pack(arguments);
    if (execution.threads == 1)
      return error(runAll(given.data(), workspace.data(), workspace.size()));
    if (const int status = check(given.data(), workspace.data(), workspace.size()))
      return error(status);
    constexpr int mostPhases = 3;
    for (int phase = 0; phase < mostPhases; ++phase) {
      std::atomic<int64_t> next = items(given.data(), phase);
      std::atomic<int> status = 0;
      const auto work = [&] {
        for (int64_t item = --next; item >= 0; item = --next)
          if (int found = runItem(given.data(), workspace.data(), workspace.size(), phase, item))
            status = found;
      };
      std::thread other(work);
      work();
      other.join();
      if (status != 0)
        return error(status);
    }
    return {};
  }

private:
  template <typename Function> Function *find(const std::string &name) {
    return llvm::cantFail(jit->lookup("attention_" + name)).template toPtr<Function *>();
  }

  Status error(int status) const {
    if (status == 0)
      return {};
    return invalidArgument("{}: {}", status, statusText(status));
  }

  StructBytes pack(const Arguments &given) const {
    StructBytes bytes;
    bytes.addAll(std::array{given.query.shape[0], given.query.shape[1], given.key.shape[1],
                            given.query.shape[2], given.key.shape[2]});
    for (size_t i = 0; i < interface.arguments().size(); ++i) {
      const KernelArgument &argument = interface.arguments()[i];
      const ProblemTensor *role = interface.role(i);
      if (argument.kind == KernelArgument::Kind::Tensor) {
        const TensorView *view =
            role ? role->find(given) : &given.tensors.find(argument.name)->second;
        bytes.add(view->data);
        if (!role)
          bytes.addAll(view->sizes());
        bytes.addAll(std::span(view->strides).first(argument.shape.size()));
        continue;
      }
      const double value =
          i == interface.scale()
              ? given.scale.value_or(1 / std::sqrt(static_cast<double>(given.query.shape[3])))
              : given.scalars.find(argument.name)->second;
      if (argument.kind == KernelArgument::Kind::I32)
        bytes.add(static_cast<int32_t>(value));
      else if (argument.kind == KernelArgument::Kind::F32)
        bytes.add(static_cast<float>(value));
      else
        bytes.add(value);
    }
    return bytes;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
  KernelInterface interface;
  const char *(*statusText)(int);
  size_t (*sizeOfWorkspace)(const void *);
  int (*runAll)(const void *, void *, size_t);
  int (*check)(const void *, const void *, size_t);
  int64_t (*items)(const void *, int);
  int (*runItem)(const void *, void *, size_t, int, int64_t);
};
} // namespace

Result<Kernel> makeObjectKernel(const Compilation &compilation) {
  const Result<std::string> object = compilation.text(Stage::Object);
  if (!object)
    return object.error();
  const Result<Signature> signature = CompilationAccess::signature(compilation);
  if (!signature)
    return signature.error();
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(false)
                 .create();
  if (!jit)
    return internalError("{}", llvm::toString(jit.takeError()));
  if (llvm::Error error =
          (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(*object, "object")))
    return internalError("{}", llvm::toString(std::move(error)));
  return Kernel(std::make_shared<const ObjectKernel>(std::move(*jit), signature->arguments));
}

} // namespace tilewright::test
