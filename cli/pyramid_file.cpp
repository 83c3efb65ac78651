#include "pyramid_file.h"

#include <fmt/format.h>
#include <tiff.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "file_failure.h"
#include "message.h"
#include "page_stream.h"
#include "pyramid_level.h"
#include "result_sink.h"
#include "strip_pipeline.h"

namespace mollify::cli {
namespace {

using files::Page;
using files::PagePixels;
using files::RowRange;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Strips of the source, whose last column and row are repeated.
class PaddedStrips {
 public:
  /// A strip is read while another one is blurred and two of which the result is waiting are written or kept for that.
  static constexpr std::size_t kBuffers = 4;

  PaddedStrips(files::Reader& reader, int page_of_source, const Page& page, const Page& padded, std::int32_t rows)
      : reader_(reader), source_(page_of_source), page_(page), padded_(padded), rows_(rows) {
    for (files::Bytes& each : buffers_) each.resize(static_cast<std::size_t>(rows * padded.row_bytes()));
    last_row_.resize(static_cast<std::size_t>(padded.row_bytes()));
  }

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>((padded_.height + rows_ - 1) / rows_); }
  [[nodiscard]] PagePixels strip(std::size_t index) {
    const std::int32_t first = static_cast<std::int32_t>(index) * rows_;
    return {&padded_, buffers_[index % kBuffers].data(), row_bytes(), {first, std::min(first + rows_, padded_.height)}};
  }

  void read(std::size_t index) {
    const PagePixels into = strip(index);
    const std::int32_t stored = std::clamp(page_.height - into.rows.begin, 0, into.rows.count());
    if (stored > 0) reader_.read_rows(source_, into.rows.begin, stored, into.data, into.row_bytes);
    for (std::int32_t y = 0; y < stored; ++y) pad(into.data + y * into.row_bytes);
    if (stored > 0) std::memcpy(last_row_.data(), into.data + (stored - 1) * into.row_bytes, last_row_.size());
    for (std::int32_t y = stored; y < into.rows.count(); ++y)
      std::memcpy(into.data + y * into.row_bytes, last_row_.data(), last_row_.size());
  }

 private:
  [[nodiscard]] std::ptrdiff_t row_bytes() const { return static_cast<std::ptrdiff_t>(padded_.row_bytes()); }
  void pad(std::uint8_t* row) const {
    const auto pixel = static_cast<std::ptrdiff_t>(page_.pixel_bytes());
    for (std::ptrdiff_t x = page_.width; x < padded_.width; ++x)
      std::memcpy(row + x * pixel, row + (page_.width - 1) * pixel, static_cast<std::size_t>(pixel));
  }

  files::Reader& reader_;
  int source_;
  const Page& page_;
  const Page& padded_;
  std::int32_t rows_;
  std::array<files::Bytes, kBuffers> buffers_;
  files::Bytes last_row_;
};

/// How often a picture can be halved before its larger side has this many pixels.
int halvings(std::int32_t pixels, std::int32_t least) {
  int levels = 0;
  for (; pixels > least; pixels = (pixels + 1) / 2) ++levels;
  return levels;
}

class PyramidMaker {
 public:
  PyramidMaker(const std::string& in, const std::string& out, const PyramidRequest& request, const Device& device)
      : in_(in), out_(out), request_(request), device_(device) {}

