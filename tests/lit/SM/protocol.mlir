// One program that keeps the protocol, the same blocks split differently, and one edit for each rule.
// RUN: tilewright-opt %s -split-input-file -verify-diagnostics --sm-verify-protocol

// A producer with one loop and consumers who peel the first block and split the rest agree.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @right(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      %first = arith.addi %c0, %c1 : index
      %x = sm.wait %ring : !ring
      sm.release %x : !tile
      scf.for %j = %first to %m step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
      scf.for %j = %m to %n step %c1 {
        %k2 = sm.wait %ring : !ring
        %f2 = sm.mma %k2 from %c0, %k2 {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s2 = sm.await %f2 : !sm.in_flight<!acc>
        sm.release %k2 : !tile
      }
    }
  }
  return
}

// -----

// A stage is handed over once.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @committed_twice(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        // expected-error @+1 {{stage is committed 2 times, not once}}
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// ... and by whom it was taken, in the same block of code.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @released_elsewhere(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        scf.if %c {
          // expected-error @+1 {{stage is released in another block of code than it was taken in}}
          sm.release %k : !tile
        }
      }
    }
  }
  return
}

// -----

// A stage that nobody releases stalls the producer.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @not_released(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        // expected-error @+1 {{stage is released 0 times, not once}}
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
      }
    }
  }
  return
}

// -----

// A stage without a copy holds what was there before.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @not_filled(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        // expected-error @+1 {{stage is filled by 0 copies, not one}}
        %a = sm.acquire %ring : !ring
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// A copy after the commit may come too late.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @filled_late(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.commit %a : !tile
        // expected-error @+1 {{stage is filled after it was committed}}
        sm.copy %t[%j], %a : !tensor, !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// The tensor core still reads what is released.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @released_in_flight(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        // expected-error @+1 {{stage is released while a product that reads it is in flight}}
        sm.release %k : !tile
        %s = sm.await %f : !sm.in_flight<!acc>
      }
    }
  }
  return
}

// -----

// A stage is not read after its release.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @read_after_release(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        sm.release %k : !tile
        // expected-error @+1 {{product reads a stage that was released before}}
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
      }
    }
  }
  return
}

// -----

// One block more on one side: the other waits for ever.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @trip_counts(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    // expected-error @+1 {{consumers "math" and producer "loads" go round ring "keys" a different number of times}}
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %m step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// A path that skips a block.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @paths(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        sm.release %k : !tile
      }
      // expected-error @+1 {{one path moves in ring "keys" more often than another}}
      scf.if %c {
        %y = sm.wait %ring : !ring
        sm.release %y : !tile
      }
    }
  }
  return
}

// -----

// Trip counts are differences of bounds for loops that step by 1.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @steps(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      // expected-error @+1 {{loop moves in ring "keys" with a step that is not 1}}
      scf.for %j = %c0 to %n step %c2 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c2 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// A stage is empty when all readers have said so.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @arrivals(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    // expected-error @+1 {{ring "keys" waits for 8 warps to release a stage, but 4 do}}
    %ring = sm.create_ring "keys" arrivals = 8 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// Two producers would fill the same stages.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @two_producers(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    // expected-error @+1 {{ring "keys" has 2 producers; it takes one}}
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "more loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// A ring without readers fills up and stops.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @no_reader(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    // expected-error @+1 {{nobody reads ring "keys"}}
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      %z = arith.constant 0 : index
    }
  }
  return
}

// -----

// A product is awaited.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @not_awaited(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        // expected-error @+1 {{product is awaited 0 times, not once}}
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %g = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %g : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// Registers in flight belong to the tensor core.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @touched(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %z = arith.constant dense<0.0> : !acc
        %p = sm.pack %z : !acc -> tensor<64x64xbf16, #sm.operand>
        %f = sm.mma %p, %k acc %z : tensor<64x64xbf16, #sm.operand>, !tile -> !sm.in_flight<!acc>
        // expected-error @+1 {{touches an operand of a product in flight}}
        %q = arith.addf %z, %z : !acc
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// All 128 threads of a warpgroup start a product, or none.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @conditional(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        scf.if %c {
          // expected-error @+1 {{product is under a condition}}
          %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
          %s = sm.await %f : !sm.in_flight<!acc>
        }
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// What setmaxnreg takes.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @register_steps(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    // expected-error @+1 {{role "loads" asks for 20 registers a thread; the choice is 24 to 256 in steps of 8}}
    sm.producer "loads" registers = 20 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// The sum of all budgets is what the launch allocated.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @register_sum(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{roles ask for 66560 registers, a launch of 384 threads has 64512}}
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 8 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 2 registers = 248 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// A block has at most 1024 threads.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @threads(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{has 1152 threads, a block takes 1024}}
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 32 : !ring
    sm.consumers "idle" warpgroups = 1 registers = 24 (%w) {
    }
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 7 registers = 24 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// Producers share a warpgroup.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @shared_budget(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "other" registers = 24 {
    }
    // expected-error @+1 {{producers share a warpgroup and its registers, but "loads" asks for 32 and "other" for 24}}
    sm.producer "loads" registers = 32 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// ... which has four warps.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @five_producers(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{has 5 producers; a warpgroup has 4 warps}}
  sm.grid (%i) in (%n) {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "p0" registers = 24 {
    }
    sm.producer "p1" registers = 24 {
    }
    sm.producer "p2" registers = 24 {
    }
    sm.producer "p3" registers = 24 {
    }
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}

// -----

// Shared memory of a block.
!tensor = memref<?x64xbf16, strided<[?, 1], offset: ?>>
!ring = !sm.ring<64x64xbf16, stages = 2>
!tile = !sm.shared<64x64xbf16>
!acc = tensor<64x64xf32, #sm.accumulator>
func.func @shared_memory(%t: !tensor, %n: index, %m: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{needs 240000 bytes of shared memory, a block has 232448}}
  sm.grid (%i) in (%n) shared_memory = 240000 {
    %ring = sm.create_ring "keys" arrivals = 4 : !ring
    sm.producer "loads" registers = 24 {
      scf.for %j = %c0 to %n step %c1 {
        %a = sm.acquire %ring : !ring
        sm.copy %t[%j], %a : !tensor, !tile
        sm.commit %a : !tile
      }
    }
    sm.consumers "math" warpgroups = 1 registers = 240 (%w) {
      scf.for %j = %c0 to %n step %c1 {
        %k = sm.wait %ring : !ring
        %f = sm.mma %k from %c0, %k {transpose_rhs} : !tile, !tile -> !sm.in_flight<!acc>
        %s = sm.await %f : !sm.in_flight<!acc>
        sm.release %k : !tile
      }
    }
  }
  return
}
