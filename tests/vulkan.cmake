# Tests of the Vulkan backend run on drivers that run on the processor, under the validation layer: Mesa's lavapipe, and for what devices
# lack that have no halves and no small numbers in buffers, SwiftShader.

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
# Debian has SwiftShader in its package of Chromium.
find_file(MOLLIFY_SWIFTSHADER NAMES vk_swiftshader_icd.json PATHS /usr/lib/chromium /usr/lib64/chromium-browser /opt/google/chrome
  NO_DEFAULT_PATH DOC "Manifest of the Vulkan driver SwiftShader")
mark_as_advanced(MOLLIFY_SWIFTSHADER)
if(NOT MOLLIFY_SWIFTSHADER)
  message(WARNING "There is no SwiftShader: its tests will fail. scripts/install-deps --tests installs it with chromium.")
endif()
mollify_find_manifest(MOLLIFY_VALIDATION_LAYER explicit_layer.d "Vulkan validation layer" VkLayer_khronos_validation.json)

# mollify_see_driver(test driver [variable=value...]): the test sees one Vulkan device, that of the driver, through the validation
# layer, and listens to that itself. Where the driver or the layer is missing, the test fails.
function(mollify_see_driver test driver)
  # Older loaders know VK_ICD_FILENAMES, newer ones prefer VK_DRIVER_FILES.
  set_tests_properties(${test} PROPERTIES
    REQUIRED_FILES "${driver};${MOLLIFY_VALIDATION_LAYER}"
    ENVIRONMENT "VK_DRIVER_FILES=${driver};VK_ICD_FILENAMES=${driver};VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation;\
VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;${ARGN}")
endfunction()

# mollify_see_software_vulkan(test [variable=value...]): the same, with lavapipe.
function(mollify_see_software_vulkan test)
  mollify_see_driver(${test} "${MOLLIFY_SOFTWARE_VULKAN}" ${ARGN})
endfunction()

# mollify_fail_on_validation(test): any message of the layer fails the test.
function(mollify_fail_on_validation test)
  set_tests_properties(${test} PROPERTIES
    FAIL_REGULAR_EXPRESSION "VUID-;SYNC-HAZARD;UNASSIGNED;[Vv]alidation [Ee]rror;[Vv]alidation [Ww]arning")
endfunction()

# mollify_software_vulkan(test [variable=value...]), mollify_swiftshader(test [variable=value...]): both together.
function(mollify_software_vulkan test)
  mollify_see_software_vulkan(${test} ${ARGN})
  mollify_fail_on_validation(${test})
endfunction()

function(mollify_swiftshader test)
  mollify_see_driver(${test} "${MOLLIFY_SWIFTSHADER}" ${ARGN})
  mollify_fail_on_validation(${test})
endfunction()
