// Which pixel of a group's tile a lane makes.

layout(constant_id = 14) const int lane_order = 0;

const int kRowOrder = 0;
const int kZCurve = 1;
const int kRotatingZ = 2;

// Bits 0, 2, 4, ... of v, moved together.
uint even_bits(uint v) {
  v &= 0x55555555u;
  v = (v | v >> 1) & 0x33333333u;
  v = (v | v >> 2) & 0x0F0F0F0Fu;
  return (v | v >> 4) & 0x00FF00FFu;
}

// Any tile with sides that are powers of two: a Z-curve over squares of the shorter side, one square after another.
uvec2 z_curve(uint lane, uvec2 tile) {
  uint side = min(tile.x, tile.y);
  uint square = lane / (side * side);
  uint rest = lane % (side * side);
  uvec2 p = uvec2(even_bits(rest), even_bits(rest >> 1));
  return tile.x > tile.y ? p + uvec2(square * side, 0u) : p + uvec2(0u, square * side);
}

// Blocks of 8x8 whose quads follow each other down before they go right; every four lanes are a 2x2 quad.
uvec2 rotating_z(uint lane, uvec2 tile) {
  uint block = lane / 64u;
  uint across = tile.x / 8u;
  uvec2 p = uvec2((lane & 1u) | (lane >> 2 & 6u), (lane >> 1 & 3u) | (lane >> 3 & 4u));
  return p + 8u * uvec2(block % across, block / across);
}

uvec2 lane_position(uint lane, uvec2 tile) {
  if (lane_order == kZCurve) return z_curve(lane, tile);
  if (lane_order == kRotatingZ) return rotating_z(lane, tile);
  return uvec2(lane % tile.x, lane / tile.x);
}
