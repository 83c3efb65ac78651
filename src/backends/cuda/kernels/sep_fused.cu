// Both axes of a separable filter in one pass. A block of threads makes a strip of columns from top to bottom. Eight source rows at a time
// become numbers in shared memory, are filtered along x into a ring of rows, and complete eight rows of the destination, which are filtered
// along y out of the ring. A thread makes four pixels of a row along x, and four rows of four components along y, so that a number that it
// reads from shared memory is used four times. While rows are filtered, the next ones are on their way.
//
// Weights have zeros before and after them, so that loops have no exceptions. Zero times a NaN is no zero: where a number is not finite,
// the weights are taken one by one.
#include "backends/cuda/kernels/coding.cuh"
#include "backends/cuda/kernels/sep_fused_shape.h"

namespace mollify::cuda {
namespace {

constexpr int kRows = kSepFusedRows;
constexpr int kWarps = kSepFusedThreads / 32;
constexpr int kRowsOfWarp = kRows / kWarps;  ///< that it loads
constexpr int kFoursInFlight = 3;            ///< of a row, for each thread; more are loaded when they are needed

/// Where the i-th four components of the t-th four pixels lie in a row of shared memory: so that threads which read the same of
/// neighbouring pixels, and threads which read all of some pixels, meet no bank twice.
template <int kChannels>
__device__ constexpr int place(int t, int i) {
  if constexpr (kChannels == 4) return 4 * t + (i ^ (t >> 1 & 3));
  if constexpr (kChannels == 2) return 2 * t + (i ^ (t >> 2 & 1));
  return kChannels * t + i;
}

/// For each component of the columns that a strip reads, which component of a row stands in for it, or -1 for a constant border. It is
/// the same in all rows.
template <int kChannels>
__device__ void put_columns(const SepFused& a, std::int32_t first_column, int fours, int4* columns) {
  for (int i = threadIdx.x; i < 4 * fours; i += kSepFusedThreads) {
    const std::int32_t column = mapped(a.outside.mode_x, first_column + i / kChannels, a.source.width);
    reinterpret_cast<int*>(columns)[i] = column < 0 ? -1 : column * kChannels + i % kChannels;
  }
}

/// Puts the constant of a border in place of all four numbers, or of those that `at` has no component for. The first number belongs to
/// channel `first`. Constant borders are rare, so it is code of its own.
template <int kChannels>
__device__ __noinline__ Four with_constant(const SepFused& a, int4 at, bool all, int first, Four v) {
  const int places[4] = {at.x, at.y, at.z, at.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (all || places[i] < 0) v.at[i] = static_cast<float>(a.outside.value[(first + i) % kChannels]);
  }
  return v;
}

/// The rows of a strip that a warp loads: from the device's memory to registers, and later to shared memory.
template <class Pixels>
class Loader {
 public:
  __device__ Loader(const SepFused& a, const int4* columns, int fours, std::int32_t image, std::int32_t first_column,
                    std::int32_t first_row)
      : a_(a),
        columns_(columns),
        image_(image),
        strip_component_(first_column * Pixels::channels),
        first_row_(first_row + warp()),
        fours_(fours),
        is_inside_(a.source.is_aligned && first_column >= 0 && first_column + fours / Pixels::channels * 4 <= a.source.width) {}

  /// Rows from the s-th of the chunk on. All threads go the same way: were it left to each, loads of one way would wait for those of the
  /// other, because both are to the same registers.
  __device__ void fetch(std::int32_t s) {
#pragma unroll
    for (int j = 0; j < kRowsOfWarp; ++j) rows_[j] = source_row(a_, image_, first_row_ + s + j * kWarps).begin;
    if (is_inside_) {
      fetch_by([&](const char* row, int n) { return load_four(row, n); });
    } else {
      fetch_by([&](const char* row, int n) { return load_each(row, n); });
    }
  }

