//===- CInterface.cpp - The C interface of the runtime --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include <tilewright/c/tilewright.h>

#include "lib/Image/KernelArgument.h"
#include "lib/Support/MakeError.h"
#include "runtime/CInterface.h"

#include <tilewright/runtime.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

using namespace tilewright;

/// Far above any image, so that a wrong path does not fill the memory.
static constexpr size_t maxImageBytes = size_t{256} << 20;

struct tilewright_status {
  tilewright_status_code code;
  std::string message;
};

struct tilewright_kernel {
  Kernel kernel;
};

static_assert(TILEWRIGHT_MAX_RANK == TensorView::maxRank);
static_assert(TILEWRIGHT_BOOL == static_cast<int>(DType::Bool), "the enums count alike");

tilewright_status *tilewright::toStatus(const Error &error) {
  static_assert(static_cast<int>(ErrorKind::InvalidArgument) + 1 == TILEWRIGHT_INVALID_ARGUMENT);
  static_assert(static_cast<int>(ErrorKind::Internal) + 1 == TILEWRIGHT_INTERNAL);
  return new tilewright_status{
      static_cast<tilewright_status_code>(static_cast<int>(error.kind()) + 1), error.message()};
}

static Status required(const void *pointer, std::string_view argument) {
  if (!pointer)
    return invalidArgument("{} is NULL", argument);
  return {};
}

static Result<TensorView> toView(const tilewright_tensor &tensor, std::string_view name) {
  if (tensor.rank > TILEWRIGHT_MAX_RANK)
    return invalidArgument("{} has rank {}; the limit is {}", name, tensor.rank,
                           TILEWRIGHT_MAX_RANK);
  if (static_cast<unsigned>(tensor.dtype) > TILEWRIGHT_BOOL)
    return invalidArgument("{} has dtype {}; dtypes are 0 to {}", name,
                           static_cast<int>(tensor.dtype), static_cast<int>(TILEWRIGHT_BOOL));
  return TensorView(tensor.data, static_cast<DType>(tensor.dtype),
                    std::span(tensor.shape, tensor.rank), std::span(tensor.strides, tensor.rank));
}

/// Takes over the entries of a list and drops those of earlier launches. A name that was there
/// before keeps its node, so that launches of one kernel allocate nothing.
template <typename Value, typename Entry, typename Convert>
static Status assign(std::map<std::string, Value, std::less<>> &values, const Entry *list,
                     size_t count, std::string_view field, Convert convert) {
  if (!list && count != 0)
    return invalidArgument("{} is NULL, and there are said to be {} of them", field, count);
  if (count > maxArguments)
    return invalidArgument("{} has {} entries; no kernel takes more than {}", field, count,
                           maxArguments);
  const std::span entries(list, count);
  for (size_t i = 0; i < count; ++i) {
    const Entry &entry = entries[i];
    if (!entry.name)
      return invalidArgument("an entry of {} has the name NULL", field);
    const auto isNamesake = [&](const Entry &other) {
      return std::string_view(other.name) == entry.name;
    };
    if (std::ranges::any_of(entries.first(i), isNamesake))
      return invalidArgument("{} has '{}' twice", field, entry.name);
    Result<Value> value = convert(entry);
    if (!value)
      return value.error();
    const auto known = values.find(entry.name);
    if (known != values.end())
      known->second = *value;
    else
      values.emplace(entry.name, *value);
  }
  if (values.size() != count)
    std::erase_if(values, [&](const auto &value) {
      return std::ranges::none_of(entries,
                                  [&](const Entry &entry) { return value.first == entry.name; });
    });
  return {};
}

/// Into `arguments`, which may hold those of an earlier launch.
static Status convert(const tilewright_arguments &given, Arguments &arguments) {
  struct Named {
    std::string_view name;
    const tilewright_tensor &from;
    TensorView &to;
  };
  for (const Named &tensor :
       {Named{"query", given.query, arguments.query}, Named{"key", given.key, arguments.key},
        Named{"value", given.value, arguments.value}, Named{"out", given.out, arguments.out}}) {
    Result<TensorView> view = toView(tensor.from, tensor.name);
    if (!view)
      return view.error();
    tensor.to = *view;
  }
  arguments.lse.reset();
  if (given.lse) {
    Result<TensorView> view = toView(*given.lse, "lse");
    if (!view)
      return view.error();
    arguments.lse = *view;
  }
  arguments.scale.reset();
  if (given.scale)
    arguments.scale = *given.scale;
  const auto valueOf = [](const tilewright_named_scalar &scalar) -> Result<double> {
    return scalar.value;
  };
  if (Status assigned =
          assign(arguments.scalars, given.scalars, given.scalar_count, "scalars", valueOf);
      !assigned)
    return assigned;
  const auto viewOf = [](const tilewright_named_tensor &tensor) {
    return toView(tensor.tensor, tensor.name);
  };
  return assign(arguments.tensors, given.tensors, given.tensor_count, "tensors", viewOf);
}

static Result<std::vector<std::byte>> readFile(const char *path) {
  // A FIFO without a writer would be waited for.
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const std::unique_ptr<FILE, int (*)(FILE *)> file(
      descriptor < 0 ? nullptr : fdopen(descriptor, "rb"), &std::fclose);
  if (!file)
    return systemError("{}: {}", path, std::strerror(errno));
  struct stat facts;
  if (fstat(descriptor, &facts) != 0)
    return systemError("{}: {}", path, std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return invalidArgument("{} is no kernel image: it is {}, and not a regular file", path,
                           S_ISDIR(facts.st_mode) ? "a folder" : "a pipe, a socket or a device");
  if (facts.st_size == 0)
    return invalidArgument("{} is no kernel image: it is empty", path);
  std::vector<std::byte> bytes;
  std::array<std::byte, 1 << 16> block;
  while (const size_t count = std::fread(block.data(), 1, block.size(), file.get())) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + count);
    if (bytes.size() > maxImageBytes)
      return invalidArgument("{} is no kernel image: it is larger than {} bytes", path,
                             maxImageBytes);
  }
  if (std::ferror(file.get()))
    return systemError("{}: it cannot be read", path);
  return bytes;
}

