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

# tilewright_add_shared_library(<name> OBJECTS <libraries>... [INTERFACE <libraries>...] [LINK <targets>...])
# A library for hosts, installed and exported: all of the static libraries `OBJECTS`, which hold the
# public interface, and what it needs of `LINK`. Hosts link the shared libraries `INTERFACE` with it.
# Only names in namespace tilewright are visible.
function(tilewright_add_shared_library name)
  cmake_parse_arguments(ARG "" "" "OBJECTS;INTERFACE;LINK" ${ARGN})
  list(TRANSFORM ARG_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH $ORIGIN # the runtime opens the compiler library beside it
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  target_link_options(${name} PRIVATE
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
  if(NOT TILEWRIGHT_SANITIZE) # whose names only the program defines
    target_link_options(${name} PRIVATE LINKER:--no-undefined)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_INTERFACE} PRIVATE ${ARG_LINK})
  target_compile_features(${name} INTERFACE cxx_std_20)
  install(TARGETS ${name} EXPORT Tilewright INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
