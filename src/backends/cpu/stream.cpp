#include "backends/cpu/stream.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "backends/cpu/kernels/layout.h"
#include "backends/cpu/memory.h"
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
    columns.memory_ = allocate_scratch(columns.count() * bytes_each);
    if (!columns.memory_) {
      return Error{
          ErrorCode::out_of_memory, "no memory for " + std::to_string(columns.count() * bytes_each) + " bytes of scratch space", {}};
    }
    return columns;
  }

  [[nodiscard]] std::int64_t count() const { return (width_ + each_ - 1) / each_; }
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
class CellRowsInMemory {
 public:
  CellRowsInMemory() = default;
  /// Of these columns of cells, from this row on.
  CellRowsInMemory(Span columns, std::int64_t first_row, int channels)
      : columns_(columns), stride_(row_stride(columns.size() * channels)), first_(first_row), rows_{first_row, first_row} {}

  [[nodiscard]] Span columns() const { return columns_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  /// Rows before this one have been made.
  [[nodiscard]] std::int64_t end() const { return rows_.end; }

  /// Makes room for the rows up to `end`. Of those that are stored the last one stays: it stands in for rows beyond the grid.
  [[nodiscard]] Status grow(std::int64_t end) {
    if (end <= rows_.end) return {};
    const Span rows{std::max(rows_.end - 1, first_), end};
    Scratch larger;
    if (rows.size() > capacity_) {
      const std::int64_t bytes = rows.size() * stride_ * static_cast<std::int64_t>(sizeof(float));
      larger = allocate_scratch(bytes);
      if (!larger) return Error{ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of a coarse grid", {}};
    }
    float* to = reinterpret_cast<float*>(larger ? larger.get() : memory_.get());
    if (rows.begin < rows_.end) std::copy_n(row(rows.begin), stride_, to);
    if (larger) {
      memory_ = std::move(larger);
      capacity_ = rows.size();
    }
    rows_ = rows;
    return {};
  }

  [[nodiscard]] StoredCells stored() const {
    return {reinterpret_cast<float*>(memory_.get()), stride_, {columns_.begin, rows_.begin}, rows_.size()};
  }

 private:
  [[nodiscard]] const float* row(std::int64_t y) const {
    return reinterpret_cast<const float*>(memory_.get()) + (y - rows_.begin) * stride_;
  }

  Span columns_;
  std::int64_t stride_ = 0;
  std::int64_t first_ = 0;
  Span rows_;
  std::int64_t capacity_ = 0;
  Scratch memory_;
};

class CpuStream final : public StreamImpl {
 public:
  CpuStream(const Plan& plan, const std::vector<Pipeline>& pipelines, Workers& workers)
      : plan_(plan), pipelines_(pipelines), workers_(workers), needs_(source_needs(plan, {0, 0, plan.dst.width, plan.dst.height})) {
    if (plan.spec.roi) origin_ = {plan.spec.roi->x, plan.spec.roi->y};
    if (const std::optional<CellNeeds>& cells = last().cells) {
      const Span columns = cells->x.of({origin_.x, origin_.x + plan.dst.width});
      cells_ = CellRowsInMemory(columns, cell_rows(1).begin, info(plan.src.format).channels);
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
    const ColumnReads reads = last().reads(origin_.y, origin_.y + end);
    return {reads.until, reads.from};
  }

  [[nodiscard]] Status run(std::span<const ConstWindow> src, const ImageView& dst, const RunControl& control) override {
    const Source source(plan_.src, src, needs_);
    const bool streams = plan_.dst.payload_bytes() > plan_.cached_bytes;  // as the whole would be
    Tile tile{source, dst, {}, origin_.x, origin_.y + made_, nullptr, {}, streams};
    if (last().cells) {
      const Span rows{cells_.end(), cell_rows(made_ + dst.desc.height).end};
      if (Status s = cells_.grow(rows.end); !s) return s;
      tile.cells = cells_.stored();
      tile.rows_above = rows.begin - cells_.first();
      const Rect area{static_cast<std::int32_t>(cells_.columns().begin), static_cast<std::int32_t>(rows.begin), 0,
                      static_cast<std::int32_t>(rows.size())};
      if (Status s = run_pass(0, area, tile, {control.stop, nullptr}); !s) return s;
    }
    tile.rows_above = made_;
    if (Status s = run_pass(pipelines_.size() - 1, {0, 0, 0, dst.desc.height}, tile, control); !s) return s;
    made_ += dst.desc.height;
    return {};
  }

  void copy(const ConstImageView& from, const ImageView& to) override { workers_.copy(from, to); }

 private:
  [[nodiscard]] ColumnNeeds needs_of(const Pipeline& pipeline) const {
    constexpr std::int32_t kLeastPixels = 256;
    constexpr std::int32_t kLeastCells = 64;
    constexpr auto kCells = static_cast<std::int32_t>(kDecimateCells);
    if (&pipeline != &last()) return {static_cast<std::int32_t>(cells_.columns().size()), pipeline.tile.x, kLeastCells, kCells};
    const auto line = static_cast<std::int32_t>(kCacheLine);
    const std::int32_t pixel_bytes = info(plan_.dst.format).pixel_bytes();
    return {plan_.dst.width, pipeline.tile.x, kLeastPixels, line / std::gcd(line, pixel_bytes)};
  }

  [[nodiscard]] const Pipeline& last() const { return pipelines_.back(); }

  /// That destination rows before `end` are expanded from.
  [[nodiscard]] Span cell_rows(std::int64_t end) const { return last().cells->y.of({origin_.y, origin_.y + end}); }

  /// The tiles of all columns. The area says where the columns begin, and in which rows the tiles lie.
  [[nodiscard]] Status run_pass(std::size_t pass, const Rect& area, const Tile& tile, const RunControl& control) {
    const auto is_stopped = [&] { return control.stop != nullptr && control.stop->load(std::memory_order_relaxed); };
    const Columns& columns = columns_[pass];
    if (area.height == 0) return {};
    workers_.for_each(columns.count(), [&](std::int64_t index, std::int64_t) {
      if (is_stopped()) return;
      Tile part = tile;
      part.out = columns.part(index, area.y, area.height);
      part.out.x += area.x;
      part.scratch = columns.scratch(index);
      pipelines_[pass].run(part);
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
  PerAxis<std::int64_t> origin_;  ///< of the destination, in the source
  std::vector<Columns> columns_;  ///< of each pass
  CellRowsInMemory cells_;        ///< what a first pass leaves for the last one
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
