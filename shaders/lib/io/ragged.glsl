// Spans that begin some pixels after a multiple of their length, as many in all lanes: fetched as the span that holds the first of
// them and what they reach of the next one, and put together when all rows are on their way.
// Include it after spans.glsl.

const int kRaw = 2 * kWords;

// Where `whole`, both spans lie inside, in rows of whole ones; else pixels are fetched one by one, into the first words.
void fetch_ragged(bool whole, ivec2 p, int shift, out uint raw[kRaw]) {
  uint words[kWords];
  if (!whole) {
    fetch_mapped(words, p);
    [[unroll]] for (int w = 0; w < kWords; ++w) raw[w] = words[w];
    return;
  }
  fetch_whole(words, ivec2(p.x - shift, p.y));
  [[unroll]] for (int w = 0; w < kWords; ++w) raw[w] = words[w];
  int beyond = (shift * source_channels * SPAN_BITS + 31) / 32;  // words
  uint next = (source_index(ivec2(p.x - shift, p.y)) / uint(span) + 1u) * uint(kWords);
  if (kWords % 4 == 0 && beyond > 2) {
    uvec4 v = source128[next / 4u];
    [[unroll]] for (int w = 0; w < 4; ++w) raw[kWords + w] = v[w];
  } else if (kWords % 2 == 0 && beyond == 2) {
    uvec2 v = source64[next / 2u];
    [[unroll]] for (int w = 0; w < 2; ++w) raw[kWords + w] = v[w];
  } else {
    [[unroll]] for (int w = 0; w < kWords; ++w) {
      if (w < beyond) raw[kWords + w] = source32[next + uint(w)];
    }
  }
}

void put_together(bool whole, int shift, uint raw[kRaw], out uint words[kWords]) {
  int bits = whole ? shift * source_channels * SPAN_BITS : 0;
  [[unroll]] for (int w = 0; w < kWords; ++w) {
    int at = w + bits / 32;
    words[w] = bits % 32 == 0 ? raw[at] : raw[at] >> bits % 32 | raw[at + 1] << 32 - bits % 32;
  }
}

// Of a lane whose first pixel is x.
bool is_whole_ragged(int x, int shift) {
  return is_whole_source(x - shift) && (shift == 0 || x - shift + 2 * span <= source_size.x);
}
