//===- GpuKernelTest.cpp - What a launch asks of the driver ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuKernel.h"
#include "lib/Support/MakeError.h"
#include "tests/unit/Allocations.h"
#include "tests/unit/Image/Testing.h"
#include "tests/unit/Runtime/FakeDriver.h"

#include <cstring>
#include <functional>
#include <set>

using namespace tilewright;
using namespace tilewright::cuda;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {
constexpr Address deviceBase = 0x7f00'0000'0000;
constexpr uint64_t tensorSpace = uint64_t{1} << 36;

/// Batch 2, 4 query and 2 key heads, 300 queries, 200 keys, each tensor in device memory of GPU 0.
struct GpuKernelTest : testing::Test {
  FakeMachine machine;
  Driver driver = machine.driver();
  KernelImage image = smallImage();
  Arguments arguments;
  Execution execution;
  uint64_t tensors = 0;

  void SetUp() override {
    for (const KernelParameter &parameter : image.launches[0].parameters)
      machine.parameterBytes.push_back(sizeOf(parameter, image.arguments[parameter.argument]));
    machine.current = machine.contextOf(0);
    execution.stream = machine.streamOf(0);
    arguments.query = tensor(DType::BF16, {2, 4, 300, 64});
    arguments.key = tensor(DType::BF16, {2, 2, 200, 64});
    arguments.value = tensor(DType::BF16, {2, 2, 200, 64});
    arguments.out = tensor(DType::BF16, {2, 4, 300, 64});
    arguments.lse = tensor(DType::F32, {2, 4, 300});
    arguments.tensors["bias"] = tensor(DType::F32, {4});
    arguments.scalars["window"] = 100;
    arguments.scale = 0.25;
  }

  /// Memory of its own on GPU 0.
  TensorView tensor(DType dtype, std::initializer_list<int64_t> shape) {
    const Address address = deviceBase + tensors++ * tensorSpace;
    machine.memory.push_back({address, address + tensorSpace, deviceMemory, 0});
    return TensorView(reinterpret_cast<void *>(address), dtype, shape);
  }

  static void move(TensorView &view, int64_t bytes) {
    view.data = static_cast<char *>(view.data) + bytes;
  }

  Kernel load() {
    Result<Kernel> kernel = makeGpuKernel(image, &driver);
    EXPECT_TRUE(kernel) << kernel.error().message();
    machine.callCount = 0;
    return *kernel;
  }

  std::string loadError() {
    Result<Kernel> kernel = makeGpuKernel(image, &driver);
    return kernel ? "" : kernel.error().message();
  }

  std::string run() { return run(load()); }
  std::string run(const Kernel &kernel) {
    Status done = kernel.run(arguments, {}, execution);
    return done ? "" : done.error().message();
  }

  template <typename T> T parameter(size_t i) const {
    T value;
    std::memcpy(&value, &machine.launch.parameters[i], sizeof value);
    return value;
  }
  EncodedMap map(size_t i) const { return parameter<EncodedMap>(i); }
};

Address addressOf(const TensorView &view) {
  return reinterpret_cast<Address>(view.data);
}
} // namespace

TEST_F(GpuKernelTest, LaunchesTheGridOnTheStream) {
  ASSERT_EQ(run(), "");
  ASSERT_EQ(machine.launchCount, 1u);
  EXPECT_THAT(machine.launch.grid, ElementsAre(2 * 4 * 3, 1, 1));
  EXPECT_THAT(machine.launch.threads, ElementsAre(384, 1, 1));
  EXPECT_EQ(machine.launch.sharedMemory, 99328u);
  EXPECT_EQ(machine.launch.stream, machine.streamOf(0));
  EXPECT_EQ(machine.kernelName, "attention");
}

TEST_F(GpuKernelTest, PassesEachKindOfParameter) {
  arguments.out.strides = {4 * 300 * 80, 80, 4 * 80, 1};
  ASSERT_EQ(run(), "");
  EXPECT_EQ(parameter<Address>(3), addressOf(arguments.out));
  EXPECT_EQ(parameter<int64_t>(4), 4 * 80);
  EXPECT_EQ(parameter<int64_t>(5), 200);
  EXPECT_EQ(parameter<float>(6), 0.25f);
  EXPECT_EQ(parameter<int32_t>(7), 100);
  EXPECT_EQ(parameter<Address>(8), addressOf(*arguments.lse));
  EXPECT_EQ(parameter<Address>(9), addressOf(arguments.tensors["bias"]));
}

