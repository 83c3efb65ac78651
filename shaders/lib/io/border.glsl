// Where a coordinate outside the image reads from; the twin of src/base/border.h.

layout(constant_id = 2) const int border_x = 0;
layout(constant_id = 3) const int border_y = 0;

const int kClamp = 0;
const int kMirror = 1;
const int kReflect = 2;
const int kWrap = 3;
const int kConstant = 4;

const int kOutside = -1;

// GLSL leaves the remainder of negative numbers undefined.
int positive_remainder(int value, int period) {
  return value >= 0 ? value % period : period - 1 - (-1 - value) % period;
}

// The index in [0, length) that stands in for i, any distance away, or kOutside.
int map_index(int mode, int i, int length) {
  if (mode == kClamp) return clamp(i, 0, length - 1);
  if (uint(i) < uint(length)) return i;
  if (mode == kMirror) {
    if (length == 1) return 0;
    int p = positive_remainder(i, 2 * (length - 1));
    return p < length ? p : 2 * (length - 1) - p;
  }
  if (mode == kReflect) {
    int p = positive_remainder(i, 2 * length);
    return p < length ? p : 2 * length - 1 - p;
  }
  if (mode == kWrap) return positive_remainder(i, length);
  return kOutside;
}
