#include "prepared.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <mutex>
#include <numeric>
#include <utility>

#include "copy.h"
#include "mollify/experimental/auto_device.h"
#include "mollify/plan.h"
#include "preparer.h"

namespace mollify::python {
namespace {

/// Counts the images of a layout: their distances from the first one, in bytes.
class ImageCounter {
 public:
  explicit ImageCounter(const std::vector<RunAxis>& axes) : axes_(axes), index_(axes.size(), 0) {}

  std::ptrdiff_t src = 0;
  std::ptrdiff_t dst = 0;

  /// Whether there is another image.
  bool next() {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      src += axes_[i].src_stride;
      dst += axes_[i].dst_stride;
      if (++index_[i] < axes_[i].extent) return true;
      src -= axes_[i].src_stride * axes_[i].extent;
      dst -= axes_[i].dst_stride * axes_[i].extent;
      index_[i] = 0;
    }
    return false;
  }

 private:
  const std::vector<RunAxis>& axes_;
  std::vector<std::int64_t> index_;
};

void check(const Status& status) {
  if (status) return;
  std::string text = status.error().message;
  for (const std::string& reason : status.error().reasons) text += "\n  " + reason;
  throw std::runtime_error(text);
}

bool is_stopped(const std::atomic<bool>* stop) {
  return stop != nullptr && stop->load(std::memory_order_relaxed);
}

/// How many images of a batch a device is given together: no more than take a tenth of a second, after which a run can be stopped.
std::size_t images_at_once(const Plan& plan) {
  constexpr double kMostImages = 512.0, kMostSeconds = 0.1;
  return static_cast<std::size_t>(std::clamp(kMostSeconds / plan.predicted_seconds, 1.0, kMostImages));
}

}  // namespace

Prepared::Prepared(const Task& task) : task_(task) {
  Preparer(task_).prepare(*this);
  if (task_.is_on_gpu) place_on_gpu();
  for (const Step& step : steps_) {
    for (const Run* run : runs_of(step)) {
      seconds_ += seconds_of(*run);
      copies_to_gpu_ |= !task_.is_on_gpu && run->executable->plan().device.backend != Backend::cpu;
    }
    if (const auto* sums = std::get_if<DirectSums>(&step.work)) seconds_ += seconds_of(*sums);
  }
}

std::vector<const Prepared::Run*> Prepared::runs_of(const Step& step) {
  if (const auto* run = std::get_if<Run>(&step.work)) return {run};
  if (const auto* slices = std::get_if<Slices>(&step.work)) return {&slices->of_slices, &slices->across};
  return {};
}

double Prepared::seconds_of(const Run& run) {
  return expected_seconds(run.executable->plan(), run.layout.image_count());
}

double Prepared::seconds_of(const DirectSums& sums) {
  constexpr double kSumsPerSecond = 2e9;  // roughly, on one thread
  return static_cast<double>(sums.elements()) * static_cast<double>(sums.weights()) / kSumsPerSecond;
}

std::int64_t Prepared::run_bytes() const {
  std::int64_t out = 0;
  for (const Step& step : steps_) {
    for (const Run* run : runs_of(step)) {
      const Plan& plan = run->executable->plan();
      out += run->layout.image_count() * (plan.src.payload_bytes() + plan.dst.payload_bytes());
    }
  }
  return out;
}

std::int64_t Prepared::scratch_bytes() const {
  if (task_.is_on_gpu) return gpu_scratch_bytes_;
  std::int64_t out = std::accumulate(memory_bytes_.begin(), memory_bytes_.end(), std::int64_t{0});
  for (const Step& step : steps_) {
    for (const Run* run : runs_of(step)) out += run->executable->plan().scratch_bytes;
  }
  return out;
}

std::optional<Prepared::SingleRun> Prepared::single_run() const {
  const auto* run = steps_.size() == 1 ? std::get_if<Run>(&steps_.front().work) : nullptr;
  if (run == nullptr || !run->layout.images.empty()) return std::nullopt;
  return SingleRun{&*run->executable, &run->layout};
}

void Prepared::allocate() {
  if (!memory_.empty()) return;
  for (const std::int64_t bytes : memory_bytes_) {
    memory_.push_back(bytes > 0 ? std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)) : nullptr);
  }
}

void Prepared::release_memory() {
  memory_.clear();
}

Summary Prepared::summary() const {
  Summary out;
  out.error = error_;
  out.scratch = scratch_bytes();
  out.reach.resize(task_.src.shape.size());
  for (const Step& step : steps_) {
    const std::vector<const Run*> runs = runs_of(step);
    for (const Run* run : runs) add_to(out, *run);
    if (!runs.empty()) {
      if (const auto* slices = std::get_if<Slices>(&step.work)) {
        out.explanation += "in turns, with " + std::to_string(slices->blocks.capacity()) + " of " +
                           std::to_string(slices->blocks.height()) + " slices in between at a time\n";
      }
    } else if (const auto* sums = std::get_if<DirectSums>(&step.work)) {
      add_to(out, *sums);
    } else {
      out.explanation += name_of(step) + "\n";
    }
  }
  return out;
}

