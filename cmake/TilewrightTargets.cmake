# How this project declares its libraries.

# tilewright_add_library(<name> <sources>... [LINK <targets>...])
# A static library that is included by paths from the repository root ("lib/Support/Format.h").
function(tilewright_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                            $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()
