#include "reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "reference/pixel.h"
#include "reference/weights.h"

namespace mollify {
namespace {

using reference::AxisKernel;
using reference::kOutside;
using reference::Pixel;
using reference::Separable;
using reference::Tap;

/// The taps of every output along one axis.
using AxisTapTable = std::vector<std::vector<Tap>>;

/// The pixels that outputs are centred on along one axis, or on the middle between each and the next.
struct Positions {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;

  Positions(std::int64_t region, std::int64_t length, const Stride& stride)
      : begin(region + stride.phase_halves / 2), step(stride.step), count((length + stride.step - 1) / stride.step) {}
  [[nodiscard]] std::int64_t at(std::int64_t i) const { return begin + i * step; }
};

AxisTapTable tap_table(const AxisKernel& kernel, BorderMode mode, const Positions& positions, std::int64_t extent) {
  AxisTapTable table;
  for (std::int64_t i = 0; i < positions.count; ++i) table.push_back(reference::taps_at(kernel, mode, positions.at(i), extent));
  return table;
}

/// Rows of the image by their index, from the first that any tap names to the last.
struct Rows {
  std::int64_t first = 0;
  std::vector<std::optional<std::vector<Pixel>>> rows;  ///< none where no tap names it
  [[nodiscard]] const std::vector<Pixel>& at(std::int64_t index) const { return rows.at(index - first).value(); }
};

/// The source pixels that the taps name, decoded to the numbers that are blurred.
class Window {
 public:
  Window(const ConstImageView& src, const reference::ColourModel& colour, const Pixel& border, const AxisTapTable& columns,
         const AxisTapTable& rows)
      : border_(border) {
    const Named needed_columns = named(columns);
    const Named needed_rows = named(rows);
    first_column_ = needed_columns.first;
    rows_.first = needed_rows.first;
    rows_.rows.resize(needed_rows.is_named.size());
    const FormatInfo& format = info(src.desc.format);
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) {
      if (!needed_rows.is_named[i]) continue;
      std::vector<Pixel>& row = rows_.rows[i].emplace();
      const std::byte* pixel = src.row(rows_.first + static_cast<std::int64_t>(i)) + first_column_ * format.pixel_bytes();
      for (std::size_t x = 0; x < needed_columns.is_named.size(); ++x, pixel += format.pixel_bytes()) {
        row.push_back(colour.decode(reference::load_pixel(format, pixel)));
      }
    }
  }

  [[nodiscard]] const Rows& rows() const { return rows_; }
  /// A pixel outside on any constant axis has the border's value.
  [[nodiscard]] const Pixel& at(const std::vector<Pixel>& row, std::int64_t x) const {
    return x == kOutside ? border_ : row[x - first_column_];
  }
  /// Null outside a constant border.
  [[nodiscard]] const std::vector<Pixel>* row(std::int64_t y) const { return y == kOutside ? nullptr : &rows_.at(y); }
  [[nodiscard]] const Pixel& border() const { return border_; }

 private:
  /// Which indices taps name, from the first of them to the last.
  struct Named {
    std::int64_t first = 0;
    std::vector<bool> is_named;
  };
  static Named named(const AxisTapTable& table) {
    const auto for_each = [&](const auto& see) {
      for (const auto& taps : table) {
        for (const Tap& tap : taps) {
          if (tap.index != kOutside) see(tap.index);
        }
      }
    };
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = -1;
    for_each([&](std::int64_t i) {
      first = std::min(first, i);
      last = std::max(last, i);
    });
    if (last < 0) return {};
    Named out{first, std::vector<bool>(static_cast<std::size_t>(last - first + 1))};
    for_each([&](std::int64_t i) { out.is_named[static_cast<std::size_t>(i - first)] = true; });
    return out;
  }

  Rows rows_;
  std::int64_t first_column_ = 0;
  Pixel border_;
};

/// A sum whose additions lose nothing that its result could show, of however many pixels (Knuth's sum of two numbers, and what it rounds
/// off).
class Sum {
 public:
  void add(double weight, const Pixel& pixel) {
    for (std::size_t c = 0; c < pixel.size(); ++c) {
      const double more = weight * pixel[c];
      const double sum = sum_[c] + more;
      const double added = sum - sum_[c];
      rest_[c] += (sum_[c] - (sum - added)) + (more - added);
      sum_[c] = sum;
    }
  }
  [[nodiscard]] Pixel result() const {
    Pixel out;
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = std::isfinite(sum_[c]) ? sum_[c] + rest_[c] : sum_[c];
    return out;
  }

