#include "blur_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "file_failure.h"
#include "files/masks.h"
#include "files/memory_limit.h"
#include "files/orientation.h"
#include "message.h"
#include "page_blur.h"
#include "page_stream.h"
#include "parse.h"
#include "result_sink.h"
#include "strip_pipeline.h"

namespace mollify::cli {
namespace {

using files::FileFormat;
using files::Page;
using files::PageWork;

class Stopwatch {
 public:
  /// Seconds since the last call, or since the making.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(start_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

FileFormat result_format(const BlurFiles& files) {
  if (files.format) return *files.format;
  if (const auto format = files::format_of_name(files.out)) return *format;
  fail(fmt::format("{}: no image format is written under this extension; use .png .jpg .tif .exr .webp or .hdr, behind -o by --to",
                   files.out));
}

/// What a page takes while it is blurred: its pixels, those of the result, and what lies between.
std::int64_t needed_bytes(const PageWork& work) {
  const std::int64_t turned = work.turns ? work.result.row_bytes() * work.result.height : 0;
  const Page larger = grown_page(work);
  const std::int64_t grown = work.grow == PerAxis<Reach>() ? 0 : larger.row_bytes() * larger.height;
  return grown + work.from.row_bytes() * work.from.height + work.blurred.row_bytes() * work.blurred.height + turned +
         PageBlur::scratch_bytes(work);
}

/// No file of so few bytes holds so many pixels, whatever its header says. Formats whose compression has no such end are not looked at.
void require_plausible(const Page& page, FileFormat format, std::int64_t file_bytes) {
  constexpr std::int64_t kMostByDeflate = 1100, kMostByExr = 20000;
  const std::int64_t most = format == FileFormat::png                                ? kMostByDeflate
                            : format == FileFormat::exr || format == FileFormat::hdr ? kMostByExr
                                                                                     : 0;
  if (most == 0 || page.row_bytes() / most * page.height / 8 <= file_bytes) return;
  throw files::FileError(
      fmt::format("its header promises {}x{} pixels, which its {} bytes cannot hold", page.width, page.height, file_bytes));
}

void require_few_pixels(const PageWork& work, const BlurRequest& request) {
  for (const Page& each : {work.from, grown_page(work)}) {
    if (std::int64_t{each.width} * each.height > request.max_pixels) {
      throw files::FileError(fmt::format("has {}x{} pixels, more than --max-pixels {}", each.width, each.height, request.max_pixels));
    }
  }
}

bool has_fewer_bytes(const files::CodecMemory& one, const files::CodecMemory& other) {
  return one.bytes < other.bytes;
}

void describe_first(const Page& page, BlurReport& report) {
  report.width = page.width;
  report.height = page.height;
  report.channels = static_cast<int>(page.channels.size());
  const bool is_mixed = std::ranges::any_of(page.channels, [&](const files::Channel& c) { return c.type != page.channels.front().type; });
  report.components = is_mixed ? "mixed" : std::string(files::describe(page.channels.front().type));
}

/// The pixels of a page with so many zeros around them, as what lies outside an OpenEXR file's data window counts.
PixelBytes grown(ImageBlurrer& blurrer, const Page& from, const Page& to, const PixelBytes& pixels, PerAxis<Reach> grow) {
  PixelBytes result = blurrer.allocate(to.row_bytes() * to.height);
  std::memset(result.get(), 0, static_cast<std::size_t>(to.row_bytes() * to.height));
  for (std::int32_t y = 0; y < from.height; ++y) {
    std::memcpy(result.get() + (y + grow.y.before) * to.row_bytes() + grow.x.before * from.pixel_bytes(),
                pixels.get() + y * from.row_bytes(), static_cast<std::size_t>(from.row_bytes()));
  }
  return result;
}

class FileBlur {
 public:
  FileBlur(const BlurFiles& files, const BlurRequest& request, ImageBlurrer& blurrer)
      : files_(files), request_(request), blurrer_(blurrer) {}

  BlurReport run() {
    open();
    run_pages();
    take_notes();
    return std::move(report_);
  }

  BlurReport examine() {
    open();
    for (const PageWork& work : plan_.pages) {
      if (fits(work)) PageBlur(files_.in, blurrer_, request_, work, report_).plan();
    }
    take_notes();
    return std::move(report_);
  }

