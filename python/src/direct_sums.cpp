#include "direct_sums.h"

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <type_traits>

#include "layout.h"
#include "numbers.h"

namespace mollify::python {
namespace {

std::int64_t modulo(std::int64_t value, std::int64_t period) {
  const std::int64_t rest = value % period;
  return rest < 0 ? rest + period : rest;
}

/// The element of an axis that stands at this place, or -1 for the border value.
std::int64_t element_at(std::int64_t place, std::int64_t extent, BorderMode border) {
  if (place >= 0 && place < extent) return place;
  switch (border) {
    case BorderMode::clamp:
      return place < 0 ? 0 : extent - 1;
    case BorderMode::wrap:
      return modulo(place, extent);
    case BorderMode::reflect: {
      const std::int64_t rest = modulo(place, 2 * extent);
      return std::min(rest, 2 * extent - 1 - rest);
    }
    case BorderMode::mirror: {
      if (extent == 1) return 0;
      const std::int64_t rest = modulo(place, 2 * extent - 2);
      return std::min(rest, 2 * extent - 2 - rest);
    }
    case BorderMode::constant:
      break;
  }
  return -1;
}

/// Numbers of a row as float64.
using LoadRow = void (*)(const std::byte* src, std::ptrdiff_t stride, double* out, std::int64_t count);
using StoreRow = void (*)(const double* in, std::byte* dst, std::ptrdiff_t stride, std::int64_t count);

template <class Number>
void load_row(const std::byte* src, std::ptrdiff_t stride, double* out, std::int64_t count) {
  if (std::is_same_v<Number, double> && stride == sizeof(double)) {
    std::memcpy(out, src, static_cast<std::size_t>(count) * sizeof(double));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) out[i] = converted<double>(load<Number>(src + i * stride));
}

template <class Number>
void store_row(const double* in, std::byte* dst, std::ptrdiff_t stride, std::int64_t count) {
  if (std::is_same_v<Number, double> && stride == sizeof(double)) {
    std::memcpy(dst, in, static_cast<std::size_t>(count) * sizeof(double));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) store(converted<Number>(in[i]), dst + i * stride);
}

LoadRow loader_of(Element element) {
  if (element.is_floating()) return load_row<double>;
  return element.kind == NumberKind::signed_integer ? load_row<std::int32_t> : load_row<std::uint32_t>;
}

StoreRow storer_of(Element element) {
  if (element.is_floating()) return store_row<double>;
  return element.kind == NumberKind::signed_integer ? store_row<std::int32_t> : store_row<std::uint32_t>;
}

}  // namespace

DirectSums::DirectSums(std::span<const std::int64_t> shape, std::span<const std::ptrdiff_t> src_strides,
                       std::span<const std::ptrdiff_t> dst_strides, const WeightWindow& window)
    : border_value_(window.border_value), window_axes_(window.axes) {
  std::vector<const WindowAxis*> window_axis(shape.size(), nullptr);
  for (const WindowAxis& axis : window.axes) window_axis[axis.axis] = &axis;
  for (const std::size_t axis : order_of(src_strides)) {
    Axis out{.extent = shape[axis], .src_stride = src_strides[axis], .dst_stride = dst_strides[axis]};
    if (const WindowAxis* along = window_axis[axis]) {
      out.before = along->anchor;
      out.after = along->extent - 1 - along->anchor;
      out.border = along->border;
      out.number = static_cast<std::ptrdiff_t>(axis);
    }
    axes_.push_back(out);
  }
  merge_axes();
  choose_tiles();
  find_offsets(window);
}

/// Fewer axes make longer rows. Only those that the window does not reach along can be one.
void DirectSums::merge_axes() {
  std::vector<Axis> merged;
  for (const Axis& axis : axes_) {
    if (axis.extent == 1 && axis.reach() == 0) continue;
    if (!merged.empty() && axis.reach() == 0 && merged.back().reach() == 0) {
      Axis& last = merged.back();
      if (axis.src_stride == last.src_stride * last.extent && axis.dst_stride == last.dst_stride * last.extent) {
        last.extent *= axis.extent;
        continue;
      }
    }
    merged.push_back(axis);
  }
  if (merged.empty()) merged.emplace_back();
  axes_ = std::move(merged);
}

/// Tiles fit into a cache. They are long along the window, so that few elements are read twice, and whole rows where that is possible.
void DirectSums::choose_tiles() {
  constexpr std::int64_t kMostElements = 1 << 15;
  constexpr std::int64_t kShortestRow = 32;
  const auto elements = [&] {
    std::int64_t out = 1;
    for (const Axis& axis : axes_) out *= axis.tile + axis.reach();
    return out;
  };
  axes_.front().tile = std::min(axes_.front().extent, kShortestRow);
  for (Axis& axis : axes_) {
    if (axis.reach() > 0) axis.tile = std::min(axis.extent, 4 * axis.reach() + 16);
  }
  for (Axis& axis : axes_) {
    const std::int64_t others = elements() / (axis.tile + axis.reach());
    axis.tile = std::clamp(kMostElements / others - axis.reach(), axis.tile, axis.extent);
  }
  std::ptrdiff_t distance = 1;
  for (Axis& axis : axes_) {
    axis.distance = distance;
    distance *= axis.tile + axis.reach();
  }
  while (run_axis_ + 1 < axes_.size() && axes_[run_axis_].reach() == 0) ++run_axis_;
}

void DirectSums::find_offsets(const WeightWindow& window) {
  std::vector<std::int64_t> place(window.axes.size(), 0);
  for (const double weight : window.weights) {
    std::ptrdiff_t offset = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const auto number = static_cast<std::ptrdiff_t>(window.axes[i].axis);
      const auto axis = std::ranges::find(axes_, number, &Axis::number);
      if (axis != axes_.end()) offset += place[i] * axis->distance;  // else the window has one element along it
    }
    if (weight != 0.0) offsets_.push_back({offset, weight});
    for (std::size_t i = place.size(); i-- > 0;) {
      if (++place[i] < window.axes[i].extent) break;
      place[i] = 0;
    }
  }
}