TEST_F(GpuKernelTest, DescribesTensorsByTheirStrides) {
  // A view of [b, t, h, d], and one key head for all.
  arguments.query.strides = {300 * 4 * 64, 64, 4 * 64, 1};
  arguments.key.strides = {200 * 64, 0, 64, 1};
  ASSERT_EQ(run(), "");
  const EncodedMap query = map(0), key = map(1);
  EXPECT_EQ(query.address, addressOf(arguments.query));
  EXPECT_EQ(query.rank, 4u);
  EXPECT_EQ(query.dtype, tensorMapBFloat16);
  EXPECT_EQ(query.swizzle, swizzle128Bytes);
  EXPECT_THAT(std::span(query.extents).first(4), ElementsAre(64, 300, 4, 2));
  EXPECT_THAT(std::span(query.strides).first(3), ElementsAre(512, 128, 300 * 512));
  EXPECT_THAT(std::span(query.box).first(4), ElementsAre(64, 128, 1, 1));
  EXPECT_THAT(std::span(key.strides).first(3), ElementsAre(128, 0, 200 * 128));
}

TEST_F(GpuKernelTest, KeepsSixtyFourBitsOfStridesAndOffsets) {
  move(arguments.query, int64_t{1} << 33);
  arguments.query.strides[0] = int64_t{1} << 33;
  arguments.out.strides[0] = int64_t{1} << 33;
  ASSERT_EQ(run(), "");
  EXPECT_EQ(map(0).address, addressOf(arguments.query));
  EXPECT_EQ(map(0).strides[2], uint64_t{1} << 34);
}

TEST_F(GpuKernelTest, GivesADimensionOfOneAStrideThatTheDriverTakes) {
  for (TensorView *view : {&arguments.query, &arguments.key, &arguments.value, &arguments.out}) {
    view->shape[0] = 1;
    view->strides[0] = 7;
  }
  arguments.lse->shape[0] = 1;
  ASSERT_EQ(run(), "");
  EXPECT_EQ(map(0).strides[2], 16u);
}

TEST_F(GpuKernelTest, LaunchesWithoutKeys) {
  arguments.key = TensorView(nullptr, DType::BF16, {2, 2, 0, 64});
  arguments.value = TensorView(nullptr, DType::BF16, {2, 2, 0, 64});
  ASSERT_EQ(run(), "");
  ASSERT_EQ(machine.launchCount, 1u);
  EXPECT_EQ(map(1).address, addressOf(arguments.query));
  const EncodedMap key = map(1);
  EXPECT_THAT(std::span(key.extents).first(4), Each(1));
  EXPECT_EQ(parameter<int64_t>(5), 0);
}

TEST_F(GpuKernelTest, LaunchesNothingWithoutQueries) {
  arguments.query.shape[2] = arguments.out.shape[2] = arguments.lse->shape[2] = 0;
  ASSERT_EQ(run(), "");
  EXPECT_EQ(machine.launchCount, 0u);
}

TEST_F(GpuKernelTest, AllocatesNothingAndWaitsForNothing) {
  const Kernel kernel = load();
  const size_t before = allocationsOfThread();
  Status done = kernel.run(arguments, {}, execution);
  const size_t allocated = allocationsOfThread() - before;
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(allocated, 0u);
  const std::set<std::string_view> called(machine.calls.begin(),
                                          machine.calls.begin() + machine.callCount);
  EXPECT_THAT(called,
              ElementsAre("cuCtxGetCurrent", "cuCtxGetDevice", "cuLaunchKernel",
                          "cuPointerGetAttributes", "cuStreamGetCtx", "cuTensorMapEncodeTiled"));
}

TEST_F(GpuKernelTest, LaunchesInTheContextOfTheStreamAndRestoresTheCallers) {
  machine.gpus.resize(2);
  for (FakeMachine::Memory &memory : machine.memory)
    memory.device = 1;
  execution.stream = machine.streamOf(1);
  const Kernel kernel = load();
  ASSERT_EQ(run(kernel), "");
  EXPECT_EQ(machine.launch.context, machine.contextOf(1));
  EXPECT_EQ(machine.current, machine.contextOf(0));
  machine.current = nullptr;
  ASSERT_EQ(run(kernel), "");
  EXPECT_EQ(machine.current, nullptr);
  // After an error too.
  arguments.key.data = this;
  EXPECT_NE(run(kernel), "");
  EXPECT_EQ(machine.current, nullptr);
  EXPECT_EQ(machine.depth, 0u);
}

TEST_F(GpuKernelTest, TakesTheDefaultStreamOfTheCurrentContext) {
  execution.stream = nullptr;
  const Kernel kernel = load();
  ASSERT_EQ(run(kernel), "");
  EXPECT_EQ(machine.launch.stream, nullptr);
  EXPECT_EQ(machine.launch.context, machine.contextOf(0));
  machine.current = nullptr;
  EXPECT_THAT(run(kernel), HasSubstr("attention: there is no stream, and no CUDA context"));
}

