//@ axis STORAGE buffer image
//@ skip STORAGE=image
//@ axis SUMS u16x2 u32 f32
//@ axis WORDS 1 2 4
//@ skip SUMS=u16x2 WORDS=4
// box.any by segments. A group owns a strip of columns and moves down a band of rows. Its lanes keep the sums of columns of the
// window in registers, and leave those of a few rows in shared memory. There each lane sums a segment of a row. What these come to
// tells with what the first window of each segment begins; from there the lane slides along its segment, takes in the column that
// enters and gives up the one that leaves. Means go through shared memory, so that lanes side by side store what lies side by side.
//
// WORDS: of a column's sum in shared memory.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#define KERNEL_PARAMETERS \
  ivec2 before;      /* pixels of the window before its own */ \
  ivec2 window;      /* all of them */ \
  ivec2 skip;        /* where the destination begins in what the groups make */ \
  int width;         /* columns of a strip */ \
  int height;        /* rows of a band */ \
  int columns;       /* of block sums; */ \
  int first_column;  /* the first of them that is read; */ \
  int whole;         /* whole blocks of a window, */ \
  int part;          /* and rows of the next one */ \
  uint auxiliary_stride;  /* words from the block sums of one image to those of the next */ \
  float scale;      /* from sums to what is stored; of floats, of each pixel */ \
  float along;      /* of floats, from sums of columns to what is summed along rows */ \
  float gain;       /* of floats, from sums along rows to what is stored */
#include "io/pixel.glsl"
#include "io/spans.glsl"
#include "box/box_spans.glsl"

layout(constant_id = 20) const int subgroup_size = 32;
layout(constant_id = 21) const int spans_per_thread = 1;  // spans of a lane; the same one of all lanes lie side by side
layout(constant_id = 22) const int rows_in_flight = 1;    // rows of a step
layout(constant_id = 23) const int segments_of_window = 0;  // whole ones,
layout(constant_id = 24) const int rest = 0;                // and columns of the next one
layout(constant_id = 25) const int lead = 0;    // columns before the first that anybody needs, less than a span
layout(constant_id = 27) const bool has_block_sums = false;  // for what bands begin with, else they read their first windows
layout(constant_id = 28) const int seed_rows_in_flight = 1;  // so many of these rows are fetched together

layout(std430, binding = 3) readonly buffer Auxiliary { uint block_sums[]; };

#if SUMS == SUMS_f32
#define to_bits floatBitsToUint
#define from_bits uintBitsToFloat
#else
#define to_bits(v) (v)
#define from_bits(v) (v)
#endif
#if WORDS == WORDS_1
#define PLACE NUMBER
#define PLACE_BITS uint
#define word_of(v, q) (v)
const int kPlaceWords = 1;
#elif WORDS == WORDS_2
#if SUMS == SUMS_f32
#define PLACE vec2
#else
#define PLACE uvec2
#endif
#define PLACE_BITS uvec2
#define word_of(v, q) (v)[q]
const int kPlaceWords = 2;
#else
#define PLACE NUMBERS
#define PLACE_BITS uvec4
#define word_of(v, q) (v)[q]
const int kPlaceWords = 4;
#endif

const int kThreads = int(gl_WorkGroupSize.x);
const int kFetched = rows_in_flight * spans_per_thread;  // spans of a lane, in a step
const int kOwn = spans_per_thread * span;                // columns of a lane
const int kSegment = rows_in_flight * kOwn;              // columns of a row that a lane slides along
const int kSegments = kThreads / rows_in_flight;         // of a row
const int kPitchOfSegment = kSegment + 1 - kSegment % 2;  // odd: lanes side by side read from different banks
const int kPitch = (kSegments + 1) * kPitchOfSegment;     // of a row: one more, before the first, for columns that nobody needs
const bool kAsks = subgroup_size % kSegments == 0;        // the lanes that share a row can ask each other

