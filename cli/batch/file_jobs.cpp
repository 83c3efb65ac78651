#include "batch/file_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "failure.h"
#include "files/plugins.h"
#include "message.h"
#include "parse.h"

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool has_image_ending(const std::string& path) {
  return files::format_of_name(path).has_value();
}

fs::path canonical_path(const fs::path& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error);
}

std::string ending_of(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return ending.empty() ? "(no ending)" : ending;
}

/// Makes the jobs of files and folders. Results keep the places that the files have in their folders.
class FolderJobs {
 public:
  explicit FolderJobs(const FileArgs& args) : args_(args), results_(canonical_path(*args.folder)) {}

  void add_input(const std::string& path) {
    if (path == kPipe) fail_usage("- is standard input, which goes with one result: mollify blur - OUT");
    if (!is_folder(path)) return add_file(path, fs::path(path).filename());
    const std::size_t before = all_.jobs.size();
    add_folder(path, {}, path);
    if (all_.jobs.size() == before) fail(fmt::format("{}: no image files in this folder{}", path, hint()));
  }

  FileJobs take() && { return std::move(all_); }

 private:
  [[nodiscard]] std::string hint() const {
    const std::string left = to_string(all_.left_out);
    if (left.empty()) return "";
    return fmt::format("; left out: {}{}", left, all_.left_out.folders > 0 && !args_.recursive ? "; --recursive takes subfolders" : "");
  }

  void add_file(const std::string& path, const fs::path& place) {
    const fs::path result = args_.to ? fs::path(place).replace_extension(ending_of_results(*args_.to)) : place;
    all_.jobs.push_back({path, (fs::path(*args_.folder) / result).string(), result.string()});
  }

  // In order of names. Hidden files and folders are none of our business.
  void add_folder(const fs::path& folder, const fs::path& place, const std::string& named) {
    std::vector<fs::directory_entry> entries;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (!entry->path().filename().string().starts_with('.')) entries.push_back(*entry);
    }
    if (error) fail(fmt::format("{}: {}", folder.string(), error.message()));
    std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) { return entry.path(); });
    for (const fs::directory_entry& entry : entries) add_entry(entry, place / entry.path().filename(), named);
  }

  void add_entry(const fs::directory_entry& entry, const fs::path& place, const std::string& named) {
    std::error_code error;
    const fs::path& path = entry.path();
    if (entry.is_directory(error)) {
      // Links to folders may lead in circles. Results of an earlier run below their own sources are no sources.
      const bool holds_results = args_.recursive && canonical_path(path) == results_ && canonical_path(named) != results_;
      if (args_.recursive && !entry.is_symlink(error) && !holds_results) return add_folder(path, place, named);
      all_.left_out.folders += 1;
    } else if (!entry.is_regular_file(error) && entry.exists(error)) {
      all_.left_out.specials += 1;
    } else if (!is_source(path)) {
      all_.left_out.files += 1;
      all_.left_out.endings.insert(ending_of(path));
    } else {
      add_file(path.string(), place);
    }
  }

  /// Files of formats that are only read need another format for their results.
  [[nodiscard]] bool is_source(const fs::path& path) const {
    return has_image_ending(path.string()) || (args_.to && files::is_read_by_plugin(ending_of(path)));
  }

  const FileArgs& args_;
  fs::path results_;
  FileJobs all_;
};

// A result is complete when it gets its name, which pipes and devices have already.
void refuse_to_replace_pipes(const std::vector<FileJob>& jobs) {
  for (const FileJob& job : jobs) {
    std::error_code error;
    const fs::file_status status = fs::status(job.out, error);
    if (job.out == kPipe || !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) continue;
    fail(fmt::format("{0}: is a pipe or a device; standard output goes there by 'mollify blur IN - > {0}'", job.out));
  }
}

void refuse_to_replace_files(const std::vector<FileJob>& jobs) {
  for (const FileJob& job : jobs) {
    if (job.out != kPipe && exists(job.out)) fail(fmt::format("{}: exists already; --force replaces it", job.out));
  }
}

void refuse_same_outputs(const std::vector<FileJob>& jobs) {
  std::map<std::string, std::string> owners;
  for (const FileJob& job : jobs) {
    const auto [place, is_new] = owners.emplace(job.out, job.in);
    if (!is_new) fail(fmt::format("{}: two inputs have this output: {} and {}", job.out, place->second, job.in));
  }
}

