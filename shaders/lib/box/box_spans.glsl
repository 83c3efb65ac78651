// What boxes sum of spans, and how sums become what is stored. A kernel declares `//@ axis SUMS u16x2 u32 f32`, has `scale` among
// its parameters, from sums to what is stored or of each pixel, and includes this after spans.glsl.

#include "box/outliers.glsl"

layout(constant_id = 26) const bool sums_are_short = false;  // sums stay below 2^23; of bytes: windows of up to 2^15 pixels

#if SUMS == SUMS_f32
#define NUMBER float
#define NUMBERS vec4
#else
#define NUMBER uint
#define NUMBERS uvec4
#endif
const int kInNumber = SUMS == SUMS_u16x2 ? 2 : 1;
const int kPlanes = (source_channels + kInNumber - 1) / kInNumber;  // of a pixel: channels c and c + kPlanes share a word

uint code_at(uint words[kWords], int n) {
  const uint kMask = SPAN_BITS == 8 ? 0xFFu : 0xFFFFu;
  return words[n / kInWord] >> n % kInWord * SPAN_BITS & kMask;
}

// Number `plane` of pixel p.
NUMBER number_at(uint words[kWords], int p, int plane) {
#if SUMS == SUMS_f32
  int n = p * source_channels + plane;
  return SPAN_IS_FLOAT ? number(words[n / kInWord], n % kInWord) : float(code_at(words, n));
#elif SUMS == SUMS_u16x2
  if (source_channels == 4) return words[p] >> 8 * plane & 0x00FF00FFu;
  int n = p * source_channels + plane;
  uint low = code_at(words, n);
  return plane + kPlanes < source_channels ? low | code_at(words, n + kPlanes) << 16 : low;
#else
  return code_at(words, p * source_channels + plane);
#endif
}

// ---- Outliers

// No sum of halves overflows by itself. Those that would leave too large a rounding behind become infinite as they enter a sum.
const bool kHasOutliers = SUMS == SUMS_f32 && SPAN_IS_FLOAT && SPAN_BITS == 16;

#if SUMS == SUMS_f32
float sieved(float v) {
  return kHasOutliers && abs(v) >= kOutlier ? uintBitsToFloat(0x7F800000u) : v;
}

// What a number adds to a sum of floats: `scale` times as much, or infinity.
float entering(float v) { return sieved(v) * scale; }
#endif

const uint kFloat = 0x4B000000u;  // bits of a float: with a number below 2^23 beside them they are 2^23 more

// How the means of windows become codes.
const int kMeansAre = SUMS == SUMS_f32 ? kAnywhere : SPAN_BITS == 8 ? kAboveThousand : kRounded;

// Number n of a span from the sum of its window of integers, which is 2^23 more where sums are short.
float mean_of(float sum, int n) {
  const float more = sums_are_short ? kWhole : 0.0;
  if (SPAN_BITS != 8) return fma(sum - more, scale, rounder(n));
  precise float zero = kThousand - more * scale;  // exactly, of windows of up to 2^14 pixels: the last bit is worth 2^-14 or more
  return fma(sum, scale, zero);
}
