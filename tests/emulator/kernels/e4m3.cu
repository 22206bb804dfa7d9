//===- e4m3.cu - A product of 8-bit numbers for Hopper --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small kernel of ours: real input for the emulator. e4m3.ptx is nvcc 13.0's
// output for
//   -std=c++17 -O3 -ptx -arch=sm_90a
// without any -D.
//
//===----------------------------------------------------------------------===//

// C = A B^T for Hopper (sm_90a): B is [N][K] in e4m3, A [M][K] in e4m3, or in f32 and rounded by the kernel; C is f32. A block owns 64 x 64 of C
// and walks over K in steps of 128 bytes, through a ring that one thread fills.
#include <stdint.h>
#include "hopper.h"

#ifndef ROUND
#define ROUND 0         // A is f32 in global memory and becomes e4m3 in registers
#endif

constexpr int BLOCK = 64, STEP = 128, STAGES = 3;
constexpr u32 TILE = BLOCK * STEP;

#define D32 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define OUT32(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])

__device__ __forceinline__ void multiply(float (&d)[32], u64 a, u64 b) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " D32 ", %32, %33, p, 1, 1;\n}\n" : OUT32(d) : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&d)[32], const u32 (&a)[4], u64 b) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, 0, 0;\nwgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " D32 ", {%32, %33, %34, %35}, %36, p, 1, 1;\n}\n"
    : OUT32(d) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ u32 round4(float4 x) {
  uint16_t low, high;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(low) : "f"(x.y), "f"(x.x));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(high) : "f"(x.w), "f"(x.z));
  return (u32)high << 16 | low;
}

extern "C" __global__ void __launch_bounds__(256, 1)
product(const __grid_constant__ TMap ta, const __grid_constant__ TMap tb, const float* __restrict__ a, float* __restrict__ c, int N, int K) {
  extern __shared__ uint8_t raw[];
  const u32 sa = (smem_u32(raw) + 1023) & ~1023u, sb = sa + STAGES * TILE, full = sb + STAGES * TILE, empty = full + 8 * STAGES;
  const int m0 = blockIdx.x * BLOCK, n0 = blockIdx.y * BLOCK;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) { bar_init(full + 8 * i, 1); bar_init(empty + 8 * i, 4); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128) return;
    int st = 0; u32 ph = 1;
#pragma unroll 1
    for (int k = 0; k < K; k += STEP) {
      bar_wait(empty + 8 * st, ph);
      bar_expect(full + 8 * st, (ROUND ? 1 : 2) * TILE);
      if (!ROUND) tma4(sa + st * TILE, &ta, full + 8 * st, k, m0, 0, 0);
      tma4(sb + st * TILE, &tb, full + 8 * st, k, n0, 0, 0);
      if (++st == STAGES) { st = 0; ph ^= 1; }
    }
    return;
  }
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = m0 + warp * 16 + (lane >> 2);
  float d[32];
  [[maybe_unused]] u32 x[STEP / 32][4];
#pragma unroll
  for (int i = 0; i < 32; i++) d[i] = 0.f;
  int st = 0; u32 ph = 0;
#pragma unroll 1
  for (int k = 0; k < K; k += STEP) {
    const u64 da = desc(sa + st * TILE, 16, 1024), db = desc(sb + st * TILE, 16, 1024);
#if ROUND
#pragma unroll
    for (int i = 0; i < STEP / 32; i++) {
#pragma unroll
      for (int q = 0; q < 4; q++)
        x[i][q] = round4(*(const float4*)(a + (size_t)(row + 8 * (q & 1)) * K + k + 32 * i + 16 * (q >> 1) + 4 * (lane & 3)));
    }
#endif
    bar_wait(full + 8 * st, ph);
    pin(d);
#if ROUND
#pragma unroll
    for (int i = 0; i < STEP / 32; i++) pin(x[i]);
#endif
    wg_fence();
#pragma unroll
    for (int i = 0; i < STEP / 32; i++) {
#if ROUND
      multiply(d, x[i], db + 2 * i);
#else
      multiply(d, da + 2 * i, db + 2 * i);
#endif
    }
    wg_commit();
    wg_wait<0>(); pin(d);
#if ROUND
#pragma unroll
    for (int i = 0; i < STEP / 32; i++) pin(x[i]);
#endif
    if (lane == 0) bar_arrive(empty + 8 * st);
    if (++st == STAGES) { st = 0; ph ^= 1; }
  }
#pragma unroll
  for (int i = 0; i < 32; i += 2)
    *(float2*)(c + (size_t)(row + 8 * ((i >> 1) & 1)) * N + n0 + 8 * (i / 4) + 2 * (lane & 3)) = make_float2(d[i], d[i + 1]);
}
