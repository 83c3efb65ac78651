#include "page_blur.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Pixels of 32-bit floats, interleaved.
class Canvas {
 public:
  Canvas(const Page& page, std::size_t channels)
      : width_(page.width),
        height_(page.height),
        channels_(channels),
        numbers_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(page.width) * static_cast<std::size_t>(page.height) *
                                                         channels)) {}
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

/// Channels that go through the library together, and their places in the result.
struct PageBlur::Group {
  ChannelGroup of_source;
  std::vector<int> of_result;  ///< of the channels that are stored; -1: not in the result
};

/// What the library is asked for.
struct PageBlur::Request {
  ImageSpec spec;
  ImageDesc src, dst;
  bool is_direct = false;  ///< in the types that are stored
};

std::int64_t PageBlur::scratch_bytes(const files::PageWork& work) {
  const std::int64_t pixels = std::int64_t{work.blurred.width} * work.blurred.height;
  constexpr std::int64_t kFloats = 4 * 4;  // of one group
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

void PageBlur::run(const PagePixels& src, const PagePixels& dst) const {
  copy_kept(src, dst);
  if (work_.changes_colours()) return run_by_floats(src, dst);
  for (const Group& group : groups_of(*src.page)) run_group(group, src, dst);
}

void PageBlur::plan(const Page& src, const Page& dst) const {
  for (const Group& group : groups_of(src)) {
    const Request request = request_for(group, src, dst);
    take(blurrer_.plan(request.spec, request.src, request.dst));
  }
}

std::vector<PageBlur::Group> PageBlur::groups_of(const Page& src) const {
  std::vector<Group> groups;
  for (ChannelGroup& channels : group_channels(src, grouping_of(work_))) {
    Group& group = groups.emplace_back(Group{std::move(channels), {}});
    for (int i = 0; i < group.of_source.stored; ++i)
      group.of_result.push_back(result_channel(group.of_source.channels[static_cast<std::size_t>(i)]));
  }
  return groups;
}

void PageBlur::copy_kept(const PagePixels& src, const PagePixels& dst) const {
  const Rect region = work_.region.value_or(Rect{0, 0, dst.page->width, dst.page->height});
  const PagePixels cut{src.page, src.data + region.y * src.row_bytes + region.x * src.page->pixel_bytes(), src.row_bytes};
  for (int c = 0; c < static_cast<int>(src.page->channels.size()); ++c) {
    if (src.page->channels[static_cast<std::size_t>(c)].role != ChannelRole::kept) continue;
    if (work_.repeated == c) {
      for (int to = 0; to < static_cast<int>(dst.page->channels.size()); ++to) files::copy_channel(cut, c, dst, to);
    } else if (const int to = result_channel(c); to >= 0) {
      files::copy_channel(cut, c, dst, to);
    }
  }
}

ImageSpec PageBlur::spec_for(const Group& group, double unit) const {
  ImageSpec spec;
  spec.region = work_.region;
  spec.kernel_scale = work_.kernel_scale;
  spec.alpha = group.of_source.has_alpha ? work_.alpha : AlphaMode::ignore;
  spec.transfer = group.of_source.is_colour && work_.light == files::Light::srgb ? TransferFunction::srgb : TransferFunction::none;
  const std::vector<double>& values = request_.border_values;
  if (values.size() > 1) {
    if (values.size() != work_.from.channels.size()) {
      fail(fmt::format("{}: has {} channels, --border-value gives {} values", path_, work_.from.channels.size(), values.size()));
    }
    for (std::size_t i = 0; i < group.of_source.channels.size(); ++i)
      spec.border_value[i] = values[static_cast<std::size_t>(group.of_source.channels[i])];
  } else if (values.size() == 1) {
    spec.border_value.fill(values.front());
  }
  for (double& value : spec.border_value) value *= unit;
  return spec;
}

PageBlur::Request PageBlur::request_for(const Group& group, const Page& src, const Page& dst) const {
  const std::vector<int>& channels = group.of_source.channels;
  const int count = static_cast<int>(channels.size());
  const auto shape = [](const Page& page, PixelFormat format) { return ImageDesc{page.width, page.height, format}; };
  const PixelFormat floats = *files::library_format(NumberType::f32, count);
  if (work_.changes_colours()) return {spec_for(group, 1.0), shape(src, floats), shape(dst, floats)};
  const NumberType src_type = type_of(src, channels.front());
  const NumberType dst_type = type_of(dst, group.of_result.front());
  const bool is_colour_scale = src_type == dst_type || work_.factor == files::full_scale(dst_type) / files::full_scale(src_type);
  const auto src_format = files::library_format(src_type, count), dst_format = files::library_format(dst_type, count);
  const bool is_direct = src_format && dst_format && is_colour_scale && has_one_type(src, channels) && has_one_type(dst, group.of_result);
  ImageSpec spec = spec_for(group, is_direct ? 1.0 : files::full_scale(src_type));
  // The error that is usual for 32-bit floats is more than a step of wide integers.
  spec.is_exact = !is_direct && !files::is_float(src_type);
  return {std::move(spec), shape(src, is_direct ? *src_format : floats), shape(dst, is_direct ? *dst_format : floats), is_direct};
}

void PageBlur::run_group(const Group& group, const PagePixels& src, const PagePixels& dst) const {
  const std::vector<int>& channels = group.of_source.channels;
  const std::span<const int> stored(group.of_result);
  const Request request = request_for(group, *src.page, *dst.page);
  const bool is_whole = request.is_direct && channels.size() == src.page->channels.size() && stored.size() == dst.page->channels.size() &&
                        std::ranges::is_sorted(channels) && std::ranges::equal(channels, stored);
  if (is_whole) return run_views(request.spec, {request.src, src.data, src.row_bytes}, {request.dst, dst.data, dst.row_bytes});
  const WorkImage gathered(blurrer_, request.src);
  const WorkImage blurred(blurrer_, request.dst);
  files::gather(src, channels, gathered.view());
  run_views(request.spec, gathered.view(), blurred.view());
  files::scatter(blurred.view(), stored, request.is_direct ? 1.0 : work_.factor, dst);
}

// All channels become 32-bit floats of full scale 1, and go back to their types when everything is done to them.
void PageBlur::run_by_floats(const PagePixels& src, const PagePixels& dst) const {
  const Page& from = *src.page;
  Canvas canvas(*dst.page, from.channels.size());
  std::optional<files::ToneCurves> curves;
  if (work_.light == files::Light::curves) curves.emplace(*work_.space);
  for (const Group& group : groups_of(from)) {
    const int count = static_cast<int>(group.of_source.channels.size());
    const int colours = group.of_source.is_colour ? count - (group.of_source.has_alpha ? 1 : 0) : 0;
    const double unit = files::full_scale(type_of(from, group.of_source.channels.front()));
    const Request request = request_for(group, from, *dst.page);
    const WorkImage gathered(blurrer_, request.src);
    const WorkImage blurred(blurrer_, request.dst);
    files::gather(src, group.of_source.channels, gathered.view());
    const auto scale = static_cast<float>(1.0 / unit);
    change_numbers(gathered.view(), count, [&](int, float v) { return v * scale; });
    if (work_.negates) change_numbers(gathered.view(), colours, [](int, float v) { return 1.0F - v; });
    if (curves) change_numbers(gathered.view(), colours, [&](int c, float v) { return curves->decode(c, v); });
    run_views(request.spec, gathered.view(), blurred.view());
    if (curves) change_numbers(blurred.view(), colours, [&](int c, float v) { return curves->encode(c, v); });
    for (std::int32_t y = 0; y < canvas.height(); ++y) {
      const auto* in = reinterpret_cast<const float*>(blurred.view().row(y));
      float* out = canvas.row(y);
      for (std::int32_t x = 0; x < canvas.width(); ++x, in += count, out += canvas.channels()) {
        for (int i = 0; i < group.of_source.stored; ++i) out[group.of_source.channels[static_cast<std::size_t>(i)]] = in[i];
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
  for (std::int32_t y = 0; y < to.height; ++y) {
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

void PageBlur::run_views(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) const {
  take(blurrer_.run(spec, src, dst));
}

void PageBlur::take(const Result<BlurOutcome>& outcome) const {
  const bool lacks_memory = !outcome && outcome.error().code == ErrorCode::out_of_memory;
  if (lacks_memory) fail_for_memory(fmt::format("{}: {}", path_, one_line(outcome.error())));
  const BlurOutcome done = value_or_fail(outcome, path_);
  report_.algorithms.insert(done.algorithm);
  report_.predicted_error = std::max(report_.predicted_error, done.predicted_error);
}

}  // namespace mollify::cli
