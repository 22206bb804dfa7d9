# How LLVM, MLIR and fmt are linked: the one place that knows whether from archives or shared.
#
#   tilewright_llvm   LLVM and MLIR, for those who may include them
#   tilewright_fmt    fmt
#
# From archives, programs and libtilewright.so run on machines without LLVM and beside a host's own.
# Shared, programs are small, and any linker is quick.
option(TILEWRIGHT_STATIC_DEPENDENCIES "Link LLVM, MLIR and fmt into our programs and libraries" OFF)

find_package(fmt REQUIRED)
find_package(Threads REQUIRED)
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)

add_library(tilewright_fmt INTERFACE)
add_library(tilewright_llvm INTERFACE)
target_include_directories(tilewright_llvm SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(tilewright_llvm INTERFACE ${definitions})
target_compile_options(tilewright_llvm INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)

if(TILEWRIGHT_STATIC_DEPENDENCIES)
  target_link_libraries(tilewright_fmt INTERFACE fmt::fmt-header-only) # Debian has no archive of it

  execute_process(COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-config --link-static --libfiles
                          nvptx x86 aarch64 orcjit passes perfjitevents option supportlsp
                  OUTPUT_VARIABLE archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE " " ";" archives "${archives}")
  get_property(mlir GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(target IN LISTS mlir)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND archives $<TARGET_FILE:${target}>) # by file: these targets name the shared LLVM
    endif()
  endforeach()
  foreach(name z zstd)
    find_library(TILEWRIGHT_ARCHIVE_${name} NAMES lib${name}.a REQUIRED)
    mark_as_advanced(TILEWRIGHT_ARCHIVE_${name})
    list(APPEND archives ${TILEWRIGHT_ARCHIVE_${name}})
  endforeach()
  list(JOIN archives "," archives)
  target_link_libraries(tilewright_llvm INTERFACE "$<LINK_GROUP:RESCAN,${archives}>")
  # Most of LLVM is not reached.
  target_link_options(tilewright_llvm INTERFACE LINKER:--gc-sections)
else()
  target_link_libraries(tilewright_fmt INTERFACE fmt::fmt)
  # LLVM's option parser is not part of libLLVM.so.
  target_link_libraries(tilewright_llvm INTERFACE $<TARGET_FILE:LLVMOption> MLIR LLVM)
endif()
