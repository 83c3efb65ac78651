#include "blur_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "channels.h"
#include "failure.h"
#include "image_io.h"
#include "message.h"
#include "metadata.h"
#include "mip.h"
#include "orientation.h"
#include "parse.h"
#include "pixels.h"

namespace mollify::cli {
namespace {

using OIIO::ImageSpec;
using OIIO::TypeDesc;

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

// For a result in a format whose colour is always of the other kind.
enum class ColourChange : std::uint8_t { none, decode, encode };

// What happens to colour and alpha of one file.
struct Treatment {
  AlphaMode alpha = AlphaMode::ignore;
  TransferFunction transfer = TransferFunction::none;
  bool source_is_unassociated = false;
  bool result_is_unassociated = false;
  ColourChange colour = ColourChange::none;

  [[nodiscard]] bool changes_association() const { return source_is_unassociated != result_is_unassociated; }
  [[nodiscard]] Grouping grouping() const {
    const bool changes_colour = colour != ColourChange::none;
    if (alpha == AlphaMode::premultiply || changes_association() || changes_colour) return Grouping::colour_with_alpha;
    return transfer == TransferFunction::none ? Grouping::uniform : Grouping::colour_apart;
  }
};

// OpenImageIO hands out the colour of a CMYK JPEG or a Lab TIFF as RGB, and the profile as it was.
void drop_unfit_profile(ImageSpec& spec, std::vector<std::string>& notes) {
  const std::string space = profile_space(spec);
  if (space.empty() || profile_fits(spec)) return;
  notes.push_back(fmt::format("{0} profile dropped, since the channels are not {0}", space));
  drop_profile(spec);
}

AlphaMode choose_alpha(const ImageSpec& spec, const BlurRequest& request, std::vector<std::string>& notes) {
  if (spec.alpha_channel < 0) {
    if (request.alpha == AlphaChoice::premultiply) notes.emplace_back("no alpha channel");
    return AlphaMode::ignore;
  }
  const bool unassociated = has_unassociated_alpha(spec);
  const std::string what = unassociated ? "alpha is unassociated" : "alpha is associated";
  if (request.alpha == AlphaChoice::ignore) {
    notes.push_back(what + ", ignored as asked");
    return AlphaMode::ignore;
  }
  if (request.alpha == AlphaChoice::premultiply || unassociated) {
    notes.push_back(what + ", premultiplied around the blur" + (unassociated ? "" : " as asked"));
    return AlphaMode::premultiply;
  }
  notes.push_back(what + ", blurred as stored");
  return AlphaMode::ignore;
}

TransferFunction choose_transfer(const std::string& path, const ImageSpec& spec, const BlurRequest& request,
                                 std::vector<std::string>& notes) {
  const ColourEncoding encoding = colour_encoding(spec);
  const std::string name = colour_name(spec);
  if (!request.linear) {
    if (!name.empty()) notes.push_back(fmt::format("colour is {}, blurred as stored", name));
    return TransferFunction::none;
  }
  switch (encoding) {
    case ColourEncoding::linear:
      notes.emplace_back("colour is linear already, so --linear changes nothing");
      return TransferFunction::none;
    case ColourEncoding::other:
      fail(fmt::format("{}: its colour is {}; --linear decodes sRGB only", path, name));
    case ColourEncoding::unnamed:
      notes.emplace_back("no colour space named, taken for sRGB, decoded around the blur");
      return TransferFunction::srgb;
    case ColourEncoding::srgb:
      break;
  }
  notes.push_back(fmt::format("colour is {}, decoded to linear light around the blur", name));
  return TransferFunction::srgb;
}

ColourChange choose_colour_change(const std::string& path, const std::string& in_format, const ImageSpec& spec,
                                  const OutputFormat& output, std::vector<std::string>& notes) {
  if (in_format == output.name()) return ColourChange::none;
  const ColourEncoding encoding = colour_encoding(spec);
  const bool is_always_one = output.is_always_linear() || output.is_always_srgb();
  if (holds_ink(spec) || (is_always_one && encoding == ColourEncoding::other)) {
    fail(fmt::format("{}: its colour is {}, which {} files cannot say", path, colour_name(spec), output.name()));
  }
  if (!is_always_one) return ColourChange::none;
  const bool is_srgb =
      encoding == ColourEncoding::srgb || (encoding == ColourEncoding::unnamed && is_probably_srgb(spec));
  if (is_srgb == output.is_always_srgb()) return ColourChange::none;
  if (spec.find_attribute("ICCProfile") != nullptr) {
    fail(fmt::format("{}: its colour profile cannot be kept in {} files", path, output.name()));
  }
  notes.push_back(fmt::format("colour becomes {} for {}", is_srgb ? "linear" : "sRGB", output.name()));
  return is_srgb ? ColourChange::decode : ColourChange::encode;
}

Treatment choose_treatment(const std::string& path, const std::string& in_format, const ImageSpec& spec,
                           const OutputFormat& output, const BlurRequest& request, std::vector<std::string>& notes) {
  Treatment treatment;
  treatment.alpha = choose_alpha(spec, request, notes);
  treatment.transfer = choose_transfer(path, spec, request, notes);
  treatment.colour = choose_colour_change(path, in_format, spec, output, notes);
  if (spec.alpha_channel < 0) return treatment;
  treatment.source_is_unassociated = has_unassociated_alpha(spec);
  treatment.result_is_unassociated = output.stores_unassociated_alpha(treatment.source_is_unassociated);
  if (treatment.changes_association()) {
    notes.push_back(fmt::format("alpha becomes {} for {}",
                                treatment.result_is_unassociated ? "unassociated" : "associated", output.name()));
  }
  const bool encoded_after_multiplying = treatment.transfer == TransferFunction::srgb &&
                                         treatment.alpha == AlphaMode::ignore && !treatment.source_is_unassociated;
  if (encoded_after_multiplying) {
    fail(fmt::format("{}: its sRGB colour is multiplied by alpha already; --linear needs unassociated alpha", path));
  }
  return treatment;
}

// The types in which the pixels are read. Types that the library lacks are read as float, when that is asked for.
ImageSpec working_spec(const std::string& path, const ImageSpec& spec, const BlurRequest& request) {
  for (int c = 0; c < spec.nchannels; ++c) {
    if (format_of(spec.channelformat(c), 1)) continue;
    const bool to_float =
        request.type && request.type->component_class == ComponentClass::floating && request.type->bits == 32;
    if (!to_float) {
      fail(fmt::format("{}: {} numbers cannot be kept by a blur; --format f32 converts them", path,
                       spec.channelformat(c).c_str()));
    }
    ImageSpec working = spec;
    working.set_format(TypeDesc::FLOAT);
    working.channelformats.clear();
    return working;
  }
  return spec;
}

// The library checks this too, but only after the result has been allocated.
void require_inside(const std::string& path, const Rect& roi, const ImageSpec& spec) {
  const bool inside = roi.x >= 0 && roi.y >= 0 && roi.width > 0 && roi.height > 0 &&
                      std::int64_t{roi.x} + roi.width <= spec.width && std::int64_t{roi.y} + roi.height <= spec.height;
  if (!inside) {
    fail(fmt::format("{}: --roi {}x{}+{}+{} is not inside its {}x{} pixels", path, roi.width, roi.height, roi.x, roi.y,
                     spec.width, spec.height));
  }
}

Part result_part(const Part& part, const ImageSpec& working, const std::string& in, const std::string& in_format,
                 const OutputFormat& output, const Treatment& treatment, const BlurRequest& request) {
  Part result = part;
  ImageSpec& spec = result.spec;
  spec.format = working.format;
  spec.channelformats = working.channelformats;
  if (request.type) {
    if (request.type->channels.value_or(spec.nchannels) != spec.nchannels) {
      fail(fmt::format("{}: has {} channels, --format asks for {}; u8, u16, f16 and f32 keep their number", in,
                       spec.nchannels, *request.type->channels));
    }
    spec.set_format(type_of(*find_format(request.type->component_class, request.type->bits, 1)));
    spec.channelformats.clear();
  }
  const bool same_format = in_format == output.name();
  drop_stale_metadata(spec, same_format);
  set_resolution_unit(spec, output.name());
  if (!output.supports("tiles")) spec.tile_width = spec.tile_height = spec.tile_depth = 0;
  if (request.spec.roi) {
    require_inside(in, *request.spec.roi, spec);
    set_size(spec, request.spec.roi->width, request.spec.roi->height);
  }
  if (!same_format && has_display_window(spec) && !output.supports("displaywindow")) {
    fail(fmt::format("{}: its pixels are a part of a larger picture, which {} cannot say; cut it with --roi", in,
                     output.name()));
  }
  if (treatment.colour != ColourChange::none) {
    set_colour_name(spec, treatment.colour == ColourChange::decode ? "Linear" : "sRGB");
  }
  if (output.name() == "png") leave_srgb_to_profile(spec);
  spec.erase_attribute("oiio:UnassociatedAlpha");
  if (treatment.result_is_unassociated) spec.attribute("oiio:UnassociatedAlpha", 1);
  return result;
}

// A viewer shows an OpenEXR source as it is stored, so the result of one is left like that.
bool must_turn(const std::string& path, const std::string& in_format, const ImageSpec& result,
               const OutputFormat& output, std::vector<std::string>& notes) {
  const bool stays = output.keeps_orientation() || (output.name() == "openexr" && in_format == output.name());
  if (stays || is_upright(result)) return false;
  if (has_display_window(result)) {
    fail(fmt::format("{}: its pixels are a part of a larger picture that is stored turned, which {} cannot say; "
                     "cut it with --roi",
                     path, output.name()));
  }
  notes.push_back(fmt::format("turned upright, since {} files cannot say how they are to be turned", output.name()));
  return true;
}

// Blurs one part, a group of channels at a time.
class PartBlur {
 public:
  PartBlur(std::string path, const Device& device, const BlurRequest& request, const Treatment& treatment,
           BlurReport& report)
      : path_(std::move(path)), device_(device), request_(request), treatment_(treatment), report_(report) {}

