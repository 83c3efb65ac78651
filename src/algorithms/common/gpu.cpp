#include "algorithms/common/gpu.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/places.h"
#include "base/text.h"
#include "math/weights.h"
#include "model/gpu_model.h"

namespace mollify::gpu {
namespace {

bool has(std::uint32_t formats, PixelFormat format) {
  return (formats >> static_cast<unsigned>(format) & 1U) != 0;
}

std::string name_of(PixelFormat format) {
  return std::string(info(format).name);
}

Status can_be_buffers(const Problem& p, std::span<const ImageDesc> intermediates) {
  const GpuInfo& gpu = p.device.gpu;
  if (!gpu.small_storage) return refusal("the device has no 8- and 16-bit numbers in buffers, or cannot round to the nearest f16");
  constexpr std::int32_t kLongest = 1 << 29;  // pixels: shaders reckon with twice as many, and some more, in 32 bits
  if (std::max({p.src.width, p.src.height, p.dst.width, p.dst.height}) > kLongest) {
    return refusal("an image is longer than " + std::to_string(kLongest) + " pixels");
  }
  const auto fits = [&](const ImageDesc& desc) { return desc.payload_bytes() <= gpu.max_buffer_bytes; };
  if (!p.in_windows && (!fits(p.src) || !fits(p.dst) || !std::ranges::all_of(intermediates, fits))) {
    return refusal("an image is larger than the " + std::to_string(gpu.max_buffer_bytes) + " bytes that one binding of the device can see");
  }
  return {};
}

Status can_be_images(const Problem& p, std::span<const ImageDesc> intermediates) {
  const GpuInfo& gpu = p.device.gpu;
  const auto fits = [&](const ImageDesc& desc) { return std::max(desc.width, desc.height) <= gpu.max_image_length; };
  if (!fits(p.src) || !fits(p.dst) || !std::ranges::all_of(intermediates, fits)) {
    return refusal("an image is longer than the " + std::to_string(gpu.max_image_length) + " pixels of the device");
  }
  if (!has(gpu.sampled_formats, p.src.format)) return refusal("the device reads no images of format " + name_of(p.src.format));
  if (!has(gpu.storage_formats, p.dst.format)) return refusal("the device writes no images of format " + name_of(p.dst.format));
  for (const ImageDesc& desc : intermediates) {
    if (!has(gpu.sampled_formats & gpu.storage_formats, desc.format)) {
      return refusal("the device has no images of format " + name_of(desc.format) + " between passes");
    }
  }
  return {};
}

/// A linear sampler mixes pixels as they are stored, and knows borders of its own.
Status can_be_linear(const Problem& p, std::span<const ImageDesc> intermediates) {
  if (p.spec.alpha != AlphaMode::ignore || p.spec.transfer != TransferFunction::none) {
    return refusal("a linear sampler mixes pixels before they are decoded");
  }
  const std::uint32_t formats = p.device.gpu.linear_formats;
  if (!has(formats, p.src.format)) return refusal("the device has no linear sampler for format " + name_of(p.src.format));
  for (const ImageDesc& desc : intermediates) {
    if (!has(formats, desc.format)) return refusal("the device has no linear sampler for format " + name_of(desc.format));
  }
  const PerAxis<BorderMode>& mode = p.spec.border.mode;
  if (mode.x == BorderMode::mirror || mode.y == BorderMode::mirror) return refusal("a sampler has no border mirror");
  const auto all = [&](double v) { return p.spec.border.value == std::array{v, v, v, v}; };
  if ((mode.x == BorderMode::constant || mode.y == BorderMode::constant) && !all(0.0) && !all(1.0)) {
    return refusal("a sampler's border is black or white");
  }
  return {};
}

/// "16x8".
std::optional<PerAxis<std::int32_t>> parse_pair(std::string_view text) {
  PerAxis<std::int32_t> pair;
  const char* const end = text.data() + text.size();
  const auto [x_end, x_error] = std::from_chars(text.data(), end, pair.x);
  if (x_error != std::errc() || x_end == end || *x_end != 'x') return std::nullopt;
  const auto [y_end, y_error] = std::from_chars(x_end + 1, end, pair.y);
  if (y_error != std::errc() || y_end != end) return std::nullopt;
  return pair;
}

bool is_power_of_two(std::int32_t v) {
  return v > 0 && (v & (v - 1)) == 0;
}

}  // namespace

Result<std::optional<PerAxis<std::int32_t>>> GroupOption::given(const Problem& p) const {
  const std::string* const given = text(p.options);
  if (given == nullptr) return std::optional<PerAxis<std::int32_t>>();
  const auto shape = parse_pair(*given);
  if (!shape || shape->x < 1 || shape->y < 1) {
    return refusal("option group is two sizes such as 16x16, not \"" + *given + "\"");
  }
  if (Status has = check_group(p, *shape); !has) return has.error();
  return shape;
}

Result<PerAxis<std::int32_t>> GroupOption::of(const Problem& p) const {
  const auto shape = given(p);
  if (!shape) return shape.error();
  if (*shape) return **shape;
  const PerAxis<std::int32_t> standard = *parse_pair(values_.front());
  if (Status has = check_group(p, standard); !has) return has.error();
  return standard;
}

Options::value_type GroupOption::as(PerAxis<std::int32_t> value) const {
  return with(to_text(value));
}

Status check_group(const Problem& p, PerAxis<std::int32_t> shape) {
  const GpuInfo& gpu = p.device.gpu;
  if (shape.x <= gpu.max_group.x && shape.y <= gpu.max_group.y && std::int64_t{shape.x} * shape.y <= gpu.max_group_invocations) return {};
  return refusal("the device has no work groups of " + to_text(shape) + " threads");
}

std::string to_text(PerAxis<std::int32_t> group) {
  return std::to_string(group.x) + "x" + std::to_string(group.y);
}

Status check_lane_order(LaneOrder order, PerAxis<std::int32_t> tile) {
  if (order == LaneOrder::z_curve && !(is_power_of_two(tile.x) && is_power_of_two(tile.y))) {
    return refusal("a Z-curve needs groups whose sides are powers of two, not " + to_text(tile));
  }
  if (order == LaneOrder::rotating_z && (tile.x % 8 != 0 || tile.y % 8 != 0)) {
    return refusal("rotating_z needs groups of whole 8x8 blocks, not " + to_text(tile));
  }
  return {};
}

Result<Storage> storage(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates, bool linear) {
  if (p.device.backend == Backend::cpu) return refusal("it is for GPUs; the CPU backend has no kernel " + std::string(kernel));
  if (!p.device.has_kernel(kernel)) return refusal_without_kernel(p, kernel);
  const std::optional<Storage> given = kStorage.given(p);
  const bool wants_buffer = given == Storage::buffer;
  const bool wants_image = linear || given == Storage::image;
  // One dispatch makes many images of a buffer.
  if (p.batch > 1 && linear) return refusal("each image of a batch would take a dispatch of its own");
  if (p.batch > 1 && !wants_image && can_be_buffers(p, intermediates)) return Storage::buffer;
  if (!wants_buffer) {
    Status images = can_be_images(p, intermediates);
    if (images && linear) images = can_be_linear(p, intermediates);
    if (images) return Storage::image;
    if (wants_image) return images.error();
  }
  if (Status buffers = can_be_buffers(p, intermediates); !buffers) return buffers.error();
  return Storage::buffer;
}

Result<Storage> buffer_or_image(const Problem& p, std::string_view kernel, std::span<const ImageDesc> intermediates) {
  Problem wish = p;
  wish.options.insert(kStorage.as(Storage::buffer));
  Result<Storage> buffers = storage(wish, kernel, intermediates);
  return buffers || kStorage.is_given(p) ? buffers : storage(p, kernel, intermediates);
}

Status check_shared(const Problem& p, std::int64_t bytes) {
  if (bytes <= p.device.gpu.shared_bytes) return {};
  return refusal("it would need " + std::to_string(bytes) + " bytes of shared memory, the device has " +
                 std::to_string(p.device.gpu.shared_bytes));
}

Status check_rows(const Problem& p) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 31;
  if (std::max(p.src.row_payload_bytes(), p.dst.row_payload_bytes()) < kLongest) return {};
  return refusal("rows have at least 2^31 bytes");
}

