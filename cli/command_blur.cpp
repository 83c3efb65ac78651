// mollify blur: image files in, image files out.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "batch/batch.h"
#include "batch/pipes.h"
#include "batch/worker.h"
#include "blur_file.h"
#include "commands.h"
#include "failure.h"
#include "kernel_file.h"
#include "machine.h"
#include "message.h"
#include "temporary_files.h"

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
  mollify blur photos -o soft --recursive --gaussian 2     a tree of folders
  curl -s URL | mollify blur - - --to png --gaussian 2 > out.png

Bit depth, channels, pages, parts, metadata and colour space stay as they are, as far as formats
hold them. Colour is blurred without dark halos where alpha is unassociated (PNG, WebP); --linear
blurs light instead of numbers.
Exit codes: 0 all is done, 1 a file or the request failed, 2 wrong usage.)";

struct BlurCommand {
  FileArgs files;
  KernelArgs kernel;
  BorderArgs border;
  DeviceArgs device;
  PlanArgs plan;
  std::optional<int> page;
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
  bool json = false;
  bool dry_run = false;
  int jobs = 0;
  double patience = 60.0;
  std::optional<std::string> memory;
  std::optional<std::string> max_pixels;
  std::string worker;  ///< set in processes that the tool starts itself
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
  return {static_cast<double>(number >> 16 & 255) / 255.0, static_cast<double>(number >> 8 & 255) / 255.0,
          static_cast<double>(number & 255) / 255.0};
}

BlurRequest make_request(const BlurCommand& args) {
  BlurRequest request;
  KernelArgs kernel = args.kernel;
  if (const int file = worker_descriptors(args.worker).kernel_file; file >= 0) kernel.kernel_file = fmt::format("/proc/self/fd/{}", file);
  request.spec.kernel = make_kernel(kernel);
  if (args.max_pixels) request.max_pixels = parse_count(*args.max_pixels, "--max-pixels");
  request.spec.border = make_border(args.border);
  request.spec.accuracy = make_accuracy(args.plan);
  files::ResultRequest& result = request.result;
  result.page = args.page;
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

// Whatever is wrong with the request itself is found before a file is touched: its numbers are right or wrong for all files.
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
}

// What makes a difference to the pixels of a result: the options as given, but for those that say which files and how fast.
std::string blur_text(const CLI::App& command) {
  const std::set<std::string> others{"files",       "--output",        "--force",   "--jobs",   "--threads",
                                     "--memory",    "--max-pixels",    "--timeout", "--quiet",  "--json",
                                     "--recursive", "--skip-existing", "--dry-run", "--worker", "--help"};
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && !others.contains(option->get_single_name()) && !others.contains("--" + option->get_single_name())) {
      text += fmt::format("{}={}\n", option->get_single_name(), fmt::join(option->results(), " "));
    }
  }
  return text;
}

// A kernel from a pipe can be read once only; workers find it in memory.
int kernel_for_workers(const BlurCommand& args, const KernelSpec& kernel) {
  std::error_code error;
  if (!args.kernel.kernel_file || std::filesystem::is_regular_file(*args.kernel.kernel_file, error)) return -1;
  const std::string text = kernel_text(kernel);
  const int file = ::memfd_create("kernel", MFD_CLOEXEC);
  if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("the kernel cannot be kept for workers");
  return file;
}

BatchOptions batch_options(const BlurCommand& args, std::size_t files) {
  if (args.device.threads < 0) fail(fmt::format("--threads {}: must not be negative", args.device.threads));
  if (args.jobs < 0) fail(fmt::format("--jobs {}: must not be negative", args.jobs));
  if (!(args.patience > 0.0 && args.patience < 1e9)) fail(fmt::format("--timeout {}: is a number of seconds above 0", args.patience));
  BatchOptions options;
  options.patience_seconds = args.patience;
  options.memory_bytes = args.memory ? parse_bytes(*args.memory, "--memory") : free_memory() / 2;
  options.on_gpu = !(args.device.device == "auto" || args.device.device == "cpu");
  if (args.device.threads > 0 && args.jobs > args.device.threads) {
    fail(fmt::format("--jobs {}: needs as many threads, --threads says {}", args.jobs, args.device.threads));
  }
  constexpr std::int64_t kBytesForAFile = std::int64_t{512} << 20;
  const int processor_count = processors();
  options.threads = args.device.threads > 0 ? args.device.threads : std::max(processor_count, args.jobs);
  const std::int64_t by_memory = std::max<std::int64_t>(options.memory_bytes / kBytesForAFile, 1);
  const int wanted = args.jobs > 0 ? args.jobs : static_cast<int>(std::min<std::int64_t>(options.threads, by_memory));
  options.jobs = std::max(std::min(wanted, static_cast<int>(std::min<std::size_t>(files, 1024))), 1);
  // A worker has its main thread besides.
  const int can_start = startable_threads(options.threads + options.jobs) - options.jobs;
  if (can_start < options.threads && args.device.threads > 0) {
    fail(fmt::format("--threads {}: this user may start {} more threads only (ulimit -u)", options.threads, std::max(can_start, 0)));
  }
  options.threads = std::max(std::min(options.threads, can_start), 1);
  options.jobs = std::min(options.jobs, options.threads);
  return options;
}