  PyramidReport run() {
    open();
    add_levels();
    write(rows_of_strips());
    report_.blur.notes = messages_.all();
    return std::move(report_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const { fail(fmt::format("{}: {}", in_, reason)); }

  void open() {
    const files::ReadOptions options{threads(), request_.memory_bytes};
    reader_ = files::open_reader(files::open_source(in_, request_.memory_bytes), options);
    for (const std::string& message : reader_->messages().all()) messages_.add(message);
    files::Document source = reader_->document();
    files::ResultRequest result{.format = files::FileFormat::tiff, .page = request_.page};
    plan_ = files::plan_result(source, result, messages_);
    leave_out(files::PageKind::level, "smaller copies of the source were left out, and new ones made");
    leave_out(files::PageKind::mask, "the mask was left out: a pyramid has none");
    if (plan_.pages.size() > 1) refuse(fmt::format("has {} pages, and a pyramid is of one; --page N takes one", plan_.pages.size()));
    work_ = plan_.pages.front();
    if (work_.changes_colours() || work_.from.channels != work_.blurred.channels || work_.turns)
      refuse("has pixels that TIFF does not hold as they are; 'mollify blur IN OUT.tif --gaussian 0' converts them");
    report_.width = work_.from.width;
    report_.height = work_.from.height;
  }

  /// Smaller copies of the source give way to the new ones, and masks have none.
  void leave_out(files::PageKind kind, const std::string& message) {
    const auto is_left_out = [&](const Page& page) { return page.kind == kind; };
    if (std::ranges::none_of(plan_.document.pages, is_left_out)) return;
    std::erase_if(plan_.pages, [&](const files::PageWork& work) { return is_left_out(work.result); });
    std::erase_if(plan_.document.pages, is_left_out);
    messages_.add(message);
  }

  [[nodiscard]] int levels() const {
    const std::int32_t side = std::max(work_.from.width, work_.from.height);
    const int most = halvings(side, 1);
    const int wanted = request_.levels.value_or(halvings(side, PyramidRequest::kLargestTop));
    if (wanted > most) refuse(fmt::format("has {} smaller copies at most, not the {} of --levels", most, wanted));
    return wanted;
  }

  void add_levels() {
    const int count = levels();
    Page& base = plan_.document.pages.front();
    plan_.document.big_offsets = true;
    base.tile_width = base.tile_height = request_.tile;
    base.coding = coding_of(base);
    const std::int32_t block = 1 << count;
    padded_ = work_.from;
    padded_.width = (padded_.width + block - 1) / block * block;
    padded_.height = (padded_.height + block - 1) / block * block;
    work_.result = base;
    for (int level = 1; level <= count; ++level) {
      levels_.emplace_back(in_, device_, level, request_.sigma, work_, padded_, report_.blur);
      plan_.document.pages.push_back(page_of_level(levels_.back().page()));
    }
    report_.levels = count;
    report_.top_width = plan_.document.pages.back().width;
    report_.top_height = plan_.document.pages.back().height;
  }

  /// As the source is stored, where it is TIFF.
  [[nodiscard]] files::TiffCoding coding_of(const Page& page) const {
    const auto* stored = std::get_if<files::TiffCoding>(&page.coding);
    files::TiffCoding coding;
    coding.compression = COMPRESSION_ADOBE_DEFLATE;
    coding.predictor = 2;
    if (stored != nullptr) coding = *stored;
    coding.subfile_type = 0;
    coding.in_sub_directory = false;
    if (request_.compression) {
      coding.compression = *request_.compression == 0 ? COMPRESSION_NONE : COMPRESSION_ADOBE_DEFLATE;
      coding.predictor = 2;
    }
    return coding;
  }

  [[nodiscard]] Page page_of_level(Page page) const {
    page.kind = files::PageKind::level;
    page.parent = 0;
    page.items.clear();
    page.name.clear();
    page.resolution.reset();
    auto& coding = std::get<files::TiffCoding>(page.coding);
    coding.subfile_type = FILETYPE_REDUCEDIMAGE;
    coding.in_sub_directory = !request_.as_overviews;
    return page;
  }

  /// Whole tiles, where they fit into memory.
  [[nodiscard]] std::int32_t rows_of_strips() const {
    if (const std::int32_t rows = strip_rows_as_asked(); rows > 0) return std::min(rows, padded_.height);
    constexpr std::int64_t kSuffice = std::int64_t{8} << 20;
    const std::int64_t row_bytes = padded_.row_bytes();
    const std::int64_t wanted = std::max<std::int64_t>(kSuffice / row_bytes / request_.tile, 1) * request_.tile;
    std::int64_t rows = std::min<std::int64_t>(wanted, padded_.height);
    while (rows > 1 && needed_bytes(static_cast<std::int32_t>(rows)) > request_.memory_bytes) rows = (rows + 1) / 2;
    if (const std::int64_t needed = needed_bytes(static_cast<std::int32_t>(rows)); needed > request_.memory_bytes) {
      fail_for_memory(fmt::format("{}: needs {} of memory, more than the {} that it may use; --memory sets that", in_, bytes_text(needed),
                                  bytes_text(request_.memory_bytes)));
    }
    return static_cast<std::int32_t>(rows);
  }

  [[nodiscard]] std::int64_t needed_bytes(std::int32_t rows) const {
    const auto reading = reader_->memory_of(work_.source);
    std::int64_t bytes = reading ? reading->bytes : work_.from.row_bytes() * work_.from.height;
    for (const Page& page : plan_.document.pages) bytes += files::memory_of_tiff_writer(page).bytes;
    for (const PyramidLevel& level : levels_) bytes += level.memory_bytes(rows);
    return bytes + static_cast<std::int64_t>(PaddedStrips::kBuffers) * rows * padded_.row_bytes();
  }

  void write(std::int32_t rows) {
    PaddedStrips source(*reader_, work_.source, work_.from, padded_, rows);
    FileSink sink(out_, request_.replaces);
    const std::unique_ptr<files::Writer> writer = files::make_writer(files::FileFormat::tiff, sink, plan_.document, write_options());
    ProgressBar bar(source.count(), request_.shows_progress);
    const auto timed = [](double& seconds, const auto& stage) {
      return [&seconds, stage](std::size_t i) {
        const auto start = std::chrono::steady_clock::now();
        stage(i);
        seconds += seconds_since(start);
      };
    };
    const auto read = [&](std::size_t i) { source.read(i); };
    const auto blur = [&](std::size_t i) {
      for (PyramidLevel& level : levels_) level.advance(source.strip(i), i % PyramidLevel::kBuffers);
      bar.show(i + 1, out_);
    };
    const auto write = [&](std::size_t i) { write_strip(*writer, source.strip(i), i % PyramidLevel::kBuffers); };
    BlurReport& times = report_.blur;
    StripPipeline(source.count(), {2, PyramidLevel::kBuffers})
        .run({timed(times.read_seconds, read), timed(times.blur_seconds, blur), timed(times.write_seconds, write)});
    reader_->finish(work_.source);
    writer->finish();
    for (const std::string& message : reader_->messages().all()) messages_.add(message);
    for (const std::string& message : writer->messages().all()) messages_.add(message);
    sink.commit();
  }

  void write_strip(files::Writer& writer, const PagePixels& strip, std::size_t buffer) {
    const auto write_rows = [&](int page, RowRange rows, const PagePixels& from) {
      if (rows.count() > 0) writer.write_rows(page, rows.begin, rows.count(), from.data, from.row_bytes);
    };
    write_rows(0, {strip.rows.begin, std::min(strip.rows.end, work_.from.height)}, strip);
    int page = 1;
    for (const PyramidLevel& level : levels_) write_rows(page++, level.rows(buffer).rows, level.rows(buffer));
  }

  [[nodiscard]] int threads() const { return std::max(1, device_.info().threads); }
  [[nodiscard]] files::WriteOptions write_options() const {
    files::WriteOptions options;
    options.threads = threads();
    options.memory_bytes = request_.memory_bytes;
    if (request_.compression != 0) options.compression = request_.compression;
    return options;
  }

  const std::string& in_;
  const std::string& out_;
  const PyramidRequest& request_;
  const Device& device_;
  std::unique_ptr<files::Reader> reader_;
  files::ResultPlan plan_;
  files::PageWork work_;  ///< of a copy of the picture
  Page padded_;
  std::deque<PyramidLevel> levels_;
  files::Messages messages_;
  PyramidReport report_;
};

}  // namespace

PyramidReport make_pyramid(const std::string& in, const std::string& out, const PyramidRequest& request, const Device& device) {
  return with_name_of_file(in, [&] { return PyramidMaker(in, out, request, device).run(); });
}

}  // namespace mollify::cli
