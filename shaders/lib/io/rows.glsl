// Rows that have been filtered horizontally, in shared memory, for the vertical taps to read. Each is as wide as the group.
// Include after pixel.glsl and cache.glsl.

layout(constant_id = 22) const int row_count = 1;  // rows that are kept: all of a tile, or a ring with a power of two
shared CACHED row_pixels[row_count * int(gl_WorkGroupSize.x)];

void put_row_pixel(int row, int column, vec4 v) {
  row_pixels[row * int(gl_WorkGroupSize.x) + column] = pack_pixel(v);
}

vec4 row_pixel(int row, int column) {
  return unpack_pixel(row_pixels[row * int(gl_WorkGroupSize.x) + column]);
}

// Horizontal taps straight from the source; p is where the sum belongs, in source coordinates.
vec4 filter_row(ivec2 p) {
  vec4 sum = vec4(0.0);
  for (int i = 0; i < taps.x; ++i) sum += weights[i] * load_pixel(p + ivec2(i - before.x, 0));
  return sum;
}
