// Weights of a pass, as its kernel lays them out. A kernel that includes this has asked for GL_EXT_scalar_block_layout.
const int kMaxWeights = 4096;  // 16 KiB, which every device has
layout(std430, binding = 2) readonly uniform Weights { float weights[kMaxWeights]; };
