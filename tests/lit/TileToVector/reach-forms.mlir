// Which comparisons say what the first key is that a query of a group may see, or the last one.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[Q0:[a-z0-9]*]]: index, %[[K0:[a-z0-9]*]]: index, %[[N:[a-z0-9]*]]: i32

// The key is after q - n: of the 24 queries the last one's limit is computed, in 32 bits as the
// program does, and the first one's is 23 less.
// RUN: sed 's/VISIBLE/sgt, %%keys, %%below/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AFTER,FROM
// RUN: sed 's/VISIBLE/slt, %%below, %%keys/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AFTER,FROM
// AFTER: %[[END:.*]] = arith.addi %[[Q0]], %c23 : index
// AFTER: %[[LAST:.*]] = arith.index_cast %[[END]] : index to i32
// AFTER: %[[LIMIT32:.*]] = arith.subi %[[LAST]], %[[N]] : i32
// AFTER: %[[LIMIT:.*]] = arith.index_cast %[[LIMIT32]] : i32 to index
// AFTER: %[[LEAST:.*]] = arith.addi %[[LIMIT]], %c-23 : index
// AFTER: %[[BEFORE:.*]] = arith.subi %[[LEAST]], %[[K0]] : index
// AFTER: %[[COLUMN:.*]] = arith.addi %[[BEFORE]], %c1 : index

// From q - n + 1 on, a sum of two.
// RUN: sed 's/VISIBLE/sge, %%keys, %%below_by_one/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SUM,FROM
// SUM: %[[BELOW:.*]] = arith.subi %{{.*}}, %[[N]] : i32
// SUM: %[[LIMIT32:.*]] = arith.addi %[[BELOW]], %c1_i32 : i32
// SUM: %[[LIMIT:.*]] = arith.index_cast %[[LIMIT32]] : i32 to index
// SUM: %[[LEAST:.*]] = arith.addi %[[LIMIT]], %c-23 : index
// SUM: %[[COLUMN:.*]] = arith.subi %[[LEAST]], %[[K0]] : index

// A number beside the key is taken from the limit as an index.
// RUN: sed 's/VISIBLE/slt, %%behind, %%numbers/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DIFFERENCE,FROM
// RUN: sed 's/VISIBLE/sgt, %%numbers, %%behind/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DIFFERENCE,FROM
// RUN: sed 's/VISIBLE/slt, %%queries, %%later/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DIFFERENCE,FROM
// RUN: sed 's/VISIBLE/sgt, %%later, %%queries/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,DIFFERENCE,FROM
// DIFFERENCE: %[[NUMBER:.*]] = arith.index_cast %[[N]] : i32 to index
// DIFFERENCE: %[[SHIFTED:.*]] = arith.subi %[[Q0]], %[[NUMBER]] : index
// DIFFERENCE: %[[BEFORE:.*]] = arith.subi %[[SHIFTED]], %[[K0]] : index
// DIFFERENCE: %[[COLUMN:.*]] = arith.addi %[[BEFORE]], %c1 : index

// RUN: sed 's/VISIBLE/sle, %%queries, %%earlier/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,EARLIER,FROM
// EARLIER: %[[NUMBER:.*]] = arith.index_cast %[[N]] : i32 to index
// EARLIER: %[[SHIFTED:.*]] = arith.addi %[[Q0]], %[[NUMBER]] : index
// EARLIER: %[[COLUMN:.*]] = arith.subi %[[SHIFTED]], %[[K0]] : index

// A shifted query minus the key, as where the last query is at the last key.
// RUN: sed 's/VISIBLE/sle, %%far_behind, %%ones/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MOVED,FROM
// MOVED: %[[LIMIT32:.*]] = arith.addi %{{.*}}, %[[N]] : i32
// MOVED: %[[LIMIT:.*]] = arith.index_cast %[[LIMIT32]] : i32 to index
// MOVED: %[[ABOVE:.*]] = arith.addi %[[LIMIT]], %c-24 : index
// MOVED: %[[COLUMN:.*]] = arith.subi %[[ABOVE]], %[[K0]] : index

// RUN: sed 's/VISIBLE/sge, %%keys, %%numbers/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,CONSTANT,FROM
// CONSTANT: %[[LIMIT:.*]] = arith.index_cast %[[N]] : i32 to index
// CONSTANT: %[[COLUMN:.*]] = arith.subi %[[LIMIT]], %[[K0]] : index

