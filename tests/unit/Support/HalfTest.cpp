//===- HalfTest.cpp - 16-bit floating point -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Support/Half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tilewright;

namespace {

TEST(Half, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(f16ToFloat(doubleToF16(value))));
    else
      ASSERT_EQ(doubleToF16(value), bits) << value;
  }
}

TEST(Half, EveryBF16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16ToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bf16ToFloat(doubleToBF16(value))));
    else
      ASSERT_EQ(doubleToBF16(value), bits) << value;
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(doubleToF16(1.0 + std::ldexp(1.0, -11)), 0x3c00);     // tie: down to even
  EXPECT_EQ(doubleToF16(1.0 + 3 * std::ldexp(1.0, -11)), 0x3c02); // tie: up to even
  EXPECT_EQ(doubleToF16(65504.0 + 16.0), 0x7c00);                 // past the largest: infinity
  EXPECT_EQ(doubleToF16(std::ldexp(1.0, -25)), 0x0000);           // tie with zero
  EXPECT_EQ(doubleToF16(std::ldexp(1.5, -25)), 0x0001);           // smallest subnormal
  EXPECT_EQ(doubleToBF16(133120.0), 0x4802);                      // exact in bf16
  EXPECT_EQ(doubleToBF16(1.0 + std::ldexp(1.0, -8)), 0x3f80);     // tie: down to even
  EXPECT_EQ(doubleToBF16(-std::numeric_limits<double>::infinity()), 0xff80);
  EXPECT_EQ(doubleToBF16(std::numeric_limits<double>::max()), 0x7f80);
}

} // namespace
