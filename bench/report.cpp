#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace mollify::bench {
namespace {

template <class T>
Json scalar_if_isotropic(const PerAxis<T>& value) {
  if (value.x == value.y) return value.x;
  return Json::array({value.x, value.y});
}

Json border_json(const Border& border) {
  return scalar_if_isotropic(PerAxis<std::string>{std::string(name(border.mode.x)), std::string(name(border.mode.y))});
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// The three fields that describe a kernel. The radius is half the length less the centre: 1.5 for a box of 4 pixels.
struct KernelFields {
  std::string kernel;
  Json sigma;
  Json radius;
};

double reach(const BoxExtent& extent) {
  return (extent.before + extent.after) / 2.0;
}
double reach(std::size_t taps) {
  return static_cast<double>(taps - 1) / 2.0;
}

KernelFields fields(const Gaussian& gaussian) {
  // Unset, the radius is whatever the accuracy needs, and so no part of the request.
  return {"gaussian", scalar_if_isotropic(gaussian.sigma), gaussian.radius ? scalar_if_isotropic(*gaussian.radius) : Json(nullptr)};
}
KernelFields fields(const Box& box) {
  return {"box", nullptr, scalar_if_isotropic(PerAxis<double>{reach(box.extent.x), reach(box.extent.y)})};
}
KernelFields fields(const Tent& tent) {
  return {"tent", nullptr, scalar_if_isotropic(tent.radius)};
}
KernelFields fields(const Taps& taps) {
  return {"taps", nullptr, scalar_if_isotropic(PerAxis<double>{reach(taps.x.weights.size()), reach(taps.y.weights.size())})};
}
KernelFields fields(const Matrix& matrix) {
  return {
      "matrix", nullptr,
      scalar_if_isotropic(PerAxis<double>{reach(static_cast<std::size_t>(matrix.width)), reach(static_cast<std::size_t>(matrix.height))})};
}

Json to_json(const Options& options) {
  Json object = Json::object();
  for (const auto& [key, value] : options) object[key] = value;
  return object;
}

// Names of matrix cases spell out every weight; the JSON has them whole.
constexpr std::size_t kMaxNameWidth = 72;

std::string shorten(const std::string& name) {
  return name.size() <= kMaxNameWidth ? name : name.substr(0, kMaxNameWidth - 3) + "...";
}

}  // namespace

Json to_json(const Environment& environment) {
  return {{"cpu", environment.cpu},
          {"cores", environment.cores},
          {"compiler", environment.compiler},
          {"build_type", environment.build_type},
          {"commit", environment.commit.empty() ? Json(nullptr) : Json(environment.commit)},
          {"highway_target", environment.highway_target},
          {"kernel", environment.kernel},
          {"load_average", environment.load_average}};
}

Json to_json(const Record& record, const Environment& environment) {
  const KernelFields kernel = std::visit([](const auto& k) { return fields(k); }, record.spec.kernel);
  return {{"case", record.case_name},
          {"algorithm", record.algorithm},
          {"options", to_json(record.options)},
          {"backend", record.backend},
          {"device", record.device},
          {"width", record.dst.width},
          {"height", record.dst.height},
          {"src_format", info(record.src.format).name},
          {"dst_format", info(record.dst.format).name},
          {"batch", record.batch},
          {"kernel", kernel.kernel},
          {"sigma", kernel.sigma},
          {"radius", kernel.radius},
          {"border", border_json(record.spec.border)},
          {"threads", record.threads},
          {"time_ns",
           {{"median", record.time_ns.median}, {"p10", record.time_ns.p10}, {"p90", record.time_ns.p90}, {"count", record.time_ns.count}}},
          {"copy_ns", record.copy_ns},
          {"copy_before_ns", record.copy_before_ns},
          {"copy_after_ns", record.copy_after_ns},
          {"copy_ratio", record.time_ns.median / record.copy_ns},
          {"submit_ns", or_null(record.submit_ns)},
          {"end_to_end_ns", or_null(record.end_to_end_ns)},
          {"dispatch_ns", or_null(record.dispatch_ns)},
          {"nothing_ns", or_null(record.nothing_ns)},
          {"unstable", record.unstable},
          {"attempts", record.attempts},
          {"min_bytes", record.min_bytes},
          {"max_error", or_null(record.max_error)},
          {"predicted_error", or_null(record.predicted_error)},
          {"peer", or_null(record.peer)},
          {"realized_sigma", or_null(record.realized_sigma)},
          {"note", record.note.empty() ? Json(nullptr) : Json(record.note)},
          {"environment", to_json(environment)}};
}

Table::Table(std::span<const std::string> case_names) : name_width_(4) {
  for (const std::string& name : case_names) name_width_ = std::max(name_width_, std::min(name.size(), kMaxNameWidth));
}

std::string Table::header() const {
  return fmt::format("{:<{}}  {:<16} {:>10} {:>7} {:>9} {:>7} {:>10} {:>7}", "case", name_width_, "algorithm", "ms", "spread", "copy ms",
                     "/copy", "peer ms", "factor");
}

std::string Table::row(std::span<const Record> records) const {
  const Record& own = records.front();
  const Statistics& time = own.time_ns;
  std::string text =
      fmt::format("{:<{}}  {:<16} {:>10.3f} {:>6.0f}% {:>9.3f} {:>7.2f}", shorten(own.case_name), name_width_, own.algorithm,
                  time.median / 1e6, 100.0 * (time.p90 - time.p10) / time.median, own.copy_ns / 1e6, time.median / own.copy_ns);
  const std::span<const Record> peers = records.subspan(1);
  if (peers.empty()) return text + fmt::format(" {:>10} {:>7}", "-", "-");
  const double fastest = std::ranges::min(peers, {}, [](const Record& r) { return r.time_ns.median; }).time_ns.median;
  return text + fmt::format(" {:>10.3f} {:>6.2f}x", fastest / 1e6, fastest / time.median);
}

}  // namespace mollify::bench