// What a lane makes of its segment, in parts as long as a column's sum.
const int kMadeWords = kSegment * source_channels * SPAN_BITS / 32;
const int kParts = kMadeWords / kPlaceWords;
const int kPitchOfParts = kParts + 1 - kParts % 2;
const int kNumbersOfPart = kPlaceWords * kInWord;

// Sums of columns; later in a step what has been made of them.
shared PLACE_BITS rows_of_step[rows_in_flight * kPitch + kPitchOfSegment];
// Where lanes cannot ask each other: what segments come to, and their first `rest` columns.
shared NUMBERS totals[kAsks ? 1 : kThreads];
shared NUMBERS rests[kAsks ? 1 : kThreads];

// What sums along rows take in of a column's sum.
PLACE for_rows(PLACE sum) {
#if SUMS == SUMS_f32
  return sum * along;
#else
  return sum;
#endif
}

int place_of(int column) { return column + column / kSegment * (kPitchOfSegment - kSegment); }

// ---- Sums of columns

PLACE place_at(uint words[kWords], int p, bool enters) {
  NUMBERS v = NUMBERS(0);
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    v[q] = number_at(words, p, q);
#if SUMS == SUMS_f32
    v[q] = enters ? entering(v[q]) : v[q] * scale;
#endif
  }
  PLACE place;
  [[unroll]] for (int q = 0; q < kPlaceWords; ++q) word_of(place, q) = v[q];
  return place;
}

int lane, first, top, rows;

int first_of(int q) { return first + q * kThreads * span; }

void fetch_row(bool reads_whole, int q, int row, out uint words[kWords]) {
  int y = map_index(border_y, row, source_size.y);
  if (reads_whole) {
    fetch_whole(words, ivec2(first_of(q), max(y, 0)));
  } else {
    fetch_mapped(words, ivec2(first_of(q), y));
  }
}

// Of rows that were fetched as if they lay in the image.
void settle_row(bool reads_whole, int q, int row, inout uint words[kWords]) {
  bool is_outside = border_y == kConstant && uint(row) >= uint(source_size.y);
  if (reads_whole && is_outside) fetch_mapped(words, ivec2(first_of(q), kOutside));
}

int row_of_step(int y, int n) { return top + min(y + n / spans_per_thread, rows - 1); }

// What leaves and what enters in a step.
void fetch_step(bool reads_whole, int y, out uint leaving[kFetched][kWords], out uint coming[kFetched][kWords]) {
  [[unroll]] for (int n = 0; n < kFetched; ++n) {
    fetch_row(reads_whole, n % spans_per_thread, row_of_step(y, n), leaving[n]);
    fetch_row(reads_whole, n % spans_per_thread, row_of_step(y, n) + window.y, coming[n]);
  }
}

const int kFirstFetched = seed_rows_in_flight * spans_per_thread;

// The window of the row before the band, from its pixels.
void sum_first_rows(bool reads_whole, inout PLACE down[kOwn]) {
  for (int y = 0; y < window.y; y += seed_rows_in_flight) {
    uint fetched[kFirstFetched][kWords];
    [[unroll]] for (int n = 0; n < kFirstFetched; ++n) {
      fetch_row(reads_whole, n % spans_per_thread, top + min(y + n / spans_per_thread, window.y - 1), fetched[n]);
    }
    [[unroll]] for (int n = 0; n < kFirstFetched; ++n) {
      if (y + n / spans_per_thread < window.y) {
        settle_row(reads_whole, n % spans_per_thread, top + y + n / spans_per_thread, fetched[n]);
        [[unroll]] for (int p = 0; p < span; ++p) down[n % spans_per_thread * span + p] += place_at(fetched[n], p, true);
      }
    }
  }
}

// The same from block sums, of column x.
PLACE sum_of_blocks(int band, int x) {
  NUMBERS v = NUMBERS(0);
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    uint index = uint((2 * band * kPlanes + q) * columns + x) + layer_start(auxiliary_stride);
    uint next_band = uint(2 * kPlanes * columns);
    for (int i = 0; i < whole; ++i) v[q] += from_bits(block_sums[index + uint(i) * next_band]);
    if (part > 0) v[q] += from_bits(block_sums[index + uint(whole) * next_band + uint(kPlanes * columns)]);
  }
  PLACE place;
  [[unroll]] for (int q = 0; q < kPlaceWords; ++q) word_of(place, q) = v[q];
  return place;
}

