#include "blur_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

#include "atomic_file.h"
#include "failure.h"
#include "files/masks.h"
#include "files/memory_limit.h"
#include "files/orientation.h"
#include "message.h"
#include "page_blur.h"
#include "parse.h"

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

/// A file that appears under its name when it is complete, as writers take it.
class FileSink final : public files::ByteSink {
 public:
  FileSink(const std::string& path, bool replaces) : file_(path, replaces) {}
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(file_.size()); }
  void write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) override {
    file_.write(bytes.data(), bytes.size(), offset);
    file_.check();
  }
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override {
    return file_.read(into.data(), into.size(), offset);
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
};

FileFormat result_format(const std::string& out) {
  if (const auto format = files::format_of_name(out)) return *format;
  fail(fmt::format("{}: no image format is written under this extension; use .png .jpg .tif .exr .webp or .hdr", out));
}

/// The page of the source with the zeros around it.
Page grown_page(const PageWork& work) {
  Page page = work.from;
  page.width += work.grow.x.before + work.grow.x.after;
  page.height += work.grow.y.before + work.grow.y.after;
  return page;
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

void require_within_limits(const std::string& in, const PageWork& work, const BlurRequest& request) {
  const Page& page = work.from;
  for (const Page& each : {page, grown_page(work)}) {
    if (std::int64_t{each.width} * each.height > request.max_pixels) {
      throw files::FileError(fmt::format("has {}x{} pixels, more than --max-pixels {}", each.width, each.height, request.max_pixels));
    }
  }
  if (const std::int64_t needed = needed_bytes(work); needed > request.memory_bytes) {
    fail_for_memory(fmt::format("{}: needs {} of memory, more than the {} that it may use; --memory sets that", in, bytes_text(needed),
                                bytes_text(request.memory_bytes)));
  }
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
  FileBlur(const std::string& in, const std::string& out, const BlurRequest& request, ImageBlurrer& blurrer)
      : in_(in), out_(out), request_(request), blurrer_(blurrer) {}

  BlurReport run() {
    const files::ReadOptions options{blurrer_.threads(), std::min<std::int64_t>(request_.memory_bytes, std::int64_t{1} << 40)};
    std::unique_ptr<files::ByteSource> source = files::open_source(in_, request_.memory_bytes);
    const std::int64_t file_bytes = source->size();
    const FileFormat format = result_format(out_);
    const std::unique_ptr<files::Reader> reader = files::with_masks_as_alpha(files::open_reader(std::move(source), options), format);
    const files::Document& document = reader->document();
    add(reader->messages());

    files::ResultRequest result = request_.result;
    result.format = format;
    if (request_.grow) result.grow = reach(document);
    files::ResultPlan plan = files::plan_result(document, result, messages_);
    for (const PageWork& work : plan.pages) {
      require_plausible(work.from, document.format, file_bytes);
      require_within_limits(in_, work, request_);
    }
    report_.images = static_cast<int>(plan.pages.size());
    describe_first(plan.document.pages.front(), report_);
    report_.read_seconds += watch_.lap();
    run_pages(*reader, plan, result);
    report_.notes = messages_.all();
    return std::move(report_);
  }

 private:
  /// Of the kernel, in an image that is not smaller.
  [[nodiscard]] PerAxis<Reach> reach(const files::Document& document) const {
    const Page& page = document.pages.front();
    return value_or_fail(blurrer_.reach({page.width, page.height, PixelFormat::r32f}), in_);
  }

  void run_pages(files::Reader& reader, const files::ResultPlan& plan, const files::ResultRequest& result) {
    // The first page is blurred before the result is begun, so that most mistakes are found while there is none.
    std::unique_ptr<files::Writer> writer;
    for (std::size_t i = 0; i < plan.pages.size(); ++i) {
      const PixelBytes pixels = blurred_page(reader, plan.pages[i]);
      if (!writer) {
        file_.emplace(out_, request_.replaces);
        files::WriteOptions options = request_.write;
        options.threads = blurrer_.threads();
        options.memory_bytes = request_.memory_bytes;
        writer = files::make_writer(result.format, *file_, plan.document, options);
      }
      const Page& page = plan.document.pages[i];
      say(BlurStage::writing, page);
      writer->write_rows(static_cast<int>(i), 0, page.height, pixels.get(), page.row_bytes());
      report_.write_seconds += watch_.lap();
    }
    writer->finish();
    add(reader.messages());  // what came to light while pixels were read
    add(writer->messages());
    file_->commit();
    report_.write_seconds += watch_.lap();
  }

  PixelBytes blurred_page(files::Reader& reader, const PageWork& work) {
    const Page& from = work.from;
    PixelBytes src = blurrer_.allocate(from.row_bytes() * from.height);
    say(BlurStage::reading, from);
    reader.read_rows(work.source, 0, from.height, src.get(), from.row_bytes());
    report_.read_seconds += watch_.lap();

    const Page& to = work.blurred;
    say(BlurStage::blurring, to);
    const Page larger = grown_page(work);
    if (!(work.grow == PerAxis<Reach>())) src = grown(blurrer_, from, larger, src, work.grow);
    PixelBytes dst = blurrer_.allocate(to.row_bytes() * to.height);
    PageBlur(in_, blurrer_, request_, work, report_).run({&larger, src.get(), larger.row_bytes()}, {&to, dst.get(), to.row_bytes()});
    src.reset();
    if (work.turns) {
      PixelBytes upright = blurrer_.allocate(work.result.row_bytes() * work.result.height);
      files::turn_upright(to, dst.get(), upright.get());
      dst = std::move(upright);
    }
    report_.blur_seconds += watch_.lap();
    return dst;
  }

  void add(const files::Messages& messages) {
    for (const std::string& message : messages.all()) messages_.add(message);
  }

  void say(BlurStage stage, const Page& page) const {
    if (request_.on_stage) request_.on_stage(stage, page.row_bytes() * page.height);
  }

  const std::string& in_;
  const std::string& out_;
  const BlurRequest& request_;
  ImageBlurrer& blurrer_;
  BlurReport report_;
  Stopwatch watch_;
  files::Messages messages_;
  std::optional<FileSink> file_;
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
  if (!format) fail_usage(fmt::format("--format: {} is none of u8 u16 u32 i8 i16 i32 f16 f32 f64, nor a pixel format", quoted(text)));
  const FormatInfo& row = info(*format);
  if (row.is_unorm()) return {row.bits == 8 ? files::NumberType::u8 : files::NumberType::u16, row.channels};
  return {row.bits == 16 ? files::NumberType::f16 : files::NumberType::f32, row.channels};
}

BlurReport blur_file(const std::string& in, const std::string& out, const BlurRequest& request, ImageBlurrer& blurrer) {
  try {
    return FileBlur(in, out, request, blurrer).run();
  } catch (const files::MemoryError& error) {
    fail_for_memory(fmt::format("{}: {}; --memory sets how much", in, error.what()));
  } catch (const files::FileError& error) {
    fail(fmt::format("{}: {}", in, error.what()));
  } catch (const std::bad_alloc&) {
    fail_for_memory(fmt::format("{}: not enough memory", in));
  }
}

}  // namespace mollify::cli