std::string Prepared::name_of(const Step& step) {
  if (std::holds_alternative<Copy>(step.work)) return "copy from " + step.from.element.name() + " to " + step.to.element.name();
  if (std::holds_alternative<Fill>(step.work)) return "mask of ones";
  if (std::holds_alternative<Weigh>(step.work)) return "product of image and mask";
  return std::holds_alternative<Divide>(step.work) ? "quotient of the blurs of image and mask" : "sum of image and blur";
}

void Prepared::add_to(Summary& summary, const Run& run) {
  const Plan& plan = run.executable->plan();
  const std::int64_t images = run.layout.image_count();
  summary.algorithm += (summary.algorithm.empty() ? "" : " + ") + plan.algorithm.id;
  summary.bytes += plan.moved_bytes * images;
  summary.seconds += seconds_of(run);
  if (run.layout.x_axis) summary.reach[*run.layout.x_axis] = plan.reach.x;
  if (run.layout.y_axis) summary.reach[*run.layout.y_axis] = plan.reach.y;
  for (const Refusal& refusal : plan.refusals) summary.refusals.emplace_back(refusal.algorithm, refusal.reason);
  summary.explanation += std::to_string(images) + (images == 1 ? " image" : " images") + " of " + std::to_string(plan.src.width) + "x" +
                         std::to_string(plan.src.height) + " " + std::string(info(plan.src.format).name) + " to " +
                         std::string(info(plan.dst.format).name) + ": " + explain(plan);
}

void Prepared::add_to(Summary& summary, const DirectSums& sums) {
  const std::int64_t elements = sums.elements();
  const auto weights = static_cast<std::int64_t>(sums.weights());
  summary.algorithm += summary.algorithm.empty() ? "float64.taps" : " + float64.taps";
  summary.bytes += 2 * elements * static_cast<std::int64_t>(sizeof(double));
  summary.seconds += seconds_of(sums);
  summary.explanation += "float64.taps: " + std::to_string(elements) + " sums in float64 of " + std::to_string(weights) +
                         (weights == 1 ? " weight" : " weights") + " along ";
  bool is_first = true;
  for (const WindowAxis& axis : sums.window_axes()) {
    summary.reach[axis.axis] = {static_cast<std::int32_t>(axis.anchor), static_cast<std::int32_t>(axis.extent - 1 - axis.anchor)};
    summary.explanation += (is_first ? "axis " : " and ") + std::to_string(axis.axis);
    is_first = false;
  }
  summary.explanation += "\n";
}

void Prepared::run(const std::byte* src, const std::byte* mask, std::byte* dst, const std::atomic<bool>* stop) {
  allocate();
  const auto memory_of = [&](const Place& place) -> std::byte* {
    switch (place.whose) {
      case Place::Whose::source:
        return const_cast<std::byte*>(src);  // no step writes there
      case Place::Whose::mask:
        return const_cast<std::byte*>(mask);
      case Place::Whose::destination:
        return dst;
      case Place::Whose::own:
        break;
    }
    return memory_[place.index].get();
  };
  for (Step& step : steps_) {
    if (is_stopped(stop)) return;
    std::visit([&](auto& todo) { work(step, todo, memory_of(step.from), memory_of(step.to), stop); }, step.work);
  }
}

void Prepared::work(const Step& step, Copy /*copy*/, const std::byte* from, std::byte* to, const std::atomic<bool>* /*stop*/) const {
  copy_array(task_.src.shape, {step.from.element, from, step.from.strides}, {step.to.element, to, step.to.strides});
}

namespace {

template <class Number>
void sharpen_packed(double amount, const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* blurred = reinterpret_cast<const Number*>(from);
  auto* image = reinterpret_cast<Number*>(to);
  const auto factor = static_cast<Number>(amount);
  for (std::int64_t i = 0; i < count; ++i) image[i] += factor * (image[i] - blurred[i]);
}

template <class Number>
void fill_packed(double value, std::byte* to, std::int64_t count) {
  std::fill_n(reinterpret_cast<Number*>(to), count, static_cast<Number>(value));
}

template <class Number>
void weigh_packed(bool skips_nan, std::byte* from, std::byte* to, std::int64_t count) {
  auto* weight = reinterpret_cast<Number*>(from);
  auto* image = reinterpret_cast<Number*>(to);
  for (std::int64_t i = 0; i < count; ++i) {
    if (weight[i] == Number(0) || (skips_nan && std::isnan(image[i]))) {
      weight[i] = image[i] = Number(0);
    } else {
      image[i] *= weight[i];
    }
  }
}

template <class Number>
void divide_packed(double least, double otherwise, const std::byte* from, std::byte* to, std::int64_t count) {
  const auto* weight = reinterpret_cast<const Number*>(from);
  auto* image = reinterpret_cast<Number*>(to);
  for (std::int64_t i = 0; i < count; ++i) image[i] = weight[i] > Number(least) ? image[i] / weight[i] : Number(otherwise);
}

}  // namespace

