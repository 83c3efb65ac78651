#include "batch/reporter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "failure.h"
#include "json/json.h"
#include "message.h"

namespace mollify::cli {
namespace {

// They may be pages, frames or parts.
std::string images_text(const BlurReport& report) {
  return report.images > 1 ? fmt::format(", {} images", report.images) : "";
}

}  // namespace

Reporter::Reporter(const ReporterOptions& options, std::size_t files)
    : options_(options),
      files_(files),
      text_(options.pipes_picture ? stderr : stdout),
      progress_(files, options.is_batch && !options.quiet && !options.json) {}

void Reporter::begin(const FileJob& job) {
  progress_.show(done_ + failures_, printable(job.in));
}

void Reporter::progress(const FileJob& job, std::int64_t done_pixels, std::int64_t all_pixels) {
  constexpr std::int64_t kMegapixel = 1'000'000;
  if (options_.is_batch) return;
  const auto megapixels = [](std::int64_t pixels) { return static_cast<std::size_t>((pixels + kMegapixel - 1) / kMegapixel); };
  if (!pixels_) pixels_.emplace(megapixels(all_pixels), !options_.quiet && !options_.json);
  pixels_->show(megapixels(done_pixels), "megapixels of " + printable(job.in));
}

void Reporter::note(const std::string& message) {
  progress_.clear();
  complain(message);
}

void Reporter::done(const FileJob& job, BlurReport report) {
  pixels_.reset();
  if (options_.pipes_picture && !options_.is_dry_run) {
    undelivered_ = std::move(report);
  } else {
    print_done(job, std::move(report));
  }
}

void Reporter::delivered(const FileJob& job) {
  if (auto report = std::exchange(undelivered_, std::nullopt)) print_done(job, *std::move(report));
}

void Reporter::print_done(const FileJob& job, BlurReport report) {
  ++done_;
  if (!options_.note.empty()) report.notes.push_back(options_.note);
  if (options_.choice) {
    report.devices = {options_.choice->device};
    report.notes.push_back(options_.choice->why);
  }
  progress_.clear();
  if (options_.json) {
    print_json(job, &report, {});
  } else if (options_.is_dry_run) {
    print_dry(job, report);
  } else if (!options_.quiet) {
    print_summary(job, report);
  }
}

void Reporter::not_examined(const FileJob& job) {
  ++done_;
  if (!options_.json) fmt::print(text_, "{} -> {}\n", printable(job.in), printable(job.out));
}

void Reporter::print_dry(const FileJob& job, const BlurReport& report) {
  const std::string formats =
      report.source_format == report.result_format ? report.source_format : report.source_format + " to " + report.result_format;
  fmt::print(text_, "{} -> {}: {}, {}x{}, {} channels {}{}; {}\n", printable(job.in), printable(job.out), formats, report.width,
             report.height, report.channels, report.components, images_text(report), blur_text(report));
  for (const std::string& note : report.notes) fmt::print(text_, "  {}\n", message_line(note));
}

void Reporter::failed(const FileJob& job, const std::string& reason) {
  ++failures_;
  pixels_.reset();
  progress_.clear();
  if (options_.json) print_json(job, nullptr, reason);
  if (options_.is_batch) {
    complain(reason);
  } else {
    only_failure_ = reason;
  }
}

std::string Reporter::blur_text(const BlurReport& report) const {
  if (report.algorithms.empty()) return "nothing is blurred";
  return fmt::format("{} by {}; error at most {:.2g}", options_.kernel, fmt::join(report.algorithms, " and "), report.predicted_error);
}

void Reporter::print_summary(const FileJob& job, const BlurReport& report) {
  constexpr double kMilliseconds = 1e3;
  fmt::print(text_, "{}: {}x{}, {} channels {}{}; {}\n", printable(job.out), report.width, report.height, report.channels,
             report.components, images_text(report), blur_text(report));
  for (const std::string& note : report.notes) fmt::print(text_, "  {}\n", message_line(note));
  fmt::print(text_, "  read {:.1f} ms, blur {:.1f} ms, write {:.1f} ms\n", report.read_seconds * kMilliseconds,
             report.blur_seconds * kMilliseconds, report.write_seconds * kMilliseconds);
}

void Reporter::print_json(const FileJob& job, const BlurReport* report, const std::string& reason) {
  Json json{{"in", job.in}, {"out", job.out}};
  if (report == nullptr) {
    json["failed"] = reason;
  } else {
    json["formats"] = {report->source_format, report->result_format};
    json["width"] = report->width;
    json["height"] = report->height;
    json["channels"] = report->channels;
    json["components"] = report->components;
    json["images"] = report->images;
    json["algorithm"] = fmt::format("{}", fmt::join(report->algorithms, " and "));
    json["error"] = report->predicted_error;
    if (!report->devices.empty()) json["device"] = fmt::format("{}", fmt::join(report->devices, " and "));
    if (!options_.is_dry_run) {
      json["seconds"] = {{"read", report->read_seconds}, {"blur", report->blur_seconds}, {"write", report->write_seconds}};
    }
    json["messages"] = report->notes;
  }
  fmt::print(text_, "{}\n", json.dump());
  std::fflush(text_);
}

void Reporter::finish(const LeftOut& left_out) {
  progress_.show(files_, "");
  progress_.clear();
  if (!options_.is_batch) {
    if (failures_ > 0) fail(only_failure_);
    const bool is_silent = options_.quiet || options_.json;
    if (left_out.done > 0 && !is_silent) fmt::print(text_, "nothing to do: the run that was interrupted has done it\n");
    return;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::string left = to_string(left_out);
  if (options_.is_dry_run) {
    if (!options_.json) fmt::print(text_, "{} images{}{}\n", done_, left.empty() ? "" : "; left out: ", printable(left));
    if (failures_ > 0) fail(fmt::format("{} of {} images would fail", failures_, files_));
    return;
  }
  if (!options_.quiet && !options_.json) {
    fmt::print(text_, "{} of {} images in {:.2f} s{}{}\n", done_, files_, seconds, left.empty() ? "" : "; left out: ", printable(left));
  }
  if (failures_ > 0) fail(fmt::format("{} of {} images failed", failures_, files_));
}

}  // namespace mollify::cli
