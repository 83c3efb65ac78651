#include "fuzz/files/trial.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "blur_file.h"
#include "failure.h"
#include "files/codec.h"
#include "fuzz/files/heap_meter.h"
#include "image_blur.h"
#include "message.h"

namespace mollify::fuzz {
namespace {

using files::FileFormat;

constexpr std::int64_t kMegabyte = 1 << 20;
/// What --memory and --max-pixels say.
constexpr std::int64_t kMemory = 64 * kMegabyte;
constexpr std::int64_t kMostPixels = std::int64_t{1} << 20;
/// Pixels, the reader and the writer each keep to kMemory. What libraries need besides is small.
constexpr std::int64_t kMostHeap = 3 * kMemory + 32 * kMegabyte;

constexpr const char* kEndings[files::kWrittenFormats] = {".png", ".jpg", ".tif", ".exr", ".webp", ".hdr"};

Device one_thread() {
  DeviceOptions options;
  options.threads = 1;
  return cli::value_or_fail(Device::open("cpu", options), "device");
}

cli::BlurRequest random_request(Random& random) {
  cli::BlurRequest request;
  if (random.one_in(2)) {
    request.spec.kernel = Gaussian{.sigma = {1.0, 1.0}};
  } else {
    request.spec.kernel = Box{{{1.0, 1.0}, {2.0, 1.0}}};
  }
  files::ResultRequest& result = request.result;
  if (random.one_in(10)) result.type = static_cast<files::NumberType>(random.below(9));
  if (random.one_in(6)) result.scale = static_cast<files::Scale>(random.below(2));
  if (random.one_in(6)) result.region = Rect{random.between(0, 8), random.between(0, 8), random.between(1, 30), random.between(1, 20)};
  if (random.one_in(6)) result.alpha = static_cast<files::AlphaChoice>(random.below(3));
  result.linear = random.one_in(6);
  if (random.one_in(2)) result.flatten = std::array{0.5, 0.25, 1.0};
  result.keep_unknown = random.one_in(4);
  if (random.one_in(8)) result.keep_patterns = {"*"};
  if (random.one_in(8)) result.blur_patterns = {"*"};
  request.grow = !result.region && random.one_in(8);
  if (random.one_in(4)) request.write.quality = random.between(1, 100);
  if (random.one_in(4)) request.write.compression = random.between(0, 9);
  request.replaces = true;
  request.memory_bytes = kMemory;
  request.max_pixels = kMostPixels;
  return request;
}

/// Half of the pictures go through in strips of few rows, which only large ones do by themselves.
void work_in_strips(Random& random) {
  constexpr std::uint64_t kMostRows = 8;
  const std::uint64_t rows = random.below(2 * kMostRows);
  if (rows == 0 || rows > kMostRows) {
    unsetenv("MOLLIFY_TEST_STRIP_ROWS");
  } else {
    setenv("MOLLIFY_TEST_STRIP_ROWS", std::to_string(rows).c_str(), 1);
  }
}

void check_message(const std::string& message) {
  if (message.empty()) throw Finding("an error without a message");
  const std::string line = cli::message_line(message);
  if (line.find('\n') != std::string::npos) throw Finding("an error of several lines: " + line);
  if (message.ends_with("not enough memory")) throw Finding("an allocation failed, which nothing had refused before");
}

}  // namespace

Trial::Trial(std::string folder) : folder_(std::move(folder)), device_(one_thread()) {}

Outcome Trial::run(const Bytes& source, FileFormat format, Random& random) {
  const std::string in = folder_ + "/source";
  const std::string out = folder_ + "/result" + kEndings[static_cast<std::size_t>(format)];
  std::ofstream(in, std::ios::binary).write(reinterpret_cast<const char*>(source.data()), static_cast<std::streamsize>(source.size()));
  const cli::BlurRequest request = random_request(random);
  work_in_strips(random);
  cli::DeviceBlurrer blurrer(device_, request.spec, request.plan);
  std::optional<cli::BlurReport> report;
  start_heap_meter();
  try {
    report = cli::blur_file({.in = in, .out = out}, request, blurrer);
  } catch (const cli::Failure& failure) {
    check_message(failure.message);
  } catch (const std::exception& error) {
    throw Finding(std::string("an exception that is no FileError: ") + error.what());
  }
  heap_peak_ = std::max(heap_peak_, fuzz::heap_peak());
  if (fuzz::heap_peak() > kMostHeap) {
    throw Finding("allocated " + std::to_string(fuzz::heap_peak() / kMegabyte) + " MB where " + std::to_string(kMemory / kMegabyte) +
                  " are allowed");
  }
  check_folder(report.has_value(), out);
  if (!report) return Outcome::refused;
  check_result(out, format, report->images, report->width, report->height);
  std::filesystem::remove(out);
  return Outcome::blurred;
}

void Trial::check_folder(bool has_result, const std::string& result) const {
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string path = entry.path().string();
    const bool is_known = path.ends_with("/source") || (has_result && path == result);
    if (!is_known) throw Finding("left behind: " + entry.path().filename().string());
  }
  if (has_result && !std::filesystem::exists(result)) throw Finding("no result, and no error");
}

/// A result is whole: the library reads all of it again, and finds the pages that it has written.
void Trial::check_result(const std::string& path, FileFormat format, int images, int width, int height) const {
  files::ReadOptions options;
  options.memory_bytes = 8 * kMemory;
  try {
    const auto reader = files::open_reader(files::open_source(path, kMemory), options);
    const files::Document& document = reader->document();
    if (document.format != format) throw Finding("the result has another format");
    if (static_cast<int>(document.pages.size()) != images) {
      throw Finding("the result has " + std::to_string(document.pages.size()) + " pages; " + std::to_string(images) + " were written");
    }
    if (document.pages.front().width != width || document.pages.front().height != height) throw Finding("the result has another size");
    for (std::size_t i = 0; i < document.pages.size(); ++i) {
      const files::Page& page = document.pages[i];
      Bytes pixels(static_cast<std::size_t>(page.row_bytes() * page.height));
      reader->read_rows(static_cast<int>(i), 0, page.height, pixels.data(), page.row_bytes());
    }
  } catch (const files::FileError& error) {
    throw Finding(std::string("the result cannot be read again: ") + error.what());
  }
}

}  // namespace mollify::fuzz
