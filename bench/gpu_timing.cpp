// Timing by a GPU's own clock, images resident, each blur between copies on the same device.
#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "bench/buffers.h"
#include "bench/gpu_clocks.h"
#include "bench/time_group.h"

namespace mollify::bench {

#if defined(MOLLIFY_VULKAN) || defined(MOLLIFY_CUDA)

namespace {

using HostClock = std::chrono::steady_clock;

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// Copies follow each blur: those of the first half of the turns came before the others.
void set_copies(Figures& figures, const std::vector<double>& copies) {
  const auto half = copies.begin() + static_cast<std::ptrdiff_t>(copies.size() / 2);
  figures.copy_before_ns = summarize({copies.begin(), half}).median;
  figures.copy_after_ns = summarize({half, copies.end()}).median;
}

/// One contender on the device: its turns, and what was seen around its runs.
template <class Clock>
class Entrant {
  using Timer = typename Clock::Timer;

 public:
  /// Turns of `turn_ns`.
  static Result<Entrant> create(const Contender& contender, const typename Clock::Noise& noise, std::size_t batch, double turn_ns) {
    Result<std::unique_ptr<Timer>> timer = Timer::create(Clock::prepared_of(contender.executable), noise, batch);
    if (!timer) return timer.error();
    return Entrant(std::move(*timer), turn_ns);
  }

  Result<std::vector<double>> turn() {
    if (runs_ == 0) {  // how many fill a turn
      const Result<DeviceSamples> first = timer_->measure(4);
      if (!first) return first.error();
      const double one_ns = summarize(first->blur).median + summarize(first->driver_copy).median;
      runs_ = static_cast<int>(std::clamp(turn_ns_ / one_ns, 3.0, double{Timer::kMaxRuns}));
    }
    const Result<DeviceSamples> some = timer_->measure(runs_);
    if (!some) return some.error();
    append(around_.driver_copy, some->driver_copy);
    append(around_.kernel_copy, some->kernel_copy);
    append(around_.dispatch, some->dispatch);
    append(around_.nothing, some->nothing);
    return some->blur;
  }

  /// After the turns.
  Result<Figures> figures(const Statistics& time_ns) {
    const Result<std::vector<double>> submissions =
        timer_->measure_submissions(static_cast<int>(std::clamp(turn_ns_ / time_ns.median, 3.0, 15.0)));
    if (!submissions) return submissions.error();
    const bool driver = summarize(around_.driver_copy).median < summarize(around_.kernel_copy).median;
    Figures figures{.time_ns = time_ns,
                    .submit_ns = summarize(*submissions).median,
                    .dispatch_ns = summarize(around_.dispatch).median,
                    .nothing_ns = summarize(around_.nothing).median};
    set_copies(figures, driver ? around_.driver_copy : around_.kernel_copy);
    return figures;
  }

 private:
  Entrant(std::unique_ptr<Timer> timer, double turn_ns) : timer_(std::move(timer)), turn_ns_(turn_ns) {}
  std::unique_ptr<Timer> timer_;
  double turn_ns_;
  DeviceSamples around_;
  int runs_ = 0;
};

/// Images in host memory, packed one after another: a batch's sources, each a pixel later in the same noise, and results.
struct HostImages {
  Image noise;
  std::vector<ConstImageView> sources;
  std::vector<std::byte> bytes;  ///< of the results
  std::vector<ImageView> results;

  static Result<HostImages> create(const Plan& plan, int batch) {
    ImageDesc more = plan.src;
    more.height += (batch - 1 + plan.src.width - 1) / plan.src.width;
    Result<Image> noise = Image::create(more);
    if (!noise) return noise.error();
    HostImages images;
    images.noise = std::move(noise).value();
    fill_noise(images.packed_noise(), 1);
    const auto* const first = static_cast<const std::byte*>(images.packed_noise().data);
    const std::int64_t result_bytes = plan.dst.payload_bytes();
    images.bytes.resize(static_cast<std::size_t>(batch * result_bytes));
    for (int i = 0; i < batch; ++i) {
      const std::byte* source = first + std::int64_t{i} * info(plan.src.format).pixel_bytes();
      images.sources.push_back({plan.src, source, plan.src.row_payload_bytes()});
      images.results.push_back({plan.dst, images.bytes.data() + i * result_bytes, plan.dst.row_payload_bytes()});
    }
    return images;
  }

