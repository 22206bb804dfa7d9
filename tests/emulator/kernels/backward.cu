//===- backward.cu - Exact attention backward for Hopper ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small kernel of ours: real input for the emulator, for what the forward
// kernel lacks. backward_d64.ptx is nvcc 13.0's output for
//   -std=c++17 -O3 -ptx -arch=sm_90a
// without any -D.
//
//===----------------------------------------------------------------------===//

// Exact attention backward for Hopper (sm_90a), bf16, [heads][T][64] contiguous. A block owns 64 keys and walks over the queries: dK and dV stay in
// registers, dQ is summed over blocks in f32 global memory. One thread copies, one warpgroup multiplies:
//   S^T = K Q^T, dP^T = V dO^T, P = 2^(c S - lse2), dS = P (dP - delta), dV += P^T dO, dK += dS^T Q, dQ += dS K.
// lse2 is the forward's lse in base 2, delta the row sums of dO O.
#include <stdint.h>
#include <math_constants.h>
#include "hopper.h"
#include "wgmma.h"

#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef ATOMICS
#define ATOMICS 0       // dQ by one atomic for each number; else by bulk reductions of a whole tile
#endif

constexpr int HD = 64, BLOCK = 64, STAGES = 2;
constexpr u32 TILE = BLOCK * HD * 2;

