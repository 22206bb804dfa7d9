//===- attention.cu - Exact attention forward for Hopper ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp-specialised kernel of ours, from before the compiler emitted its own:
// real input for the emulator. attention_d64.ptx is nvcc 13.0's output for
//   -DHD=64 -DNWG=2 -DBN=64 -DST=2 -DMODE=2
// and attention_d64_causal.ptx for
//   -DHD=64 -DNWG=4 -DBN=64 -DST=6 -DMODE=2 -DCAUSAL=1 -DWSKIP=1
// with -std=c++17 -O3 -ptx -arch=sm_90a.
//
//===----------------------------------------------------------------------===//

// Exact attention forward for Hopper (sm_90a), bf16, [heads][T][HD] contiguous: the schedule that measured fastest. Variants by -D.
// One producer warpgroup (two threads issue TMA) and NWG consumer warpgroups of 64 query rows each, persistent over tiles; softmax in base 2.
// The reference of a row is the maximum of its tile's first block. Later blocks take no maximum: they check that their exponentials' sum
// stayed below 2^40 and, if not (rare), redo the block exactly from the scores, which are still in registers.
#include <stdint.h>
#include <math_constants.h>
#include "hopper.h"
#include "wgmma.h"

#ifndef HD
#define HD 128          // head dim
#endif
#ifndef NWG
#define NWG 2           // consumer warpgroups
#endif
#ifndef BN
#define BN 128          // keys per block
#endif
#ifndef ST
#define ST 2            // stages of the K ring and of the V ring
#endif
#ifndef QBUF
#define QBUF 2          // Q buffers
#endif
#ifndef CAUSAL
#define CAUSAL 0
#endif
#ifndef MODE
#define MODE 1          // 1: QK(j+1) issued before PV(j), softmax(j+1) under PV(j), two P register sets; 2: PV(j) then QK(j+1), wait for both, one P set
#endif
#ifndef PP
#define PP 0            // ping-pong order between consumer warpgroups through named barriers
#endif
#ifndef REGC
#define REGC (NWG == 2 ? 240 : NWG == 3 ? 160 : 112)
#endif
#ifndef REGP
#define REGP (NWG == 3 ? 32 : 24)   // the sum over warpgroups must stay within what the launch allocated, or setmaxnreg.inc waits for ever
#endif
#ifndef WSKIP
#define WSKIP 0         // causal: a warpgroup skips the key blocks that lie wholly above its own rows
#endif

constexpr int BM = 64 * NWG;
constexpr u32 QB = BM * HD * 2, KB = BN * HD * 2;
constexpr int KS = HD / 16, PS = BN / 16;
constexpr float BIG = 1.0995116e12f;  // 2^40

__device__ __forceinline__ void nbar_sync(int id) { asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(256) : "memory"); }
__device__ __forceinline__ void nbar_arrive(int id) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(256) : "memory"); }
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

struct Soft { float m0, m1, l0, l1; };   // m: the row's reference in log2 units; l: this thread's part of the row sum
constexpr int SN = BN / 2, PN = BN / 4;
template <bool B> struct Bool { static constexpr bool value = B; };

__device__ __forceinline__ void mask(float (&s)[SN], int lim0, int lim1) {
#pragma unroll
  for (int i = 0; i < SN; i++) s[i] = 8 * (i / 4) + (i & 1) < ((i & 2) ? lim1 : lim0) ? s[i] : -CUDART_INF_F;
}
__device__ __forceinline__ void rowmax(const float (&s)[SN], float& x0, float& x1) {   // starts from x0, x1; reduces over the quad
  float c0 = s[1], c1 = s[3];
  x0 = fmaxf(x0, s[0]); x1 = fmaxf(x1, s[2]);
#pragma unroll
  for (int i = 4; i < SN; i += 4) { x0 = fmaxf(x0, s[i]); c0 = fmaxf(c0, s[i + 1]); x1 = fmaxf(x1, s[i + 2]); c1 = fmaxf(c1, s[i + 3]); }
  x0 = quad_max(fmaxf(x0, c0)); x1 = quad_max(fmaxf(x1, c1));
}
// p = 2^(s c - k), row sums in r; either packed into P or in place
template <bool PACK> __device__ __forceinline__ void exps(float (&s)[SN], u32 (&p)[PN], float c, float k0, float k1, float& r0, float& r1) {
  r0 = r1 = 0.f;
#pragma unroll
  for (int i = 0; i < SN; i += 2) {
    const float k = (i & 2) ? k1 : k0;
    const float x = fmaf(s[i], c, -k), y = fmaf(s[i + 1], c, -k);
    const float a = ex2(x), b = ex2(y);
    if (i & 2) { r1 += a; r1 += b; } else { r0 += a; r0 += b; }
    if constexpr (PACK) p[i / 2] = pack(a, b);
    else { s[i] = a; s[i + 1] = b; }
  }
}

