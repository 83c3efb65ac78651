// Writes JPEG, by libjpeg-turbo in the calling thread, coded as the source was.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "files/codec.h"
#include "files/jpeg_items.h"
#include "files/jpeg_library.h"
#include "files/memory_limit.h"

namespace mollify::files {
namespace {

using jpeg::Encoder;

constexpr int kDefaultQuality = 90;
constexpr int kLeastQualityOfFullChroma = 90;  // below it colour has half the resolution of light

void check_page(const Document& document) {
  if (document.pages.size() != 1) throw FileError("has " + std::to_string(document.pages.size()) + " pages, and JPEG holds one");
  const Page& page = document.pages.front();
  if (page.width > JPEG_MAX_DIMENSION || page.height > JPEG_MAX_DIMENSION) {
    throw FileError("is " + std::to_string(page.width) + "x" + std::to_string(page.height) +
                    " pixels large, and JPEG ends at 65500 in each direction");
  }
  if (page.width < 1 || page.height < 1) throw FileError("has no pixels");
  for (const Channel& channel : page.channels) {
    if (channel.type != NumberType::u8) throw FileError("has channels of other types than 8 bits, which JPEG does not hold");
  }
  const std::size_t count = page.channels.size();
  const bool fits = page.model == ColourModel::grey   ? count == 1
                    : page.model == ColourModel::rgb  ? count == 3
                    : page.model == ColourModel::cmyk ? count == 4
                                                      : page.model == ColourModel::other && count >= 1 && count <= MAX_COMPONENTS;
  if (!fits || page.alpha != AlphaKind::none) throw FileError("has channels that JPEG does not hold: it has grey, RGB or CMYK");
}

class JpegWriter final : public Writer {
 public:
  JpegWriter(ByteSink& sink, const Document& document, const WriteOptions& options)
      : sink_(sink), page_(document.pages.front()), source_(std::get_if<JpegCoding>(&page_.coding)), encoder_(sink) {
    if (source_ != nullptr && source_->components.size() != page_.channels.size()) source_ = nullptr;  // other channels than it had
    set_size_and_colour();
    set_tables(options);
    set_sampling(options);
    set_scans();
    if (info().num_scans > 1) check_memory(options.memory_bytes);
    jpeg::Layout layout = jpeg::layout_of(document, has_jfif(document), adobe_transform());
    after_ = std::move(layout.after);
    start(layout);
  }

  void write_rows(int, std::int32_t, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    for (std::int32_t row = 0; row < count;) {
      std::array<JSAMPROW, kRowsAtOnce> rows{};
      const std::int32_t wanted = std::min<std::int32_t>(count - row, kRowsAtOnce);
      for (std::int32_t i = 0; i < wanted; ++i) {
        rows[static_cast<std::size_t>(i)] =
            has_inverted_ink_ ? inverted(i, from + (row + i) * row_bytes) : const_cast<JSAMPROW>(from + (row + i) * row_bytes);
      }
      row += static_cast<std::int32_t>(jpeg_write_scanlines(&info(), rows.data(), static_cast<JDIMENSION>(wanted)));
    }
  }

  void finish() override {
    jpeg_finish_compress(&info());
    if (!after_.empty()) sink_.write_at(sink_.size(), after_);
  }

 private:
  static constexpr std::int32_t kRowsAtOnce = 16;

  jpeg_compress_struct& info() { return encoder_.info(); }
  /// Without libjpeg's bound of the array, which is for what a frame may have at most.
  std::span<jpeg_component_info> components() { return {info().comp_info, static_cast<std::size_t>(info().num_components)}; }