/// The function of the compiler library, which is opened once and stays.
static Result<CompileForC *> findCompiler() {
  static const auto found = []() -> Result<CompileForC *> {
    void *library = dlopen("libtilewright.so." TILEWRIGHT_SOVERSION, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return unsupported("this installation only runs kernels: the compiler library cannot be "
                         "opened ({})",
                         dlerror());
    void *symbol = dlsym(library, compileForCName);
    if (!symbol)
      return unsupported("the compiler library is of another version than the runtime: it has no "
                         "{}",
                         compileForCName);
    return reinterpret_cast<CompileForC *>(symbol);
  }();
  return found;
}

uint32_t tilewright_c_abi_version(void) {
  return TILEWRIGHT_C_ABI_VERSION;
}

tilewright_status_code tilewright_status_get_code(const tilewright_status *status) {
  return status ? status->code : TILEWRIGHT_OK;
}

const char *tilewright_status_message(const tilewright_status *status) {
  return status ? status->message.c_str() : "";
}

void tilewright_status_destroy(tilewright_status *status) {
  delete status;
}

tilewright_status *tilewright_kernel_load(const void *bytes, size_t size,
                                          tilewright_kernel **kernel) {
  if (Status checked = required(kernel, "kernel"); !checked)
    return toStatus(checked.error());
  *kernel = nullptr;
  if (Status checked = required(bytes, "bytes"); !checked)
    return toStatus(checked.error());
  Result<Kernel> loaded = loadKernel(std::span(static_cast<const std::byte *>(bytes), size));
  if (!loaded)
    return toStatus(loaded.error());
  *kernel = new tilewright_kernel{*std::move(loaded)};
  return nullptr;
}

tilewright_status *tilewright_kernel_load_file(const char *path, tilewright_kernel **kernel) {
  if (Status checked = required(kernel, "kernel"); !checked)
    return toStatus(checked.error());
  *kernel = nullptr;
  if (Status checked = required(path, "path"); !checked)
    return toStatus(checked.error());
  Result<std::vector<std::byte>> bytes = readFile(path);
  if (!bytes)
    return toStatus(bytes.error());
  tilewright_status *status = tilewright_kernel_load(bytes->data(), bytes->size(), kernel);
  if (status)
    status->message = std::string(path) + ": " + status->message;
  return status;
}

tilewright_status *tilewright_kernel_compile(const tilewright_problem *problem,
                                             const tilewright_compile_options *options,
                                             tilewright_kernel **kernel) {
  if (Status checked = required(kernel, "kernel"); !checked)
    return toStatus(checked.error());
  *kernel = nullptr;
  if (Status checked = required(problem, "problem"); !checked)
    return toStatus(checked.error());
  Result<CompileForC *> compiler = findCompiler();
  if (!compiler)
    return toStatus(compiler.error());
  const tilewright_compile_options defaults{};
  Result<Kernel> compiled = internalError("the compiler gave no answer");
  (*compiler)(problem, options ? options : &defaults, &compiled);
  if (!compiled)
    return toStatus(compiled.error());
  *kernel = new tilewright_kernel{*std::move(compiled)};
  return nullptr;
}

void tilewright_kernel_destroy(tilewright_kernel *kernel) {
  delete kernel;
}

tilewright_status *tilewright_kernel_workspace_size(const tilewright_kernel *kernel,
                                                    const tilewright_sizes *sizes, size_t *bytes) {
  for (const auto &[pointer, name] : {std::pair<const void *, const char *>(kernel, "kernel"),
                                      {sizes, "sizes"},
                                      {bytes, "bytes"}})
    if (Status checked = required(pointer, name); !checked)
      return toStatus(checked.error());
  Result<size_t> size = kernel->kernel.workspaceSize({.batch = sizes->batch,
                                                      .heads = sizes->heads,
                                                      .kvHeads = sizes->kv_heads,
                                                      .queryLength = sizes->query_length,
                                                      .keyLength = sizes->key_length});
  if (!size)
    return toStatus(size.error());
  *bytes = *size;
  return nullptr;
}

tilewright_status *tilewright_kernel_launch(const tilewright_kernel *kernel,
                                            const tilewright_arguments *arguments, void *workspace,
                                            size_t workspace_size,
                                            const tilewright_execution *execution) {
  if (Status checked = required(kernel, "kernel"); !checked)
    return toStatus(checked.error());
  if (Status checked = required(arguments, "arguments"); !checked)
    return toStatus(checked.error());
  if (!workspace && workspace_size != 0)
    return toStatus(
        invalidArgument("workspace is NULL, and it is said to have {} bytes", workspace_size));
  // Kept for the next launch of this thread, whose names are likely to be the same.
  static thread_local Arguments converted;
  if (Status done = convert(*arguments, converted); !done)
    return toStatus(done.error());
  Execution how;
  if (execution) {
    how.threads = execution->threads;
    how.stream = execution->stream;
    if (execution->executor)
      how.executor = [execution](const std::function<void()> &work, unsigned count) {
        execution->executor(
            execution->executor_context,
            [](void *argument) { (*static_cast<const std::function<void()> *>(argument))(); },
            const_cast<std::function<void()> *>(&work), count);
      };
  }
  Status done = kernel->kernel.run(
      converted, std::span(static_cast<std::byte *>(workspace), workspace_size), how);
  return done ? nullptr : toStatus(done.error());
}
