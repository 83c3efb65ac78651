#include "golden/requests.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "cases/axes.h"
#include "cases/random.h"

namespace mollify::golden {
namespace {

using cases::Case;

constexpr std::string_view kBatch = "batch=";
constexpr std::string_view kUntuned = "tuning=none/";

class List {
 public:
  void add(Request request) {
    // What the pixels hold, and how rows are laid out, is nothing that a planner is told.
    Case& c = request.blur;
    c.seed = 1;
    c.content = cases::Content::ordinary;
    if (c.layout == cases::Layout::padded) c.layout = cases::Layout::packed;
    if (validate(c.spec, c.src, c.dst)) names_.insert(name(request));
  }
  [[nodiscard]] std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  std::set<std::string> names_;
};

/// The blurs that the benchmark times, at the sizes of real images, alone and in batches.
void add_timed_blurs(List& list, const DeviceInfo& device) {
  using Size = PerAxis<std::int32_t>;
  for (const Size size : {Size{256, 256}, {500, 333}, {1024, 1024}, {1920, 1080}, {4096, 4096}, {8192, 8192}}) {
    for (const Case& c : cases::bench_cases(size)) list.add({c});
  }
  for (const Case& c : cases::bench_cases({1920, 1080})) list.add({c, 1, Tuning::none});
  if (device.backend == Backend::cpu) return;
  for (const std::int32_t batch : {4, 64}) {
    for (const Case& c : cases::bench_cases({256, 256})) list.add({c, batch});
  }
}

/// Every algorithm by name on what the benchmark times.
void add_every_algorithm(List& list) {
  for (Case c : cases::bench_cases({2048, 1152})) {
    if (c.src.format != PixelFormat::rgba8 && c.src.format != PixelFormat::rgba32f) continue;
    for (const AlgorithmInfo& algorithm : algorithms()) {
      c.algorithm = {std::string(algorithm.id), {}};
      list.add({c});
    }
  }
}

/// The axes of the case list, drawn at random, but for sizes that would keep its reference busy for hours.
void add_large_draws(List& list, const DeviceInfo& device) {
  constexpr int kDraws = 500;
  cases::Axes axes = cases::axes(device);
  axes.sizes = {{333, 500}, {640, 480}, {1024, 1024}, {1920, 1080}, {3840, 2160}, {4096, 4096}, {6000, 4000}, {8192, 8192}};
  const cases::Choice counts = axes.counts();
  cases::Random random(20240229);
  for (int i = 0; i < kDraws; ++i) {
    cases::Choice choice{};
    for (std::size_t axis = 0; axis < choice.size(); ++axis) choice[axis] = random.below(counts[axis]);
    list.add({axes.at({}, choice, 1)});
  }
}

/// So many of the pairwise list, evenly taken.
void add_pairwise_cases(List& list, const DeviceInfo& device) {
  constexpr std::size_t kMost = 1000;
  const std::vector<Case> all = cases::usual_cases(device);
  const std::size_t count = std::min(all.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) list.add({all[i * all.size() / count]});
}

/// So many of those of wide formats, which Vulkan has not.
void add_wide_cases(List& list, const DeviceInfo& device) {
  constexpr std::size_t kMost = 200;
  const std::vector<Case> all = cases::wide_cases(device);
  const std::size_t count = std::min(all.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) list.add({all[i * all.size() / count]});
}

}  // namespace

std::string name(const Request& request) {
  std::string text;
  if (request.batch != 1) text += std::string(kBatch) + std::to_string(request.batch) + "/";
  if (request.tuning == Tuning::none) text += kUntuned;
  return text + cases::name(request.blur);
}

Result<Request> parse_request(std::string_view text) {
  Request request;
  if (text.starts_with(kBatch)) {
    const char* const begin = text.data() + kBatch.size();
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), request.batch);
    if (error != std::errc() || end == text.data() + text.size() || *end != '/') {
      return Error{ErrorCode::invalid_argument, "a batch is a number: " + std::string(text), {}};
    }
    text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
  }
  if (text.starts_with(kUntuned)) {
    request.tuning = Tuning::none;
    text.remove_prefix(kUntuned.size());
  }
  Result<Case> blur = cases::parse_case(text);
  if (!blur) return blur.error();
  request.blur = std::move(*blur);
  return request;
}

std::vector<std::string> requests_of(const DeviceInfo& device) {
  List list;
  add_pairwise_cases(list, device);
  add_wide_cases(list, device);
  add_timed_blurs(list, device);
  add_every_algorithm(list);
  add_large_draws(list, device);
  return list.names();
}

}  // namespace mollify::golden
