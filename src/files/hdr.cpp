// Radiance HDR (RGBE and XYZE): three mantissas of 8 bits and one exponent for each pixel.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "files/codec.h"

namespace mollify::files {
namespace {

constexpr int kExponentBias = 128;
constexpr int kMantissaBits = 8;
// Lines of other widths are stored without runs: their first pixel could not be told from the mark of a line with runs.
constexpr std::int32_t kLeastRunWidth = 8;
constexpr std::int32_t kMostRunWidth = 32767;
constexpr std::string_view kRgbe = "32-bit_rle_rgbe";
constexpr std::string_view kXyze = "32-bit_rle_xyze";

using Pixel = std::array<std::uint8_t, 4>;

/// The line that says the size has an axis for rows and one for columns. Exif's orientation for each of the eight orders.
struct AxisOrder {
  std::string_view rows, columns;
  Orientation orientation;
};
constexpr std::array<AxisOrder, 8> kAxisOrders = {{{"-Y", "+X", 1},
                                                   {"-Y", "-X", 2},
                                                   {"+Y", "-X", 3},
                                                   {"+Y", "+X", 4},
                                                   {"+X", "-Y", 5},
                                                   {"-X", "-Y", 6},
                                                   {"-X", "+Y", 7},
                                                   {"+X", "+Y", 8}}};

/// Bytes of the source one after the other.
class ByteCursor {
 public:
  explicit ByteCursor(ByteSource& source) : source_(source) {}
  std::uint8_t next() {
    if (at_ == buffer_.size()) refill();
    return buffer_[at_++];
  }
  [[nodiscard]] std::int64_t position() const { return begin_ + static_cast<std::int64_t>(at_); }

