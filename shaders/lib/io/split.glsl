// Numbers as halves, or sums of two.

// The half next to a number, towards zero; from 2^-14 on, as what is smaller is rounded once more. Cheaper than the nearest one, and
// leaves one bit more.
float upper_half(float v) { return uintBitsToFloat(floatBitsToUint(v) & 0xFFFFE000u); }

// What is left of a number when so many halves of it have been taken, each the nearest one, ties to even, as conversions round. By its
// bits: a driver was seen to drop a conversion to a half and back.
float rest_of(float v, int taken) {
  uint bits = floatBitsToUint(v);
  uint nearest = (bits + 0xFFFu + (bits >> 13 & 1u)) & 0xFFFFE000u;
  return taken == 0 ? v : v - uintBitsToFloat(nearest);
}