// ---- Sums along rows

// Of some columns. Two channels in a word take 32 bits each here: the words are added up as they are, and their upper halves again.
struct Along {
  NUMBERS words;
#if SUMS == SUMS_u16x2
  NUMBERS upper;
#endif
};

Along from_channels(NUMBERS v) {
  Along along;
  along.words = v;
#if SUMS == SUMS_u16x2
  along.upper = NUMBERS(0);
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    if (q + kPlanes < source_channels) along.upper[q] = v[q + kPlanes];
    along.words[q] += along.upper[q] << 16;
  }
#endif
  return along;
}

NUMBERS to_channels(Along along) {
  NUMBERS v = along.words;
#if SUMS == SUMS_u16x2
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    v[q] = along.words[q] - (along.upper[q] << 16);
    if (q + kPlanes < source_channels) v[q + kPlanes] = along.upper[q];
  }
#endif
  return v;
}

void take_in(inout Along along, PLACE enters) {
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    along.words[q] += word_of(enters, q);
#if SUMS == SUMS_u16x2
    along.upper[q] += word_of(enters, q) >> 16;
#endif
  }
}

void step_along(inout Along along, PLACE enters, PLACE leaves) {
  [[unroll]] for (int q = 0; q < kPlanes; ++q) {
    along.words[q] += word_of(enters, q) - word_of(leaves, q);
#if SUMS == SUMS_u16x2
    along.upper[q] += (word_of(enters, q) >> 16) - (word_of(leaves, q) >> 16);
#endif
  }
}

NUMBERS asked(NUMBERS v, int other) {
  NUMBERS answer = NUMBERS(0);
  [[unroll]] for (int c = 0; c < source_channels; ++c) answer[c] = subgroupShuffle(v[c], uint(other));
  return answer;
}

// Of a row's lane: the window that begins with its segment, from what all segments come to. A lane behind which there are too few
// leaves anything.
NUMBERS first_window(NUMBERS total, NUMBERS rest_of_total, int thread, int segment) {
  NUMBERS sum = NUMBERS(0);
  if (kAsks) {
    // Of 1, 2, 4, ... segments from each on.
    NUMBERS some = total;
    [[unroll]] for (int count = 1; count <= segments_of_window; count *= 2) {
      if ((segments_of_window & count) != 0) {
        int skipped = segments_of_window & (count - 1);
        sum += asked(some, lane + min(skipped, kSegments - 1 - segment));
      }
      if (2 * count <= segments_of_window) some += asked(some, lane + min(count, kSegments - 1 - segment));
    }
    return sum + asked(rest_of_total, lane + min(segments_of_window, kSegments - 1 - segment));
  }
  totals[thread] = total;
  rests[thread] = rest_of_total;
  barrier();
  int there = min(segments_of_window, kSegments - 1 - segment);
  for (int i = 0; i < there; ++i) sum += totals[thread + i];
  return sum + rests[thread + there];
}

void wait_for_row() {
  if (kAsks) {
    subgroupMemoryBarrierShared();
    subgroupBarrier();
  } else {
    barrier();
  }
}

// ---- Storing

void store_part(PLACE_BITS v, uint index) {
#if WORDS == WORDS_1
  destination32[index] = v;
#elif WORDS == WORDS_2
  destination64[index] = v;
#else
  destination128[index] = v;
#endif
}

// The parts that a lane stores lie `kSegments` apart.
int place_of_part(int i, int segment) {
  if (kSegments % kParts == 0) {
    return segment / kParts * kPitchOfParts + segment % kParts + i * (kSegments / kParts) * kPitchOfParts;
  }
  int n = i * kSegments + segment;
  return n / kParts * kPitchOfParts + n % kParts;
}

