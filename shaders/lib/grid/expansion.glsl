// What expands gauss.decimate's coarse samples to pixels that are stored as they are: a lane makes a span of pixels, moves down, expands
// each row of coarse samples across once, keeps those that the next rows of pixels need, and mixes them. Where samples come from is the
// kernel's.
// Include it after spans.glsl and the weights, with EXPANSION_OF_X and EXPANSION_OF_Y, where weights[] has the splines of x and of
// y times their factors and the range of numbers, coarse samples * factor taps each.

layout(constant_id = 24) const int factor_x = 2;
layout(constant_id = 25) const int factor_y = 2;
layout(constant_id = 26) const int support_x = 4;  // that a pixel is mixed from
layout(constant_id = 27) const int support_y = 4;
layout(constant_id = 28) const int unrolled_rows = 2;  // rows whose weights the compiler may know; divides factor_y
layout(constant_id = 29) const bool clamps = true;  // mixtures can leave the range of an integer format
// The coarse sample whose weights those of y are divided by, which then cost nothing, if any: integers are scaled back as they are
// rounded. Its own weights are as they were.
layout(constant_id = 30) const int divisor = -1;

const int kTaps = support_x * factor_x;
const int kNear = support_x + (span + factor_x - 2) / factor_x;  // coarse samples that a span is mixed from
const int kMixes = span * kNear;
const int kRowNumbers = support_y * kNumbers;
// Rows of many numbers that are mixed at once take registers that other groups could use: on an H200 167 instead of 120, and a
// twentieth longer.
const bool kRowByRow = kNumbers >= 16;

// Of the newest coarse sample - j in pixel i of a span that begins `phase` pixels after that sample's first one, or before it.
void weigh_span(int phase, out float mix_x[kMixes]) {
  [[unroll]] for (int i = 0; i < span; ++i) {
    [[unroll]] for (int j = 0; j < kNear; ++j) {
      int tap = phase + i + j * factor_x;
      mix_x[i * kNear + j] = tap >= 0 && tap < kTaps ? weights[EXPANSION_OF_X + tap] : 0.0;
    }
  }
}

// Makes one row of coarse samples the newest of rows[], which has row -j of a span's numbers from j * kNumbers on.
void expand_across(float mix_x[kMixes], vec4 samples[kNear], inout float rows[kRowNumbers]) {
  [[unroll]] for (int i = kRowNumbers - 1; i >= kNumbers; --i) rows[i] = rows[i - kNumbers];
  [[unroll]] for (int n = 0; n < kNumbers; ++n) rows[n] = 0.0;
  [[unroll]] for (int i = 0; i < span; ++i) {
    [[unroll]] for (int j = 0; j < kNear; ++j) {
      // Of a span, each pixel is mixed from some of the coarse samples only. What lies in the others may be infinite.
      float share = mix_x[i * kNear + j];
      if (kNear > support_x && share == 0.0) continue;
      [[unroll]] for (int c = 0; c < source_channels; ++c) {
        int n = i * source_channels + c;
        rows[n] = fma(share, samples[j][c], rows[n]);
      }
    }
  }
}

// The row of pixels that lies `phase` rows after the first whose newest coarse sample is that of rows[], as it is stored.
void mix_row(float rows[kRowNumbers], int phase, out uint words[kWords]) {
  float v[kNumbers];
  const int begin = max(divisor, 0);
  float weight = weights[EXPANSION_OF_Y + phase + factor_y * begin];
  [[unroll]] for (int n = 0; n < kNumbers; ++n) {
    v[n] = rows[begin * kNumbers + n];
    if (divisor < 0) v[n] *= weight;
    [[unroll]] for (int j = 0; j < support_y; ++j) {
      if (j != begin) v[n] = fma(weights[EXPANSION_OF_Y + phase + factor_y * j], rows[j * kNumbers + n], v[n]);
    }
    if (divisor >= 0) v[n] = fma(v[n], weight, rounder(n));
  }
  pack_numbers(v, divisor >= 0 ? kRounded : clamps ? kAnywhere : kInRange, words);
}

// The rows of pixels whose newest coarse sample is that of rows[], from `top` on; those from `start` to `end` are stored.
void expand_down(float rows[kRowNumbers], int left, int top, int start, int end) {
  uint words[kWords];
  bool whole = is_whole_destination(left);
  // Nearly always. Asking of each row took 14 instructions, where mixing one of four halves takes 18.
  if (whole && top >= start && top + factor_y <= end) {
    uint place = whole_place(ivec2(left, top));
    if (kRowByRow) {
      // As many as factor_y says, but compilers must not know it: they would unroll the loop.
      for (int phase = 0; phase < rows_per_sample; ++phase) {
        mix_row(rows, phase, words);
        store_at(words, place);
        place += rows_apart();
      }
    } else {
      for (int phase = 0; phase < factor_y; phase += unrolled_rows) {
        [[unroll]] for (int i = 0; i < unrolled_rows; ++i) {
          mix_row(rows, phase + i, words);
          store_at(words, place);
          place += rows_apart();
        }
      }
    }
  } else if (left < size.x) {
    for (int phase = max(start - top, 0); phase < min(end - top, factor_y); ++phase) {
      mix_row(rows, phase, words);
      if (whole) {
        store_whole(words, ivec2(left, top + phase));
      } else {
        store_each(words, ivec2(left, top + phase));
      }
    }
  }
}
