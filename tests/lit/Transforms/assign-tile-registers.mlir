// RUN: tilewright-opt %s --assign-tile-registers | FileCheck %s
// RUN: tilewright-opt %s --assign-tile-registers \
// RUN:   --remarks-filter-missed=assign-tile-registers -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Each tile gets the register that has been free longest: the second product's operands do not get back the
// registers that the first one reads. Its left operands are loaded with the hint. The unit is set up at the
// function's start and given back at its end.

// CHECK-LABEL: llvm.func @products
// CHECK: "llvm.x86.ldtilecfg"
// CHECK: %[[SUM:.*]] = llvm.mlir.constant(0 : i8)
// CHECK-NEXT: "llvm.x86.tilezero"(%[[SUM]])
// CHECK: %[[LEFT:.*]] = llvm.mlir.constant(1 : i8)
// CHECK-NEXT: "llvm.x86.tileloaddt164"(%[[LEFT]],
// CHECK: %[[RIGHT:.*]] = llvm.mlir.constant(2 : i8)
// CHECK-NEXT: "llvm.x86.tileloadd64"(%[[RIGHT]],
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: llvm.mlir.constant(3 : i8)
// CHECK-NEXT: "llvm.x86.tileloaddt164"
// CHECK: llvm.mlir.constant(4 : i8)
// CHECK-NEXT: "llvm.x86.tileloadd64"
// CHECK: "llvm.x86.tdpbf16ps"
// CHECK: llvm.mlir.constant(0 : i8)
// CHECK-NEXT: "llvm.x86.tilestored64"
// CHECK: "llvm.x86.tilerelease"
// CHECK-NEXT: llvm.return
llvm.func @products(%p: !llvm.ptr, %stride: i64) {
  %rows = llvm.mlir.constant(16 : i16) : i16
  %bytes = llvm.mlir.constant(64 : i16) : i16
  %sum = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%rows, %bytes) : (i16, i16) -> !llvm.x86_amx
  %a = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %b = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %first = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%rows, %bytes, %bytes, %sum, %a, %b) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
  %c = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %d = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %second = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%rows, %bytes, %bytes, %first, %c, %d) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %second) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.return
}

// What it does not take stays as it is.

// CHECK-LABEL: llvm.func @nine
// CHECK-NOT: ldtilecfg
// CHECK-COUNT-9: "llvm.x86.tileloadd64.internal"
// REMARK: more than 8 tiles are live
llvm.func @nine(%p: !llvm.ptr, %stride: i64) {
  %rows = llvm.mlir.constant(16 : i16) : i16
  %bytes = llvm.mlir.constant(64 : i16) : i16
  %t0 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t1 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t2 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t3 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t4 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t5 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t6 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t7 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %t8 = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t0) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t1) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t2) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t3) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t4) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t5) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t6) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t7) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t8) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @across
// CHECK: "llvm.x86.tileloadd64.internal"
// REMARK: a tile is used in another block of code than its own
llvm.func @across(%p: !llvm.ptr, %stride: i64) {
  %rows = llvm.mlir.constant(16 : i16) : i16
  %bytes = llvm.mlir.constant(64 : i16) : i16
  %t = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  llvm.br ^next
^next:
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @short
// CHECK: "llvm.x86.tileloadd64.internal"
// REMARK: tiles are not all of 16 x 16 f32 or 16 x 32 bf16
llvm.func @short(%p: !llvm.ptr, %stride: i64) {
  %rows = llvm.mlir.constant(8 : i16) : i16
  %bytes = llvm.mlir.constant(64 : i16) : i16
  %t = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %t) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @read_twice
// CHECK: "llvm.x86.tdpbf16ps.internal"
// REMARK: a sum is read after a product has been added to it
llvm.func @read_twice(%p: !llvm.ptr, %stride: i64) {
  %rows = llvm.mlir.constant(16 : i16) : i16
  %bytes = llvm.mlir.constant(64 : i16) : i16
  %sum = llvm.call_intrinsic "llvm.x86.tilezero.internal"(%rows, %bytes) : (i16, i16) -> !llvm.x86_amx
  %a = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %b = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"(%rows, %bytes, %p, %stride) : (i16, i16, !llvm.ptr, i64) -> !llvm.x86_amx
  %first = llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%rows, %bytes, %bytes, %sum, %a, %b) : (i16, i16, i16, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) -> !llvm.x86_amx
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %sum) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.call_intrinsic "llvm.x86.tilestored64.internal"(%rows, %bytes, %p, %stride, %first) : (i16, i16, !llvm.ptr, i64, !llvm.x86_amx) -> ()
  llvm.return
}
