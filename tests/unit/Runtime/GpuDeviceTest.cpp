//===- GpuDeviceTest.cpp - A GPU for programs of our own ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/GpuDevice.h"
#include "tests/unit/Runtime/FakeDriver.h"

#include <gmock/gmock.h>

using namespace tilewright;
using namespace tilewright::cuda;
using testing::HasSubstr;

TEST(GpuDevice, CopiesThereAndBackAndGivesAllBack) {
  FakeMachine machine;
  const Driver driver = machine.driver();
  {
    Result<GpuDevice> device = GpuDevice::open(0, &driver);
    ASSERT_TRUE(device) << device.error().message();
    EXPECT_EQ(device->name(), "Fake GPU");
    EXPECT_EQ(device->stream(), machine.streamOf(0));
    Result<DeviceMemory> memory = device->allocate(4 * sizeof(int));
    ASSERT_TRUE(memory);
    const std::array<int, 4> there = {1, 2, 3, 4};
    std::array<int, 4> back = {};
    ASSERT_TRUE(device->upload(*memory, std::as_bytes(std::span(there))));
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(back)), *memory));
    ASSERT_TRUE(device->synchronize());
    EXPECT_EQ(there, back);
    ASSERT_TRUE(device->fill(*memory, 0xff));
    ASSERT_TRUE(device->download(std::as_writable_bytes(std::span(back)), *memory));
    EXPECT_EQ(back[3], -1);
    EXPECT_FALSE(device->upload(*memory, std::as_bytes(std::span(there).first(3))));
    ASSERT_TRUE(device->flushL2());
    ASSERT_TRUE(device->flushL2());
    EXPECT_EQ(machine.countCalls("cuMemAlloc"), 2u);
    EXPECT_EQ(machine.current, nullptr);
  }
  EXPECT_EQ(machine.countCalls("cuMemFree"), 2u);
  EXPECT_EQ(machine.countCalls("cuStreamDestroy"), 1u);
  EXPECT_EQ(machine.countCalls("cuDevicePrimaryCtxRelease"), 1u);
}

TEST(GpuDevice, TimesWhatIsQueuedBetweenTwoEvents) {
  FakeMachine machine;
  const Driver driver = machine.driver();
  Result<GpuDevice> device = GpuDevice::open(0, &driver);
  ASSERT_TRUE(device);
  Result<double> milliseconds = device->time([&]() -> Status {
    EXPECT_EQ(machine.countCalls("cuEventRecord"), 1u);
    return {};
  });
  ASSERT_TRUE(milliseconds);
  EXPECT_EQ(*milliseconds, 1.5);
  EXPECT_EQ(machine.countCalls("cuEventRecord"), 2u);
}

TEST(GpuDevice, SaysWhatIsMissing) {
  FakeMachine machine;
  const Driver driver = machine.driver();
  EXPECT_THAT(GpuDevice::open(1, &driver).error().message(),
              HasSubstr("there is no device 1; this machine has 1"));
  machine.failing = "cuDevicePrimaryCtxRetain";
  machine.failure = 2;
  EXPECT_EQ(GpuDevice::open(0, &driver).error().message(),
            "device 0: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(machine.countCalls("cuDevicePrimaryCtxRelease"), 0u);
  machine.failing = "cuMemAlloc";
  Result<GpuDevice> device = GpuDevice::open(0, &driver);
  ASSERT_TRUE(device);
  Result<DeviceMemory> memory = device->allocate(77);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().message(), "77 bytes: device 0: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY");
}
