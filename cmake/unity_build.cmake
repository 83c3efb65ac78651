# Compiles several sources of a target as one, so that the headers which they share are compiled once.
option(MOLLIFY_UNITY_BUILD "Compile several sources as one. Not for builds that are to show what a source forgets to include" OFF)
mark_as_advanced(MOLLIFY_UNITY_BUILD)

if(MOLLIFY_UNITY_BUILD)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 6)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # A class of a source may hold what is in the source's unnamed namespace. The compiler takes the source for a header here.
    add_compile_options(-Wno-subobject-linkage)
  endif()
endif()
