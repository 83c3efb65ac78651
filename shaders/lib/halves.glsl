// Numbers as halves, or sums of two.

// What is left of a number when so many halves of it have been taken. By its bits: a driver was seen to drop a conversion to
// a half and back.
float rest_of(float v, int taken) {
  uint nearest = floatBitsToUint(v) + 0x1000u & 0xFFFFE000u;
  return taken == 0 ? v : v - uintBitsToFloat(nearest);
}
