// mollify blur: image files in, image files out.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "auto_device.h"
#include "batch/batch.h"
#include "batch/pipes.h"
#include "batch/worker.h"
#include "blur_args.h"
#include "commands.h"
#include "failure.h"
#include "kernel_file.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

constexpr const char* kBlurFooter = R"(Examples:
  mollify blur photo.jpg soft.jpg --gaussian 3             sigma of 3 pixels
  mollify blur photo.jpg soft.jpg --gaussian 8x0           along the rows only, as they are stored
  mollify blur logo.png glow.png --box 2.5 --border mirror
  mollify blur plate.exr out.exr --gaussian 40 --max-error 1e-3
  mollify blur in.tif part.tif --tent 4 --roi 512x512+100+50
  mollify blur in.png sharp.png --kernel sharpen.txt       rows of numbers
  mollify blur in.png out.png --like opencv --gaussian 5   as cv2.GaussianBlur(image, (0, 0), 5)
  mollify blur *.png photos -o blurred --gaussian 2        files and folders into a folder
  mollify blur in.png in.png --gaussian 2 --force          in place
  mollify blur photos -o soft --recursive --gaussian 2     a tree of folders
  mollify blur scan.tif out.tif --box 90 --device auto     on the device where it should end first
  curl -s URL | mollify blur - - --to png --gaussian 2 > out.png

Bit depth, channels, pages, parts, metadata and colour space stay as they are, as far as formats
hold them. Colour is blurred without dark halos where alpha is unassociated (PNG, WebP); --linear
blurs light instead of numbers.
Exit codes: 0 all is done, 1 a file or the request failed, 2 wrong usage.)";

// Folders of results, without what killed runs have left in them.
void prepare_folders(const std::vector<FileJob>& jobs) {
  std::set<std::string> folders;
  for (const FileJob& job : jobs) {
    if (job.out != kPipe) folders.insert(folder_of(job.out));
  }
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
std::unique_ptr<Journal> open_journal(const BlurArgs& args, const std::string& blur, FileJobs& all) {
  const auto first = std::ranges::find_if(all.jobs, &FileJob::in_place);
  if (first == all.jobs.end()) return nullptr;
  auto journal = args.files.folder ? std::make_unique<Journal>(*args.files.folder, blur)
                                   : std::make_unique<Journal>(folder_of(first->out), blur, first->place);
  all.left_out.done = std::erase_if(all.jobs, [&](const FileJob& job) { return job.in_place && journal->is_done(job.place, job.in); });
  return journal;
}

// Headers are read, by workers, and nothing is written.
void dry_run(const BlurArgs& args, FileJobs& all, BatchOptions options, const ReporterOptions& reporting) {
  options.dry_run = true;
  options.jobs = 1;  // which keeps the order
  Reporter reporter(reporting, all.jobs.size());
  std::vector<FileJob> jobs;
  for (FileJob& job : all.jobs) {
    if (job.in == kPipe) {  // it can be read once only
      reporter.not_examined(job);
    } else if (const std::string folder = folder_of(job.out);
               !args.files.folder && job.out != kPipe && ::access(folder.c_str(), W_OK) != 0) {
      reporter.failed(job, fmt::format("{}: cannot be written: {}", job.out, std::strerror(errno)));
    } else {
      if (job.out == kPipe) job.format = format_for_pipe(job, args.files.to);
      jobs.push_back(job);
    }
  }
  run_batch(jobs, options, nullptr, reporter);
  reporter.finish(all.left_out);
}

// Others are made for each image.
std::optional<DeviceChoice> choice_for_all(const DeviceArgs& args) {
  return args.device == kAutoDevice && !may_choose_gpu(args) ? std::optional(choice_without_probe()) : std::nullopt;
}

void deliver(const Pipes& pipes, const std::vector<FileJob>& jobs, Reporter& reporter) {
  for (const FileJob& job : jobs) {
    try {
      pipes.deliver(job);
      reporter.delivered(job);
    } catch (const Failure& failure) {
      reporter.failed(job, failure.message);
    }
  }
}

void run(const BlurArgs& args, const Command& command) {
  const BlurRequest request = make_request(args);
  if (!args.worker.empty()) return run_worker(args.worker, request, args.device);
  check_request(request);
  FileJobs all = make_file_jobs(args.files);
  BatchOptions options = batch_options(args, all.jobs.size());
  const Descriptor kernel_file = kernel_for_workers(args, request.spec.kernel);
  options.kernel_file = kernel_file.get();
  const ReporterOptions reporting{.quiet = args.quiet,
                                  .json = args.json,
                                  .is_batch = args.files.folder.has_value(),
                                  .is_dry_run = args.dry_run,
                                  .pipes_picture = !args.files.folder && args.files.paths.back() == kPipe,
                                  .kernel = describe(request.spec.kernel) + (args.like ? " like " + *args.like : ""),
                                  .note = note_on_kernel(request.spec.kernel),
                                  .choice = choice_for_all(args.device)};
  if (args.dry_run) return dry_run(args, all, options, reporting);

  make_folders(args.files, all.jobs);
  const std::unique_ptr<Journal> journal = open_journal(args, blur_text(command), all);
  Pipes pipes;
  for (FileJob& job : all.jobs) pipes.connect(job, args.files.to, options.memory_bytes);
  prepare_folders(all.jobs);
  Reporter reporter(reporting, all.jobs.size());
  run_batch(all.jobs, options, journal.get(), reporter);
  if (reporter.failures() == 0) {
    deliver(pipes, all.jobs, reporter);
    if (journal) journal->remove();
  }
  reporter.finish(all.left_out);
}

}  // namespace

void add_blur(Command& app) {
  const auto args = std::make_shared<BlurArgs>();
  Command command = app.add_command("blur", "Blur image files: PNG, JPEG, TIFF, OpenEXR, WebP, HDR");
  add_blur_options(command, *args);
  command.set_footer(kBlurFooter);
  command.on_run([args, command] { run(*args, command); });
}

}  // namespace mollify::cli
