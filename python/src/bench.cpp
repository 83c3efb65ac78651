#include "bench.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/copy.h"
#include "bench/measure.h"
#include "bench/turns.h"
#include "blur.h"
#include "keyboard.h"

namespace mollify::python {
namespace {

using namespace nb::literals;
using bench::Candidate;
using bench::Copier;
using bench::CopyMethod;
using bench::Figures;

constexpr double kNanoseconds = 1e-9;

struct Timing {
  Blur blur;
  std::string algorithm;
  Figures figures;

  [[nodiscard]] double seconds() const { return figures.time_ns.median * kNanoseconds; }
  [[nodiscard]] double copy_seconds() const { return figures.copy_ns() * kNanoseconds; }
  [[nodiscard]] double copies() const { return seconds() / copy_seconds(); }
};

/// Bytes that are copied, and the faster way to do so.
class Copies {
 public:
  Copies(std::size_t bytes, std::int32_t threads)
      : bytes_(bytes), from_(std::make_unique<std::byte[]>(bytes)), to_(std::make_unique<std::byte[]>(bytes)), copier_(threads) {}

  [[nodiscard]] Candidate by(CopyMethod method) const {
    const auto copy = [this, method](std::size_t /*pair*/) {
      copier_.run(method, from_.get(), to_.get(), bytes_);
      return Status();
    };
    return {.name = std::string(bench::name(method)), .run = copy};
  }
  [[nodiscard]] Result<Candidate> fastest(bench::MeasureOptions options) const {
    options.seconds /= 4.0;
    std::vector<Candidate> all;
    for (const CopyMethod method : bench::kCopyMethods) all.push_back(by(method));
    const Result<std::vector<bench::Statistics>> times = bench::measure(all, options);
    if (!times) return times.error();
    const auto best = std::ranges::min_element(*times, {}, &bench::Statistics::median);
    return all[static_cast<std::size_t>(best - times->begin())];
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> from_;
  std::unique_ptr<std::byte[]> to_;
  Copier copier_;
};

Candidate runs_of(Prepared& prepared, const Array& src, const Array& dst, const std::atomic<bool>& stop) {
  const auto run = [&](std::size_t /*pair*/) -> Status {
    try {
      prepared.run(src.data(), nullptr, dst.data(), &stop);
    } catch (const std::exception& error) {
      return Error{ErrorCode::internal, error.what(), {}};
    }
    return {};
  };
  return {.name = "blur", .run = run};
}

std::int64_t bytes_of(const Geometry& geometry) {
  std::int64_t bytes = geometry.element.bytes();
  for (const std::int64_t extent : geometry.shape) bytes *= extent;
  return bytes;
}

std::vector<Blur> blurs_of(nb::handle blurs) {
  if (nb::isinstance<Blur>(blurs)) return {nb::cast<Blur>(blurs)};
  auto out = nb::cast<std::vector<Blur>>(blurs);
  if (out.empty()) throw std::invalid_argument("blurs: the list is empty");
  for (const Blur& each : out) {
    if (each.request.manner.threads != out.front().request.manner.threads) {
      throw std::invalid_argument("blurs: all have the same number of threads, which the copy has too");
    }
  }
  return out;
}

std::vector<Timing> time_blurs(nb::handle given, nb::handle image, double seconds) {
  if (!(seconds >= 0.0 && std::isfinite(seconds))) throw std::invalid_argument("seconds: a number from 0 up is needed");
  const std::vector<Blur> blurs = blurs_of(given);
  const Array src(image, "image", Use::read);
  const std::int64_t bytes = bytes_of(src.geometry());
  if (bytes == 0) throw std::invalid_argument("image: it is empty");
  const NewArray made = new_array_like(image, src.geometry());
  const Array dst(made.object, "out", Use::write);

  const nb::gil_scoped_release release;
  std::vector<std::unique_ptr<Prepared>> prepared;
  for (const Blur& blur : blurs) prepared.push_back(std::make_unique<Prepared>(task_of(blur.request, src, dst)));
  std::vector<Timing> out;
  obey_keyboard([&](const std::atomic<bool>& stop) {
    const bench::MeasureOptions options{.seconds = seconds, .stop = [&] { return stop.load(); }};
    const Copies copies(static_cast<std::size_t>(bytes), blurs.front().request.manner.threads);
    const Result<Candidate> copy = copies.fastest(options);
    if (!copy) throw std::runtime_error(copy.error().message);
    std::vector<Candidate> entrants;
    for (const std::unique_ptr<Prepared>& each : prepared) entrants.push_back(runs_of(*each, src, dst, stop));
    const Result<std::vector<Figures>> figures = bench::time_between_copies(entrants, *copy, options);
    if (!figures) throw std::runtime_error(figures.error().message);
    for (std::size_t i = 0; i < blurs.size(); ++i) out.push_back({blurs[i], prepared[i]->summary().algorithm, (*figures)[i]});
  });
  return out;
}

std::string text_of(const Timing& self) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), ": %.3g ms, %.3g copies>", self.seconds() * 1e3, self.copies());
  return "<Timing of " + text_of(self.blur.request) + text.data();
}

}  // namespace

void define_bench(nb::module_& module) {
  nb::class_<Timing>(module, "Timing", "How long a blur takes, compared with a copy of the same bytes.")
      .def_ro("blur", &Timing::blur, "The blur that was timed.")
      .def_ro("algorithm", &Timing::algorithm, "The algorithms of its runs, joined by \" + \".")
      .def_prop_ro("seconds", &Timing::seconds, "Of a run; the median.")
      .def_prop_ro("copy_seconds", &Timing::copy_seconds, "Of a copy of the array's bytes by as many threads; the median.")
      .def_prop_ro("copies", &Timing::copies, "seconds divided by copy_seconds.")
      .def_prop_ro(
          "spread",
          [](const Timing& self) { return std::pair(self.figures.time_ns.p10 * kNanoseconds, self.figures.time_ns.p90 * kNanoseconds); },
          "Seconds that a tenth of the runs stayed below, and that a tenth exceeded.")
      .def_prop_ro(
          "runs", [](const Timing& self) { return self.figures.time_ns.count; }, "How many times were taken.")
      .def_prop_ro(
          "is_steady", [](const Timing& self) { return bench::unsteadiness(self.figures) <= bench::kMostUnsteady; },
          "Whether the runs, and the copies before and after them, agree well enough to be compared with others.")
      .def("__repr__", [](const Timing& self) { return text_of(self); });
  module.def("bench", &time_blurs,
             nb::sig("def bench(blurs: Blur | collections.abc.Sequence[Blur], image: pymollify._types.Array, *, seconds: float = 0.5) -> "
                     "list[Timing]"),
             "blurs"_a, "image"_a, nb::kw_only(), "seconds"_a = 0.5,
             "Times blurs of this array, which take turns with a copy of its bytes, for about so many seconds each. Array and result are "
             "the same in each run, so that small ones stay in the processor's caches. What Python adds to a call is not counted.");
}

}  // namespace mollify::python
