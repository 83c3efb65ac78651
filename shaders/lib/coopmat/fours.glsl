// Four neighbouring pixels of a row, as they are stored and as halves of planes, for products of matrices. A kernel that includes this
// has read pixel.glsl and skip.glsl and has the planes: `rows` of what is read, kRowPlane apart, and `done` of what is made, kDonePlane
// apart, both in fours of halves; and `clamps`: sums can leave the range of an integer format.
//
// Codes of 8 bits go in as halves whose bits they are, code * 2^-24, which takes no conversion. They come out as 1024 + code: from
// there to 2048 halves are the whole numbers, so rounding a sum to a half rounds it to a code, which lies in the low byte.

const int kWords = source_channels * source_bits / 8;  // of four pixels as they are stored
struct Four {
  uint words[8];  // kWords of them
};

const uint kLowBytes = 0x00FF00FFu;

uint component(Four four, int pixel, int c) {
  int bit = (pixel * source_channels + c) * source_bits;
  return four.words[bit / 32] >> (bit % 32) & ((1u << source_bits) - 1u);
}

// A channel of two pixels, side by side in a word.
uint two_halves(Four four, int pixel, int c) {
  if (source_bits == 16 && source_channels % 2 == 0) {
    int at = (pixel * source_channels + c) / 2;
    uint first = four.words[at], second = four.words[at + source_channels / 2];
    return c % 2 == 0 ? low_halves(first, second) : high_halves(first, second);
  }
  return component(four, pixel, c) | component(four, pixel + 1, c) << 16;
}

void put_halves(int at, Four four) {
  if (source_channels == 4 && source_bits == 8) {
    uvec2 first = uvec2(low_halves(four.words[0], four.words[1]), low_halves(four.words[2], four.words[3]));   // two channels
    uvec2 last = uvec2(high_halves(four.words[0], four.words[1]), high_halves(four.words[2], four.words[3]));  // the other two
    rows[at] = first & kLowBytes;
    rows[at + kRowPlane] = first >> 8 & kLowBytes;
    rows[at + 2 * kRowPlane] = last & kLowBytes;
    rows[at + 3 * kRowPlane] = last >> 8 & kLowBytes;
    return;
  }
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    rows[c * kRowPlane + at] = uvec2(two_halves(four, 0, c), two_halves(four, 2, c));
  }
}

// Sums can leave the range of codes where taps are negative.
uvec2 done_halves(int at) {
  uvec2 v = done[at];
  if (!clamps) return v;
  const f16vec2 kLeast = f16vec2(1024.0), kMost = f16vec2(1279.0);
  return uvec2(packFloat2x16(clamp(unpackFloat2x16(v.x), kLeast, kMost)),
               packFloat2x16(clamp(unpackFloat2x16(v.y), kLeast, kMost)));
}

Four take_done(int at) {
  Four four;
  if (source_channels == 4 && source_bits == 8) {
    uvec2 v0 = done_halves(at), v1 = done_halves(at + kDonePlane);
    uvec2 v2 = done_halves(at + 2 * kDonePlane), v3 = done_halves(at + 3 * kDonePlane);
    uvec2 v01 = (v0 & kLowBytes) | (v1 << 8 & ~kLowBytes);
    uvec2 v23 = (v2 & kLowBytes) | (v3 << 8 & ~kLowBytes);
    four.words[0] = low_halves(v01.x, v23.x);
    four.words[1] = high_halves(v01.x, v23.x);
    four.words[2] = low_halves(v01.y, v23.y);
    four.words[3] = high_halves(v01.y, v23.y);
    return four;
  }
  if (source_bits == 16 && source_channels % 2 == 0) {
    [[unroll]] for (int c = 0; c < source_channels; c += 2) {
      uvec2 v = done[at + c * kDonePlane], w = done[at + (c + 1) * kDonePlane];
      [[unroll]] for (int i = 0; i < 4; ++i) {
        uint a = v[i / 2], b = w[i / 2];
        four.words[(i * source_channels + c) / 2] = i % 2 == 0 ? low_halves(a, b) : high_halves(a, b);
      }
    }
    return four;
  }
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    uvec2 v = done_halves(at + c * kDonePlane);
    [[unroll]] for (int i = 0; i < 4; ++i) {
      int bit = (i * source_channels + c) * source_bits;
      uint half_bits = i % 2 == 0 ? v[i / 2] & 0xFFFFu : v[i / 2] >> 16;
      four.words[bit / 32] |= (source_bits == 8 ? half_bits & 0xFFu : half_bits) << (bit % 32);
    }
  }
  return four;
}

// ---- Memory. A place is that of four pixels in units of their words.

Four fetch_whole(uint place) {
  Four four;
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      uvec4 v = source128[place * uint(kWords / 4) + uint(i)];
      [[unroll]] for (int w = 0; w < 4; ++w) four.words[4 * i + w] = v[w];
    }
  } else {
    [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = source32[place * uint(kWords) + uint(i)];
  }
  return four;
}

void store_whole(uint place, Four four) {
  if (kWords % 4 == 0) {
    [[unroll]] for (int i = 0; i < kWords / 4; ++i) {
      destination128[place * uint(kWords / 4) + uint(i)] =
          uvec4(four.words[4 * i], four.words[4 * i + 1], four.words[4 * i + 2], four.words[4 * i + 3]);
    }
  } else {
    [[unroll]] for (int i = 0; i < kWords; ++i) destination32[place * uint(kWords) + uint(i)] = four.words[i];
  }
}

// Of a pixel beyond a constant border, as fetch_stored() gives them.
uvec4 outside_stored() {
  if (source_bits == 8) {
    uint codes = packUnorm4x8(outside);
    return source_channels == 4 ? uvec4(codes, 0u, 0u, 0u) : uvec4(codes, codes >> 8, codes >> 16, 0u) & 0xFFu;
  }
  uvec2 halves = uvec2(packHalf2x16(outside.xy), packHalf2x16(outside.zw));
  return source_channels == 4 ? uvec4(halves, 0u, 0u) : uvec4(halves.x & 0xFFFFu, halves.x >> 16, halves.y & 0xFFFFu, 0u);
}

// Anywhere, wherever rows begin.
Four fetch_mapped(ivec2 p) {
  Four four;
  [[unroll]] for (int i = 0; i < kWords; ++i) four.words[i] = 0u;
  int y = map_index(border_y, p.y, source_size.y);
  [[unroll]] for (int i = 0; i < 4; ++i) {
    ivec2 q = ivec2(map_index(border_x, p.x + i, source_size.x), y);
    uvec4 stored = is_beyond(q) ? outside_stored() : fetch_stored(q);
    if (source_channels == 4) {
      [[unroll]] for (int w = 0; w < kWords / 4; ++w) four.words[i * (kWords / 4) + w] = stored[w];
    } else {
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        int bit = (i * source_channels + c) * source_bits;
        four.words[bit / 32] |= stored[c] << (bit % 32);
      }
    }
  }
  return four;
}

void store_each(ivec2 p, Four four) {
  [[unroll]] for (int i = 0; i < 4; ++i) {
    uvec4 stored = uvec4(0u);
    if (source_channels == 4) {
      [[unroll]] for (int w = 0; w < kWords / 4; ++w) stored[w] = four.words[i * (kWords / 4) + w];
    } else {
      [[unroll]] for (int c = 0; c < source_channels; ++c) stored[c] = component(four, i, c);
    }
    if (p.x + i < size.x && !is_skipped(p.x + i)) put_words(destination_index(ivec2(p.x + i, p.y)), stored);
  }
}
