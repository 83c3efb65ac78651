// The weights of a matrix as a list of samples, as the axes PACKING (struct, packed) and SAMPLES (uniform, storage) say.
// Include before pixel.glsl, and put SAMPLES_PARAMETERS among KERNEL_PARAMETERS.

#extension GL_EXT_scalar_block_layout : require

#define SAMPLES_PARAMETERS ivec2 taps; ivec2 before; int sample_count; float weight_scale;

struct Sample {
  ivec2 offset;  // from the output pixel
  float weight;
};

#if PACKING == PACKING_struct
struct StoredSample {
  ivec2 offset;
  float weight;
  int unused;
};
#define STORED_SAMPLE StoredSample
const int kMaxUniformSamples = 1024;  // 16 KiB, which every device has
#else
// 8 bits of x, 8 bits of y, both from the matrix's corner; an f16 weight. Four to a vector, whose stride has no gaps.
#define STORED_SAMPLE uvec4
const int kMaxUniformSamples = 4096;  // 16,384 samples in 64 KiB
#endif

#if SAMPLES == SAMPLES_uniform
layout(std430, binding = 2) readonly uniform Samples { STORED_SAMPLE sample_list[kMaxUniformSamples]; };
#else
layout(std430, binding = 2) readonly buffer Samples { STORED_SAMPLE sample_list[]; };
#endif

#if PACKING == PACKING_struct
#define get_sample(i, before) Sample(sample_list[i].offset, sample_list[i].weight)
#else
Sample get_sample(int i, ivec2 before) {
  uint word = sample_list[i >> 2][i & 3];
  return Sample(ivec2(word & 0xFFu, word >> 8 & 0xFFu) - before, unpackHalf2x16(word >> 16).x);
}
#endif