void Prepared::work(const Step& step, const Sharpen& sharpen, const std::byte* from, std::byte* to,
                    const std::atomic<bool>* /*stop*/) const {
  (step.to.element.is_wide() ? sharpen_packed<double> : sharpen_packed<float>)(sharpen.amount, from, to, elements());
}

void Prepared::work(const Step& step, const Fill& fill, const std::byte* /*from*/, std::byte* to, const std::atomic<bool>* /*stop*/) const {
  (step.to.element.is_wide() ? fill_packed<double> : fill_packed<float>)(fill.value, to, elements());
}

void Prepared::work(const Step& step, const Weigh& weigh, std::byte* from, std::byte* to, const std::atomic<bool>* /*stop*/) const {
  (step.to.element.is_wide() ? weigh_packed<double> : weigh_packed<float>)(weigh.skips_nan, from, to, elements());
}

void Prepared::work(const Step& step, const Divide& divide, const std::byte* from, std::byte* to, const std::atomic<bool>* /*stop*/) const {
  (step.to.element.is_wide() ? divide_packed<double> : divide_packed<float>)(divide.least, divide.otherwise, from, to, elements());
}

std::int64_t Prepared::elements() const {
  std::int64_t out = 1;
  for (const std::int64_t extent : task_.src.shape) out *= extent;
  return out;
}

