#include "page_blur.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "base/transfer.h"
#include "failure.h"
#include "files/channels.h"

namespace mollify::cli {
namespace {

using files::ChannelGroup;
using files::ChannelRole;
using files::Grouping;
using files::NumberType;
using files::Page;
using files::PagePixels;
using files::RowRange;

Grouping grouping_of(const files::PageWork& work) {
  if (work.alpha == AlphaMode::premultiply) return Grouping::colour_with_alpha;
  return work.light == files::Light::as_stored && !work.changes_colours() ? Grouping::uniform : Grouping::colour_apart;
}

NumberType type_of(const Page& page, int channel) {
  return page.channels[static_cast<std::size_t>(channel)].type;
}

bool has_one_type(const Page& page, std::span<const int> channels) {
  return std::ranges::all_of(channels, [&](int c) { return type_of(page, c) == type_of(page, channels.front()); });
}

/// So many rows of an image.
ImageDesc rows_of(ImageDesc desc, RowRange rows) {
  desc.height = rows.count();
  return desc;
}

/// Pixels of 32-bit floats, interleaved.
class Canvas {
 public:
  Canvas(std::int32_t width, std::int32_t height, std::size_t channels)
      : width_(width),
        height_(height),
        channels_(channels),
        numbers_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * channels)) {}
  [[nodiscard]] float* row(std::int32_t y) {
    return numbers_.get() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) * channels_;
  }
  [[nodiscard]] std::size_t channels() const { return channels_; }
  [[nodiscard]] std::int32_t width() const { return width_; }
  [[nodiscard]] std::int32_t height() const { return height_; }

 private:
  std::int32_t width_, height_;
  std::size_t channels_;
  std::unique_ptr<float[]> numbers_;
};

/// `change(channel, value)` for the first `count` channels of every pixel.
template <class Change>
void change_numbers(const ImageView& image, int count, const Change& change) {
  const int channels = info(image.desc.format).channels;
  for (std::int32_t y = 0; y < image.desc.height; ++y) {
    auto* pixel = reinterpret_cast<float*>(image.row(y));
    for (std::int32_t x = 0; x < image.desc.width; ++x, pixel += channels) {
      for (int c = 0; c < count; ++c) pixel[c] = change(c, pixel[c]);
    }
  }
}

}  // namespace

Page grown_page(const files::PageWork& work) {
  Page page = work.from;
  page.width += work.grow.x.before + work.grow.x.after;
  page.height += work.grow.y.before + work.grow.y.after;
  return page;
}

/// What the library is asked for.
struct PageBlur::Request {
  ImageSpec spec;
  ImageDesc src, dst;      ///< of the whole page
  bool is_direct = false;  ///< in the types that are stored
};

/// Channels that go through the library together, and their places in the result.
struct PageBlur::Part {
  ChannelGroup of_source;
  std::vector<int> of_result;           ///< of the channels that are stored; -1: not in the result
  Request request{};                    ///< set behind the others, which it follows from
  std::unique_ptr<StripBlur> strips{};  ///< where the page is blurred in strips
};

PageBlur::PageBlur(std::string path, ImageBlurrer& blurrer, const BlurRequest& request, const files::PageWork& work, BlurReport& report)
    : path_(std::move(path)), blurrer_(blurrer), request_(request), work_(work), report_(report), source_(grown_page(work)) {
  add_parts();
}

PageBlur::~PageBlur() = default;

void PageBlur::add_parts() {
  for (ChannelGroup& channels : group_channels(source_, grouping_of(work_))) {
    Part& part = parts_.emplace_back(Part{std::move(channels), {}});
    for (int i = 0; i < part.of_source.stored; ++i)
      part.of_result.push_back(result_channel(part.of_source.channels[static_cast<std::size_t>(i)]));
    part.request = request_for(part);
    const Request& asked = part.request;
    if (const auto reason = blurrer_.reason_for_cpu(asked.spec, asked.src, asked.dst)) say_cpu(part, *reason);
  }
}

void PageBlur::say_cpu(const Part& part, const std::string& reason) {
  const NumberType from = type_of(source_, part.of_source.channels.front());
  const NumberType to = type_of(work_.blurred, part.of_result.front());
  const NumberType wide = files::is_wide(to) && !files::is_wide(from) ? to : from;
  std::string note = fmt::format("{} are blurred on the CPU, since {}", files::describe(wide), reason);
  if (std::ranges::find(report_.notes, note) == report_.notes.end()) report_.notes.push_back(std::move(note));
}

