# mollify_add_tuning(target table.txt...): embeds tables of tuning rows, as `mollify tune --print` writes them, in the target.
function(mollify_add_tuning target)
  set(texts "")
  foreach(table IN LISTS ARGN)
    set(path "${CMAKE_CURRENT_SOURCE_DIR}/${table}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
    file(READ "${path}" text)
    string(APPEND texts "    R\"rows(${text})rows\",\n")
  endforeach()
  list(LENGTH ARGN count)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/shipped_tuning.cpp")
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
#include <array>

#include "model/shipped.h"

namespace mollify {
namespace {

constexpr std::array<std::string_view, @count@> kTexts{
@texts@};

}  // namespace

std::span<const std::string_view> shipped_tuning_texts() { return kTexts; }

}  // namespace mollify
]])
  target_sources(${target} PRIVATE "${source}")
endfunction()