void Prepared::work(const Step& step, const DirectSums& sums, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const {
  sums.run(step.from.element, from, step.to.element, to, task_.request.manner.threads, stop);
}

/// Slice by slice of the first axis that counts them.
void Prepared::make_slices(Slices& slices, const std::vector<SliceRing::Made>& made, const std::byte* from, std::byte* between,
                           const std::atomic<bool>* stop) {
  Run& run = slices.of_slices;
  const Plan& plan = run.executable->plan();
  const std::size_t at_once = run.is_batch && run.window_columns == 0 ? images_at_once(plan) : 1;
  std::vector<ConstImageView> sources;
  std::vector<ImageView> destinations;
  const auto make = [&] {
    if (sources.size() == 1) {
      run_image(run, sources.front(), destinations.front(), stop);
    } else if (!sources.empty()) {
      check(run.executable->run(sources, destinations, *run.workspace));
    }
    sources.clear();
    destinations.clear();
  };
  for (const auto& [slice, slot] : made) {
    ImageCounter counter(slices.axes.inside);
    do {
      sources.push_back({plan.src, from + slice * slices.axes.across.src_stride + counter.src, run.layout.src_row_bytes});
      destinations.push_back({plan.dst, between + slot * slices.slice_bytes() + counter.dst, run.layout.dst_row_bytes});
      if (sources.size() == at_once) make();
    } while (counter.next() && !is_stopped(stop));
  }
  make();
}

void Prepared::make_block(Slices& slices, SliceRing& ring, std::int64_t block, const std::byte* between, std::byte* to,
                          const std::atomic<bool>* stop) {
  Run& run = slices.across;
  const Plan& plan = run.executable->plan();
  std::vector<ConstWindow> sources;
  for (const auto& [slice, slot, count] : ring.parts(slices.blocks.needs(block))) {
    ImageDesc desc = plan.src;
    desc.height = static_cast<std::int32_t>(count);
    sources.push_back({{desc, between + slot * slices.slice_bytes(), slices.slice_bytes()}, 0, static_cast<std::int32_t>(slice)});
  }
  const std::int64_t y = block * slices.blocks.rows();
  ImageDesc desc = plan.dst;
  desc.height = static_cast<std::int32_t>(std::min(slices.blocks.rows(), slices.blocks.height() - y));
  const Window result{{desc, to + y * run.layout.dst_row_bytes, run.layout.dst_row_bytes}, 0, static_cast<std::int32_t>(y)};
  const Status done = run.executable->run(sources, result, *run.workspace, {.stop = stop});
  if (!is_stopped(stop)) check(done);
}

void Prepared::work(const Step& /*step*/, Slices& slices, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const {
  std::byte* between = memory_[slices.between.index].get();
  ImageCounter counter(slices.axes.outside);
  do {
    SliceRing ring(slices.blocks);
    for (std::int64_t block = 0; block < slices.blocks.count() && !is_stopped(stop); ++block) {
      make_slices(slices, ring.take_in(slices.blocks.needs(block)), from + counter.src, between, stop);
      if (!is_stopped(stop)) make_block(slices, ring, block, between, to + counter.dst, stop);
    }
  } while (counter.next() && !is_stopped(stop));
}

void Prepared::work(const Step& /*step*/, Run& run, const std::byte* from, std::byte* to, const std::atomic<bool>* stop) const {
  const Plan& plan = run.executable->plan();
  const ImageLayout& layout = run.layout;
  const std::ptrdiff_t src_row = layout.src_row_bytes;
  const std::ptrdiff_t dst_row = layout.dst_row_bytes;
  if (layout.images.empty()) {
    run_image(run, {plan.src, from, src_row}, {plan.dst, to, dst_row}, stop);
    return;
  }
  const std::size_t at_once = run.is_batch && run.window_columns == 0 ? images_at_once(plan) : 1;
  std::vector<ConstImageView> sources;
  std::vector<ImageView> destinations;
  ImageCounter counter(layout.images);
  bool is_more = true;
  while (is_more && !is_stopped(stop)) {
    sources.clear();
    destinations.clear();
    do {
      sources.push_back({plan.src, from + counter.src, src_row});
      destinations.push_back({plan.dst, to + counter.dst, dst_row});
      is_more = counter.next();
    } while (is_more && sources.size() < at_once);
    if (sources.size() == 1) {
      run_image(run, sources.front(), destinations.front(), stop);
    } else {
      check(run.executable->run(sources, destinations, *run.workspace));
    }
  }
}

void Prepared::run_image(Run& run, const ConstImageView& src, const ImageView& dst, const std::atomic<bool>* stop) {
  if (run.window_columns == 0) return check(run.executable->run(src, dst, *run.workspace));
  const ConstWindow whole{src, 0, 0};
  const std::int64_t pixel_bytes = info(dst.desc.format).pixel_bytes();
  for (std::int64_t x = 0; x < dst.desc.width && !is_stopped(stop); x += run.window_columns) {  // which may go beyond 2^31
    ImageView part = dst;
    part.desc.width = static_cast<std::int32_t>(std::min<std::int64_t>(run.window_columns, dst.desc.width - x));
    part.data = static_cast<std::byte*>(dst.data) + x * pixel_bytes;
    const Status done = run.executable->run({&whole, 1}, {part, static_cast<std::int32_t>(x), 0}, *run.workspace, {.stop = stop});
    if (!is_stopped(stop)) check(done);
  }
}

namespace {

/// Calls take an entry out and put it back, so that two equal tasks at once have one each. One that needs much memory stays without it: to
/// allocate it again takes less time than such a blur. Memory that a GPU copies from takes longer, so that more of it is kept.
class Cache {
 public:
  std::unique_ptr<Prepared> take(const Task& task) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->task() == task; });
    if (found == entries_.end()) return nullptr;
    std::unique_ptr<Prepared> out = std::move(*found);
    entries_.erase(found);
    return out;
  }

  void put_back(std::unique_ptr<Prepared> prepared) {
    if (prepared->scratch_bytes() > (prepared->copies_to_gpu() ? kMostGpuBytes : kMostBytes)) prepared->release_memory();
    const std::scoped_lock lock(mutex_);
    entries_.push_front(std::move(prepared));
    struct Kept {
      std::int64_t most_bytes;
      std::int64_t bytes = 0;
      std::size_t entries = 0;
    };
    Kept on_cpu{kMostBytes}, on_gpu{kMostGpuBytes};
    std::erase_if(entries_, [&](const auto& entry) {
      Kept& kept = entry->copies_to_gpu() ? on_gpu : on_cpu;
      kept.bytes += entry->scratch_bytes();
      const bool stays = kept.entries == 0 || (kept.entries < kEntries && kept.bytes <= kept.most_bytes);
      if (stays) ++kept.entries;
      return !stays;
    });
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    entries_.clear();
  }

 private:
  static constexpr std::size_t kEntries = 16;
  static constexpr std::int64_t kMostBytes = 256 << 20;
  static constexpr std::int64_t kMostGpuBytes = std::int64_t{2} << 30;

  std::mutex mutex_;
  std::list<std::unique_ptr<Prepared>> entries_;
};

Cache& cache() {
  static auto* instance = new Cache;  // never destroyed: threads may outlive the interpreter
  return *instance;
}

}  // namespace

std::unique_ptr<Prepared> take(const Task& task) {
  std::unique_ptr<Prepared> out = cache().take(task);
  return out ? std::move(out) : std::make_unique<Prepared>(task);
}

void put_back(std::unique_ptr<Prepared> prepared) {
  cache().put_back(std::move(prepared));
}

void clear_cache() {
  cache().clear();
}

}  // namespace mollify::python
