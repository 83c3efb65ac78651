#include "pyramid_file.h"

#include <fmt/format.h>
#include <tiff.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "batch/wire.h"
#include "file_failure.h"
#include "message.h"
#include "page_stream.h"
#include "pyramid_image.h"
#include "result_sink.h"
#include "strip_pipeline.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

using files::Page;
using files::PagePixels;
using files::RowRange;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Strips of the source with a margin, in which the pixels of its edges are repeated.
class PaddedStrips {
 public:
  /// A strip is read while another one is blurred, and one or two wait until they are written.
  static constexpr std::size_t kBuffers = 4;

  /// `padded` is the page with its margins, and `picture` where the page lies in it. Strips begin with whole tiles of the page, as it is
  /// read and as it is written.
  PaddedStrips(files::Reader& reader, int page_of_source, const Page& padded, const Rect& picture, std::int32_t rows)
      : reader_(reader),
        source_(page_of_source),
        padded_(padded),
        picture_(picture),
        rows_(rows),
        fewer_((rows - picture.y % rows) % rows) {
    for (files::Bytes& each : buffers_) each.resize(static_cast<std::size_t>(rows * padded.row_bytes()));
    last_row_.resize(static_cast<std::size_t>(padded.row_bytes()));
  }

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>((padded_.height + fewer_ + rows_ - 1) / rows_); }
  [[nodiscard]] PagePixels strip(std::size_t index) {
    const std::int32_t end = (static_cast<std::int32_t>(index) + 1) * rows_ - fewer_, first = std::max(end - rows_, 0);
    return {&padded_,
            buffers_[index % kBuffers].data(),
            static_cast<std::ptrdiff_t>(padded_.row_bytes()),
            {first, std::min(end, padded_.height)}};
  }
  /// Its rows of the page itself, without margins.
  [[nodiscard]] PagePixels without_margin(std::size_t index) {
    const PagePixels all = strip(index);
    const RowRange rows = stored_rows(all.rows);
    return {&padded_,
            picture_in(all.data + (rows.begin - all.rows.begin) * all.row_bytes),
            all.row_bytes,
            {rows.begin - picture_.y, rows.end - picture_.y}};
  }

  void read(std::size_t index) {
    if (index == 0) read_first_row();
    const PagePixels all = strip(index);
    const RowRange stored = stored_rows(all.rows);
    const auto row = [&](std::int32_t y) { return all.data + (y - all.rows.begin) * all.row_bytes; };
    const auto repeat = [&](RowRange rows) {
      for (std::int32_t y = rows.begin; y < rows.end; ++y) std::memcpy(row(y), last_row_.data(), last_row_.size());
    };
    repeat({all.rows.begin, stored.begin});
    if (stored.count() > 0) {
      read_stored(without_margin(index));
      for (std::int32_t y = stored.begin; y < stored.end; ++y) pad(row(y));
      std::memcpy(last_row_.data(), row(stored.end - 1), last_row_.size());
    }
    repeat({stored.end, all.rows.end});
  }

 private:
  /// Of these rows those that are the page's.
  [[nodiscard]] RowRange stored_rows(RowRange rows) const {
    const auto stored = [&](std::int32_t y) {
      return std::clamp(std::clamp(y, picture_.y, picture_.y + picture_.height), rows.begin, rows.end);
    };
    return {stored(rows.begin), stored(rows.end)};
  }

  /// The margin above repeats it.
  void read_first_row() {
    reader_.read_rows(source_, 0, 1, picture_in(last_row_.data()), static_cast<std::ptrdiff_t>(last_row_.size()));
    pad(last_row_.data());
  }

  void read_stored(const PagePixels& into) {
    const std::int32_t known = into.rows.begin == 0 ? 1 : 0;
    if (known > 0) std::memcpy(into.data, picture_in(last_row_.data()), static_cast<std::size_t>(picture_.width * padded_.pixel_bytes()));
    const std::int32_t count = into.rows.count() - known;
    if (count > 0) reader_.read_rows(source_, into.rows.begin + known, count, into.data + known * into.row_bytes, into.row_bytes);
  }

  [[nodiscard]] std::uint8_t* picture_in(std::uint8_t* row) const { return row + picture_.x * padded_.pixel_bytes(); }

  void pad(std::uint8_t* row) const {
    const auto bytes = static_cast<std::ptrdiff_t>(padded_.pixel_bytes());
    const auto repeat = [&](std::ptrdiff_t pixel, std::ptrdiff_t from, std::ptrdiff_t to) {
      for (std::ptrdiff_t x = from; x < to; ++x) std::memcpy(row + x * bytes, row + pixel * bytes, static_cast<std::size_t>(bytes));
    };
    const std::ptrdiff_t end = picture_.x + std::ptrdiff_t{picture_.width};
    repeat(picture_.x, 0, picture_.x);
    repeat(end - 1, end, padded_.width);
  }

  files::Reader& reader_;
  int source_;
  const Page& padded_;
  Rect picture_;
  std::int32_t rows_;   ///< of a strip
  std::int32_t fewer_;  ///< that the first one has
  std::array<files::Bytes, kBuffers> buffers_;
  files::Bytes last_row_;  ///< of those that were read
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
    describe_base();
    steps_ = pyramid_steps(count, request_.sigma, most_alias());
    put_margins(1 << count, pyramid_margin(steps_));
    for (const PyramidStep& step : steps_) {
      images_.emplace_back(in_, device_, step, step.parent < 0 ? work_ : images_[static_cast<std::size_t>(step.parent)].copy());
      if (!step.is_level) continue;
      Page level = plan_.document.pages.front();
      level.width = images_.back().page().width;
      level.height = images_.back().page().height;
      plan_.document.pages.push_back(page_of_level(level));
    }
    report_.levels = count;
    report_.top_width = plan_.document.pages.back().width;
    report_.top_height = plan_.document.pages.back().height;
    report_.blur.predicted_error = largest_error();
  }

  /// Far below what is allowed by default.
  [[nodiscard]] double most_alias() const {
    constexpr double kOfIntegers = 5e-5, kOfOthers = 1e-6;
    const files::NumberType type = work_.from.channels.front().type;
    return !files::is_float(type) && files::bytes_of(type) <= 2 ? kOfIntegers : kOfOthers;
  }

  void describe_base() {
    Page& base = plan_.document.pages.front();
    base.tile_width = base.tile_height = request_.tile;
    base.coding = coding_of(base);
    plan_.document.big_offsets = true;
  }

  /// The source becomes larger than the picture, which is a region of it then.
  void put_margins(std::int32_t block, std::int32_t margin) {
    const auto padded = [&](std::int32_t pixels) { return (pixels + block - 1) / block * block + 2 * margin; };
    work_.region = Rect{margin, margin, report_.width, report_.height};
    work_.from.width = padded(report_.width);
    work_.from.height = padded(report_.height);
  }

  /// Errors of the images that one is made from add up.
  [[nodiscard]] double largest_error() const {
    std::vector<double> errors;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const int parent = steps_[i].parent;
      errors.push_back(images_[i].error() + (parent < 0 ? 0.0 : errors[static_cast<std::size_t>(parent)]));
    }
    return errors.empty() ? 0.0 : *std::ranges::max_element(errors);
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

  /// So many whole tiles, or halves of one, that strips stay in the processor's cache from stage to stage; fewer rows where these do not
  /// fit into memory. Measured.
  [[nodiscard]] std::int32_t rows_of_strips() const {
    if (const std::int32_t rows = strip_rows_as_asked().value_or(0); rows > 0) return std::min(rows, padded().height);
    constexpr std::int64_t kSuffice = std::int64_t{2} << 20;
    const std::int64_t enough = kSuffice / padded().row_bytes();
    std::int64_t rows = std::max<std::int64_t>(enough / request_.tile, 1) * request_.tile;
    while (rows > std::max<std::int64_t>(enough, 1)) rows = (rows + 1) / 2;
    rows = std::min<std::int64_t>(rows, padded().height);
    while (rows > 1 && needed_bytes(static_cast<std::int32_t>(rows)) > request_.memory_bytes) rows = (rows + 1) / 2;
    if (const std::int64_t needed = needed_bytes(static_cast<std::int32_t>(rows)); needed > request_.memory_bytes) {
      fail_for_memory(fmt::format("{}: needs {} of memory, more than the {} that it may use; --memory sets that", in_, bytes_text(needed),
                                  bytes_text(request_.memory_bytes)));
    }
    return static_cast<std::int32_t>(rows);
  }

  [[nodiscard]] std::int64_t needed_bytes(std::int32_t rows) const {
    const auto reading = reader_->memory_of(work_.source);
    std::int64_t bytes = reading ? reading->bytes : padded().row_bytes() * report_.height;
    for (const Page& page : plan_.document.pages) bytes += files::memory_of_tiff_writer(page).bytes;
    std::vector<std::int32_t> most_rows;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const std::int32_t finer = steps_[i].parent < 0 ? rows : most_rows[static_cast<std::size_t>(steps_[i].parent)];
      bytes += images_[i].memory_bytes(finer);
      most_rows.push_back(images_[i].most_rows(finer));
    }
    return bytes + static_cast<std::int64_t>(PaddedStrips::kBuffers) * rows * padded().row_bytes();
  }

  /// The source with its margins.
  [[nodiscard]] const Page& padded() const { return work_.from; }

  void write(std::int32_t rows) {
    PaddedStrips source(*reader_, work_.source, padded(), *work_.region, rows);
    FileSink sink(out_, request_.replaces);
    files::WriteOptions options = write_options();
    const Descriptor aside(request_.as_overviews ? open_without_name(folder_of(out_)) : -1);
    OpenFileSink tiles(out_, aside.get());
    if (request_.as_overviews) {
      if (aside.get() < 0) fail(fmt::format("{}: no temporary file can be made beside it: {}", out_, std::strerror(errno)));
      options.kept_aside = &tiles;
    }
    const std::unique_ptr<files::Writer> writer = files::make_writer(files::FileFormat::tiff, sink, plan_.document, options);
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
      advance(source.strip(i), i % PyramidImage::kBuffers);
      bar.show(i + 1, out_);
    };
    const auto write = [&](std::size_t i) { write_strip(*writer, source.without_margin(i), i % PyramidImage::kBuffers); };
    BlurReport& times = report_.blur;
    StripPipeline(source.count(), {2, PyramidImage::kBuffers})
        .run({timed(times.read_seconds, read), timed(times.blur_seconds, blur), timed(times.write_seconds, write)}, threads());
    reader_->finish(work_.source);
    writer->finish();
    for (const std::string& message : reader_->messages().all()) messages_.add(message);
    for (const std::string& message : writer->messages().all()) messages_.add(message);
    sink.commit();
  }

  void advance(const PagePixels& strip, std::size_t buffer) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const int parent = steps_[i].parent;
      images_[i].advance(parent < 0 ? strip : images_[static_cast<std::size_t>(parent)].rows(buffer), buffer);
    }
  }

  void write_strip(files::Writer& writer, const PagePixels& strip, std::size_t buffer) {
    int page = 0;
    const auto write_rows = [&](const PagePixels& from) {
      if (from.rows.count() > 0) writer.write_rows(page, from.rows.begin, from.rows.count(), from.data, from.row_bytes);
      ++page;
    };
    write_rows(strip);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].is_level) write_rows(images_[i].rows(buffer));
    }
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
  files::PageWork work_;  ///< of a copy of the picture, with margins around its source
  std::vector<PyramidStep> steps_;
  std::deque<PyramidImage> images_;  ///< of each step
  files::Messages messages_;
  PyramidReport report_;
};

}  // namespace

PyramidReport make_pyramid(const std::string& in, const std::string& out, const PyramidRequest& request, const Device& device) {
  return with_name_of_file(in, [&] { return PyramidMaker(in, out, request, device).run(); });
}

}  // namespace mollify::cli
