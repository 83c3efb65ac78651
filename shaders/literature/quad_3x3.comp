//@ axis STORAGE buffer image
// quad.3x3: four lanes hold a 2x2 quad of pixels. Each loads its own pixel and the three that point away from the quad;
// the other five of its 3x3 neighbourhood are loads of the other three lanes.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_quad : require
#include "sep/taps.glsl"
#include "io/pixel.glsl"
#include "io/lanes.glsl"

// Groups are rows of lanes, as full subgroups have to be; the lanes of one make a tile of this size.
layout(constant_id = 20) const int tile_x = 16;
layout(constant_id = 21) const int tile_y = 16;

// A weight of zero is no neighbour: what lies there may be infinite.
vec4 weighted(int index, vec4 v) {
  float w = weights[index];
  return w == 0.0 ? vec4(0.0) : w * v;
}

// Left to right, wherever in its quad the lane is: where the quads lie must not change the result.
vec4 row_sum(int first, bool is_left, vec4 outer, vec4 middle, vec4 inner) {
  vec4 left = is_left ? outer : inner;
  vec4 right = is_left ? inner : outer;
  return weighted(first, left) + weighted(first + 1, middle) + weighted(first + 2, right);
}

void main() {
  // By subgroup, not by local index: quads are four lanes that follow each other in a subgroup.
  uint lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  uvec2 tile = uvec2(tile_x, tile_y);
  ivec2 p = ivec2(gl_WorkGroupID.xy * tile + lane_position(lane, tile));
  bool is_left = (lane & 1u) == 0u;
  bool is_top = (lane & 2u) == 0u;
  ivec2 away = ivec2(is_left ? -1 : 1, is_top ? -1 : 1);

  // Lanes beyond the image load as well: their neighbours in the quad need what they hold.
  ivec2 from = origin + p;
  vec4 own = load_pixel(from);
  vec4 side = load_pixel(from + ivec2(away.x, 0));
  vec4 above = load_pixel(from + ivec2(0, away.y));
  vec4 corner = load_pixel(from + away);

  vec4 inner_side = subgroupQuadSwapHorizontal(own);
  vec4 corner_side = subgroupQuadSwapHorizontal(above);
  vec4 inner_above = subgroupQuadSwapVertical(own);
  vec4 corner_above = subgroupQuadSwapVertical(side);
  vec4 inner_corner = subgroupQuadSwapDiagonal(own);

  vec4 top = is_top ? row_sum(0, is_left, corner, above, corner_side)
                    : row_sum(0, is_left, corner_above, inner_above, inner_corner);
  vec4 middle = row_sum(3, is_left, side, own, inner_side);
  vec4 bottom = is_top ? row_sum(6, is_left, corner_above, inner_above, inner_corner)
                       : row_sum(6, is_left, corner, above, corner_side);
  store_pixel(p, top + middle + bottom);
}