// What would be done, as far as the first bytes of the files tell.
void dry_run(const FileJobs& all, bool has_folder) {
  std::size_t failures = 0;
  for (const FileJob& job : all.jobs) {
    try {
      if (job.in != kPipe) static_cast<void>(files::format_of_bytes(*files::open_source(job.in, 0)));
      if (job.out != kPipe && !files::format_of_name(job.out)) fail(fmt::format("{}: no format of images has this ending", job.out));
      fmt::print("{} -> {}\n", printable(job.in), printable(job.out));
    } catch (const files::FileError& error) {
      failures += 1;
      complain(fmt::format("{}: {}", job.in, error.what()));
    }
  }
  const std::string left = to_string(all.left_out);
  if (has_folder || !left.empty())
    fmt::print("{} images{}{}\n", all.jobs.size() - failures, left.empty() ? "" : "; left out: ", printable(left));
  if (failures > 0) throw Failure{kExitFailure, fmt::format("{} of {} images would fail", failures, all.jobs.size())};
}

// Folders of results, without what killed runs have left in them.
void prepare_folders(const std::vector<FileJob>& jobs) {
  std::set<std::string> folders;
  for (const FileJob& job : jobs) folders.insert(folder_of(job.result()));
  for (const std::string& folder : folders) {
    remove_left_overs(folder);
    remove_empty_journals(folder);
  }
}

void make_folders(const FileArgs& args, const std::vector<FileJob>& jobs) {
  if (!args.folder) return;
  std::set<std::filesystem::path> folders{*args.folder};
  for (const FileJob& job : jobs) folders.insert(std::filesystem::path(job.out).parent_path());
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) fail(fmt::format("{}: cannot be made: {}", folder.string(), error.message()));
  }
}

// Only files that replace their sources need it.
std::unique_ptr<Journal> open_journal(const BlurCommand& args, const std::string& blur, FileJobs& all) {
  const auto first = std::ranges::find_if(all.jobs, &FileJob::in_place);
  if (first == all.jobs.end()) return nullptr;
  auto journal = args.files.folder ? std::make_unique<Journal>(*args.files.folder, blur)
                                   : std::make_unique<Journal>(folder_of(first->out), blur, first->place);
  all.left_out.done = std::erase_if(all.jobs, [&](const FileJob& job) { return job.in_place && journal->is_done(job.place, job.in); });
  return journal;
}

void run(const BlurCommand& args, const CLI::App& command) {
  const BlurRequest request = make_request(args);
  if (!args.worker.empty()) return run_worker(args.worker, request, args.device);
  check_request(request);
  FileJobs all = make_file_jobs(args.files);
  BatchOptions options = batch_options(args, all.jobs.size());
  const bool pipes_picture = !args.files.folder && args.files.paths.back() == kPipe;
  if (args.dry_run) return dry_run(all, args.files.folder.has_value());

  make_folders(args.files, all.jobs);
  const std::unique_ptr<Journal> journal = open_journal(args, blur_text(command), all);
  Pipes pipes;
  for (FileJob& job : all.jobs) pipes.connect(job, args.files.to ? ending_of_results(*args.files.to) : "");
  prepare_folders(all.jobs);
  options.kernel_file = kernel_for_workers(args, request.spec.kernel);
  Reporter reporter({.quiet = args.quiet,
                     .json = args.json,
                     .is_batch = args.files.folder.has_value(),
                     .pipes_picture = pipes_picture,
                     .kernel = describe(request.spec.kernel),
                     .note = note_on_kernel(request.spec.kernel)},
                    all.jobs.size());
  run_batch(all.jobs, options, journal.get(), reporter);
  if (reporter.failures() == 0) {
    for (const FileJob& job : all.jobs) pipes.deliver(job);
    if (journal) journal->remove();
  }
  reporter.finish(all.left_out);
}

}  // namespace

