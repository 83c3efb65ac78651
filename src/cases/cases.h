// The one list of cases. Conformance tests, `mollify verify`, `mollify bench` and the fuzzer all run these,
// so what is timed is what was verified, and a failing case prints a name that the tool takes back.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/mollify.h"

namespace mollify::cases {

/// How the test lays its images out in memory.
enum class Layout : std::uint8_t {
  packed,    ///< rows without gaps
  padded,    ///< inset in a larger poisoned buffer, odd row strides
  in_place,  ///< source and destination are the same memory
};

/// What the source image holds. The last two are for formats of floats.
enum class Content : std::uint8_t {
  ordinary,  ///< random pixels
  outliers,  ///< and a few of the largest magnitude that the format holds, as holes in rasters have
  bad,       ///< and a few that are NaN or infinite
};

/// One blur: what, on which shapes, by which algorithm. `name()` and `parse_case()` are inverses.
///
///   ALGORITHM/WIDTHxHEIGHT/FORMAT[-FORMAT]/KERNEL/BORDER[/roi=WxH+X+Y][/stride=STRIDE][/dst=WxH][/max_error=E][/premultiply][/srgb]
///     [/outliers|bad][/layout=padded|in_place][/seed=N]
///
/// needs no quotes in a shell:
///
///   ALGORITHM   auto (the planner chooses), sep.fused, sep.fused:key=value,key=value
///   FORMAT      rgba8, or source and destination: rgba8-rgba16f
///   KERNEL      gaussian:sigma=S[,radius=R][,truncate=T]   box:radius=R   box:before=B,after=A   tent:radius=R
///               taps:x=W_W_W@ANCHOR,y=W_W@ANCHOR[,normalization=unit_sum]
///               matrix:size=WxH,anchor=XxY,weights=W_W_...[,normalization=unit_sum]
///               S, R, B and A are one number for both axes or two as in 1.5x2
///   BORDER      MODE or MODE_X+MODE_Y, then [:value=V_V_V_V]
///   STRIDE      STEP[@PHASE] with the phase in halves of a pixel, for both axes or two as in 2@1x4
///
/// as in auto/127x33/rgba8-rgba16f/gaussian:sigma=1.5x2/clamp+wrap/premultiply. Numbers are printed as the shortest
/// text that reads back as the same bits.
struct Case {
  AlgorithmChoice algorithm;  ///< an empty id lets the planner choose
  BlurSpec spec;
  ImageDesc src;
  ImageDesc dst;
  Content content = Content::ordinary;
  Layout layout = Layout::packed;
  std::uint64_t seed = 1;  ///< of the random source image
  bool operator==(const Case&) const = default;
};

[[nodiscard]] std::string name(const Case& c);
[[nodiscard]] Result<Case> parse_case(std::string_view text);

/// The values that an option lists, without those which take a driver that runs on the processor seconds to compile: dozens of pipelines
/// would. The tests of the Vulkan backend run one of each.
[[nodiscard]] std::vector<std::string> listed_values(const OptionInfo& option, const DeviceInfo& device);

/// What the device can run; fixed seed. A pairwise covering array over sizes, formats, borders, kernels, layouts and colour
/// handling by the planner's choice, and one for each algorithm of its options with one another and with all of these.
[[nodiscard]] std::vector<Case> usual_cases(const DeviceInfo& device);
/// The same of formats that FormatInfo::is_wide().
[[nodiscard]] std::vector<Case> wide_cases(const DeviceInfo& device);
/// Both.
[[nodiscard]] std::vector<Case> pairwise_cases(const DeviceInfo& device);
/// Those of one algorithm, other seeds.
[[nodiscard]] std::vector<Case> pairwise_cases(const DeviceInfo& device, std::string_view algorithm);
/// The product of algorithms, kernels, sizes and source formats, the other axes drawn at random; hours.
[[nodiscard]] std::vector<Case> all_cases(const DeviceInfo& device);
/// What the benchmark times by default: the common formats and kernels at `size`.
[[nodiscard]] std::vector<Case> bench_cases(PerAxis<std::int32_t> size);

enum class Outcome : std::uint8_t { pass, refused, failed };

struct CaseResult {
  Outcome outcome = Outcome::failed;
  std::string message;           ///< why it was refused or how it failed; names the first bad pixel
  double max_error = 0.0;        ///< measured, in the units of mollify::Accuracy
  double predicted_error = 0.0;  ///< what the plan promised
  std::optional<Plan> plan;
};

/// Fills a source with fresh random pixels, poisons the destination and its surroundings, runs the case, compares with
/// the reference (whole up to a megapixel; above it edges, corners and 2,000 random pixels) and checks every guard
/// byte. Where outliers or bad pixels are planted, pixels that Plan::reach keeps apart from them must be what they are without.
/// Those that outliers reach are judged beside the largest of them, unless the plan's bound assumes something of the pixels. With more than
/// one run, all of them must leave the same bits: a race seldom does.
[[nodiscard]] CaseResult run_case(const Device& device, const Case& c, int runs = 1);

/// Judges many ways to solve one problem: the source is made once and the reference asked once, when the first is run.
class Judge {
 public:
  /// Algorithm and accuracy of `problem` do not matter. The reference runs in `threads`.
  explicit Judge(Case problem, int threads = 1);
  ~Judge();
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  /// As run_case(); `c` differs from the problem in algorithm and accuracy only. Several threads may call it. `batch` is what the
  /// plan is made for, though one image is judged.
  [[nodiscard]] CaseResult judge(const Device& device, const Case& c, int runs = 1, int batch = 1);

 private:
  struct Exhibits;
  const Exhibits& exhibits();

  Case problem_;
  int threads_;
  std::once_flag once_;
  std::unique_ptr<const Exhibits> exhibits_;
};

}  // namespace mollify::cases
