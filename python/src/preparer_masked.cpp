// Means of known elements only: the blur of image times mask, divided by the blur of the mask.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "preparer.h"

namespace mollify::python {

void Preparer::check_mask() const {
  const Manner& manner = task_.request.manner;
  const std::string argument = task_.mask ? "mask: " : "nan: ";
  const Kernel& kernel = task_.request.kernel;
  const auto* gaussian = std::get_if<GaussianKernel>(&kernel);
  const bool is_mean = gaussian != nullptr ? !gaussian->amount && gaussian->order == GaussianKernel().order
                                           : std::holds_alternative<BoxKernel>(kernel) || std::holds_alternative<TentKernel>(kernel);
  if (!is_mean) throw std::invalid_argument(argument + "only gaussian() without order, box() and tent() leave elements out");
  if (manner.has_alpha || manner.is_srgb) throw std::invalid_argument(argument + "it does not go together with alpha and srgb");
}

/// How far each element is known: what the mask says, else wholly.
void Preparer::add_weights(const Place& weights, Prepared& out) const {
  if (task_.mask) {
    const Place mask{Place::Whose::mask, 0, task_.mask->element, task_.mask->strides};
    out.steps_.push_back({mask, weights, Prepared::Copy{}});
  } else {
    out.steps_.push_back({weights, weights, Prepared::Fill{1.0}});
  }
}

/// Where no more than the error of the blurred weights is known, nothing is.
Preparer::Step Preparer::division(const Place& weights, const Place& image, double error) const {
  const double otherwise = task_.src.element.is_floating() ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  return {weights, image, Prepared::Divide{error, otherwise}};
}

/// Returns the error of a result whose neighbours are all known. Where a part of them is, the error is as many times larger.
///
/// A quotient n / w, at most 1 in the library's units, of which both have errors e is off by at most 2 e / w.
double Preparer::prepare_masked(double allowed, Prepared& out) const {
  const Axes order = order_of(task_.dst.strides);
  const Place image = own_place(kSharpened, between(), order);
  const Place blurred = own_place(kBlurred, between(), order);
  const Place weights = own_place(kWeights, between(), order);
  const Place blurred_weights = own_place(kBlurredWeights, between(), order);
  Steps read = find_steps(read_place(), image, {});
  Steps blur = find_steps(image, blurred, changed_);
  Steps blur_weights = find_steps(weights, blurred_weights, changed_);
  Steps write = find_steps(blurred, written_place(), {});
  double error = make_runs(read, allowed / 8.0);
  error += make_runs(blur, allowed * 3.0 / 8.0);
  const double error_of_weights = make_runs(blur_weights, allowed * 3.0 / 8.0, 1.0);
  error += error_of_weights + make_runs(write, allowed / 8.0);
  add(std::move(read), out);
  add_weights(weights, out);
  out.steps_.push_back({weights, image, Prepared::Weigh{task_.request.manner.skips_nan}});
  add(std::move(blur), out);
  add(std::move(blur_weights), out);
  out.steps_.push_back(division(blurred_weights, blurred, error_of_weights));
  add(std::move(write), out);
  return error;
}

}  // namespace mollify::python
