// The planner: asks every algorithm, keeps the cheapest proposal within the allowed error, and remembers why not the others.
#include "mollify/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "algorithms/registry.h"
#include "base/gpu_images.h"
#include "base/places.h"
#include "base/text.h"
#include "math/accuracy.h"
#include "math/decimation.h"
#include "model/gpu_model.h"
#include "model/rows.h"
#include "model/tuning.h"
#include "mollify/build.h"
#include "planner/former_names.h"
#include "planner/window_plan.h"

namespace mollify {
namespace {

constexpr std::array<std::string_view, 3> kBackendNames = {"cpu", "vulkan", "cuda"};

Status check_options(const AlgorithmInfo& algorithm, const Options& options) {
  for (const auto& [key, value] : options) {
    const auto known =
        std::find_if(algorithm.options.begin(), algorithm.options.end(), [&](const OptionInfo& option) { return option.name == key; });
    if (known == algorithm.options.end()) {
      return Error{ErrorCode::invalid_argument, std::string(algorithm.id) + " has no option \"" + key + "\"", {}};
    }
    if (!known->open && std::find(known->values.begin(), known->values.end(), value) == known->values.end()) {
      std::string choices;
      for (const std::string_view v : known->values) choices += (choices.empty() ? "" : ", ") + std::string(v);
      return Error{ErrorCode::invalid_argument,
                   "option " + key + " of " + std::string(algorithm.id) + " is one of " + choices + ", not \"" + value + "\"",
                   {}};
    }
  }
  return {};
}

/// Letters to insert, leave out or change.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

Result<const Algorithm*> find_algorithm(std::string_view id) {
  for (const Algorithm* algorithm : registry()) {
    if (algorithm->info.id == id) return algorithm;
  }
  for (const AbsentAlgorithm& absent : absent_algorithms()) {
    if (absent.id == id)
      return Error{ErrorCode::unsupported, std::string(id) + " is not in this library: " + std::string(absent.reason), {}};
  }
  constexpr std::size_t kTypingErrors = 2;
  const auto distance = [&](const RegistryRow& row) { return edit_distance(row.id, id); };
  const RegistryRow& nearest = *std::ranges::min_element(registry_rows(), {}, distance);
  std::string message = "there is no algorithm \"" + std::string(id) + "\"";
  if (distance(nearest) <= kTypingErrors) message += ", but " + std::string(nearest.id);
  return Error{ErrorCode::invalid_argument, std::move(message), {}};
}

/// More work groups along an axis than a GPU takes in one dispatch.
bool has_too_many_groups(const Pass& pass, const DeviceInfo& device) {
  if (device.backend == Backend::cpu) return false;
  const auto groups = [](std::int32_t size, std::int32_t tile) { return (std::int64_t{size} + tile - 1) / tile; };
  const PerAxis<std::int32_t>& most = device.gpu.max_group_count;
  return groups(pass.size.x, pass.tile.x) > most.x || groups(pass.size.y, pass.tile.y) > most.y;
}

/// A proposal, or the reason why there is none for this device and accuracy.
Result<Proposal> ask(const Algorithm& algorithm, const Problem& problem) {
  if (problem.device.backend == Backend::cuda && is_gpu_only(algorithm)) {
    return Error{ErrorCode::unsupported, "a published technique, which runs on Vulkan", {}};
  }
  for (const PixelFormat format : {problem.src.format, problem.dst.format}) {
    if (!info(format).is_wide() || (algorithm.takes_wide && problem.device.backend != Backend::vulkan)) continue;
    return Error{ErrorCode::unsupported, "it has no kernels for " + std::string(info(format).name), {}};
  }
  if (has_stride(problem.spec) && !algorithm.takes_strides) return Error{ErrorCode::unsupported, "it does not take a stride", {}};
  Result<Proposal> proposal = algorithm.propose(problem);
  if (!proposal) return proposal;
  for (const Pass& pass : proposal->passes) {
    if (!has_too_many_groups(pass, problem.device)) continue;
    return Error{ErrorCode::unsupported, "it would need more work groups than the device takes in one dispatch", {}};
  }
  if (problem.in_windows && !proposal->halo && !proposal->window_blocks) {
    return Error{ErrorCode::unsupported,
                 "an image is larger than the " + std::to_string(problem.device.gpu.max_buffer_bytes) +
                     " bytes that one binding of the device can see, and windows are not known to have the bits of the whole",
                 {}};
  }
  if (largest_border_value(problem.spec) > proposal->assumption.largest) {
    return Error{ErrorCode::unsupported, "the border is beyond what it is for: " + std::string(proposal->assumption.text), {}};
  }
  if (!(proposal->error <= problem.allowed_error)) {
    const int digits = number(proposal->error, 2) == number(problem.allowed_error, 2) ? 6 : 2;  // so many that they differ
    return Error{ErrorCode::unsupported,
                 "its error of up to " + number(proposal->error, digits) + " is above the allowed " + number(problem.allowed_error, digits),
                 {}};
  }
  return proposal;
}

/// The problem of the whole image, or all of a batch, on one thread: what decisions go by that neither the region nor the
/// threads may change, since they would change bits of the result.
class WholeProblem {
 public:
  explicit WholeProblem(const Problem& p)
      : spec_(p.spec), device_(p.device), problem_{spec_,           p.src, {},           device_, p.options,
                                                   p.allowed_error, 1,     p.in_windows, p.whole, p.is_asked_for} {
    spec_.roi.reset();
    device_.threads = 1;
    // Images of a batch fill a device as rows of one image would; many more than fill it change nothing.
    constexpr std::int32_t kTallest = 1 << 14;
    images_ = std::clamp(kTallest / p.src.height, 1, p.batch);
    problem_.src.height *= images_;
    problem_.dst = destination_desc(spec_, problem_.src, p.dst.format);
  }
  WholeProblem(const WholeProblem&) = delete;
  WholeProblem& operator=(const WholeProblem&) = delete;
  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// Of the batch, that it is the whole of.
  [[nodiscard]] std::int32_t images() const { return images_; }

