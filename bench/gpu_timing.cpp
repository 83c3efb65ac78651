#include "bench/gpu_timing.h"

#include <algorithm>
#include <chrono>

#include "bench/buffers.h"

#ifdef MOLLIFY_VULKAN
#include "backends/vulkan/timestamps.h"
#endif

namespace mollify::bench {

#ifdef MOLLIFY_VULKAN

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void append(std::vector<double>& all, const std::vector<double>& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Runs until the time is spent; the first round only warms up.
Result<vulkan::DeviceSamples> sample(vulkan::DeviceTimer& timer, double seconds) {
  constexpr int kRounds = 3;  // at least, so that one disturbance is not all there is
  const Result<vulkan::DeviceSamples> warm_up = timer.measure(4);
  if (!warm_up) return warm_up.error();
  const double one_ns = summarize(warm_up->blur).median + summarize(warm_up->driver_copy).median;
  const int runs = static_cast<int>(std::clamp(0.1e9 / one_ns, 3.0, double{vulkan::DeviceTimer::kMaxRuns}));
  vulkan::DeviceSamples all;
  const auto start = Clock::now();
  for (int round = 0; round < kRounds || seconds_since(start) < seconds; ++round) {
    const Result<vulkan::DeviceSamples> some = timer.measure(runs);
    if (!some) return some.error();
    append(all.blur, some->blur);
    append(all.driver_copy, some->driver_copy);
    append(all.kernel_copy, some->kernel_copy);
    append(all.nothing, some->nothing);
  }
  return all;
}

Result<double> end_to_end_ns(const Executable& executable, const ConstImageView& src, const ImageView& dst) {
  Result<Workspace> workspace = executable.make_workspace();
  if (!workspace) return workspace.error();
  constexpr int kRuns = 5;
  std::vector<double> samples;
  for (int i = 0; i <= kRuns; ++i) {
    const auto start = Clock::now();
    if (const Status s = executable.run(src, dst, *workspace); !s) return s.error();
    if (i > 0) samples.push_back(seconds_since(start) * 1e9);
  }
  return summarize(std::move(samples)).median;
}

}  // namespace

Result<Timing> time_on_gpu(const Executable& executable, const cases::CaseResult& verified, const cases::Case& c,
                           const TimingOptions& options) {
  const Plan& plan = executable.plan();
  Result<Image> src = Image::create(plan.src);
  Result<Image> dst = Image::create(plan.dst);
  if (!src) return src.error();
  if (!dst) return dst.error();
  const ImageView source{plan.src, src->view().data, plan.src.row_payload_bytes()};  // noise comes packed
  fill_noise(source, 1);
  Result<std::unique_ptr<vulkan::DeviceTimer>> timer =
      vulkan::DeviceTimer::create(vulkan::prepared_of(Access::impl(executable)), source);
  if (!timer) return timer.error();
  const Result<vulkan::DeviceSamples> samples = sample(**timer, options.seconds);
  if (!samples) return samples.error();
  timer->reset();
  const Result<double> end_to_end = end_to_end_ns(executable, source, dst->view());
  if (!end_to_end) return end_to_end.error();

  const double copy_ns = std::min(summarize(samples->driver_copy).median, summarize(samples->kernel_copy).median);
  Timing timing;
  timing.records.push_back({.case_name = cases::name(c),
                            .algorithm = plan.algorithm.id,
                            .options = plan.algorithm.options,
                            .backend = std::string(name(plan.device.backend)),
                            .device = plan.device.name,
                            .spec = plan.spec,
                            .src = plan.src,
                            .dst = plan.dst,
                            .threads = 1,
                            .time_ns = summarize(samples->blur),
                            .copy_ns = copy_ns,
                            .end_to_end_ns = *end_to_end,
                            .nothing_ns = summarize(samples->nothing).median,
                            .min_bytes = plan.min_bytes,
                            .max_error = verified.max_error,
                            .predicted_error = plan.predicted_error,
                            .peer = std::nullopt});
  timing.notes.emplace_back("times are the device's own, with the images on it; copies are of the same bytes on the device");
  return timing;
}

#else

Result<Timing> time_on_gpu(const Executable&, const cases::CaseResult&, const cases::Case&, const TimingOptions&) {
  return Error{ErrorCode::unsupported, "this build has no GPU backend", {}};
}

#endif

}  // namespace mollify::bench
