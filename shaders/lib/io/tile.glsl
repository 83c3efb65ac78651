// The pixels that a group's tile and its taps reach, in shared memory, loaded by all threads in turn. Include after
// pixel.glsl and cache.glsl.

layout(constant_id = 20) const int tile_size = 1;  // pixels of the largest tile that a pipeline is used for
shared CACHED tile_pixels[tile_size];

// Row by row; `first` in source coordinates. A barrier must come before tile_pixel().
void fill_tile(ivec2 first, ivec2 extent) {
  int threads = int(gl_WorkGroupSize.x * gl_WorkGroupSize.y);
  for (int k = int(gl_LocalInvocationIndex); k < extent.x * extent.y; k += threads) {
    tile_pixels[k] = pack_pixel(load_pixel(first + ivec2(k % extent.x, k / extent.x)));
  }
}

vec4 tile_pixel(ivec2 p, ivec2 extent) {
  return unpack_pixel(tile_pixels[p.y * extent.x + p.x]);
}