  void run(const KernelSpec& kernel, const NativePixels& src, const NativePixels& dst) const {
    for (const ChannelGroup& group : group_channels(*src.spec, treatment_.grouping())) {
      run_group(kernel, group, src, dst);
    }
  }

 private:
  void run_group(const KernelSpec& kernel, const ChannelGroup& group, const NativePixels& src,
                 const NativePixels& dst) const {
    const int count = static_cast<int>(group.channels.size());
    const bool converts = (group.has_alpha && treatment_.changes_association()) ||
                          (group.is_colour && treatment_.colour != ColourChange::none);
    const TypeDesc src_type = common_type(*src.spec, group.channels);
    const TypeDesc dst_type = converts ? TypeDesc(TypeDesc::FLOAT) : common_type(*dst.spec, group.channels);
    const ImageDesc src_desc{src.spec->width, src.spec->height, *format_of(src_type, count)};
    const ImageDesc dst_desc{dst.spec->width, dst.spec->height, *format_of(dst_type, count)};

    const bool whole = is_whole(group, src, dst) && !converts;
    if (whole) {
      run_views(make_spec(kernel, group, *src.spec), {src_desc, src.data, src.row_bytes()},
                {dst_desc, dst.data, dst.row_bytes()});
      return;
    }
    Image gathered = value_or_fail(Image::create(src_desc), path_);
    Image blurred = value_or_fail(Image::create(dst_desc), path_);
    gather(src, group.channels, gathered.view());
    run_views(make_spec(kernel, group, *src.spec), gathered.view(), blurred.view());
    if (converts) convert(group, blurred.view());
    scatter(blurred.view(), std::span(group.channels).first(group.stored), dst);
  }

