// 1-D weights: those of x, then those of y. Include before pixel.glsl, and put TAPS_PARAMETERS among KERNEL_PARAMETERS.

#extension GL_EXT_scalar_block_layout : require

#define TAPS_PARAMETERS ivec2 taps; ivec2 before;  // how many on each axis, and those before the output pixel

#include "sep/weights.glsl"
