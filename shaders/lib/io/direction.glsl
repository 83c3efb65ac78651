// A pass along one axis. Mesa 22.3 takes a choice between two constant vectors by a specialization constant to be made
// when the shader is compiled, by the constant's default: hence the statements instead of expressions.

layout(constant_id = 20) const bool vertical = false;

// One pixel along the pass.
ivec2 step_along() {
  if (vertical) return ivec2(0, 1);
  return ivec2(1, 0);
}

// A size whose two numbers are along and across.
ivec2 turned(int along, int across) {
  if (vertical) return ivec2(across, along);
  return ivec2(along, across);
}
