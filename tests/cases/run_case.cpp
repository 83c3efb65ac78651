#include <algorithm>
#include <cmath>
#include <sstream>

#include "cases/canvas.h"
#include "cases/cases.h"
#include "cases/compare.h"
#include "cases/source.h"

namespace mollify::cases {
namespace {

constexpr std::byte kSourcePoison{0xFF};  // NaN to a float format: whoever reads it, shows it
constexpr std::byte kDestinationPoison{0xA7};
// The reference's own rounding, so that an error of exactly 0 can be promised.
constexpr double kReferenceError = 1e-12;

/// The images of a case in memory, and how they were before the run.
class Images {
 public:
  explicit Images(const Case& c)
      : src_(c.src, source_margins(c.layout), kSourcePoison, in_place(c) ? shared_row_bytes(c) : 0),
        dst_(c.dst, destination_margins(c.layout), kDestinationPoison),
        in_place_(in_place(c)) {
    fill_random(src_.view(), c.spec, c.seed);
    source_view_ = src_.view();
    destination_view_ = dst_.view();
    if (in_place_) {
      // The region's own pixels where the formats allow it.
      std::byte* first = src_.view().row(0);
      if (c.spec.roi && info(c.src.format).pixel_bytes() == info(c.dst.format).pixel_bytes()) {
        first = static_cast<std::byte*>(crop(src_.view(), *c.spec.roi).data);
      }
      destination_view_ = {c.dst, first, src_.view().row_bytes};
    }
    src_before_ = src_.bytes();
    dst_before_ = dst_.bytes();
  }

  [[nodiscard]] ConstImageView source() const { return source_view_; }
  [[nodiscard]] ImageView destination() const { return destination_view_; }
  /// The source as it was before the run, at its place in the copy.
  [[nodiscard]] ConstImageView source_before() const {
    ConstImageView view = source_view_;
    view.data = src_before_.data() + (static_cast<const std::byte*>(source_view_.data) - src_.bytes().data());
    return view;
  }
  [[nodiscard]] std::optional<std::string> damage() const {
    if (in_place_) return changed_outside(src_before_, src_.bytes(), destination_view_);
    if (src_.bytes() != src_before_) return "the source changed";
    return changed_outside(dst_before_, dst_.bytes(), destination_view_);
  }

 private:
  static bool in_place(const Case& c) { return c.layout == Layout::in_place; }
  /// Rows that hold either image and suit the components of both.
  static std::int64_t shared_row_bytes(const Case& c) {
    return (std::max(c.src.row_payload_bytes(), c.dst.row_payload_bytes()) + 3) / 4 * 4;
  }
  /// A packed source ends where its memory ends, so that an address sanitizer sees every read beyond it.
  static Margins source_margins(Layout layout) {
    if (layout == Layout::packed) return {};
    return layout == Layout::in_place ? Margins{4, 4, 2, 1} : Margins{3, 2, 2, 1};
  }
  static Margins destination_margins(Layout layout) {
    return layout == Layout::packed ? Margins{0, 0, 2, 2} : Margins{1, 4, 2, 3};
  }

  Canvas src_;
  Canvas dst_;
  bool in_place_;
  ConstImageView source_view_;
  ImageView destination_view_;
  std::vector<std::byte> src_before_;
  std::vector<std::byte> dst_before_;
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

Status run_plan(const Device& device, const Plan& plan, const Images& images, int runs) {
  const Result<Executable> executable = device.prepare(plan);
  if (!executable) return executable.error();
  Result<Workspace> workspace = executable->make_workspace();
  if (!workspace) return workspace.error();
  if (Status s = executable->run(images.source(), images.destination(), *workspace); !s) return s;
  const std::vector<std::byte> first = runs > 1 ? pixels_of(images.destination()) : std::vector<std::byte>();
  for (int run = 2; run <= runs; ++run) {
    if (Status s = executable->run(images.source(), images.destination(), *workspace); !s) return s;
    if (pixels_of(images.destination()) == first) continue;
    return Error{ErrorCode::internal, "run " + std::to_string(run) + " left other bits than the first one", {}};
  }
  return {};
}

}  // namespace

CaseResult run_case(const Device& device, const Case& c, int runs) {
  CaseResult result;
  PlanOptions options;
  if (!c.algorithm.id.empty()) options.algorithm = c.algorithm;
  if (c.layout == Layout::in_place) options.overlap = Overlap::in_place;

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

  const Images images(c);
  if (Status status = run_plan(device, *result.plan, images, c.layout == Layout::in_place ? 1 : runs); !status) return failed(result, status.error().message);
  if (auto damage = images.damage()) return failed(result, *damage);
  const Result<Comparison> comparison = compare_with_reference(c.spec, images.source_before(), images.destination());
  if (!comparison) return failed(result, comparison.error().message);

  result.max_error = comparison->max_error;
  if (!(result.max_error <= result.predicted_error + kReferenceError)) {
    return failed(result, comparison->worst + ": an error of " + scientific(result.max_error) +
                              " of full scale where the plan promised at most " + scientific(result.predicted_error));
  }
  result.outcome = Outcome::pass;
  return result;
}

}  // namespace mollify::cases
