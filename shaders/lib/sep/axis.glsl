// The axis that a 1-D pass works along. Include after taps.glsl.

layout(constant_id = 21) const bool vertical = false;

// Along and across the pass from x and y, and back. A function of a variable on purpose: glslang folds a choice between
// constant vectors into one instruction that Mesa 22.3 gets wrong.
ivec2 turned(ivec2 v) {
  if (vertical) return v.yx;
  return v;
}

int tap_count() {
  return turned(taps).x;
}

// Of a tap's weight.
int weight_index(int i) {
  return vertical ? taps.x + i : i;
}
