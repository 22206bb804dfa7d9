// What ptxas makes of it passes the gate: no stack frame, no spills, no product put behind another.
// REQUIRES: ptxas
// RUN: tilewright compile %S/../SM/Inputs/forward.sm.mlir --target sm_90a --from=sm --emit=cubin -o %t.cubin
// RUN: llvm-readelf --sections %t.cubin | FileCheck %s
// CHECK: .text.forward
// RUN: tilewright compile %S/../SM/Inputs/forward.sm.mlir --target sm_90a --from=sm -o %t.twk
// RUN: tilewright explain %t.twk --lengths 1000,1000 --heads 4 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: grid 1 x 4 x 8 = 32 blocks of 384 threads
// EXPLAIN: shared 160.1 KiB of each block
// EXPLAIN: registers 168 of each thread at launch
// EXPLAIN: occupancy 1 block on a multiprocessor, 12 of 64 warps, limited by registers and shared memory
// EXPLAIN: assembler ptxas {{[0-9.]+}}

// RUN: not tilewright compile %S/../SM/Inputs/forward.sm.mlir --target sm_90a --from=sm --ptxas=%t.nothing --emit=cubin 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}forward.sm.mlir: ptxas: {{.*}} is no program

// Blocks are chosen so that masks and scores have registers too.
// RUN: tilewright compile --target sm_90a --head-dim 64 --dtype bf16 --preset document --tensor "document=i64[?,?]" --preset dense-bias --tensor "bias=f32[?,?,?,?]" -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 192 --dtype bf16 --preset dense-bias --tensor "bias=f32[?,?,?,?]" --preset softcap=30.0 --preset sliding-window-lower-right=100 -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 191 --dtype bf16 --preset causal --preset alibi --tensor "slope=f32[?]" --preset dense-mask --tensor "keep=bool[?,?,?,?]" -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 256 --dtype f16 --preset sliding-window-lower-right=4 --preset softcap=3.0 -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 256 --dtype f16 --preset causal-lower-right --preset softcap=3.0 -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 255 --dtype f16 --preset sliding-window-lower-right=4 --preset softcap=3.0 -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 256 --dtype f16 --preset softcap=3.0 -o %t.twk
// RUN: tilewright compile --target sm_90a --head-dim 255 --dtype f16 --preset document --tensor "document=i64[?,?]" --preset dense-bias --tensor "bias=bf16[?,?,?,?]" -o %t.twk
