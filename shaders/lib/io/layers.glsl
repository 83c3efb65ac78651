// Images that one dispatch makes: layers of the grid, at equal distances in their buffers. The pipeline of a single image
// is another one, with nothing to add.

layout(constant_id = 16) const bool has_layers = false;

// Where the group's own image begins among images that lie `stride` apart.
uint layer_start(uint stride) {
  return has_layers ? gl_WorkGroupID.z * stride : 0u;
}