Status check_taps(const PerAxis<AxisTaps>& taps, std::string_view whose) {
  const auto count = static_cast<std::int64_t>(taps.x.weights.size() + taps.y.weights.size());
  if (count <= kMostWeights) return {};
  return refusal(std::string(whose) + " has " + std::to_string(count) + " taps, more than " + std::to_string(kMostWeights));
}

Status check_taps_of_axes(const PerAxis<AxisTaps>& taps, std::size_t most) {
  const std::size_t nx = taps.x.weights.size();
  const std::size_t ny = taps.y.weights.size();
  if (nx <= most && ny <= most) return {};
  return refusal("the kernel has " + std::to_string(nx) + "x" + std::to_string(ny) + " taps, more than " + std::to_string(most) +
                 " on an axis");
}

bool divides_unbounded(const Problem& p) {
  return p.spec.alpha == AlphaMode::premultiply && !info(p.dst.format).is_unorm();
}

Status check_division(const Problem& p, std::span<const double> weights) {
  if (!divides_unbounded(p) || std::ranges::all_of(weights, [](double w) { return w >= 0.0; })) return {};
  return refusal("the approximation has negative weights; dividing float colours by their alpha would magnify its error");
}

bool is_whole_words(PixelFormat format, std::int32_t span) {
  return info(format).pixel_bytes() * span % 4 == 0;
}

