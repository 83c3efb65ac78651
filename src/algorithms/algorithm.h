// What an algorithm is to the planner: a descriptor with one function that proposes a plan or refuses with a reason.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mollify/plan.h"

namespace mollify {

/// All that an algorithm may look at. The spec is valid, the options are known to the algorithm, and every option that
/// the caller left out is absent.
struct Problem {
  const BlurSpec& spec;
  ImageDesc src;
  ImageDesc dst;
  const DeviceInfo& device;
  Options options;
  double allowed_error;     ///< full-scale units, see Accuracy
  std::int32_t batch = 1;   ///< GPU: images that each dispatch is to make
  bool in_windows = false;  ///< GPU: images pass by in windows, so they may be larger than what one binding of a buffer sees
  /// GPU: of the whole image, where the source is a part of it: what sizes of images decide is as there, so that sums round alike.
  const Plan* whole = nullptr;
  bool is_asked_for = false;  ///< the caller named the algorithm
};

/// What a promise takes for granted of the pixels.
struct Assumption {
  std::string_view text;                                     ///< as plans say it; none: nothing
  double largest = std::numeric_limits<double>::infinity();  ///< pixel without its sign, which a constant border has to keep to as well
  bool operator==(const Assumption&) const = default;
};

struct Proposal {
  std::vector<Pass> passes;
  Options options;                   ///< every option, resolved
  double error = 0.0;                ///< an upper bound, full-scale units
  Assumption assumption;             ///< of the bound
  std::string_view only_on_request;  ///< why it is taken only where it is asked for, or nothing else can do it; empty: it need not be
  double seconds = 0.0;              ///< rough
  std::int64_t moved_bytes = 0;
  /// See Plan::reach. Unset: what the taps, windows and matrices of the passes cover together, each pass after the other.
  std::optional<PerAxis<Reach>> reach;
  /// See Plan::halo. Unset: as far as the taps, windows and matrices of the passes reach together.
  std::optional<PerAxis<Halo>> halo;
  /// GPU: a part of the source that begins at multiples of these pixels gives its pixels the bits of the whole. Unset: that is not known.
  std::optional<PerAxis<std::int32_t>> window_blocks{};
  std::vector<ImageDesc> intermediates;  ///< GPU: the planner counts their bytes, and those of a workspace
  std::int64_t scratch_bytes = 0;        ///< CPU: of one call in flight
  std::int64_t intermediate_bytes = 0;   ///< CPU: of that, what one pass leaves for the next
};

struct Algorithm {
  AlgorithmInfo info;
  Result<Proposal> (*propose)(const Problem&);
  bool takes_strides = false;  ///< whether it makes every n-th pixel, see BlurSpec::stride
  bool takes_wide = false;     ///< whether its kernels for CPUs and CUDA take formats that FormatInfo::is_wide()
};

/// In order of preference where costs tie.
[[nodiscard]] std::span<const Algorithm* const> registry();
/// Whether no CPU has its kernels.
[[nodiscard]] bool is_gpu_only(const Algorithm& algorithm);

// Families, one file each.
extern const Algorithm kBoxAny;
extern const Algorithm kBoxNxn;
extern const Algorithm kBoxNxnLinear;
extern const Algorithm kBoxRunning;
extern const Algorithm kBoxScan;
extern const Algorithm kBoxSep;
extern const Algorithm kBoxSepLinear;
extern const Algorithm kGaussBoxes;
extern const Algorithm kGaussCut;
extern const Algorithm kGaussDecimate;
extern const Algorithm kGaussPyramid;
extern const Algorithm kGaussHalfRes;
extern const Algorithm kGaussLerpTaps;
extern const Algorithm kGaussLinear;
extern const Algorithm kGaussRecursive;
extern const Algorithm kKawaseDual;
extern const Algorithm kMatrixLowrank;
extern const Algorithm kNxnDirect;
extern const Algorithm kNxnShared;
extern const Algorithm kQuad3x3;
extern const Algorithm kSepDirect;
extern const Algorithm kSepFused;
extern const Algorithm kSepInline;
extern const Algorithm kSepInlineShared;
extern const Algorithm kSepInlineSliding;
extern const Algorithm kSepInlineSlidingShared;
extern const Algorithm kSepShared;
extern const Algorithm kSepSliding;

}  // namespace mollify