std::int64_t PageBlur::scratch_bytes(const files::PageWork& work) {
  const std::int64_t pixels = std::int64_t{work.blurred.width} * work.blurred.height;
  const auto is_wide = [](const files::Channel& channel) { return files::is_wide(channel.type); };
  const bool has_doubles = std::ranges::any_of(work.from.channels, is_wide) || std::ranges::any_of(work.blurred.channels, is_wide);
  const std::int64_t kFloats = 4 * (has_doubles ? 8 : 4);  // of one part
  const bool is_plain = !work.changes_colours() && has_one_type(work.from, std::vector<int>(1, 0));
  const auto channels = static_cast<std::int64_t>(work.from.channels.size());
  return is_plain ? pixels * kFloats : pixels * (2 * kFloats + 4 * channels);
}

int PageBlur::result_channel(int source_channel) const {
  const std::string& name = work_.from.channels[static_cast<std::size_t>(source_channel)].name;
  const auto& channels = work_.blurred.channels;
  const auto place = std::ranges::find(channels, name, &files::Channel::name);
  return place == channels.end() ? -1 : static_cast<int>(place - channels.begin());
}

void PageBlur::run(const PagePixels& src, const PagePixels& dst) {
  copy_kept(src, dst);
  if (work_.changes_colours()) return run_by_floats(src, dst);
  for (Part& part : parts_) run_part(part, src, dst);
}

void PageBlur::plan() {
  for (const Part& part : parts_) take(value_of(blurrer_.plan(part.request.spec, part.request.src, part.request.dst)));
}

Status PageBlur::prepare_strips(StripsFor purpose) {
  for (Part& part : parts_) {
    Result<std::unique_ptr<StripBlur>> strips = blurrer_.prepare_strips(part.request.spec, part.request.src, part.request.dst, purpose);
    if (!strips) return strips.error();
    take((*strips)->outcome());
    part.strips = *std::move(strips);
  }
  return {};
}

// All parts get the same rows. Channels that are kept need rows that are long gone when those of the result are made.
bool PageBlur::open_streams() {
  const auto is_kept = [](const files::Channel& channel) { return channel.role == ChannelRole::kept; };
  if (std::ranges::any_of(source_.channels, is_kept)) return false;
  if (!std::ranges::all_of(parts_, [&](const Part& part) { return part.strips->reading() == parts_.front().strips->reading(); }))
    return false;
  is_stream_ = std::ranges::all_of(parts_, [](Part& part) { return part.strips->open_stream(); });
  if (!is_stream_) close_streams();
  return is_stream_;
}

const Stream& PageBlur::stream() const {
  return *parts_.front().strips->stream();
}

std::int64_t PageBlur::rows_at_once() const {
  return is_stream_ ? parts_.front().strips->rows_at_once() : 1;
}

void PageBlur::close_streams() {
  for (Part& part : parts_) part.strips->close_stream();
  is_stream_ = false;
}

RowRange PageBlur::source_rows(RowRange rows) const {
  if (is_stream_) return parts_.front().strips->source_rows(rows);
  const std::int32_t top = work_.region ? work_.region->y : 0;
  RowRange all{rows.begin + top, rows.end + top};
  for (const Part& part : parts_) {
    const RowRange needed = part.strips->source_rows(rows);
    all = {std::min(all.begin, needed.begin), std::max(all.end, needed.end)};
  }
  return all;
}

std::int64_t PageBlur::most_source_rows(std::int64_t rows) const {
  // Kernels may be so far off their pixels that the rows in between are needed by none.
  std::int64_t most = std::min<std::int64_t>(rows, source_.height);
  for (const Part& part : parts_) most = std::max(most, part.strips->most_source_rows(rows));
  return most;
}

std::vector<std::int64_t> PageBlur::source_buffers(std::int64_t rows) const {
  const std::int64_t first = most_source_rows(rows);
  if (!is_stream_) return {first};
  const std::int64_t others = parts_.front().strips->most_new_rows(rows);
  return {std::max(first, others), others};
}

