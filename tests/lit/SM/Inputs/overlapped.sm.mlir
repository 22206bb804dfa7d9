// The program of forward.sm.mlir with its products overlapped: the softmax of a block of keys runs
// beside the product of the block before's weights and values. Needs at least one key.

#any4 = strided<[?, ?, ?, 1], offset: ?>
#any3 = strided<[?, ?, 1], offset: ?>
!tensor = memref<?x?x?x128xbf16, #any4>
!scores = tensor<64x128xf32, #sm.accumulator>
!positions = tensor<64x128xi32, #sm.accumulator>
!weights = tensor<64x128xbf16, #sm.operand>
!output = tensor<64x128xf32, #sm.accumulator>
!row = tensor<64xf32, #sm.row>
!sum = tensor<64xf32, #sm.partial_row>

func.func @forward(
    %query: !tensor {attn.name = "query"}, %key: !tensor {attn.name = "key"},
    %value: !tensor {attn.name = "value"}, %out: !tensor {attn.name = "out"},
    %lse_out: memref<?x?x?xf32, #any3> {attn.name = "lse"}, %scale: f32 {attn.name = "scale"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  %batch = memref.dim %query, %c0 : !tensor
  %heads = memref.dim %query, %c1 : !tensor
  %key_heads = memref.dim %key, %c1 : !tensor
  %q_len = memref.dim %query, %c2 : !tensor
  %kv_len = memref.dim %key, %c2 : !tensor
  %q_last = arith.addi %q_len, %c127 : index
  %q_blocks = arith.divui %q_last, %c128 : index
  sm.grid (%b, %h, %i) in (%batch, %heads, %q_blocks) {
    %group = arith.divui %heads, %key_heads : index
    %hkv = arith.divui %h, %group : index
    %first_query = arith.muli %i, %c128 : index
    %end_query = arith.addi %first_query, %c128 : index
    // Keys past the last query of the block are hidden from all of them.
    %visible = arith.minsi %end_query, %kv_len : index
    %visible_last = arith.addi %visible, %c127 : index
    %end = arith.divui %visible_last, %c128 : index
    %full_keys = arith.minsi %first_query, %kv_len : index
    %full_end = arith.divui %full_keys, %c128 : index

    %queries = sm.create_ring "queries" arrivals = 8 : !sm.ring<128x128xbf16, stages = 1>
    %keys = sm.create_ring "keys" arrivals = 8 : !sm.ring<128x128xbf16, stages = 2>
    %values = sm.create_ring "values" arrivals = 8 : !sm.ring<128x128xbf16, stages = 2>

    sm.producer "keys" registers = 24 {
      %q = sm.acquire %queries : !sm.ring<128x128xbf16, stages = 1>
      sm.copy %query[%b, %h, %first_query], %q : !tensor, !sm.shared<128x128xbf16>
      sm.commit %q : !sm.shared<128x128xbf16>
      scf.for %j = %c0 to %end step %c1 {
        %first_key = arith.muli %j, %c128 : index
        %k = sm.acquire %keys : !sm.ring<128x128xbf16, stages = 2>
        sm.copy %key[%b, %hkv, %first_key], %k : !tensor, !sm.shared<128x128xbf16>
        sm.commit %k : !sm.shared<128x128xbf16>
      }
    }

    sm.producer "values" registers = 24 {
      scf.for %j = %c0 to %end step %c1 {
        %first_key = arith.muli %j, %c128 : index
        %v = sm.acquire %values : !sm.ring<128x128xbf16, stages = 2>
        sm.copy %value[%b, %hkv, %first_key], %v : !tensor, !sm.shared<128x128xbf16>
        sm.commit %v : !sm.shared<128x128xbf16>
      }
    }

    sm.consumers "softmax" warpgroups = 2 registers = 240 (%warpgroup) {
      %first_row = arith.muli %warpgroup, %c64 : index
      %first = arith.addi %first_query, %first_row : index
      %hidden = arith.constant dense<0xFF800000> : !scores
      %o0 = arith.constant dense<0.0> : !output
      %m0, %l0 = sm.softmax_init : !row, !sum
      %q = sm.wait %queries : !sm.ring<128x128xbf16, stages = 1>

      // The first block: scores and weights alone.
      %k0 = sm.wait %keys : !sm.ring<128x128xbf16, stages = 2>
      %first_flight = sm.mma %q from %first_row, %k0 {transpose_rhs}
        : !sm.shared<128x128xbf16>, !sm.shared<128x128xbf16> -> !sm.in_flight<!scores>
      %first_s0 = sm.await %first_flight : !sm.in_flight<!scores>
      sm.release %k0 : !sm.shared<128x128xbf16>
      %scales = sm.broadcast %scale : f32 -> !scores
      %first_s1 = arith.mulf %first_s0, %scales : !scores
      %q_at0 = sm.coord %first, dim = 0 : !positions
      %k_at0 = sm.coord %c0, dim = 1 : !positions
      %kv_len_i32 = arith.index_cast %kv_len : index to i32
      %k_len0 = sm.broadcast %kv_len_i32 : i32 -> !positions
      %causal0 = arith.cmpi sle, %k_at0, %q_at0 : !positions
      %inside0 = arith.cmpi slt, %k_at0, %k_len0 : !positions
      %keep0 = arith.andi %causal0, %inside0 : tensor<64x128xi1, #sm.accumulator>
      %first_s2 = arith.select %keep0, %first_s1, %hidden : tensor<64x128xi1, #sm.accumulator>, !scores
      %first_p, %first_m, %first_l, %first_alpha = sm.softmax_step %first_s2, %m0, %l0 : !scores
      %first_p16 = sm.pack %first_p : !scores -> !weights

      // Every other block: its scores are computed beside the block before's output.
      %all:4 = scf.for %j = %c1 to %end step %c1
          iter_args(%o = %o0, %m = %first_m, %l = %first_l, %p16 = %first_p16)
          -> (!output, !row, !sum, !weights) {
        %k = sm.wait %keys : !sm.ring<128x128xbf16, stages = 2>
        %s_flight = sm.mma %q from %first_row, %k {transpose_rhs}
          : !sm.shared<128x128xbf16>, !sm.shared<128x128xbf16> -> !sm.in_flight<!scores>
        %v = sm.wait %values : !sm.ring<128x128xbf16, stages = 2>
        %o_flight = sm.mma %p16, %v acc %o
          : !weights, !sm.shared<128x128xbf16> -> !sm.in_flight<!output>
        %s0 = sm.await %s_flight : !sm.in_flight<!scores>
        %s1 = arith.mulf %s0, %scales : !scores
        // Blocks with the diagonal or the end of the keys in them.
        %partial = arith.cmpi sge, %j, %full_end : index
        %s3 = scf.if %partial -> (!scores) {
          %first_key = arith.muli %j, %c128 : index
          %q_at = sm.coord %first, dim = 0 : !positions
          %k_at = sm.coord %first_key, dim = 1 : !positions
          %k_len = sm.broadcast %kv_len_i32 : i32 -> !positions
          %causal = arith.cmpi sle, %k_at, %q_at : !positions
          %inside = arith.cmpi slt, %k_at, %k_len : !positions
          %keep = arith.andi %causal, %inside : tensor<64x128xi1, #sm.accumulator>
          %s2 = arith.select %keep, %s1, %hidden : tensor<64x128xi1, #sm.accumulator>, !scores
          scf.yield %s2 : !scores
        } else {
          scf.yield %s1 : !scores
        }
        %p, %m1, %l1, %alpha = sm.softmax_step %s3, %m, %l : !scores
        sm.release %k after(%l1 : !sum) : !sm.shared<128x128xbf16>
        %o1, %p1 = sm.await %o_flight hold(%p : !scores) : !sm.in_flight<!output>
        sm.release %v : !sm.shared<128x128xbf16>
        %o2 = sm.rescale %o1, %alpha : !output
        %p2 = sm.pack %p1 : !scores -> !weights
        scf.yield %o2, %m1, %l1, %p2 : !output, !row, !sum, !weights
      }
      sm.release %q : !sm.shared<128x128xbf16>
      %v_last = sm.wait %values : !sm.ring<128x128xbf16, stages = 2>
      %last_flight = sm.mma %all#3, %v_last acc %all#0
        : !weights, !sm.shared<128x128xbf16> -> !sm.in_flight<!output>
      %o_last = sm.await %last_flight : !sm.in_flight<!output>
      sm.release %v_last : !sm.shared<128x128xbf16>

      %o, %lse = sm.softmax_finalize %o_last, %all#1, %all#2 : !output
      %o16 = arith.truncf %o : !output to tensor<64x128xbf16, #sm.accumulator>
      sm.store %o16, %out[%b, %h, %first] : tensor<64x128xbf16, #sm.accumulator>, !tensor
      sm.store %lse, %lse_out[%b, %h, %first] : !row, memref<?x?x?xf32, #any3>
    }
  }
  return
}