// Numbers of a row of the strip that the destination has.
int from_number, to_number;

bool is_inside_row(int n) { return n >= from_number && n < to_number; }

// A part of which some numbers, from the n-th on, may lie outside or not where parts do: by words where pixels are whole ones, else by
// numbers.
void store_inside_row(PLACE_BITS part, int n, uint first_number) {
#if WORDS != WORDS_1
  if (source_channels == 2 * kInWord) {
    [[unroll]] for (int w = 0; w < kPlaceWords; w += 2) {
      int m = n + w * kInWord;
      if (is_inside_row(m)) destination64[(first_number + uint(m)) / uint(2 * kInWord)] = uvec2(part[w], part[w + 1]);
    }
    return;
  }
#endif
  [[unroll]] for (int w = 0; w < kPlaceWords; ++w) {
    int m = n + w * kInWord;
    if (source_channels % kInWord == 0) {
      if (is_inside_row(m)) destination32[(first_number + uint(m)) / uint(kInWord)] = word_of(part, w);
    } else {
      for (int i = 0; i < kInWord; ++i) {
        if (is_inside_row(m + i)) put_component(first_number + uint(m + i), word_of(part, w) >> (i * SPAN_BITS % 32));
      }
    }
  }
}

// Of a row in shared memory; `first_number`: where its numbers begin in the destination.
void store_row(bool stores_parts, int row, uint first_number, int segment) {
  if (stores_parts) {
    PLACE_BITS parts[kParts];
    [[unroll]] for (int i = 0; i < kParts; ++i) parts[i] = rows_of_step[row + place_of_part(i, segment)];
    [[unroll]] for (int i = 0; i < kParts; ++i) {
      int n = (i * kSegments + segment) * kNumbersOfPart;
      if (n < to_number) store_part(parts[i], (first_number + uint(n)) / uint(kNumbersOfPart));
    }
    return;
  }
  for (int i = 0; i < kParts; ++i) {
    PLACE_BITS part = rows_of_step[row + place_of_part(i, segment)];
    store_inside_row(part, (i * kSegments + segment) * kNumbersOfPart, first_number);
  }
}