// A source may be replaced by its own blur, if that is asked for. By the blur of another it would be lost.
void find_replaced_inputs(std::vector<FileJob>& jobs, bool force) {
  std::map<fs::path, std::string> inputs;
  for (const FileJob& job : jobs) inputs.emplace(canonical_path(job.in), job.in);
  for (FileJob& job : jobs) {
    const auto found = exists(job.out) ? inputs.find(canonical_path(job.out)) : inputs.end();
    if (found == inputs.end()) continue;
    if (!force) fail(fmt::format("{}: would be replaced by its own blur or another; --force does it", job.out));
    job.in_place = found->first == canonical_path(job.in);
    if (!job.in_place) fail(fmt::format("{}: is a source as well, and would be replaced by the blur of {}", job.out, job.in));
  }
}

FileJobs single_job(const FileArgs& args) {
  constexpr const char* kHint = "say 'mollify blur IN OUT' or 'mollify blur IN... -o FOLDER'";
  if (args.paths.size() == 1) fail_usage(fmt::format("no output given; {}", kHint));
  if (args.paths.size() > 2) fail_usage(fmt::format("{} files and no -o FOLDER; {}", args.paths.size(), kHint));
  const std::string& in = args.paths[0];
  const std::string& out = args.paths[1];
  if (is_folder(in)) fail_usage(fmt::format("{} is a folder; give the folder of the results with -o", in));
  if (is_folder(out)) fail_usage(fmt::format("{} is a folder; say -o {}", out, out));
  if (args.recursive) fail_usage("--recursive goes with folders and -o");
  if (args.to && out != kPipe) fail_usage(fmt::format("--to goes with - and with -o; the format of {} is that of its name", out));
  FileJobs all{{{in, out}}, {}};
  if (!args.skip_existing) refuse_to_replace_pipes(all.jobs);
  if (!args.force && !args.skip_existing) refuse_to_replace_files(all.jobs);
  const bool has_pipe = in == kPipe || out == kPipe;
  if (args.force && !has_pipe) find_replaced_inputs(all.jobs, true);
  all.jobs.front().place = canonical_path(out).filename().string();
  return all;
}

FileJobs folder_jobs(const FileArgs& args) {
  const std::string& folder = *args.folder;
  if (folder == kPipe) fail_usage("-o takes a folder; standard output goes with one source: mollify blur IN -");
  if (!is_folder(folder)) {
    if (exists(folder)) fail(fmt::format("{}: is a file; -o takes a folder", folder));
    if (has_image_ending(folder)) fail_usage(fmt::format("-o takes a folder; to name the file: IN {}", folder));
  }
  FolderJobs jobs(args);
  for (const std::string& path : args.paths) jobs.add_input(path);
  FileJobs all = std::move(jobs).take();
  refuse_same_outputs(all.jobs);
  if (!args.skip_existing) refuse_to_replace_pipes(all.jobs);
  if (!args.skip_existing) find_replaced_inputs(all.jobs, args.force);
  if (!args.force && !args.skip_existing) refuse_to_replace_files(all.jobs);
  return all;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string name_of_source(const FileJob& job) {
  return job.in == kPipe ? "standard input" : job.in;
}
std::string name_of_result(const FileJob& job) {
  return job.out == kPipe ? "standard output" : job.out;
}

std::string to_string(const LeftOut& left) {
  std::vector<std::string> parts;
  if (left.folders > 0) parts.push_back(counted(static_cast<std::size_t>(left.folders), "folder"));
  if (left.specials > 0) parts.push_back(left.specials == 1 ? "1 pipe or device" : fmt::format("{} pipes or devices", left.specials));
  if (left.existing > 0) parts.push_back(counted(left.existing, "existing result"));
  if (left.done > 0) parts.push_back(counted(left.done, "file") + " that the interrupted run has done");
  if (left.files > 0)
    parts.push_back(fmt::format("{}: {}", counted(static_cast<std::size_t>(left.files), "file"), fmt::join(left.endings, " ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string ending_of_results(const std::string& to) {
  const std::string ending = to.starts_with('.') ? to : "." + to;
  if (to == "openexr") return ".exr";
  if (!files::format_of_name("x" + ending))
    fail_usage(fmt::format("--to: {} is none of png jpg tif exr webp hdr", mollify::cli::in_quotes(to)));
  return ending;
}

FileJobs make_file_jobs(const FileArgs& args) {
  for (const std::string& path : args.paths) require_name(path, "IN and OUT");
  if (args.folder) require_name(*args.folder, "-o");
  if (args.to) static_cast<void>(ending_of_results(*args.to));
  if (args.force && args.skip_existing) fail_usage("--force and --skip-existing contradict each other; give one");
  FileJobs all = args.folder ? folder_jobs(args) : single_job(args);
  if (args.skip_existing) {
    all.left_out.existing = std::erase_if(all.jobs, [](const FileJob& job) { return job.out != kPipe && exists(job.out); });
  }
  return all;
}

}  // namespace mollify::cli
