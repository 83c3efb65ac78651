#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cases/canvas.h"
#include "cases/cases.h"
#include "cases/compare.h"
#include "cases/reached.h"
#include "cases/source.h"

namespace mollify::cases {
namespace {

constexpr std::byte kSourcePoison{0xFF};  // NaN to a float format: whoever reads it, shows it
constexpr std::byte kDestinationPoison{0xA7};
// The reference's own rounding, so that an error of exactly 0 can be promised. What is promised of wide formats is as small.
constexpr double kReferenceError = 1e-12, kReferenceErrorOfWide = 1e-14;

bool in_place(const Case& c) {
  return c.layout == Layout::in_place;
}

/// Rows that hold either image and suit the components of both.
std::int64_t shared_row_bytes(const Case& c) {
  constexpr std::int64_t kLargest = 8;
  return in_place(c) ? (std::max(c.src.row_payload_bytes(), c.dst.row_payload_bytes()) + kLargest - 1) / kLargest * kLargest : 0;
}

/// A packed source ends where its memory ends, so that an address sanitizer sees every read beyond it.
Margins source_margins(Layout layout) {
  if (layout == Layout::packed) return {};
  return layout == Layout::in_place ? Margins{8, 8, 2, 1} : Margins{3, 2, 2, 1};
}

Margins destination_margins(Layout layout) {
  return layout == Layout::packed ? Margins{0, 0, 2, 2} : Margins{1, 4, 2, 3};
}

/// What a run reads and writes: the common source and a destination of its own, or a copy of the source that is both.
class Trial {
 public:
  Trial(const Case& c, const Canvas& source)
      : in_place_(in_place(c)),
        source_(source),
        canvas_(in_place_ ? source : Canvas(c.dst, destination_margins(c.layout), kDestinationPoison)),
        before_(canvas_.bytes()),
        destination_(canvas_.view()) {
    if (!in_place_) return;
    // The region's own pixels where the formats allow it.
    ImageView pixels = canvas_.view();
    if (c.spec.roi && info(c.src.format).pixel_bytes() == info(c.dst.format).pixel_bytes()) {
      pixels = crop(pixels, {c.spec.roi->x, c.spec.roi->y, c.dst.width, c.dst.height});
    }
    destination_ = {c.dst, static_cast<std::byte*>(pixels.data), canvas_.view().row_bytes};
  }

  [[nodiscard]] ConstImageView source() const { return in_place_ ? canvas_.view() : source_.view(); }
  [[nodiscard]] ImageView destination() const { return destination_; }
  [[nodiscard]] std::optional<std::string> damage() const { return changed_outside(before_, canvas_.bytes(), destination_); }

 private:
  bool in_place_;
  const Canvas& source_;
  Canvas canvas_;
  std::vector<std::byte> before_;
  ImageView destination_;
};

std::string scientific(double value) {
  std::ostringstream stream;
  stream.precision(3);
  stream << value;
  return stream.str();
}

CaseResult failed(CaseResult result, std::string message) {
  result.outcome = Outcome::failed;
  result.message = std::move(message);
  return result;
}

std::vector<std::byte> pixels_of(const ConstImageView& image) {
  const std::int64_t row_bytes = image.desc.row_payload_bytes();
  std::vector<std::byte> pixels;
  for (std::int32_t y = 0; y < image.desc.height; ++y) pixels.insert(pixels.end(), image.row(y), image.row(y) + row_bytes);
  return pixels;
}

Status run_plan(const Device& device, const Plan& plan, const Trial& trial, int runs) {
  const Result<Executable> executable = device.prepare(plan);
  if (!executable) return executable.error();
  Result<Workspace> workspace = executable->make_workspace(Batches::no);
  if (!workspace) return workspace.error();
  if (Status s = executable->run(trial.source(), trial.destination(), *workspace); !s) return s;
  const std::vector<std::byte> first = runs > 1 ? pixels_of(trial.destination()) : std::vector<std::byte>();
  for (int run = 2; run <= runs; ++run) {
    if (Status s = executable->run(trial.source(), trial.destination(), *workspace); !s) return s;
    if (pixels_of(trial.destination()) == first) continue;
    return Error{ErrorCode::internal, "run " + std::to_string(run) + " left other bits than the first one", {}};
  }
  return {};
}

/// Passed so far if there is a plan that keeps to the allowed error.
CaseResult plan_case(const Device& device, const Case& c, int batch) {
  CaseResult result;
  PlanOptions options;
  options.batch = batch;
  if (!c.algorithm.id.empty()) options.algorithm = c.algorithm;
  if (in_place(c)) options.overlap = Overlap::in_place;

  Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device.info(), options);
  if (!plan) {
    const bool refused = plan.error().code == ErrorCode::unsupported;
    result.outcome = refused ? Outcome::refused : Outcome::failed;
    result.message = plan.error().message;
    return result;
  }
  result.predicted_error = plan->predicted_error;
  result.plan = std::move(*plan);
  if (!(result.plan->predicted_error <= result.plan->allowed_error)) {
    return failed(result, "the plan promises " + scientific(result.plan->predicted_error) + " where at most " +
                              scientific(result.plan->allowed_error) + " is allowed");
  }
  result.outcome = Outcome::pass;
  return result;
}

}  // namespace