  // From what the source stores to what the result stores. The curves of colour are for colour without alpha in it.
  void convert(const ChannelGroup& group, const ImageView& image) const {
    const int colours = static_cast<int>(group.channels.size()) - (group.has_alpha ? 1 : 0);
    const bool associates = group.has_alpha && !treatment_.result_is_unassociated;
    if (group.has_alpha && !treatment_.source_is_unassociated) unassociate_alpha(image);
    if (treatment_.colour == ColourChange::decode) decode_srgb(image, colours);
    if (treatment_.colour == ColourChange::encode) encode_srgb(image, colours);
    if (associates) associate_alpha(image);
  }

  // Channels 0, 1, .. of one type, all of the image: needs no copies.
  static bool is_whole(const ChannelGroup& group, const NativePixels& src, const NativePixels& dst) {
    return std::ssize(group.channels) == src.spec->nchannels && group.stored == src.spec->nchannels &&
           std::is_sorted(group.channels.begin(), group.channels.end()) && src.spec->channelformats.empty() &&
           dst.spec->channelformats.empty();
  }

  [[nodiscard]] BlurSpec make_spec(const KernelSpec& kernel, const ChannelGroup& group, const ImageSpec& image) const {
    BlurSpec spec = request_.spec;
    spec.kernel = kernel;
    spec.alpha = group.has_alpha ? treatment_.alpha : AlphaMode::ignore;
    spec.transfer = group.is_colour ? treatment_.transfer : TransferFunction::none;
    const std::vector<double>& values = request_.border_values;
    if (values.size() > 1) {
      if (std::ssize(values) != image.nchannels) {
        fail(fmt::format("{}: has {} channels, --border-value gives {} values", path_, image.nchannels, values.size()));
      }
      for (std::size_t i = 0; i < group.channels.size(); ++i) spec.border.value[i] = values[group.channels[i]];
    } else if (values.size() == 1) {
      spec.border.value.fill(values.front());
    }
    return spec;
  }

