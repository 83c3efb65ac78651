# Tests of the Vulkan backend run on the driver that runs on the processor, under the validation layer.

# mollify_find_manifest(variable folder what name...): the path of a file that the Vulkan loader reads. Looked for anew
# whenever there was none.
function(mollify_find_manifest variable folder what)
  find_file(${variable} NAMES ${ARGN} PATHS /usr/share/vulkan /usr/local/share/vulkan PATH_SUFFIXES ${folder}
    NO_DEFAULT_PATH DOC "Manifest of the ${what}")
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(WARNING "There is no ${what}: tests of the Vulkan backend will fail. scripts/install-deps --tests installs it.")
  endif()
endfunction()

mollify_find_manifest(MOLLIFY_SOFTWARE_VULKAN icd.d "software Vulkan driver"
  lvp_icd.${CMAKE_SYSTEM_PROCESSOR}.json lvp_icd.json)
mollify_find_manifest(MOLLIFY_VALIDATION_LAYER explicit_layer.d "Vulkan validation layer" VkLayer_khronos_validation.json)

# mollify_see_software_vulkan(test [variable=value...]): the test sees one Vulkan device, the software driver, through the
# validation layer, and listens to that itself. Where the driver or the layer is missing, the test fails.
function(mollify_see_software_vulkan test)
  # Older loaders know VK_ICD_FILENAMES, newer ones prefer VK_DRIVER_FILES.
  set(driver "${MOLLIFY_SOFTWARE_VULKAN}")
  set_tests_properties(${test} PROPERTIES
    REQUIRED_FILES "${driver};${MOLLIFY_VALIDATION_LAYER}"
    ENVIRONMENT "VK_DRIVER_FILES=${driver};VK_ICD_FILENAMES=${driver};VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation;\
VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;${ARGN}")
endfunction()

# mollify_software_vulkan(test [variable=value...]): the same, and any message of the layer fails the test.
function(mollify_software_vulkan test)
  mollify_see_software_vulkan(${test} ${ARGN})
  set_tests_properties(${test} PROPERTIES
    FAIL_REGULAR_EXPRESSION "VUID-;SYNC-HAZARD;UNASSIGNED;[Vv]alidation [Ee]rror;[Vv]alidation [Ww]arning")
endfunction()