  void set_size_and_colour() {
    info().image_width = static_cast<JDIMENSION>(page_.width);
    info().image_height = static_cast<JDIMENSION>(page_.height);
    info().input_components = static_cast<int>(page_.channels.size());
    const bool is_direct = source_ != nullptr && source_->is_rgb;
    const auto set = [&](J_COLOR_SPACE in, J_COLOR_SPACE stored) {
      info().in_color_space = in;
      jpeg_set_defaults(&info());
      jpeg_set_colorspace(&info(), stored);
    };
    switch (page_.model) {
      case ColourModel::grey:
        set(JCS_GRAYSCALE, JCS_GRAYSCALE);
        break;
      case ColourModel::rgb:
        set(JCS_RGB, is_direct ? JCS_RGB : JCS_YCbCr);
        break;
      case ColourModel::cmyk:
        set(JCS_CMYK, is_direct ? JCS_CMYK : JCS_YCCK);
        break;
      default:
        set(JCS_UNKNOWN, JCS_UNKNOWN);
    }
    info().dct_method = JDCT_ISLOW;
    info().write_JFIF_header = FALSE;  // we write them, in the usual order
    info().write_Adobe_marker = FALSE;
    has_inverted_ink_ = page_.model == ColourModel::cmyk && (source_ == nullptr || source_->has_adobe_marker);
  }

  void set_tables(const WriteOptions& options) {
    if (options.quality || source_ == nullptr || source_->tables.empty()) {
      jpeg_set_quality(&info(), options.quality.value_or(kDefaultQuality), TRUE);
      return;
    }
    for (std::size_t i = 0; i < source_->tables.size() && i < NUM_QUANT_TBLS; ++i) {
      std::array<unsigned, DCTSIZE2> table{};
      std::copy(source_->tables[i].begin(), source_->tables[i].end(), table.begin());
      jpeg_add_quant_table(&info(), static_cast<int>(i), table.data(), 100, FALSE);
    }
    for (std::size_t c = 0; c < components().size(); ++c) components()[c].quant_tbl_no = source_->components[c].table;
  }

  void set_sampling(const WriteOptions& options) {
    if (source_ == nullptr) {
      const bool is_halved = info().jpeg_color_space == JCS_YCbCr && options.quality.value_or(kDefaultQuality) < kLeastQualityOfFullChroma;
      for (jpeg_component_info& each : components()) each.h_samp_factor = each.v_samp_factor = 1;
      if (is_halved) components()[0].h_samp_factor = components()[0].v_samp_factor = 2;
      return;
    }
    for (std::size_t c = 0; c < components().size(); ++c) {
      components()[c].component_id = source_->components[c].id;
      components()[c].h_samp_factor = source_->components[c].h;
      components()[c].v_samp_factor = source_->components[c].v;
    }
    info().restart_in_rows = source_->restart_rows;
    info().restart_interval = static_cast<unsigned>(source_->restart_interval);
  }

  /// Progressive where the source was; otherwise one scan, or one for each component where libjpeg cannot interleave them.
  void set_scans() {
    if (source_ != nullptr && source_->progressive) return jpeg_simple_progression(&info());
    int blocks = 0;
    for (const jpeg_component_info& each : components()) blocks += each.h_samp_factor * each.v_samp_factor;
    const int count = info().num_components;
    if (count == 1 || (count <= MAX_COMPS_IN_SCAN && blocks <= C_MAX_BLOCKS_IN_MCU)) return;
    for (int c = 0; c < count; ++c)
      scans_[static_cast<std::size_t>(c)] = {.comps_in_scan = 1, .component_index = {c}, .Ss = 0, .Se = 63, .Ah = 0, .Al = 0};
    info().scan_info = scans_.data();
    info().num_scans = count;
  }

  void check_memory(std::int64_t memory_bytes) {
    const std::int64_t bytes = jpeg::coefficient_bytes(info().comp_info, info().num_components, page_.width, page_.height);
    if (bytes <= memory_bytes) return;
    throw MemoryError("takes " + std::to_string(bytes) + " bytes to write as a progressive JPEG, more than the " +
                      std::to_string(memory_bytes) + " that may be used");
  }