  void run_views(const BlurSpec& spec, const ConstImageView& src, const ImageView& dst) const {
    const Plan plan = value_or_fail(make_plan(spec, src.desc, dst.desc, device_.info(), request_.plan), path_);
    const Executable executable = value_or_fail(device_.prepare(plan), path_);
    Workspace workspace = value_or_fail(executable.make_workspace(Batches::no), path_);
    value_or_fail(executable.run(src, dst, workspace), path_);
    report_.algorithms.insert(to_string(plan.algorithm));
    report_.predicted_error = std::max(report_.predicted_error, plan.predicted_error);
  }

  std::string path_;
  const Device& device_;
  const BlurRequest& request_;
  const Treatment& treatment_;
  BlurReport& report_;
};

// Two runs of the same request on parts of different sizes differ in the levels of a mip map only.
KernelSpec kernel_for(const Part& part, const std::vector<Part>& parts, const BlurRequest& request,
                      const std::string& path) {
  if (part.mip_level == 0) return request.spec.kernel;
  if (request.spec.roi) fail(fmt::format("{}: has mip levels, of which --roi cannot be cut", path));
  const auto top = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.subimage == part.subimage; });
  const PerAxis<double> scale{static_cast<double>(part.spec.width) / top->spec.width,
                              static_cast<double>(part.spec.height) / top->spec.height};
  return scaled_kernel(request.spec.kernel, scale, path);
}

void add_new_notes(const std::vector<std::string>& notes, std::vector<std::string>& all) {
  for (const std::string& note : notes) {
    if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
  }
}

void describe_first(const ImageSpec& spec, BlurReport& report) {
  report.width = spec.width;
  report.height = spec.height;
  report.channels = spec.nchannels;
  report.components = spec.channelformats.empty() ? spec.format.c_str() : "mixed";
}

// One part as it will be read and written.
struct Job {
  Part src;
  ImageSpec working;  ///< src.spec in the types in which it is read
  ImageSpec blurred;  ///< the result as the source is stored
  Part dst;           ///< the result as it is written
  bool turns = false;
  Treatment treatment;
  KernelSpec kernel;
};

