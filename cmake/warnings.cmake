# mollify_warnings(target): the warnings every target of the project is held to.
function(mollify_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wno-restrict  # g++ 12 sees overlapping copies in "literal" + std::string where there are none
    -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${MOLLIFY_WARNINGS_AS_ERRORS}>:-Werror>)
endfunction()
