# `cmake --install` gives headers, library and what find_package(mollify) and pkg-config need to find them.
include(CMakePackageConfigHelpers)

option(MOLLIFY_INSTALL "Install the library with the rest of the project" ${PROJECT_IS_TOP_LEVEL})
if(NOT MOLLIFY_INSTALL)
  return()
endif()

set(mollify_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mollify")

install(TARGETS mollify EXPORT mollifyTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# Without the backend the library has nothing of what its header declares.
set(mollify_not_installed PATTERN nothing EXCLUDE)
if(NOT MOLLIFY_VULKAN)
  list(APPEND mollify_not_installed PATTERN vulkan.h EXCLUDE)
endif()
if(NOT MOLLIFY_CUDA)
  list(APPEND mollify_not_installed PATTERN cuda.h EXCLUDE)
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/mollify" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  ${mollify_not_installed})
install(EXPORT mollifyTargets NAMESPACE mollify:: DESTINATION "${mollify_package_dir}")

# Whoever links the static library links what it needs, too; the shared one has that linked in already.
get_target_property(mollify_type mollify TYPE)
set(mollify_is_static OFF)
if(mollify_type STREQUAL "STATIC_LIBRARY")
  set(mollify_is_static ON)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/mollifyConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/mollifyConfig.cmake" INSTALL_DESTINATION "${mollify_package_dir}")
# Before 1.0 a minor version may break its callers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mollifyConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mollifyConfig.cmake" "${PROJECT_BINARY_DIR}/mollifyConfigVersion.cmake"
  DESTINATION "${mollify_package_dir}")

set(mollify_pc_requires "")
set(mollify_pc_libs "")
if(mollify_is_static)
  set(mollify_pc_requires "libhwy tbb")
  if(MOLLIFY_VULKAN)
    list(TRANSFORM CMAKE_DL_LIBS PREPEND " -l" OUTPUT_VARIABLE mollify_pc_libs)
  endif()
endif()
# The prefix is found from the place of the .pc file, so that an install tree can be moved.
set(mollify_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH mollify_pc_to_prefix "/prefix/${mollify_pc_dir}" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/cmake/mollify.pc.in" "${PROJECT_BINARY_DIR}/mollify.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mollify.pc" DESTINATION "${mollify_pc_dir}")
