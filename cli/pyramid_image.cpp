#include "pyramid_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

#include "failure.h"

namespace mollify::cli {
namespace {

using files::NumberType;
using files::Page;
using files::PagePixels;
using files::RowRange;

// Levels of the images that others are made from: the first, and how many lie between two. Each has a sigma of one of its own pixels.
constexpr int kFirstBetween = 1, kLevelsApart = 2;

double variance_of_level(int level, double sigma) {
  return sigma * sigma * (std::pow(4.0, level) - 1.0) / 3.0;
}

/// A bound of the weights, in sum, by which a Gaussian of samples of a Gaussian of sigma 1 differs from a single one. The samples' grid
/// adds waves of its frequency to the weights, of this height along each axis. Multiples of the frequency add far less than a hundredth to
/// that.
double alias_of(double variance) {
  constexpr double kAxes = 2.0, kMultiples = 1.01;
  const double between = variance / (1.0 + variance);
  return kAxes * kMultiples * 2.0 * std::exp(-2.0 * std::numbers::pi * std::numbers::pi * between);
}

/// From the image of floats of this level, 0 for the picture, to a variance in the pixels of the picture. Unset: the image is blurred
/// further than that, or its grid matters too much.
std::optional<PyramidStep> step_from(int floats, int level, double variance, double most_alias) {
  if (floats == 0) return PyramidStep{.level = level, .halvings = level, .sigma = std::sqrt(variance)};
  const double between = variance / std::pow(4.0, floats) - 1.0;
  if (between <= 0.0 || alias_of(between) > most_alias) return std::nullopt;
  PyramidStep step{.level = level, .halvings = level - floats, .sigma = std::sqrt(between)};
  step.alias = alias_of(between);
  return step;
}

/// The level of the coarsest image of floats that this level can be made from; 0: the picture.
int floats_for(int level, double sigma, double most_alias) {
  int best = 0;
  for (int floats = kFirstBetween; floats < level; floats += kLevelsApart) {
    if (step_from(floats, level, variance_of_level(level, sigma), most_alias)) best = floats;
  }
  return best;
}

/// Where the pixels have their centres, on one axis.
struct Centres {
  std::int32_t first;   ///< pixel that the region begins with
  std::int32_t pixels;  ///< of the region
};

// The centre of a block is also that of the `stride` pixels in its middle.
Centres centres_of(std::int32_t first, std::int32_t blocks, std::int32_t block, std::int32_t stride) {
  return {first + (block - stride) / 2, (blocks - 1) * block + stride};
}

std::int32_t stride_of(const PyramidStep& step) {
  return std::min(1 << step.halvings, Stride::kMaxStep);
}

/// Bytes are too few for an image that others are made from; 16 bits suffice for one that is made of bytes.
NumberType type_between(const files::PageWork& finer) {
  const NumberType type = finer.from.channels.front().type;
  return type == NumberType::u8 ? NumberType::u16 : files::is_wide(type) ? NumberType::f64 : NumberType::f32;
}

BlurRequest request_of(const PyramidStep& step, const files::PageWork& finer) {
  constexpr double kFloatError = 1e-5;  // which sums of f32 keep
  constexpr double kOf16Bits = 2e-4;    // which sums of 16 bits keep
  BlurRequest request;
  request.spec.kernel = Gaussian{.sigma = {step.sigma, step.sigma}};
  request.spec.stride = {Stride::of_blocks(stride_of(step)), Stride::of_blocks(stride_of(step))};
  const NumberType between = type_between(finer);
  if (!step.is_level && between != NumberType::f64) request.spec.accuracy.max_error = between == NumberType::u16 ? kOf16Bits : kFloatError;
  return request;
}

std::int32_t divided(std::int32_t pixels, std::int32_t step) {
  return (pixels + step - 1) / step;
}

/// Room for these rows of a page.
PagePixels rows_in(files::Bytes& bytes, const Page& page, RowRange rows) {
  const auto needed = static_cast<std::size_t>(rows.count() * page.row_bytes());
  if (bytes.size() < needed) bytes.resize(needed);
  return {&page, bytes.data(), static_cast<std::ptrdiff_t>(page.row_bytes()), rows};
}

void change_type(files::PageWork& work, NumberType type) {
  for (files::Channel& channel : work.blurred.channels) channel.type = type;
  work.scale = work.data_scale = files::Scale::colour;
}

}  // namespace

std::vector<PyramidStep> pyramid_steps(int levels, double sigma, double most_alias) {
  std::vector<PyramidStep> steps;
  std::map<int, int> places{{0, -1}};  // of images of floats in the list, by their levels
  const auto add = [&](int floats, int level, double variance, bool is_level) {
    PyramidStep step = step_from(floats, level, variance, most_alias).value();
    step.parent = places.at(floats);
    step.is_level = is_level;
    steps.push_back(step);
  };
  for (int level = 1; level <= levels; ++level) {
    const int floats = floats_for(level, sigma, most_alias);
    for (int last = places.rbegin()->first; last < floats; last = places.rbegin()->first) {
      const int next = last == 0 ? kFirstBetween : last + kLevelsApart;
      add(last, next, std::pow(4.0, next), false);
      places[next] = static_cast<int>(steps.size()) - 1;
    }
    add(floats, level, variance_of_level(level, sigma), true);
  }
  return steps;
}

std::int32_t pyramid_margin(const std::vector<PyramidStep>& steps) {
  constexpr std::int32_t kSigmas = 6;
  std::int32_t margin = 0;
  for (const PyramidStep& step : steps) {
    if (!step.is_level) margin = kSigmas << step.level;
  }
  return margin;
}

PyramidImage::PyramidImage(const std::string& path, const Device& device, const PyramidStep& step, const files::PageWork& finer)
    : stride_(stride_of(step)),
      pick_((1 << step.halvings) / stride_),
      work_(finer),
      request_(request_of(step, finer)),
      added_error_(step.alias),
      blurrer_(device, request_.spec, request_.plan) {
  const std::int32_t block = 1 << step.halvings;
  const Rect picture = *finer.region;
  const Rect own{picture.x / block, picture.y / block, divided(picture.width, block), divided(picture.height, block)};
  if (step.is_level) {
    const Centres x = centres_of(picture.x, own.width, block, stride_), y = centres_of(picture.y, own.height, block, stride_);
    work_.region = Rect{x.first, y.first, x.pixels, y.pixels};
    work_.scale = work_.data_scale = files::Scale::colour;
  } else {
    work_.region.reset();
    picture_ = own;
    change_type(work_, type_between(finer));
    // Half a step of a colour and half a step of the alpha that it is multiplied by.
    if (type_between(finer) == NumberType::u16) added_error_ += 1.0 / files::full_scale(NumberType::u16);
  }
  work_.blurred.width = (work_.region ? work_.region->width : work_.from.width) / stride_;
  work_.blurred.height = (work_.region ? work_.region->height : work_.from.height) / stride_;
  page_ = work_.blurred;
  page_.width = divided(work_.blurred.width, pick_);
  page_.height = divided(work_.blurred.height, pick_);
  blur_ = std::make_unique<PageBlur>(path, blurrer_, request_, work_, report_);
  if (const Status ready = blur_->prepare_strips(StripsFor::memory); !ready) fail(fmt::format("{}: {}", path, one_line(ready.error())));
  if (!blur_->open_streams()) fail(fmt::format("{}: its channels are not all blurred alike, of which no pyramid is made", path));
}

files::PageWork PyramidImage::copy() const {
  files::PageWork copy = work_;
  copy.from = work_.blurred;
  copy.blurred = work_.result;
  copy.region = picture_;
  return copy;
}

std::int32_t PyramidImage::most_blurred_rows(std::int32_t finer_rows) const {
  // The last strip makes also what waited for rows below it.
  const std::int64_t rows = (finer_rows + blur_->most_source_rows(1)) / stride_ + 2;
  return static_cast<std::int32_t>(std::min<std::int64_t>(rows, work_.blurred.height));
}

std::int32_t PyramidImage::most_rows(std::int32_t finer_rows) const {
  return divided(most_blurred_rows(finer_rows), pick_);
}

std::int64_t PyramidImage::memory_bytes(std::int32_t finer_rows) const {
  const std::int64_t rows = most_blurred_rows(finer_rows);
  const std::int64_t unpicked = pick_ > 1 ? rows * work_.blurred.row_bytes() : 0;
  return blur_->strip_scratch_bytes(rows) + unpicked + static_cast<std::int64_t>(kBuffers) * most_rows(finer_rows) * page_.row_bytes();
}

void PyramidImage::advance(const PagePixels& finer, std::size_t buffer) {
  const std::int32_t made = blur_->stream().next_row();
  const bool is_complete = made == work_.blurred.height;
  const std::int32_t first = std::clamp(blur_->stream().next_source_row(), finer.rows.begin, finer.rows.end);
  const RowRange given{first, finer.rows.end};
  const RowRange ready{made, made + (is_complete ? 0 : blur_->stream().ready_rows(given.count()))};
  const PagePixels blurred = rows_in(pick_ > 1 ? unpicked_ : buffers_[buffer], work_.blurred, ready);
  if (!is_complete) blur_->run({finer.page, finer.data + (first - finer.rows.begin) * finer.row_bytes, finer.row_bytes, given}, blurred);
  made_[buffer] = blurred;
  if (pick_ > 1) pick(blurred, buffer);
}

void PyramidImage::pick(const PagePixels& blurred, std::size_t buffer) {
  const PagePixels to = rows_in(buffers_[buffer], page_, {divided(blurred.rows.begin, pick_), divided(blurred.rows.end, pick_)});
  const auto bytes = static_cast<std::ptrdiff_t>(page_.pixel_bytes());
  for (std::int32_t y = to.rows.begin; y < to.rows.end; ++y) {
    const std::uint8_t* in = blurred.data + (y * pick_ - blurred.rows.begin) * blurred.row_bytes;
    std::uint8_t* out = to.data + (y - to.rows.begin) * to.row_bytes;
    for (std::int32_t x = 0; x < page_.width; ++x) std::memcpy(out + x * bytes, in + x * pick_ * bytes, static_cast<std::size_t>(bytes));
  }
  made_[buffer] = to;
}

}  // namespace mollify::cli