 private:
  // Reads what describes the pictures, and decides what the result holds.
  void open() {
    const files::ReadOptions options{blurrer_.threads(), std::min<std::int64_t>(request_.memory_bytes, std::int64_t{1} << 40)};
    const std::string path = files_.source >= 0 ? fmt::format("/proc/self/fd/{}", files_.source) : files_.in;
    std::unique_ptr<files::ByteSource> source = files::open_source(path, request_.memory_bytes);
    file_bytes_ = source->size();
    format_ = result_format(files_);
    reader_ = files::with_masks_as_alpha(files::open_reader(std::move(source), options), format_, options.memory_bytes);
    const files::Document& document = reader_->document();
    add(reader_->messages());

    files::ResultRequest result = request_.result;
    result.format = format_;
    if (request_.grow) result.grow = reach(document);
    plan_ = files::plan_result(document, result, messages_);
    static_cast<void>(blurrer_.take_choices());  // for a file that has failed, or for the reach
    for (const PageWork& work : plan_.pages) {
      require_plausible(work.from, document.format, file_bytes_);
      require_few_pixels(work, request_);
      if (!fits(work)) static_cast<void>(strips_of(work));  // which fails where that does not fit either
    }
    report_.source_format = files::name_of(document.format);
    report_.result_format = files::name_of(format_);
    report_.images = static_cast<int>(plan_.pages.size());
    describe_first(plan_.document.pages.front(), report_);
    report_.read_seconds += watch_.lap();
  }

  /// Of the kernel, in an image that is not smaller.
  [[nodiscard]] PerAxis<Reach> reach(const files::Document& document) const {
    const Page& page = document.pages.front();
    const bool is_wide = files::is_wide(page.channels.front().type);
    const ImageDesc image{page.width, page.height, is_wide ? PixelFormat::r64f : PixelFormat::r32f};
    return value_or_fail(blurrer_.plan({}, image, image), files_.in).reach;
  }

  [[nodiscard]] bool fits(const PageWork& work) const {
    return needed_bytes(work) <= request_.memory_bytes && strip_rows_as_asked().value_or(0) == 0;
  }

  void run_pages() {
    for (std::size_t i = 0; i < plan_.pages.size(); ++i) {
      const PageWork& work = plan_.pages[i];
      if (!fits(work)) {
        stream_page(i, strips_of(work));
      } else if (const std::optional<Strips> faster = faster_strips(work)) {
        stream_page(i, *faster);
      } else {
        run_page(i);
      }
    }
    writer_->finish();
    add(reader_->messages());  // what came to light while pixels were read
    add(writer_->messages());
    sink_->commit();
    report_.write_seconds += watch_.lap();
  }

  // The first page is blurred before the result is begun, so that most mistakes are found while there is none.
  void run_page(std::size_t index) {
    const PixelBytes pixels = blurred_page(plan_.pages[index]);
    begin_result();
    const Page& page = plan_.document.pages[index];
    say(BlurStage::writing, page.row_bytes() * page.height);
    writer_->write_rows(static_cast<int>(index), 0, page.height, pixels.get(), page.row_bytes());
    report_.write_seconds += watch_.lap();
  }

  /// What blurs a page some rows at a time.
  struct Strips {
    std::unique_ptr<PageBlur> blur;
    StripPlan plan;
  };

  void stream_page(std::size_t index, const Strips& by) {
    const PageWork& work = plan_.pages[index];
    const Page& page = plan_.document.pages[index];
    const std::unique_ptr<PageBlur>& blur = by.blur;
    const StripPlan& plan = by.plan;
    blur->reserve_strips(plan.rows());
    std::vector<SlidingRows> sources;
    for (const std::int64_t rows : plan.source_buffers()) sources.emplace_back(*reader_, work, blur->source(), rows);
    std::array<files::Bytes, StripPlan::kResultBuffers> results;
    for (files::Bytes& each : results) each.resize(static_cast<std::size_t>(plan.rows() * page.row_bytes()));
    std::vector<files::PagePixels> rows_read(sources.size());
    begin_result();

    const std::vector<StripPlan::Strip>& strips = plan.strips();
    const auto read = [&](std::size_t i) {
      Stopwatch watch;
      rows_read[i % sources.size()] = sources[i % sources.size()].rows(strips[i].source);
      report_.read_seconds += watch.lap();
    };
    const auto blur_strip = [&](std::size_t i) {
      Stopwatch watch;
      say(BlurStage::blurring, strips[i].result.count() * page.row_bytes());
      std::uint8_t* into = results[i % results.size()].data();
      blur->run(rows_read[i % sources.size()], {&work.blurred, into, page.row_bytes(), strips[i].result});
      report_.blur_seconds += watch.lap();
      say_progress(index, strips[i].result.end);
      // From here on it waits for others.
      const std::int64_t read_rows = i + 1 < strips.size() ? strips[i + 1].read_rows : 0;
      say(BlurStage::writing, read_rows * blur->source().row_bytes() + 2 * plan.rows() * page.row_bytes());
    };
    const auto write = [&](std::size_t i) {
      Stopwatch watch;
      const files::RowRange rows = strips[i].result;
      writer_->write_rows(static_cast<int>(index), rows.begin, rows.count(), results[i % results.size()].data(), page.row_bytes());
      report_.write_seconds += watch.lap();
    };
    say(BlurStage::reading, strips.front().read_rows * blur->source().row_bytes());
    StripPipeline(strips.size(), {sources.size(), results.size()}).run({read, blur_strip, write}, blurrer_.threads());
    watch_.lap();
    reader_->finish(work.source);
    report_.read_seconds += watch_.lap();
  }