  [[nodiscard]] bool has_rgb_ids() const {
    return source_ != nullptr && source_->components.size() == 3 && source_->components[0].id == 'R' && source_->components[1].id == 'G' &&
           source_->components[2].id == 'B';
  }
  /// Without an Adobe segment readers go by JFIF, which means YCbCr, and by the ids of the components.
  std::optional<int> adobe_transform() {
    const J_COLOR_SPACE stored = info().jpeg_color_space;
    const bool had = source_ != nullptr && source_->has_adobe_marker;
    const bool needs = stored == JCS_RGB ? !has_rgb_ids() : (stored == JCS_CMYK || stored == JCS_YCCK) && has_inverted_ink_;
    if (!had && !needs) return std::nullopt;
    return stored == JCS_YCbCr ? 1 : stored == JCS_YCCK ? 2 : 0;
  }
  bool has_jfif(const Document& document) {
    const J_COLOR_SPACE stored = info().jpeg_color_space;
    if (stored == JCS_RGB || stored == JCS_UNKNOWN) return false;
    if (source_ != nullptr && source_->has_jfif_marker) return true;
    const bool has_exif =
        std::any_of(document.items.begin(), document.items.end(), [](const Item& each) { return each.kind == ItemKind::exif; });
    const bool is_usual = stored == JCS_GRAYSCALE || stored == JCS_YCbCr;
    if (source_ == nullptr) return is_usual || page_.resolution.has_value();
    return page_.resolution.has_value() && !has_exif;
  }

  void start(const jpeg::Layout& layout) {
    jpeg_start_compress(&info(), TRUE);
    for (const jpeg::Segment& segment : layout.segments) {
      jpeg_write_marker(&info(), segment.marker, segment.payload.data(), static_cast<unsigned>(segment.payload.size()));
    }
  }

  std::uint8_t* inverted(std::int32_t slot, const std::uint8_t* row) {
    const auto count = static_cast<std::size_t>(page_.row_bytes());
    ink_.resize(count * kRowsAtOnce);
    std::uint8_t* result = ink_.data() + static_cast<std::size_t>(slot) * count;
    std::transform(row, row + count, result, [](std::uint8_t ink) { return static_cast<std::uint8_t>(255 - ink); });
    return result;
  }

  ByteSink& sink_;
  Page page_;
  const JpegCoding* source_;  ///< of `page_`
  Encoder encoder_;
  std::array<jpeg_scan_info, MAX_COMPONENTS> scans_{};
  bool has_inverted_ink_ = false;
  Bytes ink_;
  Bytes after_;
};

}  // namespace

CodecMemory memory_of_jpeg_writer(const Page& page) {
  const std::int64_t rows = jpeg::kRowsInWork * page.row_bytes();
  const auto* coding = std::get_if<JpegCoding>(&page.coding);
  if (coding == nullptr || coding->components.size() != page.channels.size()) return {rows, "some rows"};
  std::vector<jpeg_component_info> components;
  int blocks = 0;
  for (const JpegCoding::Component& each : coding->components) {
    jpeg_component_info info{};
    info.h_samp_factor = each.h;
    info.v_samp_factor = each.v;
    components.push_back(info);
    blocks += each.h * each.v;
  }
  const auto count = static_cast<int>(components.size());
  const bool is_one_scan = !coding->progressive && (count == 1 || (count <= MAX_COMPS_IN_SCAN && blocks <= C_MAX_BLOCKS_IN_MCU));
  if (is_one_scan) return {rows, "some rows"};
  return {rows + jpeg::coefficient_bytes(components.data(), count, page.width, page.height), "the coefficients of the progressive JPEG"};
}

std::unique_ptr<Writer> make_jpeg_writer(ByteSink& sink, const Document& document, const WriteOptions& options) {
  check_page(document);
  return std::make_unique<JpegWriter>(sink, document, options);
}

}  // namespace mollify::files