struct Judge::Exhibits {
  Exhibits(const Case& c, int threads) : source(c.src, source_margins(c.layout), kSourcePoison, shared_row_bytes(c)) {
    fill_random(source.view(), c.spec, c.seed);
    ordinary = exact_answer(c, threads);
    planted = plant(source.view(), c.spec, c.content, c.seed);
    if (c.content == Content::outliers) with_outliers = exact_answer(c, threads);
    source_before = source.bytes();
  }

  Canvas source;
  std::vector<std::byte> source_before;
  std::vector<PerAxis<std::int32_t>> planted;
  Status status;
  std::optional<ExactAnswer> ordinary;  ///< without what is planted
  std::optional<ExactAnswer> with_outliers;

 private:
  std::optional<ExactAnswer> exact_answer(const Case& c, int threads) {
    Result<ExactAnswer> answer = ExactAnswer::create(c.spec, std::as_const(source).view(), c.dst, threads);
    if (answer) return std::move(*answer);
    status = answer.error();
    return {};
  }
};

namespace {

/// Pixels that nothing planted reaches must be what they are without it. Those that outliers reach are judged beside them, unless
/// the sums on the way there may overflow or the plan's bound assumes something of the pixels.
Comparison compare(const ExactAnswer& ordinary, const std::optional<ExactAnswer>& with_outliers,
                   const std::vector<PerAxis<std::int32_t>>& planted, const Plan& plan, const ConstImageView& result) {
  if (planted.empty()) return ordinary.compare(result);
  const Reached reached(plan, planted);
  Comparison beyond = ordinary.compare(result, [&](std::int32_t x, std::int32_t y) { return !reached(x, y); });
  const FormatInfo& source = info(plan.src.format);
  const double largest = source.bits == 64 ? 1e305 : static_cast<double>(std::numeric_limits<float>::max());
  const bool may_overflow = with_outliers && with_outliers->full_scale() > largest;
  if (!with_outliers || may_overflow || !plan.assumption.empty()) return beyond;
  Comparison within = with_outliers->compare(result, [&](std::int32_t x, std::int32_t y) { return reached(x, y); });
  return within.max_error > beyond.max_error ? within : beyond;
}

}  // namespace

Judge::Judge(Case problem, int threads) : problem_(std::move(problem)), threads_(threads) {}

Judge::~Judge() = default;

const Judge::Exhibits& Judge::exhibits() {
  std::call_once(once_, [&] { exhibits_ = std::make_unique<const Exhibits>(problem_, threads_); });
  return *exhibits_;
}

CaseResult Judge::judge(const Device& device, const Case& c, int runs, int batch) {
  CaseResult result = plan_case(device, c, batch);
  if (result.outcome != Outcome::pass) return result;

  const Exhibits& shared = exhibits();
  if (!shared.status) return failed(result, shared.status.error().message);
  const Trial trial(c, shared.source);
  if (Status status = run_plan(device, *result.plan, trial, in_place(c) ? 1 : runs); !status) {
    return failed(result, status.error().message);
  }
  if (auto damage = trial.damage()) return failed(result, *damage);
  const std::vector<std::byte>& source = shared.source.bytes();  // compilers compare vectors of bytes byte by byte
  if (std::memcmp(source.data(), shared.source_before.data(), source.size()) != 0) return failed(result, "the source changed");

  const Comparison comparison = compare(*shared.ordinary, shared.with_outliers, shared.planted, *result.plan, trial.destination());
  result.max_error = comparison.max_error;
  const double of_reference = info(c.dst.format).is_wide() ? kReferenceErrorOfWide : kReferenceError;
  if (!(result.max_error <= result.predicted_error + of_reference)) {
    return failed(result, comparison.worst + ": an error of " + scientific(result.max_error) +
                              " of full scale where the plan promised at most " + scientific(result.predicted_error));
  }
  return result;
}

CaseResult run_case(const Device& device, const Case& c, int runs) {
  return Judge(c).judge(device, c, runs);
}

}  // namespace mollify::cases
