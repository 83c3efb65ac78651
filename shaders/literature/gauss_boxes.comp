//@ axis STORAGE buffer image
// gauss.boxes: one extended box along one axis. A lane makes `segment` pixels by a running sum that starts afresh at
// coordinates that are multiples of it, so that neither rounding errors nor results depend on where a region begins.
#version 460
#extension GL_GOOGLE_include_directive : require
#define KERNEL_PARAMETERS int radius; float inner; float outer; int lead;
#include "io/pixel.glsl"
#include "io/direction.glsl"

layout(constant_id = 21) const int segment = 64;

// `lead`: pixels of the first segment that lie before the first that is asked for.
void main() {
  ivec2 along = step_along();
  ivec2 id = ivec2(gl_GlobalInvocationID.xy);
  ivec2 p = id * turned(segment, 1) - turned(lead, 0);
  int across = vertical ? p.x : p.y;
  int length = vertical ? size.y : size.x;
  int from = vertical ? p.y : p.x;
  if (across >= (vertical ? size.x : size.y) || from >= length) return;

  ivec2 q = origin + p;
  vec4 sum = vec4(0.0);
  for (int i = -radius; i <= radius; ++i) sum += load_pixel(q + along * i);
  int count = min(segment, length - from);
  for (int i = 0; i < count; ++i) {
    vec4 before = load_pixel(q - along * (radius + 1));
    vec4 after = load_pixel(q + along * (radius + 1));
    if (from + i >= 0) store_pixel(p, inner * sum + outer * (before + after));
    sum += after - load_pixel(q - along * radius);
    p += along;
    q += along;
  }
}
