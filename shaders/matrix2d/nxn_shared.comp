//@ axis STORAGE buffer image
//@ axis CACHE f32 f16 unorm8
//@ axis PACKING struct packed
//@ axis SAMPLES uniform storage
// nxn.shared: the group loads its tile and all that the samples reach into shared memory, then every lane loops over them.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "io/samples.glsl"
#define KERNEL_PARAMETERS SAMPLES_PARAMETERS
#include "io/pixel.glsl"
#include "io/cache.glsl"
#include "io/lanes.glsl"
#include "io/tile.glsl"

void main() {
  ivec2 corner = ivec2(gl_WorkGroupID.xy * gl_WorkGroupSize.xy);
  ivec2 lane = ivec2(lane_position(gl_LocalInvocationIndex, gl_WorkGroupSize.xy));
  ivec2 extent = ivec2(gl_WorkGroupSize.xy) + taps - 1;
  fill_tile(origin + corner - before, extent);
  barrier();

  vec4 sum = vec4(0.0);
  for (int i = 0; i < sample_count; ++i) {
    Sample s = get_sample(i, before);
    sum += s.weight * tile_pixel(lane + before + s.offset, extent);
  }
  store_pixel(corner + lane, sum * weight_scale);
}