  /// Of a page that does not fit into memory.
  [[nodiscard]] Strips strips_of(const PageWork& work) {
    Result<std::unique_ptr<PageBlur>> blur = strip_blur(work, StripsFor::memory);
    if (!blur) fail_to_stream(work, one_line(blur.error()));
    (*blur)->open_streams();
    const Result<CodecNeeds> codecs = codec_needs(work);
    if (!codecs) fail_to_stream(work, one_line(codecs.error()));
    StripPlan plan(files_.in, **blur, work.result, *codecs, request_.memory_bytes);
    return {*std::move(blur), std::move(plan)};
  }

  /// Of a page that fits into memory, where strips are faster: they stay in the cache, and with several threads reading, blurring and
  /// writing go on at the same time.
  [[nodiscard]] std::optional<Strips> faster_strips(const PageWork& work) {
    constexpr std::int64_t kWorthwhile = 4 << 20;  // bytes: with fewer strips little goes on at the same time
    if (strip_rows_as_asked() == 0 || work.result.row_bytes() * work.result.height < kWorthwhile) return std::nullopt;
    const Result<CodecNeeds> codecs = codec_needs(work);
    if (!codecs) return std::nullopt;
    Result<std::unique_ptr<PageBlur>> blur = strip_blur(work, StripsFor::speed);
    // Little goes on at the same time where one row of the result needs most rows of the source.
    if (!blur || (*blur)->most_source_rows(1) > (*blur)->source().height / 2) return std::nullopt;
    if (!(*blur)->open_streams()) return std::nullopt;
    if (StripPlan::needed_bytes(**blur, work.result, *codecs, 1) > request_.memory_bytes) return std::nullopt;
    StripPlan plan(files_.in, **blur, work.result, *codecs, request_.memory_bytes);
    return Strips{*std::move(blur), std::move(plan)};
  }

  [[nodiscard]] Result<std::unique_ptr<PageBlur>> strip_blur(const PageWork& work, StripsFor purpose) {
    const auto refuse = [](std::string why) { return Error{ErrorCode::unsupported, std::move(why), {}}; };
    if (work.turns) return refuse("it is turned upright");
    // A few bytes can ask for a result that fills the disk: a window with hardly a pixel in it, tiles that are left out.
    constexpr std::int64_t kMostForAByte = 20000;
    if (work.blurred.row_bytes() / kMostForAByte * work.blurred.height > file_bytes_ && !strip_rows_as_asked())
      return refuse(fmt::format("its {} bytes are too few for so many pixels", file_bytes_));
    auto blur = std::make_unique<PageBlur>(files_.in, blurrer_, request_, work, report_);
    if (const Status ready = blur->prepare_strips(purpose); !ready) return ready.error();
    return blur;
  }

  /// Unset where a codec needs the whole page.
  [[nodiscard]] Result<CodecNeeds> codec_needs(const PageWork& work) const {
    const auto whole = [](FileFormat format, const char* what) {
      return Error{ErrorCode::unsupported, fmt::format("{} files are {} as a whole", files::name_of(format), what), {}};
    };
    const auto reading = reader_->memory_of(work.source);
    if (!reading) return whole(reader_->document().format, "read");
    const auto writing = files::memory_of_writer(format_, work.result, write_options());
    if (!writing) return whole(format_, "written");
    return CodecNeeds{reading->bytes + writing->bytes, std::string(std::max(*reading, *writing, has_fewer_bytes).what)};
  }

  [[noreturn]] void fail_to_stream(const PageWork& work, const std::string& reason) const {
    fail_for_memory(fmt::format("{}: needs {} of memory, more than the {} that it may use, since {}; --memory sets that", files_.in,
                                bytes_text(needed_bytes(work)), bytes_text(request_.memory_bytes), reason));
  }

  [[nodiscard]] files::WriteOptions write_options() const {
    files::WriteOptions options = request_.write;
    options.threads = blurrer_.threads();
    options.memory_bytes = request_.memory_bytes;
    return options;
  }

