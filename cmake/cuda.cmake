# What compiles the CUDA kernels and embeds them in the library.

# scripts/install-deps --cuda puts a compiler of this version there; another nvcc is taken where it is named or found.
find_program(MOLLIFY_NVCC nvcc PATHS "${PROJECT_SOURCE_DIR}/build/cuda-compiler/cu13/bin" NO_DEFAULT_PATH
  DOC "NVIDIA's compiler of CUDA kernels")
find_program(MOLLIFY_NVCC nvcc HINTS /usr/local/cuda/bin)
if(NOT MOLLIFY_NVCC)
  message(FATAL_ERROR "There is no nvcc: scripts/install-deps --cuda installs it. Without the CUDA backend it is not needed: -DMOLLIFY_CUDA=OFF")
endif()
cmake_path(GET MOLLIFY_NVCC PARENT_PATH mollify_cuda_root)
cmake_path(GET mollify_cuda_root PARENT_PATH mollify_cuda_root)
find_path(MOLLIFY_CUDA_HEADERS cuda.h HINTS "${mollify_cuda_root}/include" "${mollify_cuda_root}/targets/x86_64-linux/include"
  NO_DEFAULT_PATH REQUIRED DOC "The folder of the driver's header, cuda.h")
set(mollify_cuda_usual_architectures 75 80 90 100 120 75-virtual)
set(MOLLIFY_CUDA_ARCHITECTURES "${mollify_cuda_usual_architectures}" CACHE STRING
  "GPUs that kernels are compiled for; NN-virtual is code that drivers compile for later ones")

# Compiling takes minutes. Whoever builds the library more than once, as scripts/wheels does, may let the first build's kernels do for all.
set(MOLLIFY_CUDA_ARCHIVE "" CACHE PATH "Folder with the fat binaries of another build of these sources for the same GPUs, to use instead of compiling kernels")
mark_as_advanced(MOLLIFY_CUDA_ARCHIVE)

# mollify_compile_cuda_kernels(source.cu binary codes): a fat binary for the GPUs that nvcc's options `codes` say.
function(mollify_compile_cuda_kernels source binary codes)
  cmake_path(GET source STEM stem)
  add_custom_command(OUTPUT "${binary}" BYPRODUCTS "${binary}.resources"
    COMMAND "${CMAKE_COMMAND}" "-DBINARY=${binary}" "-DREPORT=${binary}.resources" -P "${PROJECT_SOURCE_DIR}/cmake/cuda_compile.cmake" --
      "${MOLLIFY_NVCC}" -std=c++20 -O3 --compress-mode=size -fatbin ${codes}
      -I "${PROJECT_SOURCE_DIR}/src" -MD -MF "${binary}.d" -MT "${binary}" -o "${binary}" "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" "${PROJECT_SOURCE_DIR}/cmake/cuda_compile.cmake" DEPFILE "${binary}.d"
    COMMENT "Compiling CUDA kernels ${stem}" VERBATIM)
endfunction()

# mollify_cuda_kernels(target source.cu...): a fat binary of each source, and the table that finds them, backends/cuda/modules.h.
function(mollify_cuda_kernels target)
  set(codes "")
  set(machine "")
  set(driver "")
  foreach(architecture IN LISTS MOLLIFY_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(architecture MATCHES "-virtual$")
      string(APPEND driver "${number}, ")
      list(APPEND codes -gencode "arch=compute_${number},code=compute_${number}")
    else()
      string(APPEND machine "${number}, ")
      list(APPEND codes -gencode "arch=compute_${number},code=sm_${number}")
    endif()
  endforeach()
  set(texts "")
  set(declarations "")
  set(rows "")
  set(binaries "")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM stem)
    set(binary "${CMAKE_CURRENT_BINARY_DIR}/${stem}.fatbin")
    if(MOLLIFY_CUDA_ARCHIVE)
      set(binary "${MOLLIFY_CUDA_ARCHIVE}/${stem}.fatbin")
      if(NOT EXISTS "${binary}")
        message(FATAL_ERROR "MOLLIFY_CUDA_ARCHIVE lacks ${stem}.fatbin; it was made from other sources than these")
      endif()
    else()
      mollify_compile_cuda_kernels("${source}" "${binary}" "${codes}")
    endif()
    list(APPEND binaries "${binary}")
    string(APPEND texts "MOLLIFY_EMBED(mollify_cuda_${stem}, \"${binary}\");\n")
    string(APPEND declarations "extern const unsigned char mollify_cuda_${stem}[];\n")
    string(APPEND rows "    ModuleImage{\"${stem}\", mollify_cuda_${stem}},\n")
  endforeach()
  # What an earlier build left of sources that are gone would be counted with the kernels of this one.
  if(NOT MOLLIFY_CUDA_ARCHIVE)
    file(GLOB left LIST_DIRECTORIES OFF "${CMAKE_CURRENT_BINARY_DIR}/*.fatbin*")
    foreach(file IN LISTS left)
      cmake_path(GET file STEM stem)
      if(NOT "${CMAKE_CURRENT_BINARY_DIR}/${stem}.fatbin" IN_LIST binaries)
        file(REMOVE "${file}")
      endif()
    endforeach()
  endif()
  list(LENGTH ARGN count)
  set(table "${CMAKE_CURRENT_BINARY_DIR}/modules.cpp")
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT [[
#include "backends/cuda/modules.h"

#include <array>
#include <initializer_list>

#define MOLLIFY_EMBED(name, path)                                             \
  __asm__(".section .rodata\n.balign 64\n.global " #name "\n.hidden " #name "\n" \
          #name ":\n.incbin \"" path "\"\n.previous\n")
@texts@
extern "C" {
@declarations@}

namespace mollify::cuda {

ModuleTargets module_targets() {
  static constexpr std::initializer_list<std::int32_t> kMachine = {@machine@}, kDriver = {@driver@};
  return {{kMachine.begin(), kMachine.size()}, {kDriver.begin(), kDriver.size()}};
}

std::span<const ModuleImage> module_images() {
  static constexpr std::array<ModuleImage, @count@> kImages = {
@rows@  };
  return kImages;
}

}  // namespace mollify::cuda
]])
  set_source_files_properties("${table}" TARGET_DIRECTORY ${target} PROPERTIES
    OBJECT_DEPENDS "${binaries}" SKIP_UNITY_BUILD_INCLUSION ON)  # else nothing would tell that what it embeds has changed
  set(total "${CMAKE_CURRENT_BINARY_DIR}/fatbins.bytes")
  # A library that is to be downloaded must not grow unseen. Who asks for other GPUs decides for themselves.
  set(most_bytes "")
  if(MOLLIFY_CUDA_ARCHITECTURES STREQUAL mollify_cuda_usual_architectures)
    set(most_bytes 12000000)
  endif()
  add_custom_command(OUTPUT "${total}" DEPENDS ${binaries} "${PROJECT_SOURCE_DIR}/cmake/cuda_total.cmake"
    COMMAND "${CMAKE_COMMAND}" "-DTOTAL=${total}" "-DMOST_BYTES=${most_bytes}" -P "${PROJECT_SOURCE_DIR}/cmake/cuda_total.cmake" -- ${binaries}
    COMMENT "Adding up the bytes of CUDA kernels" VERBATIM)
  add_custom_target(${target}_cuda_kernels DEPENDS ${binaries} "${total}")
  add_dependencies(${target} ${target}_cuda_kernels)
  target_sources(${target} PRIVATE "${table}")
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