  /// Returns whether a number of the thread's is not finite.
  __device__ bool put(float4* rows) const {
    float odd = 0.0F;  // no zero once one is not finite
#pragma unroll
    for (int j = 0; j < kRowsOfWarp; ++j) {
      float4* const row = rows + (warp() + j * kWarps) * fours_;
      const auto put_four = [&](int n, const typename Pixels::Stored& stored) {
        const int q = lane() + 32 * n;
        Four v = Pixels::numbers(a_, stored);
        if (rows_[j] == nullptr || (a_.outside.mode_x == kConstant && !is_inside_)) {
          v = with_constant<Pixels::channels>(a_, columns_[q], rows_[j] == nullptr, 4 * q % Pixels::channels, v);
        }
        if constexpr (Pixels::has_fractions) odd = fmaf(v.at[3], 0.0F, fmaf(v.at[2], 0.0F, fmaf(v.at[1], 0.0F, fmaf(v.at[0], 0.0F, odd))));
        row[place<Pixels::channels>(q / Pixels::channels, q % Pixels::channels)] = make_float4(v.at[0], v.at[1], v.at[2], v.at[3]);
      };
#pragma unroll
      for (int n = 0; n < kFoursInFlight; ++n) {
        if (lane() + 32 * n < fours_) put_four(n, stored_[j][n]);
      }
      for (int n = kFoursInFlight; lane() + 32 * n < fours_; ++n) {
        if (rows_[j] == nullptr) {
          put_four(n, {});
        } else {
          put_four(n, is_inside_ ? load_four(rows_[j], n) : load_each(rows_[j], n));
        }
      }
    }
    return odd != 0.0F;
  }

 private:
  static __device__ int warp() {
    return static_cast<int>(threadIdx.x / 32);
  }
  static __device__ int lane() {
    return static_cast<int>(threadIdx.x % 32);
  }

  template <class Load>
  __device__ void fetch_by(const Load& load) {
#pragma unroll
    for (int j = 0; j < kRowsOfWarp; ++j) {
      if (rows_[j] == nullptr) continue;
#pragma unroll
      for (int n = 0; n < kFoursInFlight; ++n) {
        if (lane() + 32 * n < fours_) stored_[j][n] = load(rows_[j], n);
      }
    }
  }

  __device__ typename Pixels::Stored load_four(const char* row, int n) const {
    return Pixels::load(a_, row, strip_component_ + 4 * lane() + 128 * n);
  }
  /// Of a constant border, what is loaded is not used.
  __device__ typename Pixels::Stored load_each(const char* row, int n) const {
    const int4 at = columns_[lane() + 32 * n];
    return Pixels::load_each(a_, row, max(at.x, 0), max(at.y, 0), max(at.z, 0), max(at.w, 0));
  }

  const SepFused& a_;
  const int4* columns_;
  std::int32_t image_;
  std::int32_t strip_component_;  ///< of the strip, from the first of a row
  std::int32_t first_row_;
  int fours_;
  bool is_inside_;  ///< the image, all of the strip, and fours of it are one load
  const char* rows_[kRowsOfWarp];
  typename Pixels::Stored stored_[kRowsOfWarp][kFoursInFlight];
};

/// Adds four samples to four neighbouring sums. `weights` holds seven: sample s has that of place s - p + 3 in sum p.
template <int kChannels>
__device__ void add_samples(const float (&weights)[8], const float (&samples)[4 * kChannels], float (&sum)[4][kChannels]) {
#pragma unroll
  for (int s = 0; s < 4; ++s) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum[p][c] = fmaf(weights[s - p + 3], samples[s * kChannels + c], sum[p][c]);
    }
  }
}

/// The same with the weights that there are, of which the first of the seven is number `first`.
template <int kChannels>
__device__ void add_samples_one_by_one(const float (&weights)[8], int first, int count, const float (&samples)[4 * kChannels],
                                       float (&sum)[4][kChannels]) {
#pragma unroll
  for (int s = 0; s < 4; ++s) {
#pragma unroll
    for (int p = 0; p < 4; ++p) {
      if (static_cast<unsigned>(first + s - p + 3) >= static_cast<unsigned>(count)) continue;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) sum[p][c] = fmaf(weights[s - p + 3], samples[s * kChannels + c], sum[p][c]);
    }
  }
}

