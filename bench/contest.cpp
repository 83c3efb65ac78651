#include "bench/contest.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "bench/buffers.h"
#include "bench/gpu_clocks.h"

namespace mollify::bench {

struct Contest::Cpu {
  ImageDesc src;
  ImageDesc dst;
  std::optional<BufferRing> ring;

  Result<std::vector<Statistics>> time(std::span<const Executable> executables, const ContestOptions& options) {
    const Plan& plan = executables.front().plan();
    if (!ring || src != plan.src || dst != plan.dst) {
      Result<BufferRing> fresh = BufferRing::create(plan.src, plan.dst, Sharing::separate, plan.device.llc_bytes);
      if (!fresh) return fresh.error();
      ring.emplace(std::move(*fresh));
      src = plan.src;
      dst = plan.dst;
    }
    std::vector<Workspace> workspaces;
    for (const Executable& executable : executables) {
      Result<Workspace> workspace = executable.make_workspace();
      if (!workspace) return workspace.error();
      workspaces.push_back(std::move(*workspace));
    }
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < executables.size(); ++i) {
      candidates.push_back({executables[i].plan().algorithm.id,
                            [&, i](std::size_t pair) { return executables[i].run((*ring)[pair].src, (*ring)[pair].dst, workspaces[i]); }});
    }
    const double each = options.seconds / static_cast<double>(executables.size());
    return measure(candidates, {.seconds = each, .min_runs = options.min_runs, .pairs = ring->size()});
  }
};

class GpuContest {
 public:
  virtual ~GpuContest() = default;
  virtual Result<std::vector<Statistics>> time(std::span<const Executable> executables, const ContestOptions& options) = 0;

  /// By the clock of the backend; null where the build has none.
  static std::unique_ptr<GpuContest> create(Backend backend);
};

namespace {

/// Sources and destinations for either storage.
template <class Clock>
class ContestBy final : public GpuContest {
  using HostClock = std::chrono::steady_clock;
  using Prepared = typename Clock::Prepared;
  static constexpr int kMaxRuns = 200;  // more say nothing new of a kernel that takes microseconds

  /// Those of one storage, and their places among all.
  struct Turns {
    typename Clock::Contest* contest = nullptr;
    std::vector<std::size_t> which;
  };

  ImageDesc src;
  ImageDesc dst;
  std::optional<Image> noise;
  std::unique_ptr<typename Clock::Contest> storages[2];  ///< buffers, images

  Result<typename Clock::Contest*> contest(const std::shared_ptr<const Prepared>& prepared) {
    const Plan& plan = prepared->plan();
    if (!noise || src != plan.src || dst != plan.dst) {
      storages[0].reset();
      storages[1].reset();
      Result<Image> image = Image::create(plan.src);
      if (!image) return image.error();
      noise.emplace(std::move(*image));
      src = plan.src;
      dst = plan.dst;
      fill_noise(packed(), 1);
    }
    std::unique_ptr<typename Clock::Contest>& contest = storages[Clock::uses_images(*prepared) ? 1 : 0];
    if (!contest) {
      const Result<std::unique_ptr<typename Clock::Noise>> on_device = Clock::Noise::create(prepared->context(), packed());
      if (!on_device) return on_device.error();
      Result<std::unique_ptr<typename Clock::Contest>> fresh = Clock::Contest::create(prepared, **on_device);
      if (!fresh) return fresh.error();
      contest = std::move(*fresh);
    }
    return contest.get();
  }
  [[nodiscard]] ImageView packed() { return {src, noise->view().data, src.row_payload_bytes()}; }

  Result<std::vector<Statistics>> time(std::span<const Executable> executables, const ContestOptions& options) override {
    std::vector<std::shared_ptr<const Prepared>> prepared;
    for (const Executable& executable : executables) prepared.push_back(Clock::prepared_of(executable));
    std::vector<Turns> all;
    for (const bool uses_images : {false, true}) {
      Turns turns;
      std::vector<std::shared_ptr<const Prepared>> own;
      for (std::size_t i = 0; i < prepared.size(); ++i) {
        if (Clock::uses_images(*prepared[i]) != uses_images) continue;
        turns.which.push_back(i);
        own.push_back(prepared[i]);
      }
      if (own.empty()) continue;
      const Result<typename Clock::Contest*> found = contest(own.front());
      if (!found) return found.error();
      turns.contest = *found;
      if (Status s = turns.contest->enter(own); !s) return s.error();
      all.push_back(std::move(turns));
    }
    auto start = HostClock::now();
    const auto spent = [&] { return std::chrono::duration<double>(HostClock::now() - start).count(); };
    do {
      for (const Turns& turns : all) {
        if (const auto warm_up = turns.contest->round(); !warm_up) return warm_up.error();
      }
    } while (spent() < kClockSeconds);

    std::vector<std::vector<double>> samples(executables.size());
    start = HostClock::now();
    for (int run = 0; run < options.min_runs || (run < kMaxRuns && spent() < options.seconds); ++run) {
      for (const Turns& turns : all) {
        const Result<std::vector<double>> round = turns.contest->round();
        if (!round) return round.error();
        for (std::size_t i = 0; i < turns.which.size(); ++i) samples[turns.which[i]].push_back((*round)[i]);
      }
    }
    // What they hold beyond the images is for the next ones.
    for (const Turns& turns : all) {
      if (Status s = turns.contest->enter({}); !s) return s.error();
    }
    std::vector<Statistics> statistics;
    for (std::vector<double>& times : samples) statistics.push_back(summarize(std::move(times)));
    return statistics;
  }
};

}  // namespace

std::unique_ptr<GpuContest> GpuContest::create(Backend backend) {
  switch (backend) {
#ifdef MOLLIFY_VULKAN
    case Backend::vulkan:
      return std::make_unique<ContestBy<VulkanClock>>();
#endif
#ifdef MOLLIFY_CUDA
    case Backend::cuda:
      return std::make_unique<ContestBy<CudaClock>>();
#endif
    default:
      return nullptr;
  }
}

Contest::Contest(Device device) : device_(std::move(device)) {}
Contest::~Contest() = default;

Result<std::vector<Statistics>> Contest::time(std::span<const Executable> executables, const ContestOptions& options) {
  if (executables.empty()) return std::vector<Statistics>();
  if (device_.info().backend == Backend::cpu) {
    if (!cpu_) cpu_ = std::make_unique<Cpu>();
    return cpu_->time(executables, options);
  }
  if (!gpu_) gpu_ = GpuContest::create(device_.info().backend);
  if (!gpu_) return Error{ErrorCode::unsupported, "this build has no GPU backend", {}};
  return gpu_->time(executables, options);
}

}  // namespace mollify::bench
