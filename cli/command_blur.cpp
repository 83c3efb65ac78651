// mollify blur: image files in, image files out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "blur_file.h"
#include "commands.h"
#include "failure.h"
#include "file_jobs.h"
#include "progress.h"

namespace mollify::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  mollify blur photo.jpg soft.jpg --gaussian 3             sigma of 3 pixels
  mollify blur photo.jpg soft.jpg --gaussian 8x0           along the rows only, as they are stored
  mollify blur logo.png glow.png --box 2.5 --border mirror
  mollify blur plate.exr out.exr --gaussian 40 --max-error 1e-3
  mollify blur in.tif part.tif --tent 4 --roi 512x512+100+50
  mollify blur in.png sharp.png --kernel sharpen.txt       rows of numbers
  mollify blur *.png photos -o blurred --gaussian 2        files and folders into a folder
  mollify blur in.png in.png --gaussian 2 --force          in place

Bit depth, channels, pages, parts, metadata and colour space stay as they are, as far as formats
hold them. Colour is blurred without dark halos where alpha is unassociated (PNG, WebP); --linear
blurs light instead of numbers.)";

struct BlurCommand {
  FileArgs files;
  KernelArgs kernel;
  BorderArgs border;
  DeviceArgs device;
  PlanArgs plan;
  std::optional<std::string> roi;
  std::optional<std::string> format;
  std::string alpha = "auto";
  std::optional<std::string> scale;
  std::optional<std::string> flatten;
  std::vector<std::string> channels;
  std::vector<std::string> keep;
  std::optional<int> quality;
  std::optional<int> compression;
  bool keep_unknown = false;
  bool grow = false;
  bool linear = false;
  bool quiet = false;
};

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
    fail_usage(fmt::format("--flatten: {} is no colour such as #ff8000, white or black", mollify::cli::quoted(text)));
  }
  return {static_cast<double>(number >> 16 & 255) / 255.0, static_cast<double>(number >> 8 & 255) / 255.0, static_cast<double>(number & 255) / 255.0};
}

BlurRequest make_request(const BlurCommand& args) {
  BlurRequest request;
  request.spec.kernel = make_kernel(args.kernel);
  request.spec.border = make_border(args.border);
  request.spec.accuracy = make_accuracy(args.plan);
  files::ResultRequest& result = request.result;
  if (args.roi) result.region = parse_rect(*args.roi, "--roi");
  request.border_values = border_values(args.border);
  request.plan = make_plan_options(args.plan);
  result.alpha = parse_alpha(args.alpha);
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

void print_summary(const FileJob& job, const BlurRequest& request, const BlurReport& report) {
  const double ms = 1e3;
  fmt::print("{}: {}x{}, {} channels {}{}; {} by {}; error at most {:.2g}\n", job.out, report.width, report.height,
             report.channels, report.components, report.images > 1 ? fmt::format(", {} images", report.images) : "",
             describe(request.spec.kernel), fmt::join(report.algorithms, " and "), report.predicted_error);
  if (!report.notes.empty()) fmt::print("  {}\n", fmt::join(report.notes, "; "));
  fmt::print("  read {:.1f} ms, blur {:.1f} ms, write {:.1f} ms\n", report.read_seconds * ms, report.blur_seconds * ms,
             report.write_seconds * ms);
}

// Goes on after a failure, so that one broken file does not cost the others.
void run_many(const std::vector<FileJob>& jobs, const BlurRequest& request, const Device& device, bool quiet) {
  const auto start = std::chrono::steady_clock::now();
  ProgressBar progress(jobs.size(), !quiet);
  std::size_t failures = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    progress.show(i, jobs[i].in);
    const auto count_failure = [&](std::string_view message) {
      failures += 1;
      progress.clear();
      fmt::print(stderr, "mollify: {}\n", message);
    };
    try {
      const BlurReport report = blur_file(jobs[i].in, jobs[i].out, request, device);
      progress.clear();
      if (!quiet) print_summary(jobs[i], request, report);
    } catch (const Failure& failure) {
      count_failure(failure.message);
    } catch (const std::exception& error) {
      count_failure(fmt::format("{}: {}", jobs[i].in, error.what()));
    }
  }
  progress.show(jobs.size(), "");
  progress.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!quiet) fmt::print("{} of {} images in {:.2f} s\n", jobs.size() - failures, jobs.size(), seconds);
  if (failures > 0) fail(fmt::format("{} of {} images failed", failures, jobs.size()));
}

void run(const BlurCommand& args) {
  const BlurRequest request = make_request(args);
  const Device device = open_device(args.device);
  const std::vector<FileJob> jobs = make_file_jobs(args.files);
  if (args.files.folder) {
    run_many(jobs, request, device, args.quiet);
    return;
  }
  const BlurReport report = blur_file(jobs.front().in, jobs.front().out, request, device);
  if (!args.quiet) print_summary(jobs.front(), request, report);
}

}  // namespace

void add_blur(CLI::App& app) {
  const auto args = std::make_shared<BlurCommand>();
  CLI::App* command = app.add_subcommand("blur", "Blur image files: PNG, JPEG, TIFF, OpenEXR, WebP, HDR");
  command->add_option("files", args->files.paths, "IN OUT, or IN... with -o; an input may be a folder of images, without its subfolders")
      ->type_name("IN")
      ->required();
  command->add_option("-o,--output", args->files.folder, "Folder for the results, made if missing")
      ->type_name("FOLDER");
  command->add_flag("--force", args->files.force, "Replace OUT if it exists, also where it is write-protected, or inputs by their results");
  add_kernel_options(*command, args->kernel);
  add_border_options(*command, args->border);
  command->add_option("--roi", args->roi, "Blur only this region of the pixels as stored; the output is the region")->type_name("WxH+X+Y");
  command->add_option("--format", args->format, "Numbers of the result: u8 u16 u32 i8 i16 i32 f16 f32 f64 [as the source]")
      ->type_name("F");
  command->add_option("--scale", args->scale, "Between integers and floats: data keeps numbers, colour makes fractions of full scale [as the file is]")
      ->check(CLI::IsMember({"data", "colour"}));
  command->add_option("--flatten", args->flatten, "Lay alpha on this colour for formats without it: #rrggbb, white, black")->type_name("COLOUR");
  command->add_option("--channels", args->channels, "Blur only the channels of these names; * and ? stand for any letters")->type_name("NAME");
  command->add_option("--keep", args->keep, "Copy the channels of these names as they are")->type_name("NAME");
  command->add_flag("--grow", args->grow, "OpenEXR: enlarge the data window by what the kernel reaches");
  command->add_option("--quality", args->quality, "JPEG, WebP: 1 to 100 [as the source]")->check(CLI::Range(1, 100))->type_name("N");
  command->add_option("--compression", args->compression, "Deflate in PNG, TIFF, OpenEXR: 0 (fast) to 9 (small)")->check(CLI::Range(0, 9))->type_name("N");
  command->add_flag("--keep-unknown", args->keep_unknown, "Keep blocks that mollify does not know, whatever their size and whatever is inside");
  command->add_option("--alpha", args->alpha, "auto: as the file says; ignore: a channel like any; premultiply")
      ->check(CLI::IsMember({"auto", "ignore", "premultiply"}))
      ->capture_default_str();
  command->add_flag("--linear", args->linear, "Blur light: decode the file's tone curve around the blur");
  add_plan_options(*command, args->plan);
  add_device_options(*command, args->device);
  command->add_flag("--quiet", args->quiet, "Print nothing but errors");
  command->footer(kExamples);
  command->callback([args] { run(*args); });
}

}  // namespace mollify::cli