// Then neither product nor weights begin before.
// FROM: %[[BEGIN:.*]] = arith.maxsi %[[COLUMN]], %c0 : index
// FROM: %[[COUNT:.*]] = arith.minsi %{{.*}}, %c48 : index
// FROM: %[[FIRST:.*]] = arith.minsi %[[BEGIN]], %[[COUNT]] : index
// FROM: %[[LENGTH:.*]] = arith.subi %[[COUNT]], %[[FIRST]] : index
// FROM: %[[REST:.*]] = arith.remui %[[LENGTH]], %c4 : index
// FROM: %[[MAIN:.*]] = arith.subi %[[COUNT]], %[[REST]] : index
// FROM: scf.for %{{.*}} = %[[FIRST]] to %[[MAIN]] step %c4
// FROM: scf.for %{{.*}} = %[[MAIN]] to %[[COUNT]] step %c1
// FROM: scf.for %{{.*}} = %[[COUNT]] to %c48 step %c1
// FROM-COUNT-3: scf.for %{{.*}} = %[[BEGIN]] to %c48 step %c1

// A window after the query: where keys end.
// RUN: sed 's/VISIBLE/sle, %%ahead, %%numbers/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,AHEAD
// AHEAD: %[[LAST:.*]] = arith.addi %[[Q0]], %c23 : index
// AHEAD: %[[NUMBER:.*]] = arith.index_cast %[[N]] : i32 to index
// AHEAD: %[[SHIFTED:.*]] = arith.addi %[[LAST]], %[[NUMBER]] : index
// AHEAD: %[[DISTANCE:.*]] = arith.subi %[[SHIFTED]], %[[K0]] : index
// AHEAD: %[[COLUMN:.*]] = arith.addi %[[DISTANCE]], %c1 : index
// AHEAD: %[[MOST:.*]] = arith.minsi %[[COLUMN]], %c48 : index
// AHEAD: %[[END:.*]] = arith.maxsi %[[MOST]], %c0 : index
// AHEAD-COUNT-3: scf.for %{{.*}} = %c0 to %[[END]] step %c1

// What says nothing, might wrap, or is not read: all keys are computed.
// RUN: sed 's/VISIBLE/sgt, %%behind, %%numbers/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/slt, %%far_ahead, %%numbers/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/slt, %%earlier, %%queries/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/ugt, %%keys, %%below/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/eq, %%keys, %%below/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/sgt, %%keys, %%twice/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: sed 's/VISIBLE/slt, %%behind, %%queries/' %s | tilewright-opt --convert-tile-to-vector --canonicalize --cse \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ALL
// ALL: scf.for %{{.*}} to %{{.*}} step %c1
// ALL: scf.for %{{.*}} = %{{.*}} to %c48 step %c1
// ALL-COUNT-3: scf.for %{{.*}} = %c0 to %c48 step %c1

func.func @step(%query: memref<?x16xf32>, %key: memref<?x16xf32>, %sums: memref<?xf32>, %q0: index,
                %k0: index, %number: i32) {
  %none = arith.constant dense<0xFF800000> : tensor<24x48xf32>
  %ones = arith.constant dense<1> : tensor<24x48xi32>
  scf.forall (%i) in (1) {
    %q = tile.load %query[%q0] : memref<?x16xf32> -> tensor<24x16xf32>
    %k = tile.load %key[%k0] : memref<?x16xf32> -> tensor<48x16xf32>
    %products = tile.mma %q, %k {transpose_rhs}
      : tensor<24x16xf32>, tensor<48x16xf32> -> tensor<24x48xf32>
    %queries = tile.coord %q0, dim = 0 : tensor<24x48xi32>
    %keys = tile.coord %k0, dim = 1 : tensor<24x48xi32>
    %numbers = tile.broadcast %number : i32 -> tensor<24x48xi32>
    %below = arith.subi %queries, %numbers : tensor<24x48xi32>
    %below_by_one = arith.addi %below, %ones : tensor<24x48xi32>
    %above = arith.addi %numbers, %queries : tensor<24x48xi32>
    %twice = arith.addi %queries, %queries : tensor<24x48xi32>
    %behind = arith.subi %queries, %keys : tensor<24x48xi32>
    %far_behind = arith.subi %above, %keys : tensor<24x48xi32>
    %ahead = arith.subi %keys, %queries : tensor<24x48xi32>
    %far_ahead = arith.subi %keys, %above : tensor<24x48xi32>
    %later = arith.addi %numbers, %keys : tensor<24x48xi32>
    %earlier = arith.subi %keys, %numbers : tensor<24x48xi32>
    %visible = arith.cmpi VISIBLE : tensor<24x48xi32>
    %scores = arith.select %visible, %products, %none : tensor<24x48xi1>, tensor<24x48xf32>
    %m0, %l0 = tile.softmax_init : tensor<24xf32>
    %p, %m, %l, %alpha = tile.softmax_step %scores, %m0, %l0 : tensor<24x48xf32>
    tile.store %l, %sums[%q0] : tensor<24xf32>, memref<?xf32>
  }
  return
}