// tile number -> head << 16 | row tile, or -1 past the end
__device__ __forceinline__ int decode(int t, int total, int nm, int hsec) {
  if (t >= total) return -1;
#if CAUSAL
  const int per = hsec * nm, sec = t / per, r = t - sec * per;
  return (sec * hsec + r % hsec) << 16 | (nm - 1 - r / hsec);
#else
  const int h = t / nm;
  return h << 16 | (t - h * nm);
#endif
}

extern "C" __global__ void __launch_bounds__((NWG + 1) * 128, 1)
attn(const __grid_constant__ TMap tq, const __grid_constant__ TMap tk, const __grid_constant__ TMap tv, uint16_t* __restrict__ O, float* __restrict__ L,
     int T, int BH, int nm, int hsec, float c, int* ctr, u64* clk) {
  extern __shared__ uint8_t raw[];
  const u32 sq = (smem_u32(raw) + 1023) & ~1023u;
  const u32 sk = sq + QBUF * QB, sv = sk + ST * KB, sb = sv + ST * KB;
  const u32 qfull = sb, qempty = qfull + 8 * QBUF, kfull = qempty + 8 * QBUF, kempty = kfull + 8 * ST, vfull = kempty + 8 * ST, vempty = vfull + 8 * ST,
            tfull = vempty + 8 * ST, tempty = tfull + 16;
  const u32 slot = tempty + 16;
  const int wg = __shfl_sync(0xffffffffu, threadIdx.x >> 7, 0);
  const int total = nm * BH;
  const int first = blockIdx.x;
  if (threadIdx.x == 0) {
    for (int i = 0; i < QBUF; i++) { bar_init(qfull + 8 * i, 1); bar_init(qempty + 8 * i, NWG * 4); }
    for (int i = 0; i < ST; i++) { bar_init(kfull + 8 * i, 1); bar_init(vfull + 8 * i, 1); bar_init(kempty + 8 * i, NWG * 4); bar_init(vempty + 8 * i, NWG * 4); }
    for (int i = 0; i < 2; i++) { bar_init(tfull + 8 * i, 1); bar_init(tempty + 8 * i, NWG * 4 + 1); }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (clk && blockIdx.x == 0 && threadIdx.x == 128) {
    u64 g; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g)); clk[0] = g; clk[1] = clock64();
  }

  if (wg == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGP));
    if (threadIdx.x == 0) {            // Q and K, and the tile numbers
      int ks = 0, qs = 0; u32 kph = 1, qph = 1;
      int ts = 0; u32 tph = 1;
      int tile = first;
#pragma unroll 1
      for (int code = decode(tile, total, nm, hsec); code >= 0;) {
        const int h = code >> 16, m = code & 0xffff;
        tile = atomicAdd(ctr, 1) + gridDim.x;      // asked for now, looked at when this tile's loads are out
        const int nb = ((CAUSAL ? min(T, (m + 1) * BM) : T) + BN - 1) / BN;
#pragma unroll 1
        for (int i = 0; i < nb; ++i) {
          const int n = nb - 1 - i;
          bar_wait(kempty + 8 * ks, kph);
          bar_expect(kfull + 8 * ks, KB);
          tma4(sk + ks * KB, &tk, kfull + 8 * ks, 0, n * BN, 0, h);
          if (i == 0) {
            bar_wait(qempty + 8 * qs, qph);
            bar_expect(qfull + 8 * qs, QB);
            tma4(sq + qs * QB, &tq, qfull + 8 * qs, 0, m * BM, 0, h);
            if (++qs == QBUF) { qs = 0; qph ^= 1; }
          }
          if (++ks == ST) { ks = 0; kph ^= 1; }
        }
        code = decode(tile, total, nm, hsec);
        bar_wait(tempty + 8 * ts, tph);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(slot + 4 * ts), "r"(code) : "memory");
        bar_arrive(tfull + 8 * ts);
        ts ^= 1; tph ^= ts == 0;
      }
      __threadfence();
      if (atomicAdd(ctr + 1, 1) == (int)gridDim.x - 1) {   // the last block leaves zeros to the next launch
        __threadfence();
        ctr[0] = 0; ctr[1] = 0;
      }
    }
    else if (threadIdx.x == 32) {      // V
      int vs = 0; u32 vph = 1;
      int ts = 0; u32 tph = 0;
#pragma unroll 1
      for (int code = decode(first, total, nm, hsec); code >= 0;) {
        const int h = code >> 16, m = code & 0xffff;
        const int nb = ((CAUSAL ? min(T, (m + 1) * BM) : T) + BN - 1) / BN;
#pragma unroll 1
        for (int i = 0; i < nb; ++i) {
          const int n = nb - 1 - i;
          bar_wait(vempty + 8 * vs, vph);
          bar_expect(vfull + 8 * vs, KB);
          tma4(sv + vs * KB, &tv, vfull + 8 * vs, 0, n * BN, 0, h);
          if (++vs == ST) { vs = 0; vph ^= 1; }
        }
        bar_wait(tfull + 8 * ts, tph);
        asm volatile("ld.shared.b32 %0, [%1];" : "=r"(code) : "r"(slot + 4 * ts) : "memory");
        bar_arrive(tempty + 8 * ts);
        ts ^= 1; tph ^= ts == 0;
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGC));
    const int w = wg - 1;
    const int lane = threadIdx.x & 31, warp = (threadIdx.x >> 5) & 3;
    float o[HD / 2], s[SN];
    u32 p[PN];
    [[maybe_unused]] u32 pb[PN];   // MODE 1: the P set that is not in flight
    int ks = 0, vs = 0, qs = 0; u32 kph = 0, vph = 0, qph = 0;
    int ts = 0; u32 tph = 0;
    const u64 dq0 = desc(sq + w * 64 * 128, 16, 1024);
    const u64 dk = desc(sk, 16, 1024);
    const u64 dv = desc(sv, BN * 128, 1024);

    auto release = [&](u32 b) { if (lane == 0) bar_arrive(b); };   // every warp releases for itself
    auto qk = [&]() {
      const u64 d = dk + (u64)(ks * (KB >> 4)), dq = dq0 + (u64)(qs * (QB >> 4));
#pragma unroll
      for (int k = 0; k < KS; k++)
        WG<BN>::template ss<0>(s, dq + (k / 4) * (BM * 128 >> 4) + (k % 4) * 2, d + (k / 4) * (BN * 128 >> 4) + (k % 4) * 2, k > 0);
      wg_commit();
    };
    auto pv = [&](u32 (&p)[PN]) {
      const u64 d = dv + (u64)(vs * (KB >> 4));
#pragma unroll
      for (int k = 0; k < PS; k++) WG<HD>::template rs<1>(o, p[4 * k], p[4 * k + 1], p[4 * k + 2], p[4 * k + 3], d + k * (2048 >> 4), 1);
      wg_commit();
    };
    auto kwait = [&]() { bar_wait(kfull + 8 * ks, kph); };
    auto vwait = [&]() { bar_wait(vfull + 8 * vs, vph); };
    auto krel = [&]() { release(kempty + 8 * ks); if (++ks == ST) { ks = 0; kph ^= 1; } };
    auto vrel = [&]() { release(vempty + 8 * vs); if (++vs == ST) { vs = 0; vph ^= 1; } };
    auto qwait = [&]() { bar_wait(qfull + 8 * qs, qph); };
    auto qrel = [&]() { __syncwarp(); if (lane == 0) bar_arrive(qempty + 8 * qs); if (++qs == QBUF) { qs = 0; qph ^= 1; } };
    auto tobf = [&](u32 (&p)[PN]) {
#pragma unroll
      for (int i = 0; i < PN; i++) p[i] = pack(s[2 * i], s[2 * i + 1]);
    };
    auto rescale = [&](float f0, float f1) {
#pragma unroll
      for (int i = 0; i < HD / 2; i++) o[i] *= (i & 2) ? f1 : f0;
    };
    auto zero = [&]() {
#pragma unroll
      for (int i = 0; i < HD / 2; i++) o[i] = 0.f;
    };

    int h, m, nb, row, lim0, lim1, nfull;
    [[maybe_unused]] int skip = 0;
    Soft t;
    auto open = [&](int code) {
      h = code >> 16; m = code & 0xffff;
      nb = ((CAUSAL ? min(T, (m + 1) * BM) : T) + BN - 1) / BN;
#if CAUSAL && WSKIP
      skip = nb;
      nb = (min(T, m * BM + w * 64 + 64) + BN - 1) / BN;
      if (nb > skip) nb = skip;
      skip -= nb;
#endif
      row = m * BM + w * 64 + warp * 16 + (lane >> 2);
      lim0 = (CAUSAL ? min(T, row + 1) : T) - 2 * (lane & 3);
      lim1 = (CAUSAL ? min(T, row + 9) : T) - 2 * (lane & 3);
      nfull = (CAUSAL ? min(T, m * BM + w * 64 + 1) : T) / BN;   // blocks below need no mask for this warpgroup
    };
    // first block of a tile: exact max, fresh state; P left in s (or packed later)
    auto soft_first = [&](int n) {
      if (n >= nfull) mask(s, lim0 - n * BN, lim1 - n * BN);
      float x0 = -1e30f, x1 = -1e30f;
      rowmax(s, x0, x1);
      const float k0 = fmaf(x0, c, 0.f), k1 = fmaf(x1, c, 0.f);
      t.m0 = k0; t.m1 = k1;
      exps<false>(s, p, c, k0, k1, t.l0, t.l1);
    };
    auto epilogue = [&](const Soft& t, int h, int row) {
      float l0 = t.l0, l1 = t.l1;
      l0 += __shfl_xor_sync(0xffffffffu, l0, 1); l1 += __shfl_xor_sync(0xffffffffu, l1, 1);
      l0 += __shfl_xor_sync(0xffffffffu, l0, 2); l1 += __shfl_xor_sync(0xffffffffu, l1, 2);
      const float i0 = 1.f / l0, i1 = 1.f / l1;
      if (L && (lane & 3) == 0) {
        if (row < T) L[(size_t)h * T + row] = (t.m0 + log2f(l0)) * 0.6931471806f;
        if (row + 8 < T) L[(size_t)h * T + row + 8] = (t.m1 + log2f(l1)) * 0.6931471806f;
      }
      uint16_t* ob = O + ((size_t)h * T + row) * HD + (lane & 3) * 8;
#pragma unroll
      for (int b = 0; b < HD / 32; b++) {
#pragma unroll
        for (int r = 0; r < 2; r++) {
          u32 x[4];
#pragma unroll
          for (int j = 0; j < 4; j++) {
            const int i = (b * 4 + j) * 4 + r * 2;
            x[j] = pack(o[i] * (r ? i1 : i0), o[i + 1] * (r ? i1 : i0));
          }
          // 4x4 transpose inside the quad, so that each lane holds 16 contiguous bytes
#pragma unroll
          for (int e = 1; e <= 2; e *= 2) {
            const bool up = lane & e;
#pragma unroll
            for (int j = 0; j < 4; j++) {
              if (j & e) continue;
              u32 snd = up ? x[j] : x[j | e];
              u32 rcv = __shfl_xor_sync(0xffffffffu, snd, e);
              if (up) x[j] = rcv; else x[j | e] = rcv;
            }
          }
          if (row + r * 8 < T) *reinterpret_cast<uint4*>(ob + (size_t)r * 8 * HD + b * 32) = make_uint4(x[0], x[1], x[2], x[3]);
        }
      }
    };
    auto pp_sync = [&]() { if (PP) nbar_sync(1 + w); };
    auto pp_arrive = [&]() { if (PP) nbar_arrive(1 + (w + 1) % NWG); };
    // issues QK of the block in the K ring and PV of the block in the V ring; returns with S ready (and O ready when MODE 2)
    auto issue = [&](u32 (&p)[PN]) {
#if MODE == 1
      kwait();
      pp_sync();
      pin(s); pin(o); pin(p);
      wg_fence();
      qk();
      vwait();
      wg_fence();
      pv(p);
      pp_arrive();
      wg_wait<1>(); pin(s);
      krel();
#else
      vwait();
      pp_sync();
      pin(s); pin(o); pin(p);
      wg_fence();
      pv(p);
      kwait();
      wg_fence();
      qk();
      pp_arrive();
      wg_wait<1>();
      vrel();
      wg_wait<0>(); pin(s); pin(o); pin(p);
      krel();
#endif
    };
    auto drain = [&](u32 (&p)[PN]) {   // O ready
#if MODE == 1
      wg_wait<0>(); pin(o); pin(p);
      vrel();
#endif
    };
    // one block: QK of it and PV of the block before, then its softmax
    auto body = [&](auto maskc, int n, u32 (&p)[PN], [[maybe_unused]] auto& pn) {
      constexpr bool MASK = decltype(maskc)::value;
      issue(p);
      if constexpr (MASK) mask(s, lim0 - n * BN, lim1 - n * BN);
      if constexpr (MASK) {   // exact and in place
        float x0 = -1e30f, x1 = -1e30f;
        rowmax(s, x0, x1);
        const float k0 = fmaxf(t.m0, fmaf(x0, c, 0.f)), k1 = fmaxf(t.m1, fmaf(x1, c, 0.f));
        const float f0 = ex2(t.m0 - k0), f1 = ex2(t.m1 - k1);
        t.m0 = k0; t.m1 = k1;
        float r0, r1;
        exps<false>(s, p, c, k0, k1, r0, r1);
        t.l0 = fmaf(t.l0, f0, r0); t.l1 = fmaf(t.l1, f1, r1);
        pin(s);
        wg_wait<0>(); pin(o); pin(p);
        rescale(f0, f1);
        drain(p);
        tobf(p);
        return;
      }
      float r0, r1;
      exps<true>(s, pn, c, t.m0, t.m1, r0, r1);
      const bool need = __any_sync(0xffffffffu, !(r0 + r1 < BIG));
      pin(pn);
      if (__builtin_expect(need, 0)) {           // rare: a score outgrew the reference; redo this block exactly
        float x0 = -1e30f, x1 = -1e30f;
        rowmax(s, x0, x1);
        const float k0 = fmaxf(t.m0, fmaf(x0, c, 0.f)), k1 = fmaxf(t.m1, fmaf(x1, c, 0.f));
        const float f0 = ex2(t.m0 - k0), f1 = ex2(t.m1 - k1);
        t.m0 = k0; t.m1 = k1;
        exps<true>(s, pn, c, k0, k1, r0, r1);
        pin(pn);
        t.l0 *= f0; t.l1 *= f1;
        wg_wait<0>(); pin(o);
        if (MODE == 1) pin(p);
        rescale(f0, f1);
      }
      t.l0 += r0; t.l1 += r1;
      drain(p);
    };

    if (PP && w == NWG - 1) nbar_arrive(1);
    auto kskip = [&]() { if (CAUSAL && WSKIP) for (int i = 0; i < skip; i++) { kwait(); krel(); } };
    auto vskip = [&]() { if (CAUSAL && WSKIP) for (int i = 0; i < skip; i++) { vwait(); vrel(); } };
    int code = decode(first, total, nm, hsec);
    open(code);
    kskip();
    zero();
    // very first block: QK alone
    qwait();
    kwait();
    pin(s); wg_fence(); qk(); wg_wait<0>(); pin(s);
    krel();
    soft_first(nb - 1);
    tobf(p);
    vskip();
    while (true) {
      int n = nb - 2;
#if CAUSAL && (BN % (64 * NWG) != 0)
#pragma unroll 1
      for (; n >= nfull && n >= 0; --n) {
        body(Bool<true>{}, n, p, p);
      }
#endif
      if constexpr (MODE == 1) {
#pragma unroll 1
        while (n >= 1) {
          body(Bool<false>{}, n, p, pb);
          body(Bool<false>{}, n - 1, pb, p);
          n -= 2;
        }
        if (n == 0) {
          body(Bool<false>{}, n, p, pb);
#pragma unroll
          for (int i = 0; i < PN; i++) p[i] = pb[i];
        }
      } else {
#pragma unroll 1
        for (; n >= 0; --n) body(Bool<false>{}, n, p, p);
      }
      // tile boundary: QK of the next tile's first block goes out ahead of this tile's last PV
      qrel();
      const int oh = h, orow = row;
      bar_wait(tfull + 8 * ts, tph);
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(code) : "r"(slot + 4 * ts) : "memory");
      __syncwarp();
      if (lane == 0) bar_arrive(tempty + 8 * ts);
      ts ^= 1; tph ^= ts == 0;
      code = __shfl_sync(0xffffffffu, code, 0);
      if (code < 0) {
        vwait();
        pin(o); pin(p); wg_fence();
        pv(p);
        wg_wait<0>(); pin(o); pin(p);
        vrel();
        epilogue(t, oh, orow);
        break;
      }
      open(code);
      const Soft old = t;
      kskip();
      qwait();
      issue(p);
      soft_first(nb - 1);
      pin(s);
      drain(p);
      vskip();
      epilogue(old, oh, orow);
      zero();
      tobf(p);
    }
    if (clk && blockIdx.x == 0 && threadIdx.x == 128) {
      u64 g; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g)); clk[2] = g; clk[3] = clock64();
    }
  }
}
