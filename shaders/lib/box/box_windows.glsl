// Sums of windows that end before each band and each strip, which box.any by corners begins with: words in planes, one for each channel.
// Include it after numbers.glsl or box_spans.glsl, with `from_word`, `lanes`, `together` and the parameters that it names.

layout(std430, binding = 3) readonly buffer Auxiliary { uint windows[]; };

// Of the column x of those that windows reach, counted from the first of them.
NUMBERS window_down(int band, int x) {
  NUMBERS v = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    v[c] = from_word(windows[uint((band * source_channels + c) * columns + x) + layer_start(auxiliary_stride)]);
  }
  return v;
}

NUMBERS window_across(int strip, int y) {
  int begin = bands * source_channels * columns;
  NUMBERS v = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) {
    v[c] = from_word(windows[uint(begin + (strip * source_channels + c) * rows + y) + layer_start(auxiliary_stride)]);
  }
  return v;
}

NUMBERS sum_of_strip(NUMBERS v) {
  [[unroll]] for (int step = 1; step < lanes; step *= 2) {
    [[unroll]] for (int c = 0; c < source_channels; ++c) v[c] += subgroupShuffleXor(v[c], uint(step));
  }
  return v;
}

// Of as many columns as a window is wide, the sum, fetched `together` a lane at once.
NUMBERS window_of_columns(int band, int first_column, int count, int lane) {
  NUMBERS sum = NUMBERS(0);
  for (int x = lane; x < count; x += together * lanes) {
    NUMBERS columns_ahead[together];
    [[unroll]] for (int i = 0; i < together; ++i) {
      columns_ahead[i] = NUMBERS(0);
      if (x + i * lanes < count) columns_ahead[i] = window_down(band, first_column + x + i * lanes);
    }
    [[unroll]] for (int i = 0; i < together; ++i) sum += columns_ahead[i];
  }
  return sum_of_strip(sum);
}
