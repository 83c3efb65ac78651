# The root of the tree that run.py makes: the library and the check, nothing else.
cmake_minimum_required(VERSION 3.25)
project(mollify_mutant VERSION 0.0.0 LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "${PROJECT_SOURCE_DIR}/cmake")
include(GNUInstallDirs)
include(warnings)
set(MOLLIFY_VULKAN OFF)  # the mistakes are in the CPU backend
add_subdirectory(src)
add_subdirectory(src/reference)
add_subdirectory(tests/cases)
add_executable(check tests/mutation/check.cpp)
target_link_libraries(check PRIVATE mollify_cases)
