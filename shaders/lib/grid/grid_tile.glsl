// The blur of gauss.decimate's grid: a tile of coarse samples that a group makes. A lane sums some samples beneath each other, of one
// column of the tile or of its margins, straight from the grid; what that leaves in shared memory is summed along rows, a span of
// coarse samples side by side a lane, so that a number that it reads serves several sums. Where lanes are, and when they wait, is the
// kernel's.
// Include it after pixel.glsl, the weights, and constants taps_x and taps_y, with WEIGHTS_OF_X and WEIGHTS_OF_Y, where weights[] has
// those, TILE_HEIGHT, the tile's rows, and TILE_SPANS, the spans side by side in each.

layout(constant_id = 22) const int rows_in_flight = 8;      // that a lane fetches at once
layout(constant_id = 23) const int samples_per_thread = 4;  // coarse samples that a lane makes in either direction

// What a lane sums at once: whole samples, or one number of samples that have fewer than four. The grid has every sample that the
// taps reach, or those beyond its edge are like the nearest.
#if UNIT == UNIT_sample
#define Unit vec4
#define UNITS 1  // of a coarse sample
const int kBanks = 8;  // of shared memory, as wide as a unit

Unit fetch_unit(ivec2 coarse, int unit) {
  return fetch(coarse);
}
#else
#define Unit float
#define UNITS source_channels
const int kBanks = 32;

Unit fetch_unit(ivec2 coarse, int unit) {
  return uintBitsToFloat(source32[source_index(coarse) * uint(source_channels) + uint(unit)]);
}
#endif

const int kHeight = TILE_HEIGHT;
const int kSpans = TILE_SPANS;
const int kWidth = kSpans * samples_per_thread;
const int kReach = kWidth + taps_x - 1;

// Spans begin an odd number of places apart, also where the next row's follow on one row's last: lanes that read at once
// then read from different banks.
const int kGap = 1 - samples_per_thread % 2;  // after each span
const int kRowOfSpans = kWidth + kGap * kSpans;
const int kPlaces = kReach + kGap * (kReach / samples_per_thread);
const int kRow = (kRowOfSpans + (kPlaces - kRowOfSpans + kBanks - 1) / kBanks * kBanks) * UNITS;

shared Unit tile[kHeight * kRow];

int place_of(int row, int coarse, int unit) {
  return row * kRow + (coarse + kGap * (coarse / samples_per_thread)) * UNITS + unit;
}

void sum_down(ivec2 from, int unit, out Unit sums[samples_per_thread]) {
  [[unroll]] for (int r = 0; r < samples_per_thread; ++r) sums[r] = Unit(0.0);
  int x = clamp(from.x, 0, source_size.x - 1);
  [[unroll]] for (int first = 0; first < taps_y + samples_per_thread - 1; first += rows_in_flight) {
    Unit rows[rows_in_flight];
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      int y = clamp(from.y + first + i, 0, source_size.y - 1);
      if (first + i < taps_y + samples_per_thread - 1) rows[i] = fetch_unit(ivec2(x, y), unit);
    }
    [[unroll]] for (int i = 0; i < rows_in_flight; ++i) {
      [[unroll]] for (int r = 0; r < samples_per_thread; ++r) {
        int tap = first + i - r;
        if (tap >= 0 && tap < taps_y) sums[r] = fma(rows[i], Unit(weights[WEIGHTS_OF_Y + tap]), sums[r]);
      }
    }
  }
}

void sum_across(int first, out Unit sums[samples_per_thread]) {
  [[unroll]] for (int p = 0; p < samples_per_thread; ++p) sums[p] = Unit(0.0);
  [[unroll]] for (int i = 0; i < taps_x + samples_per_thread - 1; ++i) {
    Unit v = tile[first + (i + kGap * (i / samples_per_thread)) * UNITS];
    [[unroll]] for (int p = 0; p < samples_per_thread; ++p) {
      if (i >= p && i - p < taps_x) sums[p] = fma(v, Unit(weights[WEIGHTS_OF_X + i - p]), sums[p]);
    }
  }
}
