// Attention forward as one would write it for a Hopper multiprocessor by hand: bf16, head dim 128,
// causal, 128 queries a block in two warpgroups, 128 keys a step. Two producers keep the rings of
// keys and values full; each consumer takes a block of keys to scores, scores to weights in registers,
// and weights and values to its output.

#any4 = strided<[?, ?, ?, 1], offset: ?>
#any3 = strided<[?, ?, 1], offset: ?>
!tensor = memref<?x?x?x128xbf16, #any4>
!scores = tensor<64x128xf32, #sm.accumulator>
!positions = tensor<64x128xi32, #sm.accumulator>
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

      // Blocks that every query of this block sees whole.
      %full:3 = scf.for %j = %c0 to %full_end step %c1 iter_args(%o = %o0, %m = %m0, %l = %l0)
          -> (!output, !row, !sum) {
        %k = sm.wait %keys : !sm.ring<128x128xbf16, stages = 2>
        %s_flight = sm.mma %q from %first_row, %k {transpose_rhs}
          : !sm.shared<128x128xbf16>, !sm.shared<128x128xbf16> -> !sm.in_flight<!scores>
        %s0 = sm.await %s_flight : !sm.in_flight<!scores>
        sm.release %k : !sm.shared<128x128xbf16>
        %scales = sm.broadcast %scale : f32 -> !scores
        %s1 = arith.mulf %s0, %scales : !scores
        %p, %m1, %l1, %alpha = sm.softmax_step %s1, %m, %l : !scores
        %o1 = sm.rescale %o, %alpha : !output
        %p16 = sm.pack %p : !scores -> tensor<64x128xbf16, #sm.operand>
        %v = sm.wait %values : !sm.ring<128x128xbf16, stages = 2>
        %o_flight = sm.mma %p16, %v acc %o1
          : tensor<64x128xbf16, #sm.operand>, !sm.shared<128x128xbf16> -> !sm.in_flight<!output>
        %o2 = sm.await %o_flight : !sm.in_flight<!output>
        sm.release %v : !sm.shared<128x128xbf16>
        scf.yield %o2, %m1, %l1 : !output, !row, !sum
      }

      // Blocks with the diagonal or the end of the keys in them.
      %all:3 = scf.for %j = %full_end to %end step %c1
          iter_args(%o = %full#0, %m = %full#1, %l = %full#2) -> (!output, !row, !sum) {
        %k = sm.wait %keys : !sm.ring<128x128xbf16, stages = 2>
        %s_flight = sm.mma %q from %first_row, %k {transpose_rhs}
          : !sm.shared<128x128xbf16>, !sm.shared<128x128xbf16> -> !sm.in_flight<!scores>
        %s0 = sm.await %s_flight : !sm.in_flight<!scores>
        sm.release %k : !sm.shared<128x128xbf16>
        %scales = sm.broadcast %scale : f32 -> !scores
        %s1 = arith.mulf %s0, %scales : !scores
        %first_key = arith.muli %j, %c128 : index
        %q_at = sm.coord %first, dim = 0 : !positions
        %k_at = sm.coord %first_key, dim = 1 : !positions
        %kv_len_i32 = arith.index_cast %kv_len : index to i32
        %k_len = sm.broadcast %kv_len_i32 : i32 -> !positions
        %causal = arith.cmpi sle, %k_at, %q_at : !positions
        %inside = arith.cmpi slt, %k_at, %k_len : !positions
        %keep = arith.andi %causal, %inside : tensor<64x128xi1, #sm.accumulator>
        %s2 = arith.select %keep, %s1, %hidden : tensor<64x128xi1, #sm.accumulator>, !scores
        %p, %m1, %l1, %alpha = sm.softmax_step %s2, %m, %l : !scores
        %o1 = sm.rescale %o, %alpha : !output
        %p16 = sm.pack %p : !scores -> tensor<64x128xbf16, #sm.operand>
        %v = sm.wait %values : !sm.ring<128x128xbf16, stages = 2>
        %o_flight = sm.mma %p16, %v acc %o1
          : tensor<64x128xbf16, #sm.operand>, !sm.shared<128x128xbf16> -> !sm.in_flight<!output>
        %o2 = sm.await %o_flight : !sm.in_flight<!output>
        sm.release %v : !sm.shared<128x128xbf16>
        scf.yield %o2, %m1, %l1 : !output, !row, !sum
      }
      sm.release %q : !sm.shared<128x128xbf16>

      %o, %lse = sm.softmax_finalize %all#0, %all#1, %all#2 : !output
      %o16 = arith.truncf %o : !output to tensor<64x128xbf16, #sm.accumulator>
      sm.store %o16, %out[%b, %h, %first] : tensor<64x128xbf16, #sm.accumulator>, !tensor
      sm.store %lse, %lse_out[%b, %h, %first] : !row, memref<?x?x?xf32, #any3>
    }
  }
  return
}
