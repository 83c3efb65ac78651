#include "blur_args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include "auto_device.h"
#include "batch/worker_process.h"
#include "failure.h"
#include "kernel_file.h"
#include "machine.h"
#include "parse.h"

namespace mollify::cli {
namespace {

files::AlphaChoice parse_alpha(const std::string& text) {
  if (text == "ignore") return files::AlphaChoice::ignore;
  return text == "premultiply" ? files::AlphaChoice::premultiply : files::AlphaChoice::automatic;
}

// "#rrggbb", "white", "black"
std::array<double, 3> parse_colour(const std::string& text) {
  if (text == "white") return {1.0, 1.0, 1.0};
  if (text == "black") return {0.0, 0.0, 0.0};
  unsigned long number = 0;
  const auto [rest, error] = std::from_chars(text.data() + (text.starts_with('#') ? 1 : 0), text.data() + text.size(), number, 16);
  if (text.size() != 7 || text[0] != '#' || error != std::errc() || rest != text.data() + text.size()) {
    fail_usage(fmt::format("--flatten: {} is no colour such as #ff8000, white or black", mollify::cli::in_quotes(text)));
  }
  return {static_cast<double>(number >> 16 & 255) / 255.0, static_cast<double>(number >> 8 & 255) / 255.0,
          static_cast<double>(number & 255) / 255.0};
}

std::vector<std::string> names_of_peers() {
  std::vector<std::string> names;
  for (const conventions::Convention& each : conventions::all()) names.emplace_back(each.name);
  return names;
}

}  // namespace

BlurRequest make_request(const BlurArgs& args) {
  BlurRequest request;
  KernelArgs kernel = args.kernel;
  if (const int file = worker_descriptors(args.worker).kernel_file; file >= 0) kernel.kernel_file = fmt::format("/proc/self/fd/{}", file);
  request.spec.kernel = make_kernel(kernel);
  request.like = args.like ? conventions::parse_peer(*args.like) : std::nullopt;
  if (args.max_pixels) request.max_pixels = parse_count(*args.max_pixels, "--max-pixels");
  request.spec.border = request.like ? make_border(args.border, conventions::convention(*request.like).border) : make_border(args.border);
  request.spec.accuracy = make_accuracy(args.plan);
  files::ResultRequest& result = request.result;
  result.page = args.page;
  if (args.roi) result.region = parse_rect(*args.roi, "--roi");
  request.border_values = border_values(args.border);
  request.plan = make_plan_options(args.plan);
  result.alpha = parse_alpha(args.alpha.value_or(request.like ? "ignore" : "auto"));
  result.linear = args.linear;
  if (args.scale) result.scale = *args.scale == "data" ? files::Scale::data : files::Scale::colour;
  if (args.flatten) result.flatten = parse_colour(*args.flatten);
  if (args.format) {
    const ComponentType type = parse_component_type(*args.format);
    result.type = type.type;
    result.channels = type.channels;
  }
  result.blur_patterns = args.channels;
  result.keep_patterns = args.keep;
  result.keep_unknown = args.keep_unknown;
  request.grow = args.grow;
  request.write.quality = args.quality;
  request.write.compression = args.compression;
  request.replaces = args.files.force;
  return request;
}

void check_request(const BlurRequest& request) {
  constexpr std::int32_t kLargest = 1 << 20;
  const ImageDesc image{.width = kLargest, .height = kLargest, .format = PixelFormat::rgba32f};
  const BlurSpec& spec = request.spec;
  if (const std::optional<Rect>& roi = request.result.region) {
    const bool is_region = roi->width > 0 && roi->height > 0 && roi->x >= 0 && roi->y >= 0;
    if (!is_region) {
      fail(fmt::format("--roi {}x{}+{}+{}: a region has at least one pixel and begins inside the image", roi->width, roi->height, roi->x,
                       roi->y));
    }
  }
  value_or_fail(validate(spec, image, destination_desc(spec, image, image.format)));
  if (request.like) value_or_fail(conventions::kernels_like(*request.like, spec.kernel, false));
  // Whether an algorithm can do it is for each image to say; whether there is one of that name and with these options, is not.
  if (!request.plan.algorithm) return;
  const ImageDesc small{.width = 64, .height = 64, .format = image.format};
  const Result<Plan> plan = make_plan(spec, small, small, DeviceInfo{}, request.plan);
  if (!plan && plan.error().code == ErrorCode::invalid_argument) fail(one_line(plan.error()));
}

std::string blur_text(const Command& command) {
  const std::set<std::string> others{"files",       "--output",        "--force",   "--jobs",   "--threads",
                                     "--memory",    "--max-pixels",    "--timeout", "--quiet",  "--json",
                                     "--recursive", "--skip-existing", "--dry-run", "--worker", "--help"};
  std::string text;
  for (const GivenOption& option : command.given_options()) {
    if (others.contains(option.name) || others.contains("--" + option.name)) continue;
    text += fmt::format("{}={}\n", option.name, fmt::join(option.values, " "));
  }
  return text;
}

Descriptor kernel_for_workers(const BlurArgs& args, const KernelSpec& kernel) {
  std::error_code error;
  if (!args.kernel.kernel_file || std::filesystem::is_regular_file(*args.kernel.kernel_file, error)) return Descriptor();
  const std::string text = kernel_text(kernel);
  Descriptor file(::memfd_create("kernel", MFD_CLOEXEC));
  if (file.get() < 0 || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("the kernel cannot be kept for workers");
  return file;
}

BatchOptions batch_options(const BlurArgs& args, std::size_t files) {
  if (args.device.threads < 0) fail(fmt::format("--threads {}: must not be negative", args.device.threads));
  constexpr int kMostThreads = 4096, kMostJobs = 1024;
  if (args.device.threads > kMostThreads) fail(fmt::format("--threads {}: is 0 to {}", args.device.threads, kMostThreads));
  if (args.jobs < 0 || args.jobs > kMostJobs) fail(fmt::format("--jobs {}: is 0 to {}", args.jobs, kMostJobs));
  if (!(args.patience > 0.0 && args.patience < 1e9)) fail(fmt::format("--timeout {}: is a number of seconds above 0", args.patience));
  BatchOptions options;
  options.patience_seconds = args.patience;
  options.memory_bytes = args.memory ? parse_bytes(*args.memory, "--memory") : free_memory() / 2;
  options.chooses_device = may_choose_gpu(args.device);
  options.on_gpu = args.device.device != kCpuDevice && args.device.device != kAutoDevice;
  if (args.device.threads > 0 && args.jobs > args.device.threads) {
    fail(fmt::format("--jobs {}: needs as many threads, --threads says {}", args.jobs, args.device.threads));
  }
  constexpr std::int64_t kBytesForAFile = std::int64_t{512} << 20;
  const int processor_count = processors();
  options.threads = args.device.threads > 0 ? args.device.threads : std::max(processor_count, args.jobs);
  const std::int64_t by_memory = std::max<std::int64_t>(options.memory_bytes / kBytesForAFile, 1);
  const int wanted = args.jobs > 0 ? args.jobs : static_cast<int>(std::min<std::int64_t>(options.threads, by_memory));
  options.jobs = std::max(std::min(wanted, static_cast<int>(std::min<std::size_t>(files, kMostJobs))), 1);
  // A worker has its main thread besides.
  const int can_start = startable_threads(options.threads + options.jobs) - options.jobs;
  if (can_start < options.threads && args.device.threads > 0) {
    fail(fmt::format("--threads {}: this user may start {} more threads only (ulimit -u)", options.threads, std::max(can_start, 0)));
  }
  options.threads = std::max(std::min(options.threads, can_start), 1);
  options.jobs = std::min(options.jobs, options.threads);
  return options;
}

void add_blur_options(Command& command, BlurArgs& args) {
  command
      .add_option("files", args.files.paths, "IN OUT, or IN... with -o; an input may be a folder of images; - is standard input or output")
      .type_name("IN")
      .required();
  command.add_option("-o,--output", args.files.folder, "Folder for the results, made if missing").type_name("FOLDER");
  command.add_flag("--force", args.files.force, "Replace OUT if it exists, also where it is write-protected, or inputs by their results");
  const std::string many = "Many files";
  command.add_flag("--recursive", args.files.recursive, "Take subfolders of folders too; results keep their places").group(many);
  command.add_flag("--skip-existing", args.files.skip_existing, "Leave out files whose results exist").group(many);
  command.add_flag("--dry-run", args.dry_run, "Say what would be done, by the headers of the files, and write nothing").group(many);
  command.add_option("--to", args.files.to, "Format of the results with -o and of standard output: png jpg tif exr webp hdr [the source's]")
      .type_name("FORMAT")
      .group(many);
  command.add_option("--jobs", args.jobs, "Files in flight, 1 to 1024; 0: as processors and memory allow [0]").type_name("N").group(many);
  command
      .add_option("--memory", args.memory,
                  "That all files in flight may take, and the most that is read from a pipe, as in 512M or 2G; larger files are streamed "
                  "where their formats allow it [half of what is free]")
      .type_name("SIZE")
      .group(many);
  command.add_option("--max-pixels", args.max_pixels, "Refuse files with more pixels, as in 100M [no limit]").type_name("N").group(many);
  command.add_option("--timeout", args.patience, "Give a file up whose reading or writing makes no progress for so long; above 0")
      .type_name("SECONDS")
      .show_default()
      .group(many);
  command.add_option(kWorkerOption, args.worker).group("");
  add_kernel_options(command, args.kernel);
  command
      .add_option("--like", args.like,
                  "Mean --gaussian and --box as this library does: its border, where it ends a Gaussian, and alpha as a channel like any")
      .one_of(names_of_peers())
      .type_name("LIBRARY");
  add_border_options(command, args.border);
  command.add_option("--roi", args.roi, "Blur only this region of the pixels as stored; the output is the region").type_name("WxH+X+Y");
  command.add_option("--page", args.page, "Blur only this page, frame, plane or part; the first is 1 [all that the result's format holds]")
      .in_range(1, 1 << 30)
      .type_name("N");
  command.add_option("--format", args.format, "Numbers of the result: u8 u16 u32 i8 i16 i32 f16 f32 f64 [as the source]").type_name("F");
  command
      .add_option("--scale", args.scale,
                  "Between integers and floats: data keeps numbers, colour makes fractions of full scale [as the file is]")
      .one_of({"data", "colour"});
  command.add_option("--flatten", args.flatten, "Lay alpha on this colour for formats without it: #rrggbb, white, black [white]")
      .type_name("COLOUR");
  command.add_option("--channels", args.channels, "Blur only the channels of these names; * and ? stand for any letters").type_name("NAME");
  command.add_option("--keep", args.keep, "Copy the channels of these names as they are").type_name("NAME");
  command.add_flag("--grow", args.grow, "OpenEXR: enlarge the data window by what the kernel reaches");
  command.add_option("--quality", args.quality, "JPEG, WebP: 1 to 100 [as the source]").in_range(1, 100).type_name("N");
  command.add_option("--compression", args.compression, "Deflate in PNG, TIFF, OpenEXR: 0 (fast) to 9 (small)")
      .in_range(0, 9)
      .type_name("N");
  command.add_flag("--keep-unknown", args.keep_unknown,
                   "Keep blocks that mollify does not know, whatever their size and whatever is inside");
  command.add_option("--alpha", args.alpha, "auto: as the file says; ignore: a channel like any; premultiply [auto; with --like: ignore]")
      .one_of({"auto", "ignore", "premultiply"});
  command.add_flag("--linear", args.linear, "Blur light: decode the file's tone curve around the blur");
  add_plan_options(command, args.plan);
  add_device_options(command, args.device, TakesAuto::yes);
  command.add_flag("--quiet", args.quiet, "Print nothing but errors");
  command.add_flag("--json", args.json, "One JSON object a file: what was done, or \"failed\" with the reason");
}

}  // namespace mollify::cli
