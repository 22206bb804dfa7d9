# Where `cmake --install` puts things, and how another project finds them:
#
#   find_package(Tilewright CONFIG REQUIRED)
#   target_link_libraries(app PRIVATE Tilewright::tilewright)   # or Tilewright::runtime, no compiler

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Programs find our libraries beside them, and LLVM's where they were linked.
file(RELATIVE_PATH from_programs ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CMAKE_INSTALL_RPATH $ORIGIN $ORIGIN/${from_programs})
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tilewright)
install(EXPORT Tilewright NAMESPACE Tilewright:: DESTINATION ${package_dir} FILE TilewrightConfig.cmake)
write_basic_package_version_file(TilewrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake DESTINATION ${package_dir})
