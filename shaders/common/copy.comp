// copy: the yardstick of every blur. Sixteen bytes a thread from one buffer to another.
#version 460

layout(local_size_x_id = 0, local_size_y_id = 1) in;

layout(push_constant) uniform Parameters { ivec2 size; };  // size.x: vectors of 16 bytes

layout(std430, binding = 0) readonly buffer Source { uvec4 source[]; };
layout(std430, binding = 1) writeonly buffer Destination { uvec4 destination[]; };

void main() {
  uint index = gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x;
  if (index < uint(size.x)) destination[index] = source[index];
}
