# How libraries that see MLIR are declared, and its TableGen run.

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
option(MLIR_LINK_MLIR_DYLIB "" ON) # MLIRConfig does not say it; without it AddMLIR links archives.
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# One precompiled header for every file that sees MLIR: its headers are most of the build's time.
if(TILEWRIGHT_PRECOMPILED_HEADERS)
  file(WRITE ${CMAKE_BINARY_DIR}/tilewright_pch.cpp "")
  add_library(tilewright_pch STATIC ${CMAKE_BINARY_DIR}/tilewright_pch.cpp)
  target_link_libraries(tilewright_pch PRIVATE tilewright_llvm)
  target_include_directories(tilewright_pch PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_precompile_headers(tilewright_pch PRIVATE
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/Dialect/Math/IR/Math.h>
    <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <mlir/Pass/PassManager.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h>
    <mlir/Bytecode/BytecodeOpInterface.h> <llvm/ADT/TypeSwitch.h>)
endif()

# tilewright_add_mlir_library(<name> <sources>... [LINK <targets>...])
function(tilewright_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  tilewright_add_library(${name} ${ARG_UNPARSED_ARGUMENTS} LINK ${ARG_LINK} tilewright_llvm)
  if(TILEWRIGHT_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM tilewright_pch)
  endif()
endfunction()

# tilewright_add_tablegen(<target> <file.td> <output> <mlir-tblgen arguments>)...
# Runs mlir-tblgen on a .td file of the current folder; outputs land beside it in the build tree.
function(tilewright_add_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(arguments ${ARGN})
  while(arguments)
    list(POP_FRONT arguments output options)
    separate_arguments(options)
    mlir_tablegen(${output} ${options} -I${CMAKE_SOURCE_DIR} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()