std::int64_t PageBlur::strip_scratch_bytes(std::int64_t rows) const {
  std::int64_t workspaces = 0, images = 0;
  for (const Part& part : parts_) {
    workspaces += part.strips->scratch_bytes(rows);
    if (is_whole(part)) continue;
    ImageDesc src = part.request.src, dst = part.request.dst;
    src.height = static_cast<std::int32_t>(part.strips->most_source_rows(rows));
    dst.height = static_cast<std::int32_t>(rows);
    images = std::max(images, WorkImage::bytes(src) + WorkImage::bytes(dst));
  }
  if (!work_.changes_colours()) return workspaces + images;
  const auto channels = static_cast<std::int64_t>(source_.channels.size());
  const std::int64_t row = 4 * std::int64_t{work_.blurred.width};
  return workspaces + images + row * (rows * channels + 8);
}

void PageBlur::reserve_strips(std::int32_t rows) {
  for (Part& part : parts_) value_of(part.strips->reserve(rows));
}

void PageBlur::copy_kept(const PagePixels& src, const PagePixels& dst) const {
  const Rect region = work_.region.value_or(Rect{0, 0, dst.page->width, dst.page->height});
  const std::int32_t first = region.y + dst.rows.begin - src.rows.begin;
  const PagePixels cut{src.page, src.data + first * src.row_bytes + region.x * src.page->pixel_bytes(), src.row_bytes, dst.rows};
  for (int c = 0; c < static_cast<int>(src.page->channels.size()); ++c) {
    if (src.page->channels[static_cast<std::size_t>(c)].role != ChannelRole::kept) continue;
    if (work_.repeated == c) {
      for (int to = 0; to < static_cast<int>(dst.page->channels.size()); ++to) files::copy_channel(cut, c, dst, to);
    } else if (const int to = result_channel(c); to >= 0) {
      files::copy_channel(cut, c, dst, to);
    }
  }
}

ImageSpec PageBlur::spec_for(const Part& part, double unit) const {
  ImageSpec spec;
  spec.region = work_.region;
  spec.kernel_scale = work_.kernel_scale;
  spec.are_bytes = type_of(source_, part.of_source.channels.front()) == NumberType::u8;
  spec.alpha = part.of_source.has_alpha ? work_.alpha : AlphaMode::ignore;
  spec.transfer = part.of_source.is_colour && work_.light == files::Light::srgb ? TransferFunction::srgb : TransferFunction::none;
  const std::vector<double>& values = request_.border_values;
  if (values.size() > 1) {
    if (values.size() != work_.from.channels.size()) {
      fail(fmt::format("{}: has {} channels, --border-value gives {} values", path_, work_.from.channels.size(), values.size()));
    }
    for (std::size_t i = 0; i < part.of_source.channels.size(); ++i)
      spec.border_value[i] = values[static_cast<std::size_t>(part.of_source.channels[i])];
  } else if (values.size() == 1) {
    spec.border_value.fill(values.front());
  }
  for (double& value : spec.border_value) value *= unit;
  return spec;
}

PageBlur::Request PageBlur::request_for(const Part& part) const {
  const Page& src = source_;
  const Page& dst = work_.blurred;
  const std::vector<int>& channels = part.of_source.channels;
  const int count = static_cast<int>(channels.size());
  const auto shape = [](const Page& page, PixelFormat format) { return ImageDesc{page.width, page.height, format}; };
  if (work_.changes_colours()) {
    const PixelFormat floats = *files::library_format(NumberType::f32, count);
    return {spec_for(part, 1.0), shape(src, floats), shape(dst, floats)};
  }
  const NumberType src_type = type_of(src, channels.front());
  const NumberType dst_type = type_of(dst, part.of_result.front());
  const bool is_wide = files::is_wide(src_type) || files::is_wide(dst_type);
  const PixelFormat floats = *files::library_format(is_wide ? NumberType::f64 : NumberType::f32, count);
  const auto src_format = files::library_format(src_type, count), dst_format = files::library_format(dst_type, count);
  ImageSpec spec = spec_for(part, files::full_scale(src_type) / (src_format ? info(*src_format).unit() : 1.0));
  const bool is_direct =
      src_format && dst_format && takes(*src_format, *dst_format, spec) && has_one_type(src, channels) && has_one_type(dst, part.of_result);
  if (!is_direct) spec = spec_for(part, files::full_scale(src_type));
  // The error that is usual for 32-bit floats is more than a step of wide integers.
  spec.is_exact = !is_direct && !files::is_float(src_type);
  return {spec, shape(src, is_direct ? *src_format : floats), shape(dst, is_direct ? *dst_format : floats), is_direct};
}