std::int64_t DirectSums::elements() const {
  std::int64_t out = 1;
  for (const Axis& axis : axes_) out *= axis.extent;
  return out;
}

double DirectSums::error() const {
  // Each addition rounds, and so does each weight, their sum and the division by it.
  return (static_cast<double>(offsets_.size()) + 3.0) * std::ldexp(1.0, -53);
}

/// Memory of a thread, for one tile after the other.
struct DirectSums::Memory {
  explicit Memory(const DirectSums& sums) {
    const Axis& last = sums.axes_.back();
    const Axis& run = sums.axes_[sums.run_axis_];
    numbers = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>((last.tile + last.reach()) * last.distance));
    results = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(run.tile * run.distance));
  }
  std::unique_ptr<double[]> numbers;
  std::unique_ptr<double[]> results;
};

/// Elements of the array that one task makes, and their sources.
class DirectSums::Tile {
 public:
  Tile(const DirectSums& sums, std::int64_t number, Memory& memory) : sums_(sums), memory_(memory) {
    for (const Axis& axis : sums.axes_) {
      const std::int64_t first = number % axis.tiles() * axis.tile;
      number /= axis.tiles();
      Part part{first, std::min(axis.tile, axis.extent - first), {}};
      for (std::int64_t i = -axis.before; i < part.extent + axis.after; ++i) {
        part.sources.push_back(element_at(first + i, axis.extent, axis.border));
      }
      parts_.push_back(std::move(part));
    }
  }

  void read(LoadRow load, const std::byte* src) { read_axis(parts_.size() - 1, load, src, memory_.numbers.get()); }

  void write(StoreRow store, std::byte* dst) {
    for (std::size_t i = 0; i < parts_.size(); ++i) dst += parts_[i].first * sums_.axes_[i].dst_stride;
    const Axis& axis = sums_.axes_[sums_.run_axis_];
    const std::size_t run = static_cast<std::size_t>(parts_[sums_.run_axis_].extent * axis.distance);
    write_axis(parts_.size() - 1, run, store, memory_.numbers.get(), dst);
  }

