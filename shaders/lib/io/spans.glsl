// Spans: neighbouring pixels of a row that one lane reads or writes at once, as the 32-bit words that they are stored in.
// For buffers, and for pixels that are only blurred: what is summed is what is stored, codes of integers or floats.
// Include it after pixel.glsl.

layout(constant_id = 15) const int span = 4;  // pixels: whole words

// The format of spans is the source's, unless a kernel only writes them.
#ifdef SPANS_OF_DESTINATION
#define SPAN_BITS destination_bits
#define SPAN_IS_FLOAT destination_is_float
#else
#define SPAN_BITS source_bits
#define SPAN_IS_FLOAT source_is_float
#endif
const int kNumbers = span * source_channels;  // of a span
const int kInWord = 32 / SPAN_BITS;
const int kWords = kNumbers / kInWord;

// ---- Numbers

// Codes of 8 bits: with four channels, those in the middle of a word stay where they lie, which saves moving them; sums of them
// are so many times too large.
const bool kLifts = SPAN_BITS == 8 && source_channels == 4;

float lift(int number) {
  if (!kLifts || number % 4 == 0 || number % 4 == 3) return 1.0;
  return number % 4 == 1 ? 256.0 : 65536.0;
}

// Number `place` of a word, lifted.
float number(uint word, int place) {
  if (SPAN_BITS == 32) return uintBitsToFloat(word);
  if (SPAN_BITS == 16) {
    if (SPAN_IS_FLOAT) return place == 0 ? unpackHalf2x16(word).x : unpackHalf2x16(word).y;
    return float(place == 0 ? word & 0xFFFFu : word >> 16);
  }
  if (kLifts && (place == 1 || place == 2)) return float(word & 0xFFu << 8 * place);
  return float(word >> 8 * place & 0xFFu);
}

const float kWhole = 8388608.0;  // from here on floats are whole numbers
const float kThousand = 1024.0;  // from here to 2048 halves are: a code lies in the low byte

// What number n of a span becomes the whole number next to it by, ties to even, where it is added; then all codes of a word, each in
// its place, add up to the word: one is so much more, 0xB500, that the upper bits of the first one's kWhole, 0x4B000000, are gone.
float rounder(int n) { return n % kInWord * SPAN_BITS == 16 ? kWhole + 46336.0 : kWhole; }

// How codes come out of numbers.
const int kInRange = 0;   // rounded
const int kAnywhere = 1;  // cut to the range of codes and rounded
const int kRounded = 2;   // their rounder() is in them already
const int kAboveThousand = 3;  // of 8 bits: so much more, and rounded as they become halves

// Code n of a span, as rounder() makes it.
uint code(float v, int n, int how) {
  if (how == kRounded) return floatBitsToUint(v);
  if (how == kAnywhere) v = v > 0.0 ? min(v, largest_code()) : 0.0;
  precise float shifted = v + rounder(n);  // not into the sum that v may be: each step would round
  return floatBitsToUint(shifted);
}

// Four codes from halves that are kThousand more: numbers 0 and 2, and numbers 1 and 3.
uint codes_of_halves(uint even, uint odd) { return (even & 0x00FF00FFu) | (odd << 8 & 0xFF00FF00u); }

// Numbers as destinations store them: floats as they are, others as codes.
void pack_numbers(float v[kNumbers], int how, out uint words[kWords]) {
  [[unroll]] for (int w = 0; w < kWords; ++w) {
    if (SPAN_BITS == 32) {
      words[w] = floatBitsToUint(v[w]);
    } else if (SPAN_BITS == 16) {
      float a = v[2 * w], b = v[2 * w + 1];
      words[w] = SPAN_IS_FLOAT ? packed_halves(a, b) : code(a, 2 * w, how) + (code(b, 2 * w + 1, how) << 16);
    } else if (how == kAboveThousand) {
      words[w] = codes_of_halves(packed_halves(v[4 * w], v[4 * w + 2]), packed_halves(v[4 * w + 1], v[4 * w + 3]));
    } else {
      words[w] = 0u;
      [[unroll]] for (int i = 0; i < 4; ++i) words[w] += code(v[4 * w + i], 4 * w + i, how) << 8 * i;
    }
  }
}

// ---- Reading

// Rows begin at multiples of a span.
bool has_whole_source() {
  return source_pitch % span == 0 && source_start() % uint(span) == 0u;
}

// Spans that begin at a multiple of their length, in rows that do, and lie inside.
bool is_whole_source(int x) {
  return has_whole_source() && x % span == 0 && x >= 0 && x + span <= source_size.x;
}