void add_blur(CLI::App& app) {
  const auto args = std::make_shared<BlurCommand>();
  CLI::App* command = app.add_subcommand("blur", "Blur image files: PNG, JPEG, TIFF, OpenEXR, WebP, HDR");
  command
      ->add_option("files", args->files.paths,
                   "IN OUT, or IN... with -o; an input may be a folder of images; - is standard input or output")
      ->type_name("IN")
      ->required();
  command->add_option("-o,--output", args->files.folder, "Folder for the results, made if missing")->type_name("FOLDER");
  command->add_flag("--force", args->files.force, "Replace OUT if it exists, also where it is write-protected, or inputs by their results");
  const std::string many = "Many files";
  command->add_flag("--recursive", args->files.recursive, "Take subfolders of folders too; results keep their places")->group(many);
  command->add_flag("--skip-existing", args->files.skip_existing, "Leave out files whose results exist")->group(many);
  command->add_flag("--dry-run", args->dry_run, "Say what would be done, one line a file, and do nothing")->group(many);
  command
      ->add_option("--to", args->files.to, "Format of the results with -o and of standard output: png jpg tif exr webp hdr [the source's]")
      ->type_name("FORMAT")
      ->group(many);
  command->add_option("--jobs", args->jobs, "Files in flight, 1 or more; 0: as processors and memory allow [0]")
      ->type_name("N")
      ->group(many);
  command->add_option("--memory", args->memory, "That all files in flight may take, as in 512M or 2G [half of what is free]")
      ->type_name("SIZE")
      ->group(many);
  command->add_option("--max-pixels", args->max_pixels, "Refuse files with more pixels, as in 100M [no limit]")
      ->type_name("N")
      ->group(many);
  command->add_option("--timeout", args->patience, "Give a file up whose reading or writing makes no progress for so long")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->group(many);
  command->add_option(kWorkerOption, args->worker)->group("");
  add_kernel_options(*command, args->kernel);
  add_border_options(*command, args->border);
  command->add_option("--roi", args->roi, "Blur only this region of the pixels as stored; the output is the region")->type_name("WxH+X+Y");
  command
      ->add_option("--page", args->page, "Blur only this page, frame, plane or part; the first is 1 [all that the result's format holds]")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--format", args->format, "Numbers of the result: u8 u16 u32 i8 i16 i32 f16 f32 f64 [as the source]")->type_name("F");
  command
      ->add_option("--scale", args->scale,
                   "Between integers and floats: data keeps numbers, colour makes fractions of full scale [as the file is]")
      ->check(CLI::IsMember({"data", "colour"}));
  command->add_option("--flatten", args->flatten, "Lay alpha on this colour for formats without it: #rrggbb, white, black [white]")
      ->type_name("COLOUR");
  command->add_option("--channels", args->channels, "Blur only the channels of these names; * and ? stand for any letters")
      ->type_name("NAME");
  command->add_option("--keep", args->keep, "Copy the channels of these names as they are")->type_name("NAME");
  command->add_flag("--grow", args->grow, "OpenEXR: enlarge the data window by what the kernel reaches");
  command->add_option("--quality", args->quality, "JPEG, WebP: 1 to 100 [as the source]")->check(CLI::Range(1, 100))->type_name("N");
  command->add_option("--compression", args->compression, "Deflate in PNG, TIFF, OpenEXR: 0 (fast) to 9 (small)")
      ->check(CLI::Range(0, 9))
      ->type_name("N");
  command->add_flag("--keep-unknown", args->keep_unknown,
                    "Keep blocks that mollify does not know, whatever their size and whatever is inside");
  command->add_option("--alpha", args->alpha, "auto: as the file says; ignore: a channel like any; premultiply")
      ->check(CLI::IsMember({"auto", "ignore", "premultiply"}))
      ->capture_default_str();
  command->add_flag("--linear", args->linear, "Blur light: decode the file's tone curve around the blur");
  add_plan_options(*command, args->plan);
  add_device_options(*command, args->device);
  command->add_flag("--quiet", args->quiet, "Print nothing but errors");
  command->add_flag("--json", args->json, "One JSON object a file: what was done, or \"failed\" with the reason");
  command->footer(kExamples);
  command->callback([args, command] { run(*args, *command); });
}

}  // namespace mollify::cli