 private:
  /// The elements of one axis. `sources` has one number more for each that the window reaches.
  struct Part {
    std::int64_t first;
    std::int64_t extent;
    std::vector<std::int64_t> sources;
  };

  void read_axis(std::size_t number, LoadRow load, const std::byte* src, double* out) const {
    const Axis& axis = sums_.axes_[number];
    const std::vector<std::int64_t>& sources = parts_[number].sources;
    const auto count = static_cast<std::int64_t>(sources.size());
    if (number == 0) {
      read_row(load, src, out);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i, out += axis.distance) {
      const std::int64_t source = sources[static_cast<std::size_t>(i)];
      if (source < 0) {
        std::fill(out, out + axis.distance, sums_.border_value_);
      } else {
        read_axis(number - 1, load, src + source * axis.src_stride, out);
      }
    }
  }

  /// The elements of the array that follow each other are read at once, those beyond its edges one by one.
  void read_row(LoadRow load, const std::byte* src, double* out) const {
    const Axis& axis = sums_.axes_.front();
    const Part& part = parts_.front();
    const auto count = static_cast<std::int64_t>(part.sources.size());
    const auto read_one_by_one = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t source = part.sources[static_cast<std::size_t>(i)];
        out[i] = sums_.border_value_;
        if (source >= 0) load(src + source * axis.src_stride, axis.src_stride, out + i, 1);
      }
    };
    const std::int64_t before = std::clamp(axis.before - part.first, std::int64_t{0}, count);
    const std::int64_t after = std::clamp(axis.extent - part.first + axis.before, before, count);
    read_one_by_one(0, before);
    load(src + part.sources[static_cast<std::size_t>(before)] * axis.src_stride, axis.src_stride, out + before, after - before);
    read_one_by_one(after, count);
  }

  void write_axis(std::size_t number, std::size_t run, StoreRow store, const double* in, std::byte* dst) const {
    const Axis& axis = sums_.axes_[number];
    if (number == sums_.run_axis_) {
      weighted_sums(sums_.offsets_, in, memory_.results.get(), run);
      store_axis(number, store, memory_.results.get(), dst);
      return;
    }
    for (std::int64_t i = 0; i < parts_[number].extent; ++i, in += axis.distance, dst += axis.dst_stride) {
      write_axis(number - 1, run, store, in, dst);
    }
  }

  void store_axis(std::size_t number, StoreRow store, const double* in, std::byte* dst) const {
    const Axis& axis = sums_.axes_[number];
    if (number == 0) {
      store(in, dst, axis.dst_stride, parts_.front().extent);
      return;
    }
    for (std::int64_t i = 0; i < parts_[number].extent; ++i, in += axis.distance, dst += axis.dst_stride) {
      store_axis(number - 1, store, in, dst);
    }
  }

  const DirectSums& sums_;
  std::vector<Part> parts_;
  Memory& memory_;
};

void DirectSums::run(Element src_element, const std::byte* src, Element dst_element, std::byte* dst, std::int32_t threads,
                     const std::atomic<bool>* stop) const {
  std::int64_t tiles = 1;
  for (const Axis& axis : axes_) tiles *= axis.tiles();
  const auto work = [&](std::int64_t number, Memory& memory) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return;
    Tile tile(*this, number, memory);
    tile.read(loader_of(src_element), src);
    tile.write(storer_of(dst_element), dst);
  };
  if (tiles == 1) {
    Memory memory(*this);
    work(0, memory);
    return;
  }
  tbb::enumerable_thread_specific<Memory> memories([this] { return Memory(*this); });
  tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
  arena.execute([&] { tbb::parallel_for(std::int64_t{0}, tiles, [&](std::int64_t number) { work(number, memories.local()); }); });
}

}  // namespace mollify::python
