# mollify_software_vulkan(test [variable=value...]): the test sees one Vulkan device, the software driver, through the
# validation layer, and any message of the layer fails it. Where the driver or the layer is missing, the test fails, too.
file(GLOB mollify_software_drivers /usr/share/vulkan/icd.d/lvp_icd.*.json /usr/local/share/vulkan/icd.d/lvp_icd.*.json)
set(MOLLIFY_SOFTWARE_VULKAN "${mollify_software_drivers}" CACHE FILEPATH "Manifest of the Vulkan driver that tests run on")
mark_as_advanced(MOLLIFY_SOFTWARE_VULKAN)
if(NOT MOLLIFY_SOFTWARE_VULKAN)
  set(MOLLIFY_SOFTWARE_VULKAN /usr/share/vulkan/icd.d/lvp_icd.json)
  message(WARNING "There is no software Vulkan driver: tests of the Vulkan backend will fail. "
    "scripts/install-deps --tests installs Mesa's.")
endif()

file(GLOB mollify_validation_layers /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
  /usr/local/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json)
set(MOLLIFY_VALIDATION_LAYER "${mollify_validation_layers}" CACHE FILEPATH "Manifest of the Vulkan validation layer")
mark_as_advanced(MOLLIFY_VALIDATION_LAYER)
if(NOT MOLLIFY_VALIDATION_LAYER)
  set(MOLLIFY_VALIDATION_LAYER /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json)
  message(WARNING "There is no Vulkan validation layer: tests of the Vulkan backend will fail. "
    "scripts/install-deps --tests installs it.")
endif()

function(mollify_software_vulkan test)
  # Older loaders know VK_ICD_FILENAMES, newer ones prefer VK_DRIVER_FILES.
  set(driver "${MOLLIFY_SOFTWARE_VULKAN}")
  set_tests_properties(${test} PROPERTIES
    REQUIRED_FILES "${driver};${MOLLIFY_VALIDATION_LAYER}"
    ENVIRONMENT "VK_DRIVER_FILES=${driver};VK_ICD_FILENAMES=${driver};VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation;\
VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;${ARGN}"
    FAIL_REGULAR_EXPRESSION "VUID-;SYNC-HAZARD;UNASSIGNED;[Vv]alidation [Ee]rror;[Vv]alidation [Ww]arning")
endfunction()
