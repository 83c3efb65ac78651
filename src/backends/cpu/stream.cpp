#include "backends/cpu/stream.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/memory.h"
#include "base/places.h"
#include "base/source_region.h"

namespace mollify::cpu {

namespace {

/// What a pass makes, how wide its tiles were planned, and what columns of them must be.
struct ColumnNeeds {
  std::int32_t width = 0;
  std::int32_t most = 1;      ///< the width that was planned
  std::int32_t least = 1;     ///< narrower columns cost more than a thread that has none
  std::int32_t multiple = 1;  ///< that widths are of, but for the last
};

/// Columns of tiles that make up the width of what a pass makes. Each has scratch memory of its own, which stays from strip to strip.
class Columns {
 public:
  Columns() = default;

  /// As many for each thread, and as wide as each other.
  static Result<Columns> make(const ColumnNeeds& needs, std::int32_t threads, std::int64_t bytes_each) {
    Columns columns;
    const std::int32_t planned = (needs.width + needs.most - 1) / needs.most;
    const std::int32_t count = (planned + threads - 1) / threads * threads;
    const std::int32_t even = (needs.width + count - 1) / count;
    const std::int32_t whole = (even + needs.multiple - 1) / needs.multiple * needs.multiple;
    columns.width_ = needs.width;
    columns.each_ = std::min(std::max(whole, needs.least), needs.most);
    columns.bytes_each_ = bytes_each;
    columns.memory_ = allocate_scratch(columns.bytes());
    if (!columns.memory_) {
      return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(columns.bytes()) + " bytes of scratch space", {}};
    }
    return columns;
  }

  [[nodiscard]] std::int64_t count() const { return (width_ + each_ - 1) / each_; }
  [[nodiscard]] std::int64_t bytes() const { return count() * bytes_each_; }
  [[nodiscard]] std::byte* scratch(std::int64_t index) const { return memory_.get() + index * bytes_each_; }
  /// The part of a column in rows [y, y + height).
  [[nodiscard]] Rect part(std::int64_t index, std::int32_t y, std::int32_t height) const {
    const auto x = static_cast<std::int32_t>(index) * each_;
    return {x, y, std::min(each_, width_ - x), height};
  }

 private:
  std::int32_t width_ = 0;
  std::int32_t each_ = 1;
  std::int64_t bytes_each_ = 0;
  Scratch memory_;
};

/// The newest rows of a coarse grid.
class NewCoarseRows {
 public:
  NewCoarseRows() = default;
  /// Of these columns of coarse samples, from this row on.
  NewCoarseRows(Span columns, std::int64_t first_row, int channels)
      : columns_(columns), stride_(row_stride(columns.size() * channels)), first_(first_row), rows_{first_row, first_row} {}

  [[nodiscard]] Span columns() const { return columns_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] Span rows() const { return rows_; }
  [[nodiscard]] std::int64_t bytes_of(std::int64_t rows) const { return rows * stride_ * static_cast<std::int64_t>(sizeof(float)); }

  /// Makes room for the rows from the last ones on up to `end`. If there are none, the last ones stay: the last of them stands in for rows
  /// beyond the grid.
  [[nodiscard]] Status go_on(std::int64_t end) {
    const Span rows{rows_.end, end};
    if (rows.size() > capacity_) {
      const std::int64_t bytes = bytes_of(rows.size());
      memory_ = allocate_scratch(bytes);
      if (!memory_) return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of a coarse grid", {}};
      capacity_ = rows.size();
    }
    if (rows.size() > 0) rows_ = rows;
    return {};
  }

  [[nodiscard]] CoarseSamples stored() const {
    return {reinterpret_cast<float*>(memory_.get()), stride_, {columns_.begin, rows_.begin}, rows_.size()};
  }

 private:
  Span columns_;
  std::int64_t stride_ = 0;
  std::int64_t first_ = 0;
  Span rows_;
  std::int64_t capacity_ = 0;
  Scratch memory_;
};

/// The columns of a copy that make up one of `count` parts.
void copy_part(const PixelCopy& pixels, std::int64_t index, std::int64_t count) {
  const ImageDesc& desc = pixels.from.desc;
  const std::int64_t pixel_bytes = info(desc.format).pixel_bytes();
  const std::int64_t begin = desc.width * index / count * pixel_bytes, end = desc.width * (index + 1) / count * pixel_bytes;
  for (std::int32_t y = 0; y < desc.height; ++y) {
    std::memcpy(pixels.to.row(y) + begin, pixels.from.row(y) + begin, static_cast<std::size_t>(end - begin));
  }
}

class CpuStream final : public StreamImpl {
 public:
  CpuStream(const Plan& plan, const std::vector<Pipeline>& pipelines, Workers& workers)
      : plan_(plan),
        pipelines_(pipelines),
        workers_(workers),
        needs_(source_needs(plan, {0, 0, plan.dst.width, plan.dst.height})),
        places_(places_of(plan.spec)) {
    if (const std::optional<CoarseNeeds>& needs = last().coarse_needs) {
      const Span columns = needs->x.of(places_.x.of({0, plan.dst.width}));
      samples_ = NewCoarseRows(columns, coarse_rows(1).begin, info(plan.src.format).channels);
    }
  }