TEST_F(GpuKernelTest, RefusesMemoryThatIsNotOnTheDevice) {
  const Kernel kernel = load();
  alignas(16) char host[16] = {};
  void *onDevice = std::exchange(arguments.value.data, host);
  EXPECT_THAT(run(kernel), HasSubstr("value is in host memory"));
  arguments.value.data = onDevice;
  machine.memory[2].type = hostMemory; // pinned
  EXPECT_THAT(run(kernel), HasSubstr("value is in host memory"));
  machine.memory[2] = {machine.memory[2].begin, machine.memory[2].end, deviceMemory, 1};
  EXPECT_THAT(run(kernel), HasSubstr("value is on device 1, and the stream is on device 0"));
  machine.memory[2].managed = true;
  EXPECT_EQ(run(kernel), "");
  machine.memory[5].device = 3;
  EXPECT_THAT(run(kernel), HasSubstr("tensor 'bias' is on device 3"));
}

TEST_F(GpuKernelTest, RefusesWhatTheCopyEngineDoesNotTake) {
  const Kernel kernel = load();
  const TensorView key = arguments.key;
  const auto refused = [&](const std::function<void(TensorView &)> &change) {
    arguments.key = key;
    change(arguments.key);
    const size_t before = machine.launchCount;
    const std::string message = run(kernel);
    EXPECT_EQ(machine.launchCount, before);
    return message;
  };
  EXPECT_THAT(refused([](TensorView &view) { move(view, 2); }),
              AllOf(HasSubstr("key starts at address"), HasSubstr("multiples of 16 bytes")));
  EXPECT_THAT(
      refused([](TensorView &view) { view.strides[2] = 68; }),
      HasSubstr("key: the stride of dimension 2 (key_length) is 68 elements of 2 bytes; the "
                "GPU's copy engine takes multiples of 16 bytes from 0 to below 2^40"));
  EXPECT_THAT(refused([](TensorView &view) { view.strides[1] = -12800; }),
              HasSubstr("dimension 1 (kv_heads) is -12800 elements"));
  machine.memory.push_back({Address{1} << 40, Address{1} << 41, deviceMemory, 0});
  EXPECT_THAT(refused([](TensorView &view) {
                view.data = reinterpret_cast<void *>(uintptr_t{1} << 40);
                view.strides[0] = int64_t{1} << 39;
              }),
              HasSubstr("dimension 0 (batch) is 549755813888 elements"));
}

TEST_F(GpuKernelTest, RefusesOutputsThatPairsOfElementsDoNotFit) {
  const Kernel kernel = load();
  move(arguments.out, 2);
  EXPECT_THAT(run(kernel),
              AllOf(HasSubstr("out starts at address"), HasSubstr("multiples of 4 bytes")));
  move(arguments.out, 2);
  EXPECT_EQ(run(kernel), "");
  arguments.out.strides = {4 * 300 * 65, 300 * 65, 65, 1};
  EXPECT_THAT(run(kernel),
              HasSubstr("out: the stride of dimension 2 (query_length) is 65 elements"));
  EXPECT_EQ(machine.launchCount, 1u);
}

TEST_F(GpuKernelTest, TakesAsManyBlocksAsAGridHas) {
  arguments.query = arguments.out = tensor(DType::BF16, {1, 70000, 1, 64});
  arguments.out = tensor(DType::BF16, {1, 70000, 1, 64});
  arguments.key = arguments.value = tensor(DType::BF16, {1, 1, 200, 64});
  arguments.lse = tensor(DType::F32, {1, 70000, 1});
  arguments.tensors["bias"] = tensor(DType::F32, {70000});
  const Kernel kernel = load();
  ASSERT_EQ(run(kernel), "");
  EXPECT_EQ(machine.launch.grid[0], 70000u);

  const int64_t shape[] = {1 << 20, 1 << 12, 1, 64}, strides[] = {1 << 19, 128, 64, 1};
  const int64_t few[] = {1 << 20, 1, 200, 64}, fewStrides[] = {0, 64, 64, 1};
  const int64_t lse[] = {1 << 20, 1 << 12, 1}, lseStrides[] = {1 << 12, 1, 1};
  arguments.query = TensorView(arguments.query.data, DType::BF16, shape, strides);
  arguments.out =
      TensorView(reinterpret_cast<void *>(uintptr_t{1} << 50), DType::BF16, shape, strides);
  arguments.key = TensorView(arguments.key.data, DType::BF16, few, fewStrides);
  arguments.value = arguments.key;
  arguments.lse =
      TensorView(reinterpret_cast<void *>(uintptr_t{1} << 51), DType::F32, lse, lseStrides);
  EXPECT_THAT(run(kernel), HasSubstr("more than 2147483647 thread blocks"));
}