/// Sums over blocks of four samples; load(block, samples) reads them. `shift` zeros lie before the first weight.
template <int kChannels, class Load>
__device__ void sum_up(const float4* taps, int blocks, int count, int shift, bool one_by_one, const Load& load,
                       float (&sum)[4][kChannels]) {
  float weights[8];
  float samples[4 * kChannels];
  reinterpret_cast<float4*>(weights)[0] = taps[0];
  if (one_by_one) {
#pragma unroll 1
    for (int b = 0; b < blocks; ++b) {
      reinterpret_cast<float4*>(weights)[1] = taps[b + 1];
      load(b, samples);
      add_samples_one_by_one<kChannels>(weights, 4 * b - 3 - shift, count, samples, sum);
      reinterpret_cast<float4*>(weights)[0] = reinterpret_cast<const float4*>(weights)[1];
    }
    return;
  }
#pragma unroll 2
  for (int b = 0; b < blocks; ++b) {
    reinterpret_cast<float4*>(weights)[1] = taps[b + 1];
    load(b, samples);
    add_samples<kChannels>(weights, samples, sum);
    reinterpret_cast<float4*>(weights)[0] = reinterpret_cast<const float4*>(weights)[1];
  }
}

/// Weights with 3 + shift zeros before them and zeros after them.
__device__ void put_taps(const float* taps, int count, int shift, int fours, float4* out) {
  for (int i = threadIdx.x; i < 4 * fours; i += kSepFusedThreads) {
    const int tap = i - 3 - shift;
    reinterpret_cast<float*>(out)[i] = tap >= 0 && tap < count ? taps[tap] : 0.0F;
  }
}