 private:
  void refill() {
    constexpr std::size_t kBlock = 1 << 16;
    begin_ += static_cast<std::int64_t>(buffer_.size());
    buffer_.resize(kBlock);
    buffer_.resize(source_.read_at(begin_, buffer_));
    at_ = 0;
    if (buffer_.empty()) throw FileError("is cut off");
  }
  ByteSource& source_;
  Bytes buffer_;
  std::int64_t begin_ = 0;
  std::size_t at_ = 0;
};

/// What a mantissa of 1 is worth with each exponent; with 0 all pixels are black.
const std::array<float, 256>& mantissa_steps() {
  static const std::array<float, 256> steps = [] {
    std::array<float, 256> made{};
    for (int exponent = 1; exponent < 256; ++exponent) {
      made[static_cast<std::size_t>(exponent)] = std::ldexp(1.0F, exponent - kExponentBias - kMantissaBits);
    }
    return made;
  }();
  return steps;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t space = std::min(line.find_first_of(" \t\r"), line.size());
    if (space > 0) words.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

template <class Number>
std::optional<Number> number_of(std::string_view word) {
  Number number{};
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// PRIMARIES has red, green, blue, white; the item has white first.

std::optional<Bytes> chromaticities_of(std::string_view text) {
  std::vector<float> numbers;
  for (const std::string_view word : words_of(text)) numbers.push_back(number_of<float>(word).value_or(NAN));
  constexpr std::size_t kCount = 8;
  if (numbers.size() != kCount || std::any_of(numbers.begin(), numbers.end(), [](float each) { return !std::isfinite(each); }))
    return std::nullopt;
  std::rotate(numbers.begin(), numbers.begin() + 6, numbers.end());
  Bytes bytes(kCount * sizeof(float));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

std::string primaries_of(const Item& item) {
  std::array<float, 8> numbers;
  if (item.data.size() != sizeof numbers) unaccounted(item, FileFormat::hdr);
  std::memcpy(numbers.data(), item.data.data(), sizeof numbers);
  std::rotate(numbers.begin(), numbers.begin() + 2, numbers.end());
  std::string text = "PRIMARIES=";
  for (const float number : numbers) {
    std::array<char, 32> digits;
    text += ' ';
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
  }
  return text;
}

class HdrReader final : public Reader {
 public:
  HdrReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
      : source_(std::move(source)), cursor_(*source_), budget_(options.memory_bytes) {
    document_.format = FileFormat::hdr;
    document_.pages.emplace_back();
    read_header();
    read_size(line());
  }
  [[nodiscard]] const Document& document() const override { return document_; }
  [[nodiscard]] const Messages& messages() const override { return messages_; }

  void read_rows(int /*page*/, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) override {
    const Page& page = document_.pages.front();
    row_.resize(static_cast<std::size_t>(page.width));
    skip_to(y);
    for (std::int32_t i = 0; i < count; ++i, ++next_row_, into += row_bytes) {
      read_row();
      for (std::size_t x = 0; x < row_.size(); ++x) {
        const Pixel& pixel = row_[x];
        const float step = mantissa_steps()[pixel[3]];
        const std::array<float, 3> numbers = {static_cast<float>(pixel[0]) * step, static_cast<float>(pixel[1]) * step,
                                              static_cast<float>(pixel[2]) * step};
        std::memcpy(into + x * sizeof numbers, numbers.data(), sizeof numbers);
      }
    }
    if (next_row_ == page.height) look_behind();
  }

  [[nodiscard]] std::optional<CodecMemory> memory_of(int /*page*/) const override {
    return CodecMemory{document_.pages.front().row_bytes() + (1 << 20), "a row"};
  }

  void finish(int /*page*/) override {
    if (next_row_ == document_.pages.front().height) return;
    skip_to(document_.pages.front().height);
    look_behind();
  }

 private:
  void skip_to(std::int32_t y) {
    for (; next_row_ < y; ++next_row_) read_row();
  }

  void look_behind() {
    if (const std::int64_t left = source_->size() - cursor_.position(); left > 0) {
      messages_.add(std::to_string(left) + " bytes after the end of the picture are left out");
    }
  }

  std::string line() {
    std::string text;
    for (;;) {
      const std::uint8_t byte = cursor_.next();
      if (byte == '\n') return text;
      if (--budget_ < 0) throw FileError("has a header that is longer than may be used");
      text.push_back(static_cast<char>(byte));
    }
  }

  void read_header() {
    Page& page = document_.pages.front();
    std::string_view kind = kRgbe;
    const std::string first = line();  // "#?RADIANCE" or the name of another program
    if (first != "#?RADIANCE" && first != "#?RADIANCE\r") add_line(page, first);
    for (std::string text = line(); !text.empty() && text != "\r"; text = line()) {
      if (!text.starts_with("FORMAT=")) {
        add_line(page, text);
        continue;
      }
      const std::vector<std::string_view> words = words_of(std::string_view(text).substr(7));
      const std::string_view stored = words.size() == 1 ? words[0] : std::string_view();
      kind = stored == kXyze ? kXyze : kRgbe;
      if (stored != kind) throw FileError("stores pixels as \"" + text.substr(7, 40) + "\", which is no kind of HDR file");
    }
    const bool is_xyz = kind == kXyze;
    for (const std::string_view name : is_xyz ? std::array{"X", "Y", "Z"} : std::array{"R", "G", "B"}) {
      page.channels.push_back({std::string(name), NumberType::f32, is_xyz ? ChannelRole::data : ChannelRole::colour});
    }
    if (!is_xyz) return;
    page.model = ColourModel::other;
    messages_.add("the colours are CIE XYZ, not RGB");
  }

  /// "EXPOSURE=2" has a name and a value, a comment and the command of a program that made the file have no name.
  static void add_line(Page& page, const std::string& text) {
    Item item{.kind = ItemKind::attribute, .name = {}, .data = {}};
    std::string value = text;
    const std::size_t equals = text.find('=');
    const bool has_name = equals != std::string::npos && equals > 0 && text.find_first_of(" \t#") > equals;
    if (has_name) {
      item.name = text.substr(0, equals);
      value = text.substr(equals + 1);
    }
    item.data.assign(value.begin(), value.end());
    if (item.name == "PRIMARIES") {
      if (std::optional<Bytes> numbers = chromaticities_of(value)) {
        item.kind = ItemKind::light_primaries;
        item.data = std::move(*numbers);
      }
    }
    page.items.push_back(std::move(item));
  }

  void read_size(const std::string& text) {
    Page& page = document_.pages.front();
    const std::vector<std::string_view> words = words_of(text);
    if (words.size() == 4) {
      const auto rows = number_of<std::int32_t>(words[1]);
      const auto columns = number_of<std::int32_t>(words[3]);
      for (const AxisOrder& order : kAxisOrders) {
        if (words[0] != order.rows || words[2] != order.columns || !rows || !columns || *rows < 1 || *columns < 1) continue;
        page.height = *rows;
        page.width = *columns;
        page.orientation = order.orientation;
        check_size();
        return;
      }
    }
    throw FileError("has no valid size in its header");
  }

  /// A row of several pixels takes a pixel and a run at least.
  void check_size() const {
    const Page& page = document_.pages.front();
    constexpr std::int64_t kPixel = sizeof(Pixel);
    const std::int64_t least = (page.width == 1 ? kPixel : 2 * kPixel) * page.height;
    if (least > source_->size() - cursor_.position()) throw FileError("is cut off");
    if (page.width * kPixel > budget_) throw FileError("has rows that are longer than may be used");
  }

  void read_row() {
    Pixel first = next_pixel();
    const std::int32_t width = document_.pages.front().width;
    const bool has_runs = width >= kLeastRunWidth && width <= kMostRunWidth && first[0] == 2 && first[1] == 2 && first[2] < 128;
    if (!has_runs) return read_old_row(first);
    if ((first[2] << 8 | first[3]) != width) throw FileError("is damaged: a row has another width than the header says");
    for (std::size_t channel = 0; channel < first.size(); ++channel) read_runs(channel);
  }

  Pixel next_pixel() {
    Pixel pixel;
    for (std::uint8_t& each : pixel) each = cursor_.next();
    return pixel;
  }

  /// Pixels one by one. Three ones and a count repeat the pixel before; counts that follow each other are digits of one number.
  void read_old_row(Pixel pixel) {
    std::size_t x = 0;
    int shift = 0;
    for (;;) {
      if (pixel[0] == 1 && pixel[1] == 1 && pixel[2] == 1) {
        constexpr int kMostShift = 24;
        const std::uint64_t count = shift > kMostShift ? row_.size() + 1 : std::uint64_t{pixel[3]} << shift;
        if (count > row_.size() - x || (x == 0 && count > 0)) throw FileError("is damaged: a run of pixels is longer than its row");
        for (std::uint64_t i = 0; i < count; ++i, ++x) row_[x] = row_[x - 1];
        shift += 8;
      } else {
        row_[x++] = pixel;
        shift = 0;
      }
      if (x == row_.size()) return;
      pixel = next_pixel();
    }
  }

  /// One channel of a row: a count above 128 repeats the next byte, others say how many bytes follow.
  void read_runs(std::size_t channel) {
    for (std::size_t x = 0; x < row_.size();) {
      const std::uint8_t code = cursor_.next();
      const bool repeats = code > 128;
      const std::size_t count = repeats ? code - 128U : code;
      if (count == 0 || count > row_.size() - x) throw FileError("is damaged: a run of bytes is longer than its row");
      std::uint8_t value = cursor_.next();
      for (std::size_t i = 0; i < count; ++i, ++x) {
        if (i > 0 && !repeats) value = cursor_.next();
        row_[x][channel] = value;
      }
    }
  }

  std::unique_ptr<ByteSource> source_;
  ByteCursor cursor_;
  std::int64_t budget_;
  Document document_;
  Messages messages_;
  std::vector<Pixel> row_;
  std::int32_t next_row_ = 0;
};

class HdrWriter final : public Writer {
 public:
  HdrWriter(ByteSink& sink, const Document& document) : sink_(sink) {
    if (document.pages.size() != 1) throw FileError("an HDR file holds one page, not " + std::to_string(document.pages.size()));
    const Page& page = document.pages.front();
    width_ = page.width;
    height_ = page.height;
    check_channels(page);
    std::string header = "#?RADIANCE\n";
    bool first = true;
    for (const std::vector<Item>& items : {document.items, page.items}) {
      for (const Item& item : items) {
        const std::string text = line_of(item);
        const bool is_signature = text.starts_with("#?RADIANCE") || text.starts_with("#?RGBE");
        if (first && is_signature) header.clear();  // that of the source takes its place
        first = false;
        if (!text.empty()) header += text + "\n";
      }
    }
    header += "FORMAT=" + std::string(page.channels[0].name == "X" ? kXyze : kRgbe) + "\n\n";
    const AxisOrder& order = kAxisOrders[static_cast<std::size_t>(std::clamp(page.orientation, 1, 8) - 1)];
    header +=
        std::string(order.rows) + " " + std::to_string(height_) + " " + std::string(order.columns) + " " + std::to_string(width_) + "\n";
    out_.assign(header.begin(), header.end());
  }

  void write_rows(int /*page*/, std::int32_t /*y*/, std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) override {
    row_.resize(static_cast<std::size_t>(width_));
    for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
      for (std::size_t x = 0; x < row_.size(); ++x) {
        std::array<float, 3> numbers;
        std::memcpy(numbers.data(), from + x * sizeof numbers, sizeof numbers);
        row_[x] = nearest(numbers);
      }
      write_row();
      constexpr std::size_t kMostGathered = 1 << 16;
      if (out_.size() >= kMostGathered) flush();
    }
  }

  void finish() override {
    flush();
    const auto tell = [&](std::int64_t count, const char* what) {
      if (count > 0) messages_.add(std::to_string(count) + (count == 1 ? " number" : " numbers") + what);
    };
    tell(below_zero_, " below zero became 0, as HDR files hold none");
    tell(too_large_, " above 1.69e38 became that, the largest of HDR files");
    tell(not_a_number_, " that were NaN became 0, as HDR files hold none");
  }
  [[nodiscard]] const Messages& messages() const override { return messages_; }

 private:
  static void check_channels(const Page& page) {
    std::string names;
    for (const Channel& channel : page.channels) {
      if (channel.type != NumberType::f32)
        throw FileError("an HDR file is made of 32-bit floats; channel " + channel.name + " is of another type");
      names += channel.name;
    }
    if (names != "RGB" && names != "XYZ") throw FileError("an HDR file holds the channels R, G and B and no others");
  }

  static std::string line_of(const Item& item) {
    switch (item.kind) {
      case ItemKind::light_primaries:
        return primaries_of(item);
      case ItemKind::attribute:
        if (!item.detail.empty()) break;  // an attribute of OpenEXR
        [[fallthrough]];
      case ItemKind::text:
        if (item.name == "FORMAT") return "# FORMAT=" + one_line(item.data);  // the header has one already
        return (item.name.empty() ? "" : item.name + "=") + one_line(item.data);
      case ItemKind::comment:
        return "# " + one_line(item.data);
      default:
        break;
    }
    unaccounted(item, FileFormat::hdr);
  }

  /// A line break would end the header line, and an empty line the header.
  static std::string one_line(const Bytes& data) {
    std::string text(data.begin(), data.end());
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  Pixel nearest(std::array<float, 3>& numbers) {
    constexpr float kLargest = 0x1.FEp126F;  // a mantissa of 255 with the exponent 127
    for (float& number : numbers) {
      if (std::isnan(number)) {
        ++not_a_number_;
        number = 0;
      } else if (number < 0) {
        ++below_zero_;
        number = 0;
      } else if (number > kLargest) {
        ++too_large_;
        number = kLargest;
      }
    }
    const float largest = std::max({numbers[0], numbers[1], numbers[2]});
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::max(exponent, 1 - kExponentBias);
    const auto mantissa = [&](float number) { return std::nearbyint(std::ldexp(number, kMantissaBits - exponent)); };
    constexpr float kMantissas = 256;
    if (mantissa(largest) >= kMantissas) ++exponent;
    if (mantissa(largest) == 0) return {0, 0, 0, 0};
    Pixel pixel;
    for (std::size_t i = 0; i < numbers.size(); ++i) pixel[i] = static_cast<std::uint8_t>(mantissa(numbers[i]));
    pixel[3] = static_cast<std::uint8_t>(exponent + kExponentBias);
    return pixel;
  }

  void write_row() {
    if (width_ < kLeastRunWidth || width_ > kMostRunWidth) {
      for (const Pixel& pixel : row_) out_.insert(out_.end(), pixel.begin(), pixel.end());
      return;
    }
    out_.insert(out_.end(), {2, 2, static_cast<std::uint8_t>(width_ >> 8), static_cast<std::uint8_t>(width_ & 255)});
    for (std::size_t channel = 0; channel < 4; ++channel) write_runs(channel);
  }

  void write_runs(std::size_t channel) {
    constexpr std::size_t kMostRepeated = 127;
    constexpr std::size_t kMostPlain = 128;
    constexpr std::size_t kLeastRepeated = 4;  // a shorter run costs as much as it saves
    const auto at = [&](std::size_t x) { return row_[x][channel]; };
    const auto run_at = [&](std::size_t x) {
      std::size_t end = x + 1;
      while (end < row_.size() && end - x < kMostRepeated && at(end) == at(x)) ++end;
      return end - x;
    };
    for (std::size_t x = 0; x < row_.size();) {
      if (const std::size_t run = run_at(x); run >= kLeastRepeated) {
        out_.insert(out_.end(), {static_cast<std::uint8_t>(128 + run), at(x)});
        x += run;
        continue;
      }
      std::size_t end = x + 1;
      while (end < row_.size() && end - x < kMostPlain && run_at(end) < kLeastRepeated) ++end;
      out_.push_back(static_cast<std::uint8_t>(end - x));
      for (; x < end; ++x) out_.push_back(at(x));
    }
  }

  void flush() {
    sink_.write_at(written_, out_);
    written_ += static_cast<std::int64_t>(out_.size());
    out_.clear();
  }

  ByteSink& sink_;
  std::int32_t width_ = 0;
  std::int32_t height_ = 0;
  std::vector<Pixel> row_;
  Bytes out_;
  std::int64_t written_ = 0;
  std::int64_t below_zero_ = 0;
  std::int64_t too_large_ = 0;
  std::int64_t not_a_number_ = 0;
  Messages messages_;
};

}  // namespace

std::unique_ptr<Reader> open_hdr(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  return std::make_unique<HdrReader>(std::move(source), options);
}
CodecMemory memory_of_hdr_writer(const Page& page) {
  constexpr std::int64_t kGathered = 1 << 18;
  return {2 * page.row_bytes() + kGathered, "a row"};
}
std::unique_ptr<Writer> make_hdr_writer(ByteSink& sink, const Document& document, const WriteOptions& /*options*/) {
  return std::make_unique<HdrWriter>(sink, document);
}

}  // namespace mollify::files