  [[nodiscard]] Status allocate(std::int64_t worker_bytes) {
    for (const Pipeline& pipeline : pipelines_) {
      Result<Columns> columns = Columns::make(needs_of(pipeline), workers_.threads(), worker_bytes);
      if (!columns) return columns.error();
      columns_.push_back(std::move(*columns));
    }
    return {};
  }

  [[nodiscard]] Reads reads(std::int32_t end) const override {
    const Span made = places_.y.of({0, end});
    const ColumnReads reads = last().reads(made.begin, made.end);
    return {reads.until, reads.from};
  }

  [[nodiscard]] std::int64_t scratch_bytes(std::int32_t rows) const override {
    std::int64_t bytes = 0;
    for (const Columns& columns : columns_) bytes += columns.bytes();
    // The first strip makes the most coarse rows. Another strip may begin at a place that takes one more.
    return last().coarse_needs ? bytes + samples_.bytes_of(coarse_rows(rows).size() + 1) : bytes;
  }

  [[nodiscard]] Status run(std::span<const ConstWindow> src, const ImageView& dst, std::span<const PixelCopy> copies,
                           const RunControl& control) override {
    const Source source(plan_.src, src, needs_);
    const bool streams = plan_.dst.payload_bytes() > plan_.cached_bytes;  // as the whole would be
    Tile tile{source, dst, {}, places_.x.first, places_.y.at(made_), nullptr, {}, streams};
    if (last().coarse_needs) {
      const Span rows{samples_.rows().end, coarse_rows(made_ + dst.desc.height).end};
      if (Status s = samples_.go_on(rows.end); !s) return s;
      tile.coarse = samples_.stored();
      tile.rows_above = rows.begin - samples_.first();
      const Rect area{static_cast<std::int32_t>(samples_.columns().begin), static_cast<std::int32_t>(rows.begin), 0,
                      static_cast<std::int32_t>(rows.size())};
      if (Status s = run_pass(0, area, tile, std::exchange(copies, {}), {control.stop, nullptr}); !s) return s;
    }
    tile.rows_above = made_;
    if (Status s = run_pass(pipelines_.size() - 1, {0, 0, 0, dst.desc.height}, tile, copies, control); !s) return s;
    made_ += dst.desc.height;
    return {};
  }

  void copy(std::span<const PixelCopy> copies) override {
    for (const PixelCopy& pixels : copies) workers_.copy(pixels.from, pixels.to);
  }

 private:
  [[nodiscard]] ColumnNeeds needs_of(const Pipeline& pipeline) const {
    constexpr std::int32_t kLeastPixels = 256;
    constexpr std::int32_t kComponents = 64;  // four of the widest vectors, and whole lines of the destination
    constexpr std::int32_t kLeastSamples = 64;
    constexpr auto kAtOnce = static_cast<std::int32_t>(kDecimatedAtOnce);
    if (&pipeline != &last()) return {static_cast<std::int32_t>(samples_.columns().size()), pipeline.tile.x, kLeastSamples, kAtOnce};
    return {plan_.dst.width, pipeline.tile.x, kLeastPixels, kComponents / std::gcd(kComponents, info(plan_.dst.format).channels)};
  }

  [[nodiscard]] const Pipeline& last() const { return pipelines_.back(); }

  /// That destination rows before `end` are expanded from.
  [[nodiscard]] Span coarse_rows(std::int64_t end) const { return last().coarse_needs->y.of(places_.y.of({0, end})); }

  /// Makes the tiles of all columns, and as large a part of the copies with each. The area says where the columns begin, and in which rows
  /// the tiles lie.
  [[nodiscard]] Status run_pass(std::size_t pass, const Rect& area, const Tile& tile, std::span<const PixelCopy> copies,
                                const RunControl& control) {
    const auto is_stopped = [&] { return control.stop != nullptr && control.stop->load(std::memory_order_relaxed); };
    const Columns& columns = columns_[pass];
    if (area.height == 0 && copies.empty()) return {};
    workers_.for_each(columns.count(), [&](std::int64_t index, std::int64_t) {
      if (is_stopped()) return;
      Tile part = tile;
      part.out = columns.part(index, area.y, area.height);
      part.out.x += area.x;
      part.scratch = columns.scratch(index);
      if (area.height > 0) pipelines_[pass].run(part);
      for (const PixelCopy& pixels : copies) copy_part(pixels, index, columns.count());
      if (control.finished_pixels != nullptr) {
        control.finished_pixels->fetch_add(std::int64_t{part.out.width} * part.out.height, std::memory_order_relaxed);
      }
    });
    if (is_stopped()) return Error{ErrorCode::stopped, "the run was stopped", {}};
    return {};
  }

  const Plan& plan_;
  const std::vector<Pipeline>& pipelines_;
  Workers& workers_;
  SourceNeeds needs_;
  PerAxis<AxisPlaces> places_;    ///< of the destination, in the source
  std::vector<Columns> columns_;  ///< of each pass
  NewCoarseRows samples_;         ///< what a first pass leaves for the last one
  std::int64_t made_ = 0;         ///< rows of the destination
};

}  // namespace

Result<std::unique_ptr<StreamImpl>> make_stream(const Plan& plan, const std::vector<Pipeline>& pipelines, Workers& workers,
                                                std::int64_t worker_bytes) {
  auto stream = std::make_unique<CpuStream>(plan, pipelines, workers);
  if (Status s = stream->allocate(worker_bytes); !s) return s.error();
  return std::unique_ptr<StreamImpl>(std::move(stream));
}

}  // namespace mollify::cpu