/// Whether the library makes the one of the other as the page says: it scales by what stands for 1, and has no colours in plain integers.
bool PageBlur::takes(PixelFormat src, PixelFormat dst, const ImageSpec& spec) const {
  const FormatInfo &from = info(src), &to = info(dst);
  const bool is_colour = spec.alpha != AlphaMode::ignore || spec.transfer != TransferFunction::none;
  if (is_colour && (from.is_integral() || to.is_integral())) return false;
  return src == dst || work_.factor(files::type_of(src), files::type_of(dst)) == to.unit() / from.unit();
}

/// Whether the pixels are the library's as they are stored.
bool PageBlur::is_whole(const Part& part) const {
  const std::vector<int>& channels = part.of_source.channels;
  return part.request.is_direct && channels.size() == source_.channels.size() && part.of_result.size() == work_.blurred.channels.size() &&
         std::ranges::is_sorted(channels) && std::ranges::equal(channels, part.of_result);
}

void PageBlur::run_part(Part& part, const PagePixels& src, const PagePixels& dst) {
  const Request& request = part.request;
  const ImageDesc from = rows_of(request.src, src.rows), to = rows_of(request.dst, dst.rows);
  if (is_whole(part)) return blur(part, {from, src.data, src.row_bytes}, src.rows.begin, {to, dst.data, dst.row_bytes}, dst.rows.begin);
  const WorkImage gathered(blurrer_, from);
  const WorkImage blurred(blurrer_, to);
  files::gather(src, part.of_source.channels, gathered.view());
  blur(part, gathered.view(), src.rows.begin, blurred.view(), dst.rows.begin);
  std::vector<double> factors;
  for (std::size_t i = 0; i < part.of_result.size(); ++i) {
    const NumberType before = type_of(source_, part.of_source.channels[i]), after = type_of(work_.blurred, part.of_result[i]);
    factors.push_back(request.is_direct ? 1.0 : work_.factor(before, after));
  }
  files::scatter(blurred.view(), part.of_result, factors, dst);
}

void PageBlur::blur(Part& part, const ImageView& src, std::int32_t src_row, const ImageView& dst, std::int32_t dst_row) {
  if (part.strips) return value_of(part.strips->run({src, 0, src_row}, {dst, 0, dst_row}));
  take(value_of(blurrer_.run(part.request.spec, src, dst)));
}