  void begin_result() {
    if (writer_) return;
    if (files_.result >= 0) {
      sink_ = std::make_unique<OpenFileSink>(files_.out, files_.result);
    } else {
      sink_ = std::make_unique<FileSink>(files_.out, request_.replaces);
    }
    writer_ = files::make_writer(format_, *sink_, plan_.document, write_options());
  }

  PixelBytes blurred_page(const PageWork& work) {
    const Page& from = work.from;
    PixelBytes src = blurrer_.allocate(from.row_bytes() * from.height);
    say(BlurStage::reading, from.row_bytes() * from.height);
    reader_->read_rows(work.source, 0, from.height, src.get(), from.row_bytes());
    report_.read_seconds += watch_.lap();

    const Page& to = work.blurred;
    say(BlurStage::blurring, to.row_bytes() * to.height);
    PageBlur blur(files_.in, blurrer_, request_, work, report_);
    const Page& larger = blur.source();
    if (!(work.grow == PerAxis<Reach>())) src = grown(blurrer_, from, larger, src, work.grow);
    PixelBytes dst = blurrer_.allocate(to.row_bytes() * to.height);
    blur.run({&larger, src.get(), larger.row_bytes(), {0, larger.height}}, {&to, dst.get(), to.row_bytes(), {0, to.height}});
    src.reset();
    if (work.turns) {
      PixelBytes upright = blurrer_.allocate(work.result.row_bytes() * work.result.height);
      files::turn_upright(to, dst.get(), upright.get());
      dst = std::move(upright);
    }
    report_.blur_seconds += watch_.lap();
    return dst;
  }

  void take_notes() {
    for (const DeviceChoice& choice : blurrer_.take_choices()) {
      report_.devices.insert(choice.device);
      messages_.add(choice.why);
    }
    for (std::string& note : report_.notes) messages_.add(std::move(note));
    report_.notes = messages_.all();
  }

  void add(const files::Messages& messages) {
    for (const std::string& message : messages.all()) messages_.add(message);
  }

  /// So many rows of a page are written, and the pages before it.
  void say_progress(std::size_t index, std::int32_t rows) const {
    if (!request_.on_progress) return;
    std::int64_t done = 0, all = 0;
    for (std::size_t i = 0; i < plan_.pages.size(); ++i) {
      const Page& page = plan_.document.pages[i];
      if (i <= index) done += std::int64_t{page.width} * (i < index ? page.height : rows);
      all += std::int64_t{page.width} * page.height;
    }
    request_.on_progress(done, all);
  }

  void say(BlurStage stage, std::int64_t bytes) const {
    if (request_.on_stage) request_.on_stage(stage, bytes);
  }

  const BlurFiles& files_;
  const BlurRequest& request_;
  ImageBlurrer& blurrer_;
  FileFormat format_ = FileFormat::png;  ///< of the result
  std::int64_t file_bytes_ = 0;          ///< of the source
  std::unique_ptr<files::Reader> reader_;
  files::ResultPlan plan_;
  std::unique_ptr<ResultSink> sink_;
  std::unique_ptr<files::Writer> writer_;
  BlurReport report_;
  Stopwatch watch_;
  files::Messages messages_;
};

struct TypeName {
  const char* name;
  files::NumberType type;
};
constexpr std::array kTypeNames = {
    TypeName{"u8", files::NumberType::u8},   TypeName{"u16", files::NumberType::u16}, TypeName{"u32", files::NumberType::u32},
    TypeName{"i8", files::NumberType::i8},   TypeName{"i16", files::NumberType::i16}, TypeName{"i32", files::NumberType::i32},
    TypeName{"f16", files::NumberType::f16}, TypeName{"f32", files::NumberType::f32}, TypeName{"f64", files::NumberType::f64},
};

}  // namespace

ComponentType parse_component_type(const std::string& text) {
  for (const TypeName& each : kTypeNames) {
    if (text == each.name) return {each.type, {}};
  }
  const std::optional<PixelFormat> format = parse_format(text);
  if (!format) fail_usage(fmt::format("--format: {} is none of u8 u16 u32 i8 i16 i32 f16 f32 f64, nor a pixel format", in_quotes(text)));
  return {files::type_of(*format), info(*format).channels};
}

BlurReport examine_file(const BlurFiles& files, const BlurRequest& request, ImageBlurrer& blurrer) {
  return with_name_of_file(files.in, [&] { return FileBlur(files, request, blurrer).examine(); });
}

BlurReport blur_file(const BlurFiles& files, const BlurRequest& request, ImageBlurrer& blurrer) {
  return with_name_of_file(files.in, [&] { return FileBlur(files, request, blurrer).run(); });
}

}  // namespace mollify::cli