__device__ __forceinline__ void consumers_sync() { asm volatile("bar.sync 1, 128;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(256, 1)
attn_backward(const __grid_constant__ TMap tq, const __grid_constant__ TMap tk, const __grid_constant__ TMap tv, const __grid_constant__ TMap tdo,
              const float* __restrict__ lse2, const float* __restrict__ delta, float* dq, uint16_t* __restrict__ dk, uint16_t* __restrict__ dv,
              int T, float scale) {
  extern __shared__ uint8_t raw[];
  const u32 sk = (smem_u32(raw) + 1023) & ~1023u, sv = sk + TILE, sq = sv + TILE, sdo = sq + STAGES * TILE, sds = sdo + STAGES * TILE, sdq = sds + TILE;
  const u32 full = sdq + BLOCK * HD * 4, empty = full + 8 * STAGES, kvfull = empty + 8 * STAGES;
  const int n = blockIdx.x, h = blockIdx.y, blocks = (T + BLOCK - 1) / BLOCK, begin = CAUSAL ? n : 0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; i++) { bar_init(full + 8 * i, 1); bar_init(empty + 8 * i, 4); }
    bar_init(kvfull, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128) return;
    bar_expect(kvfull, 2 * TILE);
    tma4(sk, &tk, kvfull, 0, n * BLOCK, 0, h);
    tma4(sv, &tv, kvfull, 0, n * BLOCK, 0, h);
    int st = 0; u32 ph = 1;
#pragma unroll 1
    for (int m = begin; m < blocks; m++) {
      bar_wait(empty + 8 * st, ph);
      bar_expect(full + 8 * st, 2 * TILE);
      tma4(sq + st * TILE, &tq, full + 8 * st, 0, m * BLOCK, 0, h);
      tma4(sdo + st * TILE, &tdo, full + 8 * st, 0, m * BLOCK, 0, h);
      if (++st == STAGES) { st = 0; ph ^= 1; }
    }
    return;
  }

  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, row = warp * 16 + (lane >> 2), column = 2 * (lane & 3);
  const float c = scale * 1.4426950409f;
  const u64 dk_a = desc(sk, 16, 1024), dv_a = desc(sv, 16, 1024), ds_a = desc(sds, 16, 1024);
  float gk[32], gv[32], gq[32], s[32], p[32];
  u32 pb[16], dsb[16];
#pragma unroll
  for (int i = 0; i < 32; i++) gk[i] = gv[i] = 0.f;
  bar_wait(kvfull, 0);
  int st = 0; u32 ph = 0;
#pragma unroll 1
  for (int m = begin; m < blocks; m++) {
    const u64 dq_b = desc(sq + st * TILE, 16, 1024), ddo_b = desc(sdo + st * TILE, 16, 1024);
    bar_wait(full + 8 * st, ph);
    pin(s); pin(p);
    wg_fence();
#pragma unroll
    for (int k = 0; k < HD / 16; k++) WG<64>::template ss<0>(s, dk_a + 2 * k, dq_b + 2 * k, k > 0);
#pragma unroll
    for (int k = 0; k < HD / 16; k++) WG<64>::template ss<0>(p, dv_a + 2 * k, ddo_b + 2 * k, k > 0);
    wg_commit();
    wg_wait<0>(); pin(s); pin(p);
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int query = m * BLOCK + 8 * (i / 4) + column + (i & 1), key = n * BLOCK + row + 8 * ((i >> 1) & 1);
      const bool seen = query < T && (!CAUSAL || key <= query);
      const float weight = seen ? ex2(fmaf(s[i], c, -lse2[h * T + query])) : 0.f;
      const float gradient = seen ? weight * (p[i] - delta[h * T + query]) : 0.f;
      s[i] = weight; p[i] = gradient;
    }
#pragma unroll
    for (int i = 0; i < 16; i++) { pb[i] = pack(s[2 * i], s[2 * i + 1]); dsb[i] = pack(p[2 * i], p[2 * i + 1]); }
    // dS with a query in each row of 128 bytes, swizzled as the descriptor says
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const u32 query = 8 * (i / 4) + column + (i & 1), key = row + 8 * ((i >> 1) & 1);
      const u32 at = sds + query * 128 + key * 2;
      asm volatile("st.shared.b16 [%0], %1;" ::"r"(at ^ ((at >> 7 & 7) << 4)), "h"((uint16_t)(dsb[i / 2] >> 16 * (i & 1))) : "memory");
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    consumers_sync();
    pin(gk); pin(gv); pin(gq); pin(pb); pin(dsb);
    wg_fence();
#pragma unroll
    for (int k = 0; k < 4; k++) WG<64>::template rs<1>(gv, pb[4 * k], pb[4 * k + 1], pb[4 * k + 2], pb[4 * k + 3], ddo_b + k * (2048 >> 4), 1);
#pragma unroll
    for (int k = 0; k < 4; k++) WG<64>::template rs<1>(gk, dsb[4 * k], dsb[4 * k + 1], dsb[4 * k + 2], dsb[4 * k + 3], dq_b + k * (2048 >> 4), 1);
#pragma unroll
    for (int k = 0; k < 4; k++) WG<64>::template ss<1>(gq, ds_a + 2 * k, dk_a + k * (2048 >> 4), k > 0);
    wg_commit();
    wg_wait<0>(); pin(gk); pin(gv); pin(gq); pin(pb); pin(dsb);
    if (lane == 0) bar_arrive(empty + 8 * st);
    if (++st == STAGES) { st = 0; ph ^= 1; }
#if ATOMICS
    consumers_sync();       // all have read dS
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const int query = m * BLOCK + row + 8 * ((i >> 1) & 1);
      if (query < T) atomicAdd(dq + ((size_t)h * T + query) * HD + 8 * (i / 4) + column + (i & 1), gq[i] * scale);
    }
#else
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    consumers_sync();       // all have read dS, and the last reduction has read its tile
#pragma unroll
    for (int i = 0; i < 32; i += 2)
      asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(sdq + ((row + 8 * ((i >> 1) & 1)) * HD + 8 * (i / 4) + column) * 4), "f"(gq[i] * scale), "f"(gq[i + 1] * scale) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    consumers_sync();
    if (threadIdx.x == 0) {
      const int bytes = min(BLOCK, T - m * BLOCK) * HD * 4;
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(dq + ((size_t)h * T + m * BLOCK) * HD), "r"(sdq), "r"(bytes) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
#endif
  }
#if !ATOMICS
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
#pragma unroll
  for (int i = 0; i < 32; i += 2) {
    const int key = n * BLOCK + row + 8 * ((i >> 1) & 1);
    if (key >= T) continue;
    const size_t at = (((size_t)h * T + key) * HD + 8 * (i / 4) + column) / 2;
    ((u32*)dk)[at] = pack(gk[i] * scale, gk[i + 1] * scale);
    ((u32*)dv)[at] = pack(gv[i], gv[i + 1]);
  }
}
