#include "files/resolution.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

namespace mollify::files {
namespace {

using Unit = Resolution::Unit;

constexpr double kMostRational = 4294967295.0;
constexpr double kTolerance = 1e-3;  // of a rounded number: 0.3 of 300 dots per inch

Resolution in_unit(const Resolution& resolution, Unit unit) {
  constexpr std::array kPerMetre = {1.0, 1 / 0.0254, 100.0, 1.0};  // in the order of Unit
  const double factor = kPerMetre[static_cast<std::size_t>(resolution.unit)] / kPerMetre[static_cast<std::size_t>(unit)];
  return {resolution.x * factor, resolution.y * factor, unit};
}

bool is_near(double rounded, double value) {
  return std::abs(rounded - value) <= kTolerance * value;
}
bool is_near(const Resolution& rounded, const Resolution& value) {
  const Resolution same = in_unit(value, rounded.unit);
  return is_near(rounded.x, same.x) && is_near(rounded.y, same.y);
}

/// Two whole numbers from 1 to `most`. Without a unit only their ratio counts.
std::optional<Resolution> whole(Resolution resolution, double most) {
  auto& [x, y, unit] = resolution;
  const auto is_whole = [](double value) { return value == std::round(value); };
  while (unit == Unit::none && x > 0 && y > 0 && !(is_whole(x) && is_whole(y)) && 10 * std::max(x, y) <= std::min(most, 1e6)) {
    x *= 10;
    y *= 10;
  }
  x = std::round(x);
  y = std::round(y);
  if (!(x >= 1 && y >= 1 && x <= most && y <= most)) return std::nullopt;
  return resolution;
}

std::optional<Resolution> in_png(const Resolution& resolution) {
  constexpr double kMost = 2147483647.0;
  return whole(in_unit(resolution, resolution.unit == Unit::none ? Unit::none : Unit::metre), kMost);
}

std::optional<Resolution> in_jfif(const Resolution& resolution) {
  constexpr double kMost = 65535.0;
  const Resolution wanted = resolution.unit == Unit::metre ? in_unit(resolution, Unit::inch) : resolution;
  const std::optional<Resolution> rounded = whole(wanted, kMost);
  return rounded && (wanted.unit == Unit::none || is_near(*rounded, wanted)) ? rounded : std::nullopt;
}

std::optional<Resolution> in_rationals(const Resolution& resolution) {
  const Resolution wanted = resolution.unit == Unit::metre ? in_unit(resolution, Unit::centimetre) : resolution;
  const auto fits = [](double value) { return value <= kMostRational && rational_of(value)[0] > 0; };
  return fits(wanted.x) && fits(wanted.y) ? std::optional(wanted) : std::nullopt;
}

/// A density along x, and how much wider than high a pixel is.
std::optional<Resolution> in_exr(const Resolution& resolution) {
  constexpr double kMostAspect = 1e6;  // as far as the library goes
  const Resolution wanted = resolution.unit == Unit::none ? resolution : in_unit(resolution, Unit::inch);
  const double aspect = wanted.y / wanted.x;
  const auto density = static_cast<float>(wanted.x);
  const bool fits = aspect > 1 / kMostAspect && aspect < kMostAspect && std::isfinite(density) && density > 0;
  return fits ? std::optional(wanted) : std::nullopt;
}

std::string text_of(const Resolution& resolution) {
  constexpr std::array kUnits = {"", " dots per inch", " dots per centimetre", " dots per metre"};
  std::array<char, 64> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "%g x %g", resolution.x, resolution.y);
  return std::string(numbers.data()) + kUnits[static_cast<std::size_t>(resolution.unit)];
}

}  // namespace

std::optional<Resolution> resolution_in(FileFormat format, const Resolution& resolution) {
  if (!(resolution.x > 0) || !(resolution.y > 0)) return std::nullopt;
  switch (format) {
    case FileFormat::png:
      return in_png(resolution);
    case FileFormat::jpeg:
      return in_jfif(resolution);
    case FileFormat::exr:
      return in_exr(resolution);
    default:
      return in_rationals(resolution);
  }
}

std::optional<Resolution> fitted_resolution(FileFormat format, const Resolution& resolution, Messages& messages) {
  const FileFormat place = format == FileFormat::jpeg ? FileFormat::webp : format;  // in Exif, where not in JFIF
  const std::optional<Resolution> held = resolution_in(place, resolution);
  if (!held) {
    messages.add("resolution (" + text_of(resolution) + ") left out: " + std::string(name_of(format)) + " files cannot hold these numbers");
    return std::nullopt;
  }
  if (resolution.unit != Unit::none && !is_near(*held, resolution))
    messages.add("resolution (" + text_of(resolution) + ") becomes " + text_of(*held));
  return resolution;
}

std::array<std::uint32_t, 2> rational_of(double value) {
  double best_n = std::min(std::round(value), kMostRational), best_d = 1, before_n = 1, before_d = 0, rest = value;
  double n = std::floor(value), d = 1;
  for (int i = 0; i < 20 && n <= kMostRational && d <= kMostRational; ++i) {
    best_n = n;
    best_d = d;
    const double fraction = rest - std::floor(rest);
    if (fraction < 1e-12) break;
    rest = 1 / fraction;
    const double next_n = std::floor(rest) * n + before_n, next_d = std::floor(rest) * d + before_d;
    before_n = std::exchange(n, next_n);
    before_d = std::exchange(d, next_d);
  }
  return {static_cast<std::uint32_t>(best_n), static_cast<std::uint32_t>(best_d)};
}

}  // namespace mollify::files