std::vector<Job> make_jobs(const std::string& in, const ImageReader& reader, const OutputFormat& output,
                           const BlurRequest& request, BlurReport& report) {
  std::vector<Job> jobs;
  for (Part part : reader.parts()) {
    std::vector<std::string> notes;
    Job job;
    if (was_ink(part.spec)) notes.emplace_back("CMYK became RGB, without a profile, since JPEG files of inks are read so");
    drop_unfit_profile(part.spec, notes);
    job.src = part;
    job.working = working_spec(in, part.spec, request);
    job.treatment = choose_treatment(in, reader.format_name(), part.spec, output, request, notes);
    job.dst = result_part(part, job.working, in, reader.format_name(), output, job.treatment, request);
    job.blurred = job.dst.spec;
    job.turns = must_turn(in, reader.format_name(), job.blurred, output, notes);
    if (job.turns) turn_upright(job.dst.spec);
    job.kernel = kernel_for(part, reader.parts(), request, in);
    add_new_notes(notes, report.notes);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// What the header says, before anything is allocated.
void check_limits(const std::string& in, const std::vector<Job>& jobs, const BlurRequest& request) {
  std::int64_t pixels = 0;
  std::int64_t most_bytes = 0;
  for (const Job& job : jobs) {
    pixels += static_cast<std::int64_t>(job.src.spec.image_pixels());
    const std::size_t bytes = job.working.image_bytes(true) + job.blurred.image_bytes(true);
    most_bytes = std::max(most_bytes, static_cast<std::int64_t>(bytes));
  }
  if (request.max_pixels > 0 && pixels > request.max_pixels) {
    fail(fmt::format("{}: has {} pixels, --max-pixels allows {}", in, pixels, request.max_pixels));
  }
  if (request.memory_bytes > 0 && most_bytes > request.memory_bytes) {
    fail_for_memory(fmt::format("{}: needs {} of memory for its pixels and may use {}; --memory sets that", in, bytes_text(most_bytes),
                                bytes_text(request.memory_bytes)));
  }
}

void say(const BlurRequest& request, BlurStage stage, const ImageSpec& spec) {
  if (request.on_stage) request.on_stage(stage, static_cast<std::int64_t>(spec.image_bytes(true)));
}

BlurReport run_jobs(const std::string& in, const std::string& out, const BlurRequest& request, const Device& device) {
  BlurReport report;
  Stopwatch watch;
  ImageReader reader(in);
  const OutputFormat output(out);
  const std::vector<Job> jobs = make_jobs(in, reader, output, request, report);
  check_limits(in, jobs, request);
  report.images = static_cast<int>(jobs.size());
  describe_first(jobs.front().dst.spec, report);
  report.read_seconds += watch.lap();

  // The first part is blurred before the result is begun, so that most mistakes are found while there is none.
  std::optional<ImageWriter> writer;
  for (const Job& job : jobs) {
    const bool converted = job.working.format != job.src.spec.format;
    say(request, BlurStage::reading, job.working);
    PixelBytes src = reader.read(job.src, converted ? job.working.format : OIIO::TypeUnknown);
    report.read_seconds += watch.lap();

    say(request, BlurStage::blurring, job.blurred);
    PixelBytes dst = allocate_pixels(job.blurred.image_bytes(true));
    PartBlur(in, device, request, job.treatment, report)
        .run(job.kernel, {&job.working, src.get()}, {&job.blurred, dst.get()});
    src.reset();
    if (job.turns) dst = turned_upright(job.blurred, dst);
    report.blur_seconds += watch.lap();

    if (!writer) {
      std::vector<Part> parts;
      for (const Job& each : jobs) parts.push_back(each.dst);
      writer.emplace(out, std::move(parts), request.replaces);
    }
    say(request, BlurStage::writing, job.dst.spec);
    writer->write(job.dst, dst);
    report.write_seconds += watch.lap();
  }
  writer->commit();
  report.write_seconds += watch.lap();
  return report;
}

}  // namespace

ComponentType parse_component_type(const std::string& text) {
  if (text == "u8") return {ComponentClass::unorm, 8, {}};
  if (text == "u16") return {ComponentClass::unorm, 16, {}};
  if (text == "f16") return {ComponentClass::floating, 16, {}};
  if (text == "f32") return {ComponentClass::floating, 32, {}};
  const std::optional<PixelFormat> format = parse_format(text);
  if (!format) fail_usage(fmt::format("--format: {} is none of u8 u16 f16 f32, nor a pixel format", quoted(text)));
  const FormatInfo& row = info(*format);
  return {row.component_class, row.bits, row.channels};
}

BlurReport blur_file(const std::string& in, const std::string& out, const BlurRequest& request, const Device& device) {
  try {
    return run_jobs(in, out, request, device);
  } catch (const std::bad_alloc&) {
    fail_for_memory(fmt::format("{}: not enough memory", in));
  }
}

}  // namespace mollify::cli