void fetch_whole(out uint words[kWords], ivec2 p) {
  uint place = uint(p.y) * (uint(source_pitch) / uint(span)) + (uint(p.x) / uint(span) + source_start() / uint(span));
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      uvec4 v = source128[place * uint(kWords / 4) + uint(i)];
      [[unroll]] for (int w = 0; w < 4; ++w) words[4 * i + w] = v[w];
    }
  } else if (kWords % 2 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 2; ++i) {
      uvec2 v = source64[place * uint(kWords / 2) + uint(i)];
      [[unroll]] for (int w = 0; w < 2; ++w) words[2 * i + w] = v[w];
    }
  } else {
    [[unroll]] for (int w = 0; w < kWords; ++w) words[w] = source32[place * uint(kWords) + uint(w)];
  }
}

// A component as the source stores it; unorm ones lie between 0 and 1.
uint stored_by_source(float v) {
  if (source_bits == 32) return floatBitsToUint(v);
  if (source_is_float) return packed_halves(v, 0.0);
  precise float shifted = v * (source_bits == 8 ? 255.0 : 65535.0) + 8388608.0;
  return floatBitsToUint(shifted) & 0xFFFFu;
}

// A pixel beyond a constant border as fetch_stored() gives pixels.
uvec4 outside_stored() {
  uvec4 bits = uvec4(stored_by_source(outside.x), stored_by_source(outside.y), stored_by_source(outside.z),
                     stored_by_source(outside.w));
  if (source_channels < 4 || SPAN_BITS == 32) return bits;
  if (SPAN_BITS == 8) return uvec4(bits.x | bits.y << 8 | bits.z << 16 | bits.w << 24, 0u, 0u, 0u);
  return uvec4(bits.x | bits.y << 16, bits.z | bits.w << 16, 0u, 0u);
}

// Anywhere in x; y is that of a row of the source, or negative beyond a constant border.
void fetch_mapped(out uint words[kWords], ivec2 p) {
  [[unroll]] for (int w = 0; w < kWords; ++w) words[w] = 0u;
  [[unroll]] for (int i = 0; i < span; ++i) {
    ivec2 q = ivec2(map_index(border_x, p.x + i, source_size.x), p.y);
    uvec4 stored = is_beyond(q) ? outside_stored() : fetch_stored(q);
    if (source_channels == 4) {
      [[unroll]] for (int w = 0; w < SPAN_BITS / 8; ++w) words[i * SPAN_BITS / 8 + w] = stored[w];
    } else {
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        int n = i * source_channels + c;
        words[n / kInWord] |= stored[c] << (n % kInWord * SPAN_BITS % 32);
      }
    }
  }
}

// ---- Writing

bool is_whole_destination(int x) {
  return destination_pitch % span == 0 && destination_start() % uint(span) == 0u && x % span == 0 && x + span <= size.x;
}

// In spans: from a row of the destination to the next, and where one that is stored whole lies.
uint rows_apart() { return uint(destination_pitch) / uint(span); }

uint whole_place(ivec2 p) {
  return uint(p.y) * rows_apart() + (uint(p.x) / uint(span) + destination_start() / uint(span));
}

void store_at(uint words[kWords], uint place) {
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      destination128[place * uint(kWords / 4) + uint(i)] =
          uvec4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
    }
  } else if (kWords % 2 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 2; ++i) {
      destination64[place * uint(kWords / 2) + uint(i)] = uvec2(words[2 * i], words[2 * i + 1]);
    }
  } else {
    [[unroll]] for (int w = 0; w < kWords; ++w) destination32[place * uint(kWords) + uint(w)] = words[w];
  }
}

void store_whole(uint words[kWords], ivec2 p) { store_at(words, whole_place(p)); }

// Pixel i of a span, for put_words().
uvec4 pixel_of(uint words[kWords], int i) {
  uvec4 v = uvec4(0u);
  if (source_channels == 4) {
    [[unroll]] for (int w = 0; w < SPAN_BITS / 8; ++w) v[w] = words[i * SPAN_BITS / 8 + w];
  } else {
    [[unroll]] for (int c = 0; c < source_channels; ++c) {
      int n = i * source_channels + c;
      v[c] = words[n / kInWord] >> (n % kInWord * SPAN_BITS % 32);
    }
  }
  return v;
}

// What of it lies in columns from 0 to before `width`.
void store_inside(uint words[kWords], ivec2 p, int width) {
  [[unroll]] for (int i = 0; i < span; ++i) {
    int x = p.x + i;
    if (uint(x) < uint(width)) put_words(destination_index(ivec2(x, p.y)), pixel_of(words, i));
  }
}

void store_each(uint words[kWords], ivec2 p) {
  store_inside(words, p, size.x);
}