 private:
  std::int32_t images_ = 1;
  BlurSpec spec_;
  DeviceInfo device_;
  Problem problem_;
};

struct Candidate {
  const Algorithm* algorithm;
  Proposal proposal;
  double measured = 1.0;           ///< seconds over those that the cost model says of the algorithm's own options
  double rank = 0.0;               ///< seconds for the whole image on one thread
  std::optional<TuningRow> row{};  ///< whose options the proposal has
};

/// The problem with the options of a row. Nothing where the algorithm does not know them, or where the caller gave some of
/// them: those win, and what the rest does without the row's own was never measured.
std::optional<Problem> with_options(const Algorithm& algorithm, const Problem& problem, const TuningRow& row) {
  if (row.options.empty()) return std::nullopt;
  Problem tuned = problem;
  const Options measured = with_current_names(algorithm.info.id, row.options);
  tuned.options.insert(measured.begin(), measured.end());
  const bool all_new = tuned.options.size() == problem.options.size() + row.options.size();
  if (!all_new || !check_options(algorithm.info, tuned.options)) return std::nullopt;
  return tuned;
}

/// The problem with those options of the whole that change bits. They are chosen by how long they take, which a region or one image of a
/// batch does not tell, and with other values sums would round differently.
Problem with_bits_of(const Proposal& whole, const Algorithm& algorithm, Problem problem) {
  if (problem.batch == 1 && !problem.spec.roi) return problem;
  for (const OptionInfo& option : algorithm.info.options) {
    const auto chosen = whole.options.find(option.name);
    if (option.changes_bits && chosen != whole.options.end()) problem.options.insert(*chosen);
  }
  return problem;
}

/// Measured options are a choice among what is right, never a reason to fail or to ask more of the pixels: a row that the
/// algorithm refuses for this request is passed over.
std::optional<Proposal> ask_tuned(const Algorithm& algorithm, const Problem& problem, const Problem& whole, const Proposal& plain,
                                  const TuningRow& row) {
  const std::optional<Problem> tuned_whole = with_options(algorithm, whole, row);
  if (!tuned_whole) return std::nullopt;
  const Result<Proposal> formed = ask(algorithm, *tuned_whole);
  if (!formed) return std::nullopt;
  Result<Proposal> tuned = ask(algorithm, with_bits_of(*formed, algorithm, *with_options(algorithm, problem, row)));
  if (!tuned || !(tuned->assumption == Assumption() || tuned->assumption == plain.assumption)) return std::nullopt;
  return std::move(*tuned);
}

/// What the algorithm proposes, with measured options where there are any, and how long that takes as far as was measured.
Result<Candidate> ask_candidate(const Algorithm& algorithm, const Problem& problem, const WholeProblem& whole, const TuningRows& rows) {
  const Result<Proposal> of_whole = ask(algorithm, whole.problem());
  const Problem formed = of_whole ? with_bits_of(*of_whole, algorithm, problem) : problem;
  Result<Proposal> plain = ask(algorithm, formed);
  if (!plain && formed.options != problem.options) plain = ask(algorithm, problem);  // rather another form than none
  if (!plain) return plain.error();
  Candidate candidate{&algorithm, std::move(*plain), rows.cost(algorithm.info.id)};
  const double seconds = candidate.proposal.seconds;
  for (const TuningRow* row : rows.of(algorithm.info.id)) {
    if (problem.batch > 1) break;
    std::optional<Proposal> tuned = ask_tuned(algorithm, problem, whole.problem(), candidate.proposal, *row);
    if (!tuned) continue;
    candidate.proposal = std::move(*tuned);
    candidate.measured /= row->gain;
    candidate.row = *row;
    break;
  }
  candidate.proposal.seconds = seconds * candidate.measured;
  candidate.rank = of_whole ? of_whole->seconds * candidate.measured : candidate.proposal.seconds * whole.images();
  return candidate;
}

/// Twice the image is the most: mirrored borders repeat all after that.
Reach longer(const Reach& reach, std::int64_t before, std::int64_t after, std::int64_t length) {
  const std::int64_t most = std::min<std::int64_t>(2 * length, std::numeric_limits<std::int32_t>::max());
  return {static_cast<std::int32_t>(std::min(reach.before + before, most)), static_cast<std::int32_t>(std::min(reach.after + after, most))};
}

/// What the passes cover, one after the other.
PerAxis<Reach> reach_of(const std::vector<Pass>& passes, const PerAxis<std::int64_t>& length) {
  PerAxis<Reach> reach;
  const auto add_axis = [](Reach& to, const AxisTaps& taps, const BoxExtent& extent, std::int64_t along) {
    to = longer(to, taps.anchor, static_cast<std::int64_t>(taps.weights.size()) - 1 - taps.anchor, along);
    to = longer(to, static_cast<std::int64_t>(std::ceil(extent.before)), static_cast<std::int64_t>(std::ceil(extent.after)), along);
  };
  for (const Pass& pass : passes) {
    add_axis(reach.x, pass.taps.x, pass.extent.x, length.x);
    add_axis(reach.y, pass.taps.y, pass.extent.y, length.y);
    reach.x = longer(reach.x, pass.matrix.anchor.x, pass.matrix.width - 1 - pass.matrix.anchor.x, length.x);
    reach.y = longer(reach.y, pass.matrix.anchor.y, pass.matrix.height - 1 - pass.matrix.anchor.y, length.y);
  }
  return reach;
}

PerAxis<Reach> reach_of(const Proposal& proposal, const PerAxis<std::int64_t>& length) {
  if (!proposal.reach) return reach_of(proposal.passes, length);
  const PerAxis<Reach>& own = *proposal.reach;
  return {longer({}, own.x.before, own.x.after, length.x), longer({}, own.y.before, own.y.after, length.y)};
}

/// Where the algorithm does not say so, a run reads no more than what acts on a pixel. On a GPU what it reads begins at a multiple of a
/// block, because it becomes an image of its own.
std::optional<PerAxis<Halo>> halo_of(const Proposal& proposal, const PerAxis<Reach>& reach, Backend backend) {
  const bool is_cpu = backend == Backend::cpu;
  if (!is_cpu && !proposal.halo && !proposal.window_blocks) return std::nullopt;
  const PerAxis<std::int32_t> blocks = proposal.window_blocks.value_or(PerAxis<std::int32_t>{1, 1});
  const auto on_axis = [](const Reach& r, std::int32_t block) { return Halo{{r.before, block, 0}, {r.after + block - 1, block, 0}}; };
  PerAxis<Halo> halo = proposal.halo.value_or(PerAxis<Halo>{on_axis(reach.x, blocks.x), on_axis(reach.y, blocks.y)});
  if (is_cpu) return halo;
  for (HaloEdge* edge : {&halo.x.before, &halo.y.before}) {
    edge->pixels = edge->offset - floor_div(edge->offset - edge->pixels, edge->block) * edge->block;
  }
  return halo;
}

Plan assemble(const Problem& problem, Candidate winner, Overlap overlap) {
  Plan plan;
  plan.spec = problem.spec;
  plan.src = problem.src;
  plan.dst = problem.dst;
  plan.device = problem.device;
  plan.overlap = overlap;
  plan.algorithm = {std::string(winner.algorithm->info.id), std::move(winner.proposal.options)};
  plan.tuning = std::move(winner.row);
  // Up to the last places that a stride can have.
  const PerAxis<std::int64_t> length{problem.src.width + plan.spec.stride.x.step - 1, problem.src.height + plan.spec.stride.y.step - 1};
  plan.reach = reach_of(winner.proposal, length);
  plan.halo = halo_of(winner.proposal, plan.reach, plan.device.backend);
  plan.passes = std::move(winner.proposal.passes);
  plan.intermediates = std::move(winner.proposal.intermediates);
  plan.predicted_error = winner.proposal.error;
  plan.assumption = colour_assumption(plan.spec, plan.src.format);
  if (!plan.assumption.empty() && !winner.proposal.assumption.text.empty()) plan.assumption += " and ";
  plan.assumption += winner.proposal.assumption.text;
  plan.allowed_error = problem.allowed_error;
  plan.predicted_seconds = winner.proposal.seconds;
  plan.moved_bytes = winner.proposal.moved_bytes;
  plan.scratch_bytes = winner.proposal.scratch_bytes;
  plan.intermediate_bytes = winner.proposal.intermediate_bytes;
  const Rect region = problem.spec.roi.value_or(Rect{0, 0, problem.src.width, problem.src.height});
  plan.min_bytes = std::int64_t{region.width} * region.height * info(problem.src.format).pixel_bytes() + problem.dst.payload_bytes();
  plan.cached_bytes = cached_bytes(problem.device);
  if (problem.device.backend != Backend::cpu) {
    plan.intermediate_bytes = gpu_intermediate_bytes(plan);
    plan.scratch_bytes = gpu_workspace_bytes(plan);
  } else if (overlap == Overlap::in_place) {
    plan.scratch_bytes += problem.dst.payload_bytes();
    plan.moved_bytes += 2 * problem.dst.payload_bytes();
  }
  plan.predicted_copy_ratio = plan.predicted_seconds / copy_seconds(problem.device, plan.min_bytes);
  return plan;
}

std::string slower_by(double factor) {
  return "predicted to take " + number(factor, 2) + " times as long";
}

std::string tuning_text(const TuningRow& row) {
  std::string options = to_string(AlgorithmChoice{"", row.options}).substr(1);
  return options + ", " + number(row.gain, 3) + " times as fast as the defaults, measured " +
         (row.origin == TuningOrigin::user ? "here" : "on such a device by the authors");
}

/// Whose rates the predicted time goes by.
std::string rates_text(const DeviceInfo& device) {
  const GpuModel model = gpu_model(device);
  if (model.row == kTypical) return "of a typical GPU, as the device was not measured";
  const std::string shared = model.waits_per_second > 0.0 ? ", shared memory " + number(model.shared_loads_per_second, 3) +
                                                                " pixels/s, barriers " + number(model.waits_per_second, 3) + " threads/s"
                                                          : "";
  const std::string whose = model.row == kMeasured ? "measured here" : "of " + std::string(model.row) + ", measured by the authors";
  return whose + ": copies " + number(model.bytes_per_second, 3) + " bytes/s, arithmetic " + number(model.operations_per_second, 3) +
         " pixels/s, launches " + number(model.launch_seconds * 1e6, 3) + " us" + shared;
}

std::string axes(std::string_view label, std::int64_t x, std::int64_t y) {
  return std::string(label) + " " + std::to_string(x) + "x" + std::to_string(y);
}

/// A line for each algorithm that was not chosen, and one for all that only GPUs have.
std::vector<std::string> lines_of(const std::vector<Refusal>& refusals) {
  std::vector<std::string> lines;
  for (const Refusal& refusal : refusals) {
    if (!refusal.is_gpu_only) lines.push_back(refusal.algorithm + ": " + refusal.reason);
  }
  const auto gpu_only = std::ranges::count_if(refusals, &Refusal::is_gpu_only);
  if (gpu_only > 0) lines.push_back(std::to_string(gpu_only) + (gpu_only == 1 ? " GPU-only algorithm" : " GPU-only algorithms"));
  return lines;
}

/// "9", or "1 before and 2 after".
std::string reach_text(const Reach& reach) {
  if (reach.before == reach.after) return std::to_string(reach.before);
  return std::to_string(reach.before) + " before and " + std::to_string(reach.after) + " after";
}

/// What would have to be allowed, if nothing else is in the way.
std::string least_error(Problem problem) {
  const double allowed = std::exchange(problem.allowed_error, std::numeric_limits<double>::infinity());
  const auto can = [&](const Algorithm* algorithm) { return ask(*algorithm, problem).ok(); };
  // Asking on and on takes long where each answer takes the taps of such a kernel.
  constexpr double kWidest = 1e5;
  const auto* gaussian = std::get_if<Gaussian>(&problem.spec.kernel);
  if (gaussian && std::max(gaussian->sigma.x, gaussian->sigma.y) > kWidest) return "";
  if (std::ranges::none_of(registry(), can)) return "";
  // Step by step, because algorithms choose by it what is the cheapest.
  constexpr double kMost = 1.0;  // full scale
  for (problem.allowed_error = 2.0 * allowed; problem.allowed_error < kMost; problem.allowed_error *= 2.0) {
    std::optional<std::pair<double, std::string_view>> least;
    for (const Algorithm* algorithm : registry()) {
      const Result<Proposal> proposal = ask(*algorithm, problem);
      if (proposal && (!least || proposal->error < least->first)) least = {proposal->error, algorithm->info.id};
    }
    if (!least) continue;
    const int digits = bound(least->first, 2) == number(allowed, 2) ? 6 : 2;  // so many that they differ
    return " within an error of " + number(allowed, digits) + ", " + std::string(least->second) + " can within " +
           bound(least->first, digits);
  }
  return "";
}

/// Whether an image, or what passes leave of it, may be larger than what one binding of a GPU sees.
bool may_exceed_bindings(const Problem& problem) {
  constexpr std::int64_t kMostPixelBytes = 16;
  const std::int64_t pixels =
      std::max(std::int64_t{problem.src.width} * problem.src.height, std::int64_t{problem.dst.width} * problem.dst.height);
  return problem.device.backend != Backend::cpu && pixels > problem.device.gpu.max_buffer_bytes / kMostPixelBytes;
}

/// The plan of one algorithm.
Result<Plan> plan_of(const Algorithm& algorithm, const Problem& problem, const TuningRows& rows, Overlap overlap) {
  Result<Candidate> candidate = ask_candidate(algorithm, problem, WholeProblem(problem), rows);
  if (!candidate) {
    Error error = candidate.error();
    error.message = std::string(algorithm.info.id) + " cannot do this: " + error.message;
    return error;
  }
  return assemble(problem, std::move(*candidate), overlap);
}

/// The plan that is predicted to be the fastest.
Result<Plan> best_plan(const Problem& problem, const TuningRows& rows, Overlap overlap) {
  const WholeProblem whole(problem);
  std::vector<Candidate> candidates;
  std::vector<Refusal> refusals;
  for (const Algorithm* algorithm : registry()) {
    Result<Candidate> candidate = ask_candidate(*algorithm, problem, whole, rows);
    if (!candidate) {
      const bool gpu_only = problem.device.backend == Backend::cpu && is_gpu_only(*algorithm);
      refusals.push_back({std::string(algorithm->info.id), candidate.error().message, gpu_only});
      continue;
    }
    candidates.push_back(std::move(*candidate));
  }
  if (candidates.empty()) {
    Error error{ErrorCode::unsupported,
                "no algorithm of the " + std::string(name(problem.device.backend)) + " backend can do this blur" + least_error(problem),
                {}};
    error.reasons = lines_of(refusals);
    return error;
  }
  // What is left to those who ask for it comes after all else.
  const auto order = [](const Candidate& candidate) { return std::pair(!candidate.proposal.only_on_request.empty(), candidate.rank); };
  const auto best = std::ranges::min_element(candidates, {}, order);
  for (const Candidate& other : candidates) {
    if (&other == &*best) continue;
    const bool is_passed_over = !other.proposal.only_on_request.empty() && best->proposal.only_on_request.empty();
    refusals.push_back({std::string(other.algorithm->info.id),
                        is_passed_over ? std::string(other.proposal.only_on_request) : slower_by(other.rank / best->rank)});
  }
  Plan plan = assemble(problem, std::move(*best), overlap);
  plan.refusals = std::move(refusals);
  return plan;
}

}  // namespace

std::string_view name(Backend backend) {
  return kBackendNames[static_cast<std::size_t>(backend)];
}

bool DeviceInfo::has_kernel(std::string_view id) const {
  return std::find(kernels.begin(), kernels.end(), id) != kernels.end();
}

Result<AlgorithmChoice> parse_algorithm(std::string_view text) {
  AlgorithmChoice choice;
  const std::size_t colon = text.find(':');
  choice.id = text.substr(0, colon);
  if (choice.id.empty()) return Error{ErrorCode::invalid_argument, "an algorithm needs a name", {}};
  if (colon == std::string_view::npos) return choice;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
      return Error{ErrorCode::invalid_argument, "\"" + std::string(item) + "\" is no option of the form key=value", {}};
    }
    const auto [position, fresh] = choice.options.emplace(item.substr(0, equals), item.substr(equals + 1));
    if (!fresh) return Error{ErrorCode::invalid_argument, "option " + position->first + " is given twice", {}};
    if (comma == std::string_view::npos) return choice;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_string(const AlgorithmChoice& choice) {
  std::string text = choice.id;
  for (const auto& [key, value] : choice.options) {
    text += (text.size() == choice.id.size() ? ":" : ",") + key + "=" + value;
  }
  return text;
}

namespace {

/// Of a problem whose options are those of `options.algorithm`.
Result<Plan> solve(Problem problem, const PlanOptions& options) {
  if (Status s = validate(problem.spec, problem.src, problem.dst); !s) return s.error();
  if (options.batch < 1) return Error{ErrorCode::invalid_argument, "a batch of " + std::to_string(options.batch) + " images", {}};
  // Rows were measured without a stride.
  const bool is_measured = options.tuning == Tuning::measured && !has_stride(problem.spec);
  const TuningRows rows = is_measured ? TuningRows(problem.spec, problem.src, problem.device) : TuningRows();
  const Algorithm* forced = nullptr;
  if (options.algorithm) {
    const Result<const Algorithm*> found = find_algorithm(options.algorithm->id);
    if (!found) return found.error();
    forced = *found;
    problem.is_asked_for = true;
    problem.options = with_current_names(options.algorithm->id, options.algorithm->options);
    if (Status s = check_options(forced->info, problem.options); !s) return s.error();
  }
  const auto plan = [&] { return forced ? plan_of(*forced, problem, rows, options.overlap) : best_plan(problem, rows, options.overlap); };
  Result<Plan> whole = plan();
  if (whole || !may_exceed_bindings(problem)) return whole;
  problem.in_windows = true;
  return plan();
}

}  // namespace

Result<Plan> make_plan(const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst, const DeviceInfo& device,
                       const PlanOptions& options) {
  return solve({spec, src, dst, device, {}, allowed_error(spec.accuracy, dst.format), options.batch}, options);
}

Result<Plan> make_window_plan(const Plan& whole, const BlurSpec& spec, const ImageDesc& src) {
  Problem problem{spec, src, destination_desc(spec, src, whole.dst.format), whole.device, {}, whole.allowed_error};
  problem.whole = &whole;
  PlanOptions options;
  options.algorithm = whole.algorithm;
  return solve(std::move(problem), options);
}

std::string explain(const Plan& plan) {
  std::string text = to_string(plan.algorithm) + " on " + std::string(name(plan.device.backend)) + " (" + plan.device.name + ")\n";
  for (const Pass& pass : plan.passes) {
    text += "  pass     " + pass.kernel + ": ";
    const auto window = [](const BoxExtent& extent) { return extent.before + 1.0 + extent.after; };
    if (window(pass.extent.x) * window(pass.extent.y) > 1.0) {
      text += "window " + number(window(pass.extent.x)) + "x" + number(window(pass.extent.y)) + ", ";
    }
    if (pass.matrix.weights.size() > 1) text += axes("matrix", pass.matrix.width, pass.matrix.height) + ", ";
    if (pass.taps.x.weights.size() + pass.taps.y.weights.size() > 2) {
      text +=
          axes("taps", static_cast<std::int64_t>(pass.taps.x.weights.size()), static_cast<std::int64_t>(pass.taps.y.weights.size())) + ", ";
    }
    text += axes("makes", pass.size.x, pass.size.y) + axes(" in tiles of", pass.tile.x, pass.tile.y) + "\n";
  }
  text += "  bytes    moves " + std::to_string(plan.moved_bytes) + ", at least " + std::to_string(plan.min_bytes) + ", scratch " +
          std::to_string(plan.scratch_bytes) + "\n";
  if (plan.device.backend != Backend::cpu && exceed_bindings(plan.passes, plan.src, plan.dst, plan.intermediates, plan.device.gpu)) {
    text += "           in windows, because one binding of the device sees no more than " +
            std::to_string(plan.device.gpu.max_buffer_bytes) + " bytes\n";
  }
  text += "  error    at most " + number(plan.predicted_error, 2) + " of full scale";
  if (info(plan.dst.format).is_unorm()) {
    text += " (" + number(plan.predicted_error * info(plan.dst.format).unit(), 2) + " of a step)";
  }
  if (info(plan.dst.format).is_integral()) text += " and half a step";
  text += ", allowed " + number(plan.allowed_error, 2) + "\n";
  text += "  reach    " + reach_text(plan.reach.x) + " by " + reach_text(plan.reach.y) + " pixels: no NaN or infinity acts beyond\n";
  if (!plan.assumption.empty()) text += "           for " + plan.assumption + "\n";
  if (plan.device.backend != Backend::cpu) text += "  rates    " + rates_text(plan.device) + "\n";
  if (plan.tuning) text += "  tuned    " + tuning_text(*plan.tuning) + "\n";
  text += "  time     predicted " + number(plan.predicted_seconds * 1e3, 2) + " ms, " + number(plan.predicted_copy_ratio, 2) +
          " times a copy (rough)\n";
  for (const std::string& line : lines_of(plan.refusals)) text += "  not      " + line + "\n";
  return text;
}

}  // namespace mollify