  [[nodiscard]] ImageView packed_noise() {
    const ImageView view = noise.view();
    return {view.desc, view.data, view.desc.row_payload_bytes()};
  }
};

/// What a dispatch makes of a batch must be what its images become alone.
template <class Clock>
Status check_batch(const Contender& contender, const typename Clock::Noise& noise, HostImages& images) {
  Result<std::unique_ptr<typename Clock::Timer>> timer =
      Clock::Timer::create(Clock::prepared_of(contender.executable), noise, images.sources.size());
  if (!timer) return timer.error();
  const Result<std::vector<std::byte>> together = (*timer)->blurred();
  if (!together) return together.error();
  Result<Workspace> workspace = contender.executable.make_workspace();
  if (!workspace) return workspace.error();
  if (Status s = contender.executable.run(images.sources, images.results, *workspace); !s) return s;
  if (*together == images.bytes) return {};
  return Error{ErrorCode::internal, "not timed, since it is wrong: images of a batch differ from those blurred alone", {}};
}

/// A few runs, fewer where they would take longer than `seconds`.
Result<double> end_to_end_ns(const Executable& executable, HostImages& images, double seconds) {
  Result<Workspace> workspace = executable.make_workspace(images.sources.size() > 1 ? Batches::yes : Batches::no);
  if (!workspace) return workspace.error();
  const auto run = [&] { return executable.run(images.sources, images.results, *workspace); };
  if (const Status s = run(); !s) return s.error();  // which makes its staging memory
  constexpr std::size_t kMostRuns = 5;
  std::vector<double> samples;
  for (double spent_ns = 0.0; samples.empty() || (samples.size() < kMostRuns && spent_ns < seconds * 1e9);) {
    const auto start = HostClock::now();
    if (const Status s = run(); !s) return s.error();
    samples.push_back(std::chrono::duration<double, std::nano>(HostClock::now() - start).count());
    spent_ns += samples.back();
  }
  return summarize(std::move(samples)).median;
}

/// As many of the first as fit on the device together.
template <class Clock>
std::size_t fitting(std::span<const Contender> contenders, std::span<const std::size_t> which, std::size_t batch) {
  std::int64_t left = Clock::budget(*Clock::prepared_of(contenders.front().executable));
  std::size_t count = 0;
  const auto bytes = [&](std::size_t i) { return Clock::bytes(contenders[i].executable.plan(), batch); };
  while (count < which.size() && (left -= bytes(which[count])) >= 0) ++count;
  return std::max<std::size_t>(count, 1);
}

/// Contenders whose images are on the device together, and the peers, take turns.
template <class Clock>
Result<std::vector<Figures>> time_together(std::span<const Contender> contenders, std::span<const PreparedPeer> peers,
                                           std::span<const std::size_t> which, const typename Clock::Noise& noise,
                                           const GroupOptions& options) {
  const double turn_ns = std::min(0.1, options.seconds / 3) * 1e9;
  std::vector<Entrant<Clock>> entrants;
  for (const std::size_t i : which) {
    if (i >= contenders.size()) break;
    const auto batch = static_cast<std::size_t>(options.batch);
    Result<Entrant<Clock>> entrant = Entrant<Clock>::create(contenders[i], noise, batch, turn_ns);
    if (!entrant) return entrant.error();
    entrants.push_back(std::move(*entrant));
  }
  std::vector<Candidate> candidates;
  for (Entrant<Clock>& entrant : entrants) candidates.push_back({"mollify", {}, [&entrant] { return entrant.turn(); }});
  const std::span<const std::size_t> with_peers = which.subspan(entrants.size());
  std::vector<std::vector<double>> copies(with_peers.size());
  for (std::size_t i = 0; i < with_peers.size(); ++i) {
    const PreparedPeer& peer = peers[with_peers[i] - contenders.size()];
    candidates.push_back({peer.name, {}, [&peer, &copied = copies[i]]() -> Result<std::vector<double>> {
                            const Result<PeerTurn> turn = peer.run.turn();
                            if (!turn) return turn.error();
                            append(copied, turn->copy_ns);
                            return turn->blur_ns;
                          }});
  }
  const Result<std::vector<Statistics>> measured =
      measure(candidates, {.seconds = options.seconds, .min_runs = options.min_runs, .stop = options.stop});
  if (!measured) return measured.error();

  std::vector<Figures> figures;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    Result<Figures> one = entrants[i].figures((*measured)[i]);
    if (!one) return one.error();
    figures.push_back(*std::move(one));
  }
  for (std::size_t i = 0; i < with_peers.size(); ++i) {
    figures.push_back({.time_ns = (*measured)[entrants.size() + i]});
    if (copies[i].size() > 1) set_copies(figures.back(), copies[i]);
  }
  return figures;
}

template <class Clock>
Result<std::vector<Figures>> time_by(std::span<const Contender> contenders, std::span<const PreparedPeer> peers,
                                     const GroupOptions& options) {
  const Plan& plan = contenders.front().executable.plan();
  Result<HostImages> images = HostImages::create(plan, options.batch);
  if (!images) return images.error();
  const Result<std::unique_ptr<typename Clock::Noise>> device_noise =
      Clock::Noise::create(Clock::prepared_of(contenders.front().executable)->context(), images->packed_noise());
  if (!device_noise) return device_noise.error();
  for (const Contender& contender : contenders) {
    if (options.batch == 1) break;
    if (Status s = check_batch<Clock>(contender, **device_noise, *images); !s) return s.error();
  }

  const auto batch = static_cast<std::size_t>(options.batch);
  const auto time_some = [&](std::span<const std::size_t> which) -> Result<std::vector<Figures>> {
    std::vector<Figures> all;
    const auto is_contender = [&](std::size_t i) { return i < contenders.size(); };
    while (all.size() < which.size()) {
      const std::span<const std::size_t> rest = which.subspan(all.size());
      const auto own = static_cast<std::size_t>(std::ranges::count_if(rest, is_contender));
      // Peers keep to the last of these.
      const std::size_t count = own == 0 ? rest.size() : fitting<Clock>(contenders, rest.first(own), batch);
      const std::size_t with_peers = count >= own ? rest.size() : count;
      const Result<std::vector<Figures>> some = time_together<Clock>(contenders, peers, rest.first(with_peers), **device_noise, options);
      if (!some) return some.error();
      all.insert(all.end(), some->begin(), some->end());
    }
    return all;
  };
  Result<std::vector<Figures>> figures = time_steadily(contenders.size() + peers.size(), options.attempts, time_some);
  if (!figures) return figures;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const Result<double> end_to_end = end_to_end_ns(contenders[i].executable, *images, options.seconds);
    if (!end_to_end) return end_to_end.error();
    (*figures)[i].end_to_end_ns = *end_to_end;
  }
  // Peers run in queues of their own; one that makes no copies is compared with those around the first contender.
  for (std::size_t i = contenders.size(); i < figures->size(); ++i) {
    if ((*figures)[i].copy_ns() > 0.0) continue;
    (*figures)[i].copy_before_ns = figures->front().copy_before_ns;
    (*figures)[i].copy_after_ns = figures->front().copy_after_ns;
  }
  return figures;
}

}  // namespace

#endif

Result<std::vector<Figures>> time_on_gpu(std::span<const Contender> contenders, [[maybe_unused]] std::span<const PreparedPeer> peers,
                                         const cases::Case&, [[maybe_unused]] const GroupOptions& options) {
  switch (contenders.front().executable.plan().device.backend) {
#ifdef MOLLIFY_VULKAN
    case Backend::vulkan:
      return time_by<VulkanClock>(contenders, peers, options);
#endif
#ifdef MOLLIFY_CUDA
    case Backend::cuda:
      return time_by<CudaClock>(contenders, peers, options);
#endif
    default:
      return Error{ErrorCode::unsupported, "this build has no GPU backend", {}};
  }
}

}  // namespace mollify::bench
