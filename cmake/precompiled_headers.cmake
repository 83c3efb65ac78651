# mollify_precompile(target <header>...): compiles the headers of the standard library that most sources include, and those that are
# given, once for all sources of the target, where the build asks for it: a second less for each source.
option(MOLLIFY_PRECOMPILED_HEADERS "Compile common headers once. Not for builds that are to show what a source forgets to include" OFF)
mark_as_advanced(MOLLIFY_PRECOMPILED_HEADERS)

function(mollify_precompile target)
  if(MOLLIFY_PRECOMPILED_HEADERS)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <charconv> <cmath> <filesystem> <fstream> <functional> <map> <memory>
      <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <variant> <vector> ${ARGN})
  endif()
endfunction()