// All channels become 32-bit floats of full scale 1, and go back to their types when everything is done to them.
void PageBlur::run_by_floats(const PagePixels& src, const PagePixels& dst) {
  const Page& from = *src.page;
  Canvas canvas(dst.page->width, dst.rows.count(), from.channels.size());
  std::optional<files::ToneCurves> curves;
  if (work_.light == files::Light::curves) curves.emplace(*work_.space);
  for (Part& part : parts_) {
    const int count = static_cast<int>(part.of_source.channels.size());
    const int colours = part.of_source.is_colour ? count - (part.of_source.has_alpha ? 1 : 0) : 0;
    std::array<float, 4> scales{};  // from the type of each channel to fractions
    for (int c = 0; c < count; ++c)
      scales[static_cast<std::size_t>(c)] =
          static_cast<float>(1.0 / files::full_scale(type_of(from, part.of_source.channels[static_cast<std::size_t>(c)])));
    const WorkImage gathered(blurrer_, rows_of(part.request.src, src.rows));
    const WorkImage blurred(blurrer_, rows_of(part.request.dst, dst.rows));
    files::gather(src, part.of_source.channels, gathered.view());
    change_numbers(gathered.view(), count, [&](int c, float v) { return v * scales[static_cast<std::size_t>(c)]; });
    if (work_.negates) change_numbers(gathered.view(), colours, [](int, float v) { return 1.0F - v; });
    if (curves) change_numbers(gathered.view(), colours, [&](int c, float v) { return curves->decode(c, v); });
    blur(part, gathered.view(), src.rows.begin, blurred.view(), dst.rows.begin);
    if (curves) change_numbers(blurred.view(), colours, [&](int c, float v) { return curves->encode(c, v); });
    for (std::int32_t y = 0; y < canvas.height(); ++y) {
      const auto* in = reinterpret_cast<const float*>(blurred.view().row(y));
      float* out = canvas.row(y);
      for (std::int32_t x = 0; x < canvas.width(); ++x, in += count, out += canvas.channels()) {
        for (int i = 0; i < part.of_source.stored; ++i) out[part.of_source.channels[static_cast<std::size_t>(i)]] = in[i];
      }
    }
  }

  // Places of the plain layer's colours and alpha in the source.
  std::vector<int> colours;
  int alpha = -1;
  for (int c = 0; c < static_cast<int>(from.channels.size()); ++c) {
    const files::Channel& channel = from.channels[static_cast<std::size_t>(c)];
    if (!files::layer_of(channel.name).empty()) continue;
    if (channel.role == ChannelRole::colour) colours.push_back(c);
    if (channel.role == ChannelRole::alpha && alpha < 0) alpha = c;
  }
  std::optional<files::ColourTransform> transform;
  if (work_.colour) transform.emplace(*work_.space, *work_.colour);

  const Page& to = *dst.page;
  std::vector<int> sources(to.channels.size(), -1);  // channel of the source that a channel of the result comes from
  std::vector<int> places;                           // of the result's colours of the plain layer
  for (int c = 0; c < static_cast<int>(to.channels.size()); ++c) {
    const files::Channel& channel = to.channels[static_cast<std::size_t>(c)];
    if (channel.role == ChannelRole::kept) continue;
    if (channel.role == ChannelRole::colour && files::layer_of(channel.name).empty()) {
      places.push_back(c);
      continue;
    }
    const auto same = std::ranges::find(from.channels, channel.name, &files::Channel::name);
    sources[static_cast<std::size_t>(c)] = static_cast<int>(same - from.channels.begin());
  }

  std::vector<float> in(static_cast<std::size_t>(to.width) * 4), out(static_cast<std::size_t>(to.width) * 4);
  for (std::int32_t y = 0; y < canvas.height(); ++y) {
    float* row = canvas.row(y);
    for (std::int32_t x = 0; x < to.width; ++x) {
      const float* pixel = row + static_cast<std::size_t>(x) * canvas.channels();
      const float a = alpha < 0 ? 1.0F : pixel[alpha];
      const float divisor = work_.divides_by_alpha ? (a == 0.0F ? 0.0F : 1.0F / a) : 1.0F;
      for (std::size_t i = 0; i < colours.size() && i < 4; ++i) in[4 * static_cast<std::size_t>(x) + i] = pixel[colours[i]] * divisor;
    }
    if (transform) {
      transform->run(in.data(), 4, out.data(), 4, static_cast<std::size_t>(to.width));
    } else {
      std::swap(in, out);
    }
    for (std::int32_t x = 0; x < to.width; ++x) {
      const float* pixel = row + static_cast<std::size_t>(x) * canvas.channels();
      const float a = alpha < 0 ? 1.0F : pixel[alpha];
      for (std::size_t i = 0; i < places.size(); ++i) {
        float v = out[4 * static_cast<std::size_t>(x) + (work_.repeated ? 0 : std::min<std::size_t>(i, 3))];
        if (work_.flatten) v = v * a + static_cast<float>((*work_.flatten)[std::min<std::size_t>(i, 3)]) * (1.0F - a);
        if (work_.multiplies_by_alpha) v *= a;
        if (work_.negates && to.white_is_zero) v = 1.0F - v;
        const files::Channel& channel = to.channels[static_cast<std::size_t>(places[i])];
        files::store_number(channel.type, v * files::full_scale(channel.type),
                            dst.data + y * dst.row_bytes + x * to.pixel_bytes() + files::channel_offset(to, places[i]));
      }
      for (int c = 0; c < static_cast<int>(sources.size()); ++c) {
        if (sources[static_cast<std::size_t>(c)] < 0) continue;
        const files::Channel& channel = to.channels[static_cast<std::size_t>(c)];
        files::store_number(channel.type, pixel[sources[static_cast<std::size_t>(c)]] * files::full_scale(channel.type),
                            dst.data + y * dst.row_bytes + x * to.pixel_bytes() + files::channel_offset(to, c));
      }
    }
  }
}

void PageBlur::take(const BlurOutcome& outcome) {
  report_.algorithms.insert(outcome.algorithm);
  report_.predicted_error = std::max(report_.predicted_error, outcome.predicted_error);
}

template <class T>
T PageBlur::value_of(Result<T> result) const {
  const bool lacks_memory = !result && result.error().code == ErrorCode::out_of_memory;
  if (lacks_memory) fail_for_memory(fmt::format("{}: {}", path_, one_line(result.error())));
  return value_or_fail(std::move(result), path_);
}

}  // namespace mollify::cli
