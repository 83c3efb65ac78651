# Run at every build: writes OUTPUT, a header with the commit of SOURCE_DIR, and leaves it alone when nothing changed.
execute_process(COMMAND git describe --always --dirty --exclude "*" WORKING_DIRECTORY "${SOURCE_DIR}"
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define MOLLIFY_COMMIT \"${commit}\"\n")