TEST_F(GpuKernelTest, NamesTheFunctionThatFails) {
  const Kernel kernel = load();
  machine.failure = 1;
  for (const char *function : {"cuLaunchKernel", "cuTensorMapEncodeTiled", "cuPointerGetAttributes",
                               "cuStreamGetCtx", "cuCtxGetCurrent", "cuCtxGetDevice"}) {
    machine.failing = function;
    EXPECT_EQ(run(kernel), fmt::format("attention: {}: CUDA_ERROR_INVALID_VALUE", function));
  }
  machine.failing.clear();
  EXPECT_EQ(run(kernel), "");
}

TEST_F(GpuKernelTest, ChecksWhatEveryTargetChecks) {
  const Kernel kernel = load();
  arguments.key.dtype = DType::F16;
  EXPECT_THAT(run(kernel), HasSubstr("key is f16[2, 2, 200, 64], and this kernel takes bf16"));
  arguments.key.dtype = DType::BF16;
  arguments.tensors["bias"].shape[0] = 3;
  EXPECT_THAT(run(kernel), HasSubstr("bias"));
  EXPECT_EQ(machine.launchCount, 0u);
}

TEST_F(GpuKernelTest, LoadsOnceForEveryDeviceThatRunsIt) {
  machine.gpus = {{9, 0}, {8, 0}, {9, 0}, {10, 0}};
  {
    Result<Kernel> kernel = makeGpuKernel(image, &driver);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(machine.countCalls("cuLibraryLoadData"), 1u);
    EXPECT_THAT(machine.sharedMemory, ElementsAre(Pair(0, 99328), Pair(2, 99328)));
    execution.stream = machine.streamOf(1);
    EXPECT_THAT(run(*kernel), HasSubstr("the stream is on device 1, which has not the compute "
                                        "capability 9.0 that code for sm_90a needs"));
    EXPECT_EQ(machine.current, machine.contextOf(0));
    EXPECT_EQ(machine.countCalls("cuLibraryUnload"), 0u);
  }
  EXPECT_EQ(machine.countCalls("cuLibraryUnload"), 1u);
}

TEST_F(GpuKernelTest, SaysWhatIsMissingWhenItIsLaunched) {
  Result<Kernel> kernel =
      makeGpuKernel(image, unsupported("there is no NVIDIA driver on this machine"));
  ASSERT_TRUE(kernel) << kernel.error().message();
  EXPECT_TRUE(kernel->workspaceSize({1, 1, 1, 1, 1}));
  EXPECT_EQ(run(*kernel), "attention: there is no NVIDIA driver on this machine");
  machine.gpus = {{8, 0}};
  EXPECT_EQ(run(), "attention: none of the 1 GPUs of this machine has compute capability 9.0, "
                   "which code for sm_90a needs");
  EXPECT_EQ(machine.countCalls("cuLibraryLoadData"), 0u);
}

TEST_F(GpuKernelTest, RefusesCodeThatCannotBeLoaded) {
  machine.failing = "cuLibraryLoadData";
  machine.failure = 209;
  EXPECT_EQ(loadError(), "attention: cuLibraryLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU");
  EXPECT_EQ(machine.countCalls("cuLibraryUnload"), 0u);
  machine.failing = "cuLibraryGetKernel";
  EXPECT_THAT(loadError(), HasSubstr("attention: cuLibraryGetKernel: "));
  EXPECT_EQ(machine.countCalls("cuLibraryUnload"), 1u);
  machine.failing = "cuKernelSetAttribute";
  EXPECT_THAT(loadError(), HasSubstr("attention: cuKernelSetAttribute: "));
  machine.failing.clear();

  const std::string cubin = image.cubin;
  image.cubin.clear();
  EXPECT_THAT(loadError(), HasSubstr("no machine code"));
  image.cubin = cubin.substr(0, 63);
  EXPECT_THAT(loadError(), HasSubstr("no 64-bit ELF file"));
  image.cubin = cubin;
  image.cubin[60] = 1; // a section header
  image.cubin[58] = 64;
  image.cubin[40] = 1;
  EXPECT_THAT(loadError(), HasSubstr("lead beyond its 64 bytes"));
  image.cubin = cubin;
  image.target = "sm_100a";
  EXPECT_THAT(loadError(), HasSubstr("the image is for 'sm_100a'"));
}