Status check_span(PixelFormat format, std::int32_t span) {
  if (is_whole_words(format, span)) return {};
  return refusal("spans of " + std::to_string(span) + " " + std::string(info(format).name) + " are no whole words of 32 bits");
}

std::int64_t cache_bytes(Cache cache) {
  switch (cache) {
    case Cache::f32:
      return 16;
    case Cache::f16:
      return 8;
    case Cache::unorm8:
      break;
  }
  return 4;
}

double rounding_step(Cache cache, PixelFormat source) {
  switch (cache) {
    case Cache::f32:
      return 0.0;
    case Cache::f16:
      return info(source).is_unorm() ? 0x1p-12 : 0x1p-11;  // numbers of at most 1, or relative
    case Cache::unorm8:
      break;
  }
  return 0.5 / 255.0;
}

double rounding_between(const Problem& p, std::span<const double> weights, double step) {
  if (step == 0.0) return 0.0;
  return check_division(p, weights) ? step * colour_gain(p.spec) : std::numeric_limits<double>::infinity();
}

double rounding_between(const Problem& p, const SeparableTaps& taps, double step) {
  return std::max(rounding_between(p, taps.taps.x.weights, step), rounding_between(p, taps.taps.y.weights, step));
}

Status check_rounding(double error) {
  if (std::isfinite(error)) return {};
  return refusal("the kernel has negative weights; dividing float colours by their alpha would magnify a reduced precision");
}

Result<Intermediate> choose_intermediate(const Problem& p, const SeparableTaps& taps, Storage storage, double spent) {
  const FormatInfo& source = info(p.src.format);
  const auto unorm = [&](int bits) { return *find_format(ComponentClass::unorm, bits, source.channels); };
  const auto floating = [&](int bits) { return *find_format(ComponentClass::floating, bits, source.channels); };
  const auto& x = taps.taps.x.weights;
  double x_sum = 0.0;
  for (const double w : x) x_sum += w;
  // What a row of the first pass can be must fit between 0 and 1.
  const bool in_range = source.is_unorm() && x_sum <= 1.0 + 1e-9 && std::ranges::all_of(x, [](double w) { return w >= 0.0; });
  const auto error = [&](PixelFormat format) {
    const FormatInfo& to = info(format);
    double step = 0.0;
    if (to.is_unorm())
      step = 0.5 / to.unit();
    else if (to.bits == 16)
      step = rounding_step(Cache::f16, in_range ? p.src.format : PixelFormat::rgba16f);
    return rounding_between(p, taps, step * taps.magnitude);
  };
  const auto usable = [&](PixelFormat format) {
    const bool image_exists = storage == Storage::buffer || has(p.device.gpu.sampled_formats & p.device.gpu.storage_formats, format);
    return image_exists && (!info(format).is_unorm() || in_range);
  };
  // In the order of Between.
  const std::array<PixelFormat, 5> formats = {p.src.format, unorm(8), unorm(16), floating(16), floating(32)};
  const auto intermediate_of = [&](Between value) {
    const PixelFormat format = formats.at(static_cast<std::size_t>(value));
    return Intermediate{format, value, error(format)};
  };
  if (const std::optional<Between> given = kIntermediate.given(p)) {
    const Intermediate asked = intermediate_of(*given);
    if (info(asked.format).is_unorm() && !in_range) return refusal("the first pass can leave numbers outside 0 to 1");
    return asked;
  }
  for (const Between value : {Between::rgba16, Between::rgba16f}) {
    if (value == Between::rgba16f && source.bits == 32) continue;  // f16 cannot hold what f32 can
    const Intermediate narrow = intermediate_of(value);
    if (usable(narrow.format) && spent + narrow.error <= p.allowed_error) return narrow;
  }
  return intermediate_of(Between::rgba32f);
}

