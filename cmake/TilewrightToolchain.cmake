# Compiler and linker settings that hold for every target.

if(TILEWRIGHT_CCACHE)
  find_program(TILEWRIGHT_CCACHE_PROGRAM ccache)
  mark_as_advanced(TILEWRIGHT_CCACHE_PROGRAM)
  if(TILEWRIGHT_CCACHE_PROGRAM)
    # A precompiled header carries time stamps and its own macros; without these two ccache never hits.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${TILEWRIGHT_CCACHE_PROGRAM})
  endif()
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -fvisibility=hidden)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp") # so that ccache finds the header again
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 is wrong about std::string (its bug 105651) and std::optional.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
endif()
if(TILEWRIGHT_WARNINGS_AS_ERRORS)
  add_compile_options(-Werror)
endif()
if(TILEWRIGHT_SANITIZE)
  add_compile_options(-fsanitize=${TILEWRIGHT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TILEWRIGHT_SANITIZE})
endif()