void main() {
  lane = int(gl_SubgroupInvocationID);
  int thread = int(gl_SubgroupID * gl_SubgroupSize) + lane;
  ivec2 corner = ivec2(gl_WorkGroupID.xy) * ivec2(width, height);
  rows = min(height, size.y - corner.y);
  first = origin.x + corner.x - before.x - lead + thread * span;
  top = origin.y + corner.y - before.y - 1;  // the row that leaves when the band's first is made
  bool reads_whole = true;
  [[unroll]] for (int q = 0; q < spans_per_thread; ++q) reads_whole = reads_whole && is_whole_source(first_of(q));
  reads_whole = subgroupAll(reads_whole);
  // Where the sums of a lane's columns lie: the first `lead` of a span at the end of the one before it.
  int place = place_of(thread * span + kSegment);
  int place_before = place_of((thread - 1) * span + kSegment);

  // The row of a step and the segment of it that a lane slides along, and where the columns lie that enter there.
  int own_row = thread / kSegments;
  int segment = thread % kSegments;
  int row = own_row * kPitch;
  int own = row + (segment + 1) * kPitchOfSegment;
  bool is_needed = segment * kSegment < min(width, size.x - corner.x);
  int entering_place = is_needed ? own + segments_of_window * kPitchOfSegment : own;

  int to_x = corner.x - skip.x;
  from_number = max(-to_x, 0) * source_channels;
  to_number = min(width, size.x - corner.x) * source_channels;
  bool has_parts = destination_pitch * source_channels % kNumbersOfPart == 0 &&
                   destination_start() * uint(source_channels) % uint(kNumbersOfPart) == 0u;
  bool stores_parts =
      has_parts && from_number == 0 && to_number % kNumbersOfPart == 0 && to_x * source_channels % kNumbersOfPart == 0;

  PLACE down[kOwn];
  [[unroll]] for (int i = 0; i < kOwn; ++i) {
    int x = first_column + corner.x + (i / span * kThreads + thread) * span + i % span;
    down[i] = has_block_sums ? sum_of_blocks(int(gl_WorkGroupID.y), x) : PLACE(0);
  }
  // Branches around whole loops: what few lanes do must not lie between what all others run through.
  if (!has_block_sums && reads_whole) {
    sum_first_rows(true, down);
  } else if (!has_block_sums) {
    sum_first_rows(false, down);
  }

  uint leaving[kFetched][kWords], coming[kFetched][kWords];
  if (reads_whole) {
    fetch_step(true, 0, leaving, coming);
  } else {
    fetch_step(false, 0, leaving, coming);
  }
  for (int y = 0; y < rows; y += rows_in_flight) {
    [[unroll]] for (int n = 0; n < kFetched; ++n) {
      settle_row(reads_whole, n % spans_per_thread, row_of_step(y, n), leaving[n]);
      settle_row(reads_whole, n % spans_per_thread, row_of_step(y, n) + window.y, coming[n]);
      int at = n / spans_per_thread * kPitch + n % spans_per_thread * (kThreads * span / kSegment) * kPitchOfSegment;
      [[unroll]] for (int p = 0; p < span; ++p) {
        int i = n % spans_per_thread * span + p;
        down[i] += place_at(coming[n], p, true) - place_at(leaving[n], p, false);
        rows_of_step[at + (p < lead ? place_before + span : place) + p - lead] = to_bits(for_rows(down[i]));
      }
    }
    // The next step's rows are on their way while this one's are summed.
    if (reads_whole) {
      fetch_step(true, y + rows_in_flight, leaving, coming);
    } else {
      fetch_step(false, y + rows_in_flight, leaving, coming);
    }
    barrier();

    Along along = from_channels(NUMBERS(0));
    NUMBERS rest_of_total = NUMBERS(0);
    [[unroll]] for (int i = 0; i < kSegment; ++i) {
      if (i == rest) rest_of_total = to_channels(along);
      take_in(along, from_bits(rows_of_step[own + i]));
    }
    NUMBERS sums = first_window(to_channels(along), rest_of_total, thread, segment);
#if SUMS != SUMS_f32
    if (sums_are_short) sums += kFloat;
#endif
    along = from_channels(sums);
    uint made[kMadeWords];
    [[unroll]] for (int i = 0; i < kSegment; i += span) {
      float means[kNumbers];
      [[unroll]] for (int p = 0; p < span; ++p) {
        sums = to_channels(along);
        [[unroll]] for (int c = 0; c < source_channels; ++c) {
#if SUMS == SUMS_f32
          means[p * source_channels + c] = sums[c] * gain;
#else
          int n = p * source_channels + c;
          means[n] = mean_of(sums_are_short ? uintBitsToFloat(sums[c]) : float(sums[c]), n);
#endif
        }
        PLACE enters = from_bits(rows_of_step[entering_place + place_of(rest + i + p)]);
        step_along(along, enters, from_bits(rows_of_step[own + i + p]));
      }
      uint words[kWords];
      pack_numbers(means, kMeansAre, words);
      [[unroll]] for (int w = 0; w < kWords; ++w) made[i / span * kWords + w] = words[w];
    }
    // Nobody needs the row's sums any more.
    wait_for_row();
    [[unroll]] for (int i = 0; i < kParts; ++i) {
      PLACE_BITS part_made;
      [[unroll]] for (int w = 0; w < kPlaceWords; ++w) word_of(part_made, w) = made[i * kPlaceWords + w];
      rows_of_step[row + segment * kPitchOfParts + i] = part_made;
    }
    wait_for_row();
    int to_y = corner.y + y + own_row - skip.y;
    if (to_y >= 0 && y + own_row < rows) {
      uint first_number = (uint(to_y * destination_pitch + to_x) + destination_start()) * uint(source_channels);
      store_row(stores_parts, row, first_number, segment);
    }
    barrier();
  }
}