template <class Pixels>
__device__ void sep_fused(const SepFused& a) {
  constexpr int kChannels = Pixels::channels;
  constexpr int kColumns = sep_fused_columns(kChannels);
  constexpr int kBlocksAcross = kColumns / 4;
  constexpr int kRingFours = kBlocksAcross * kChannels;
  extern __shared__ float4 memory[];
  BlockPlace block = block_place(a);
  TapsOfImage own{a.taps, a.taps_x, a.taps_y, a.first_x, a.first_y};
  if (a.each != 0) {
    own = reinterpret_cast<const TapsOfImage*>(a.each)[block.image];
    own.taps += a.taps;
    block.image = own.image;
  }
  const SepFusedShape shape(kChannels, kColumns, own.taps_x, own.taps_y, own.first_x);
  float4* const taps_x = memory;
  float4* const taps_y = taps_x + shape.taps_fours_x();
  int4* const columns = reinterpret_cast<int4*>(taps_y + shape.taps_fours_y());
  float4* const source = taps_y + shape.taps_fours_y() + shape.source_fours;
  float4* const ring = source + kRows * shape.source_fours;
  const auto* const taps = reinterpret_cast<const float*>(own.taps);
  put_taps(taps, own.taps_x, shape.shift, shape.taps_fours_x(), taps_x);
  put_taps(taps + own.taps_x, own.taps_y, 0, shape.taps_fours_y(), taps_y);

  const std::int32_t x0 = block.across * kColumns;
  const std::int32_t y0 = block.down * a.rows;
  const std::int32_t rows = min(a.rows, a.destination.height - y0);
  const std::int32_t source_rows = 4 * ((rows + 3) / 4 - 1 + shape.blocks_y);  // that fours of rows are made of

  const std::int32_t first_column = x0 + own.first_x - shape.shift;
  put_columns<kChannels>(a, first_column, shape.source_fours, columns);
  __syncthreads();
  Loader<Pixels> loader(a, columns, shape.source_fours, block.image, first_column, own.first_y + y0);
  loader.fetch(0);
  bool is_odd = loader.put(source);
  loader.fetch(kRows);
  int slot = 0;  // in the ring, of the rows that are filtered along x
  // Of a thread's part of rows that are filtered along y: which four of rows of a group, which four of components.
  const int v = threadIdx.x / (kSepFusedThreads / 2);
  const int q = threadIdx.x % (kSepFusedThreads / 2);
  const std::int32_t component = x0 * kChannels + 4 * q;
  const bool makes_rows = q < kRingFours && component < a.destination.width * kChannels;
  const bool is_whole = a.destination.is_aligned && component + 4 <= a.destination.width * kChannels;
  int first_slot = (4 * (1 + v - shape.blocks_y) + shape.ring_rows) % shape.ring_rows;  // of the rows that they are made of
  std::int32_t odd_until = -1;  // rows of the ring before this one may hold numbers that are not finite
  for (std::int32_t s = 0; s < source_rows; s += kRows) {
    bool along_x_odd = false;
    if constexpr (Pixels::has_fractions) {
      along_x_odd = __syncthreads_or(is_odd);
    } else {
      __syncthreads();
    }
    if (along_x_odd) odd_until = s + kRows + shape.ring_rows;
#pragma unroll
    for (int item = threadIdx.x; item < kRows * kBlocksAcross; item += kSepFusedThreads) {
      const int r = item / kBlocksAcross;
      const int t = item % kBlocksAcross;
      const float4* const row = source + r * shape.source_fours;
      const auto load = [&](int b, float(&samples)[4 * kChannels]) {
#pragma unroll
        for (int i = 0; i < kChannels; ++i) reinterpret_cast<float4*>(samples)[i] = row[place<kChannels>(t + b, i)];
      };
      float sum[4][kChannels] = {};
      sum_up<kChannels>(taps_x, shape.blocks_x, own.taps_x, shape.shift, along_x_odd, load, sum);
      float flat[4 * kChannels];
#pragma unroll
      for (int i = 0; i < 4 * kChannels; ++i) flat[i] = sum[i / kChannels][i % kChannels];
      float4* const out = ring + (slot + r) * kRingFours;
#pragma unroll
      for (int i = 0; i < kChannels; ++i) out[place<kChannels>(t, i)] = reinterpret_cast<const float4*>(flat)[i];
    }
    __syncthreads();

    if (s + kRows < source_rows) {
      is_odd = loader.put(source);
      loader.fetch(s + 2 * kRows);
    }
    // Two fours of rows are complete now.
    const std::int32_t o = s + 4 * (1 - shape.blocks_y + v);
    if (makes_rows && o >= 0 && o < rows) {
      const float4* const column = ring + place<kChannels>(q / kChannels, q % kChannels);
      const float4* from = column + first_slot * kRingFours;
      const float4* const end = column + shape.ring_rows * kRingFours;
      const auto load = [&](int, float(&samples)[16]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) reinterpret_cast<float4*>(samples)[i] = from[i * kRingFours];
        from += 4 * kRingFours;
        if (from == end) from = column;
      };
      float sum[4][4] = {};
      sum_up<4>(taps_y, shape.blocks_y, own.taps_y, 0, s < odd_until, load, sum);
      char* row = row_of(a.destination, block.image, y0 + o);
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        if (o + p < rows) {
          if (is_whole) {
            Pixels::store(a, row, component, sum[p]);
          } else {
            store_any<kChannels>(a, row, component, {{sum[p][0], sum[p][1], sum[p][2], sum[p][3]}});
          }
        }
        row += a.destination.row_bytes;
      }
    }
    first_slot = first_slot + kRows >= shape.ring_rows ? first_slot + kRows - shape.ring_rows : first_slot + kRows;
    slot = slot + kRows == shape.ring_rows ? 0 : slot + kRows;
  }
}

}  // namespace

#define MOLLIFY_SEP_FUSED(name, pixels)                                                                                       \
  __global__ void __launch_bounds__(kSepFusedThreads, kSepFusedAtOnce) sep_fused_##name(const __grid_constant__ SepFused a) { \
    take_turn();                                                                                                              \
    sep_fused<pixels>(a);                                                                                                     \
  }
#define MOLLIFY_SEP_FUSED_CHANNELS(channels)            \
  MOLLIFY_SEP_FUSED(channels##_u8, BytesOf<channels>)   \
  MOLLIFY_SEP_FUSED(channels##_f16, HalvesOf<channels>) \
  MOLLIFY_SEP_FUSED(channels##_f32, FloatsOf<channels>) \
  MOLLIFY_SEP_FUSED(channels##_any, AnyCoding<channels>)

extern "C" {
MOLLIFY_SEP_FUSED_CHANNELS(1)
MOLLIFY_SEP_FUSED_CHANNELS(2)
MOLLIFY_SEP_FUSED_CHANNELS(3)
MOLLIFY_SEP_FUSED_CHANNELS(4)
}

}  // namespace mollify::cuda