 private:
  Pixel sum_{};
  Pixel rest_{};
};

std::vector<Pixel> blur_rows_then_columns(const Window& window, const AxisTapTable& columns, const AxisTapTable& rows) {
  const auto blurred = [&](const auto& pixel_at) {
    std::vector<Pixel> sums;
    for (const auto& taps : columns) {
      Sum sum;
      for (const Tap& tap : taps) sum.add(tap.weight, pixel_at(tap.index));
      sums.push_back(sum.result());
    }
    return sums;
  };
  Rows blurred_rows{window.rows().first, {}};
  for (const auto& row : window.rows().rows) {
    auto& sums = blurred_rows.rows.emplace_back();
    if (row) sums = blurred([&](std::int64_t x) -> const Pixel& { return window.at(*row, x); });
  }
  const std::vector<Pixel> outside = blurred([&](std::int64_t) -> const Pixel& { return window.border(); });

  std::vector<Pixel> result;
  for (const auto& taps : rows) {
    std::vector<Sum> sums(columns.size());
    for (const Tap& tap : taps) {
      const std::vector<Pixel>& row = tap.index == kOutside ? outside : blurred_rows.at(tap.index);
      for (std::size_t x = 0; x < sums.size(); ++x) sums[x].add(tap.weight, row[x]);
    }
    for (const Sum& sum : sums) result.push_back(sum.result());
  }
  return result;
}

std::vector<Pixel> blur_by_matrix(const Window& window, const Matrix& matrix, const AxisTapTable& columns, const AxisTapTable& rows) {
  std::vector<Pixel> result;
  for (const auto& row_taps : rows) {
    std::vector<const std::vector<Pixel>*> source_rows;
    source_rows.reserve(row_taps.size());
    for (const Tap& tap : row_taps) source_rows.push_back(window.row(tap.index));
    for (const auto& column_taps : columns) {
      Sum sum;
      for (std::int32_t j = 0; j < matrix.height; ++j) {
        for (std::int32_t i = 0; i < matrix.width; ++i) {
          const std::vector<Pixel>* row = source_rows[j];
          const Pixel& pixel = row == nullptr ? window.border() : window.at(*row, column_taps[i].index);
          sum.add(matrix.weights[j * matrix.width + i], pixel);
        }
      }
      result.push_back(sum.result());
    }
  }
  return result;
}

/// The same number of taps as the matrix has, each with weight 1: only the indices count.
AxisTapTable index_table(std::int64_t taps, std::int64_t anchor, BorderMode mode, const Positions& positions, std::int64_t extent) {
  AxisTapTable table(positions.count);
  for (std::int64_t i = 0; i < positions.count; ++i) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      table[i].push_back({reference::source_index(mode, positions.at(i) + tap - anchor, extent), 1.0});
    }
  }
  return table;
}

Status check(const BlurSpec& spec, const ConstImageView& src, const Rect& region) {
  const auto wrong = [](std::string message) { return Error{ErrorCode::invalid_argument, std::move(message), {}}; };
  const std::int32_t width = src.desc.width;
  const std::int32_t height = src.desc.height;
  if (width < 1 || height < 1 || src.data == nullptr) return wrong("reference: the source image is empty");
  if (region.width < 1 || region.height < 1 || region.x < 0 || region.y < 0 || region.x > width - region.width ||
      region.y > height - region.height) {
    return wrong("reference: the region is not inside the source image");
  }
  for (const Stride& stride : {spec.stride.x, spec.stride.y}) {
    if (stride.step < 1 || stride.phase_halves < 0) return wrong("reference: the stride is no stride");
  }
  if (spec.alpha == AlphaMode::premultiply && info(src.desc.format).channels % 2 != 0) {
    return wrong("reference: the source has no alpha channel to premultiply by");
  }
  return {};
}

Result<std::vector<Pixel>> blur_region(const BlurSpec& spec, const ConstImageView& src, const Rect& region) {
  if (Status status = check(spec, src, region); !status) return status.error();
  const FormatInfo& format = info(src.desc.format);
  const reference::ColourModel colour{format.channels, spec.alpha, spec.transfer};
  const Pixel border = colour.decode(reference::border_pixel(format, spec.border.value));
  const PerAxis<BorderMode> mode = spec.border.mode;
  const reference::Kernel kernel = reference::kernel_of(spec.kernel, spec.stride);
  const Positions across(region.x, region.width, spec.stride.x);
  const Positions down(region.y, region.height, spec.stride.y);

  std::vector<Pixel> result;
  if (const auto* separable = std::get_if<Separable>(&kernel)) {
    const AxisTapTable columns = tap_table(separable->x, mode.x, across, src.desc.width);
    const AxisTapTable rows = tap_table(separable->y, mode.y, down, src.desc.height);
    result = blur_rows_then_columns(Window(src, colour, border, columns, rows), columns, rows);
  } else {
    const auto& m = std::get<Matrix>(kernel);
    const AxisTapTable columns = index_table(m.width, m.anchor.x, mode.x, across, src.desc.width);
    const AxisTapTable rows = index_table(m.height, m.anchor.y, mode.y, down, src.desc.height);
    result = blur_by_matrix(Window(src, colour, border, columns, rows), m, columns, rows);
  }
  for (Pixel& pixel : result) pixel = colour.encode(pixel);
  return result;
}

Rect region_of(const BlurSpec& spec, const ImageDesc& src) {
  return spec.roi.value_or(Rect{0, 0, src.width, src.height});
}

}  // namespace

Result<std::vector<double>> reference_blur(const BlurSpec& spec, const ConstImageView& src) {
  const Result<std::vector<Pixel>> pixels = blur_region(spec, src, region_of(spec, src.desc));
  if (!pixels) return pixels.error();
  const int channels = info(src.desc.format).channels;
  std::vector<double> result;
  result.reserve(pixels->size() * channels);
  for (const Pixel& pixel : *pixels) result.insert(result.end(), pixel.begin(), pixel.begin() + channels);
  return result;
}

Result<std::array<double, 4>> reference_at(const BlurSpec& spec, const ConstImageView& src, std::int32_t x, std::int32_t y) {
  const Rect region = region_of(spec, src.desc);
  const Result<std::vector<Pixel>> pixels =
      blur_region(spec, src, Rect{region.x + x * spec.stride.x.step, region.y + y * spec.stride.y.step, 1, 1});
  if (!pixels) return pixels.error();
  return pixels->front();
}

}  // namespace mollify
