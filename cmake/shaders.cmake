# mollify_shaders(name.comp...): notes compute shaders of the calling directory for mollify_add_shaders().
# mollify_shader_structs(name.comp...): the same of shaders that the build leaves out, but for the structs of what algorithms tell them.
# mollify_add_shaders(target): compiles the shaders that were noted into C++ sources of the target, one for each shader, and adds one
# that lists them all. Each has a header, NAME_arguments.h, with a struct of what algorithms tell the shader. The target must be of the
# calling directory.
#
# A release archive needs no shader compiler. It is packed with the folder that
#   cmake --build --preset release --target shader_archive
# leaves at build/release/shaders, and whoever builds it says -DMOLLIFY_SHADER_ARCHIVE=<that folder>.
set(MOLLIFY_SHADER_ARCHIVE "" CACHE PATH "Folder with compiled shaders to use instead of compiling them")
mark_as_advanced(MOLLIFY_SHADER_ARCHIVE)

function(mollify_find_shader_tool variable program package)
  find_program(${variable} ${program})
  if(NOT ${variable})
    message(FATAL_ERROR "${program}, which compiles the shaders, is missing: scripts/install-deps installs it "
      "(Debian package ${package}). Without a Vulkan backend it is not needed: -DMOLLIFY_VULKAN=OFF. Compiled shaders can be "
      "given instead: -DMOLLIFY_SHADER_ARCHIVE=<folder>")
  endif()
  mark_as_advanced(${variable})
endfunction()

function(mollify_shaders)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE shaders)
  set_property(GLOBAL APPEND PROPERTY MOLLIFY_SHADERS ${shaders})
endfunction()

function(mollify_shader_structs)
  list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE shaders)
  set_property(GLOBAL APPEND PROPERTY MOLLIFY_SHADERS_LEFT_OUT ${shaders})
endfunction()

# Writes a C++ source with the list of all shaders, mollify::vulkan::shaders(), sorted by name.
function(mollify_write_shader_table source shaders)
  list(LENGTH shaders count)
  list(SORT shaders COMPARE FILE_BASENAME)
  set(declarations "")
  set(rows "")
  foreach(shader IN LISTS shaders)
    cmake_path(GET shader STEM stem)
    string(APPEND declarations "extern const Shader kShader_${stem};\n")
    string(APPEND rows "    &kShader_${stem},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <array>

#include "backends/vulkan/shader.h"

namespace mollify::vulkan {

@declarations@
std::span<const Shader* const> shaders() {
  static constexpr std::array<const Shader*, @count@> kShaders = {
@rows@  };
  return kShaders;
}

}  // namespace mollify::vulkan
]])
endfunction()

function(mollify_add_shaders target)
  get_property(shaders GLOBAL PROPERTY MOLLIFY_SHADERS)
  get_property(left_out GLOBAL PROPERTY MOLLIFY_SHADERS_LEFT_OUT)
  if(MOLLIFY_SHADER_ARCHIVE)
    set(output_folder "${MOLLIFY_SHADER_ARCHIVE}")
  else()
    set(output_folder "${CMAKE_CURRENT_BINARY_DIR}/compiled_shaders")
  endif()
  set(sources "")
  set(headers "")
  foreach(shader IN LISTS shaders left_out)
    cmake_path(GET shader STEM stem)
    list(APPEND sources "${output_folder}/${stem}.cpp")
    list(APPEND headers "${output_folder}/${stem}_arguments.h")
    if(shader IN_LIST left_out)
      set_source_files_properties("${output_folder}/${stem}.cpp" PROPERTIES HEADER_FILE_ONLY ON)
    endif()
  endforeach()
  set(table "${CMAKE_CURRENT_BINARY_DIR}/shader_table.cpp")
  mollify_write_shader_table("${table}" "${shaders}")
  target_sources(${target} PRIVATE "${table}" ${sources})
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # arrays have the same names in all of them
  target_include_directories(${target} PRIVATE "${output_folder}")

  if(MOLLIFY_SHADER_ARCHIVE)
    foreach(source IN LISTS sources headers)
      if(NOT EXISTS "${source}")
        message(FATAL_ERROR "MOLLIFY_SHADER_ARCHIVE lacks ${source}; it was made from other sources than these")
      endif()
    endforeach()
    return()
  endif()

  mollify_find_shader_tool(MOLLIFY_GLSLC glslc glslc)
  mollify_find_shader_tool(MOLLIFY_SPIRV_VAL spirv-val spirv-tools)
  # The same one as for the tests, which prefer Debian's own.
  find_program(MOLLIFY_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  mollify_find_shader_tool(MOLLIFY_PYTHON python3 python3)

  set(folder "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../shaders")
  cmake_path(NORMAL_PATH folder)
  file(MAKE_DIRECTORY "${output_folder}")
  set(compile "${MOLLIFY_PYTHON}" "${folder}/compile.py")

  foreach(shader IN LISTS shaders left_out)
    cmake_path(GET shader STEM stem)
    set(output "${output_folder}/${stem}")
    add_custom_command(OUTPUT "${output}.cpp"
      BYPRODUCTS "${output}_arguments.h"
      COMMAND ${compile} "${shader}" --include "${folder}/lib" --output "${output}.cpp" --header "${output}_arguments.h"
        --depfile "${output}.d" --glslc "${MOLLIFY_GLSLC}" --spirv-val "${MOLLIFY_SPIRV_VAL}"
      DEPENDS "${shader}" "${folder}/compile.py" "${folder}/matrices.py" "${folder}/spirv.py"
      DEPFILE "${output}.d"
      COMMENT "Compiling shader ${stem}" VERBATIM)
  endforeach()

  if(PROJECT_IS_TOP_LEVEL)
    # Emptied first, so that a shader that is gone is not packed.
    set(archive "${PROJECT_BINARY_DIR}/shaders")
    add_custom_target(shader_archive
      COMMAND "${CMAKE_COMMAND}" -E rm -rf "${archive}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${archive}"
      COMMAND "${CMAKE_COMMAND}" -E copy ${sources} ${headers} "${archive}"
      DEPENDS ${sources}
      COMMENT "Compiled shaders in ${archive}" VERBATIM)
  endif()
endfunction()
