// Sums of two numbers at once, in f16: a row's numbers as pairs, and sums of rows of taps. Include it after spans.glsl, with
// taps_x, taps_y and weights declared; kReach is the length of the rows.
//
// Of floats the two of a word make a pair. Of codes of 8 bits, less 128, bytes 0 and 2 do, and bytes 1 and 3: a mask takes them out
// of a word, as halves that are 1024 more.

const int kPairs = kNumbers / 2;                 // of a span
const int kApart = source_is_float ? 1 : 2;      // numbers, from the first of a pair to the second
const int kMostTaps = taps_x > taps_y ? taps_x : taps_y;

int first_number(int pair) { return source_is_float ? 2 * pair : pair / 2 * 4 + pair % 2; }

f16vec2 halves[taps_x + taps_y];  // the weights

void round_weights() {
  [[unroll]] for (int i = 0; i < taps_x + taps_y; ++i) halves[i] = f16vec2(weights[i]);
}

const float kByteCentre = 128.0;

// Bytes b and b + 2 of the words.
f16vec2 pair_of_codes(uint words[kAllWords], int b) {
  int shift = b % 4 * 8;
  uint bits = words[b / 4] >> shift;
  if (b % 4 >= 2) bits |= words[b / 4 + 1] << (32 - shift);
  return unpackFloat2x16(bits & 0x00FF00FFu | 0x64006400u) - f16vec2(kThousand + kByteCentre);
}

// v[i]: numbers i and i + kApart, wherever a pair of the span sees them.
void to_pairs(uint words[kAllWords], int skipped, out f16vec2 v[kReach]) {
  [[unroll]] for (int i = 0; i < kReach; ++i) v[i] = f16vec2(0.0);
  if (source_is_float) {
    [[unroll]] for (int i = 0; i < kReach / 2; ++i) v[2 * i] = unpackFloat2x16(words[i]);
  } else {
    [[unroll]] for (int i = 0; i < kReach - kApart; ++i) v[i] = pair_of_codes(words, i + skipped);
  }
}

// Taps of one axis, from weight `first` on. Floats in their order; codes from the outermost two on, of which the taps are the same: sums
// of two codes are exact.
f16vec2 summed_pair(f16vec2 v[kMostTaps], int first, int taps) {
  f16vec2 sum;
  if (source_is_float) {
    sum = v[0] * halves[first];
    [[unroll]] for (int t = 1; t < taps; ++t) sum = fma(v[t], halves[first + t], sum);
  } else {
    [[unroll]] for (int t = 0; 2 * t < taps; ++t) {
      f16vec2 both = 2 * t + 1 == taps ? v[t] : v[t] + v[taps - 1 - t];
      sum = t == 0 ? both * halves[first] : fma(both, halves[first + t], sum);
    }
  }
  return sum;
}

f16vec2 filtered_pair(f16vec2 v[kReach], int pair) {
  f16vec2 seen[kMostTaps];
  [[unroll]] for (int t = 0; t < taps_x; ++t) seen[t] = v[first_number(pair) + t * source_channels];
  return summed_pair(seen, 0, taps_x);
}

// Sums as the source stores them: floats as they are, codes once `scale` has made them codes less 128.
void pack_pairs(f16vec2 sums[kPairs], float scale, out uint words[kWords]) {
  [[unroll]] for (int w = 0; w < kWords; ++w) {
    if (source_is_float) {
      words[w] = packFloat2x16(sums[w]);
    } else {
      const f16vec2 base = f16vec2(kThousand + kByteCentre);
      uint even = packFloat2x16(fma(sums[2 * w], f16vec2(scale), base));
      uint odd = packFloat2x16(fma(sums[2 * w + 1], f16vec2(scale), base));
      words[w] = codes_of_halves(even, odd);
    }
  }
}
