// Fetches through the linear sampler, which knows the border. Places are in pixels from the corner of the image.
// Include after pixel.glsl, on images.

vec4 fetch_at(vec2 place) {
  return textureLod(source, place / vec2(source_size), 0.0);
}

float centre(int i) {
  return float(i) + 0.5;
}

// Halfway between pixels i and i + 1.
float between(int i) {
  return float(i) + 1.0;
}