PixelFormat read_format(const Problem& p, const Pass& pass, PixelFormat intermediates) {
  return pass.source.kind == Binding::Kind::source ? p.src.format : intermediates;
}

double covered(const Pass& pass) {
  const auto on_axis = [](std::int32_t size, std::int32_t tile) {
    return std::ceil(static_cast<double>(size) / tile) * tile / std::max(size, 1);
  };
  return on_axis(pass.size.x, pass.tile.x) * on_axis(pass.size.y, pass.tile.y);
}

double slowness_of_strides(const DeviceInfo& device, Cache cache) {
  if (!gpu_model(device).has_banks) return 1.0;
  return cache == Cache::f32 ? 5.0 : 2.5;
}

double seconds(const DeviceInfo& device, PixelFormat read, const Work& work) {
  const GpuModel t = gpu_model(device);
  const int bytes = info(read).pixel_bytes();
  const double load_rate = t.loads_per_second[bytes <= 4 ? 0 : bytes <= 8 ? 1 : 2];
  const double memory = work.bytes / t.bytes_per_second;
  const double made = work.pixels * (t.counts_idle_threads ? work.covered : 1.0);
  const double access = made * work.loads / load_rate + work.pixels * work.stores / t.stores_per_second;
  // A processor's lanes are parts of its registers, which it moves at once.
  const double exchanged = t.is_processor ? 0.0 : work.swaps;
  const double shared = made * (work.shared_loads + exchanged) / t.shared_loads_per_second;
  const double arithmetic = made * (work.operations + work.swaps - exchanged) / t.operations_per_second;
  const double barriers =
      t.waits_per_second > 0.0 ? made * work.barriers * work.waiters / t.waits_per_second : made * work.barriers / t.barriers_per_second;
  return t.launch_seconds + std::max(memory, access) + shared + arithmetic + barriers;
}

Pass make_pass(std::string_view kernel, PerAxis<std::int32_t> size, PerAxis<std::int32_t> tile, PerAxis<std::int32_t> group,
               std::optional<Storage> storage) {
  Pass pass;
  pass.kernel = kernel;
  pass.size = size;
  pass.tile = tile;
  pass.group = group;
  if (storage) pass.constants.emplace(kStorageConstant, static_cast<std::int64_t>(*storage));
  return pass;
}

Span needed_span(std::int32_t source_length, std::int32_t first, std::int32_t length, std::int64_t before, std::int64_t after) {
  const std::int64_t begin = first - before;
  const std::int64_t end = std::int64_t{first} + length + after;
  if (begin < 0 || end > source_length) return {0, source_length};
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end - begin)};
}

Rect region(const Problem& p) {
  const PerAxis<AxisPlaces> places = places_of(p.spec);
  return {static_cast<std::int32_t>(places.x.first), static_cast<std::int32_t>(places.y.first),
          static_cast<std::int32_t>(places.x.length(p.dst.width)), static_cast<std::int32_t>(places.y.length(p.dst.height))};
}

std::int64_t source_bytes(const Problem& p) {
  const Rect r = region(p);
  return std::int64_t{r.width} * r.height * info(p.src.format).pixel_bytes();
}

std::int64_t moved_bytes(const Problem& p, std::span<const ImageDesc> intermediates) {
  std::int64_t bytes = source_bytes(p) + p.dst.payload_bytes();
  for (const ImageDesc& desc : intermediates) bytes += 2 * desc.payload_bytes();
  return bytes;
}

std::int32_t shared_size(const Problem& p, std::int64_t size, std::int64_t item_bytes, std::int64_t other_bytes) {
  const std::int32_t rounded = rounded_size(size);
  return rounded * item_bytes + other_bytes <= p.device.gpu.shared_bytes ? rounded : static_cast<std::int32_t>(size);
}

std::int32_t rounded_size(std::int64_t size) {
  std::int64_t step = 4;
  while (step * 8 < size) step *= 2;
  return static_cast<std::int32_t>((size + step - 1) / step * step);
}

}  // namespace mollify::gpu
