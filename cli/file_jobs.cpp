#include "file_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "failure.h"
#include "files/codec.h"

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

// The image files directly in the folder, in order of their names; other files are none of our business.
std::vector<std::string> images_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    const bool hidden = entry.path().filename().string().starts_with('.');
    if (!hidden && !is_folder(path) && files::format_of_name(path)) files.push_back(path);
  }
  if (error) fail(fmt::format("{}: {}", folder, error.message()));
  if (files.empty()) fail(fmt::format("{}: no image files in this folder", folder));
  std::sort(files.begin(), files.end());
  return files;
}

void refuse_to_replace_files(const std::vector<FileJob>& jobs) {
  for (const FileJob& job : jobs) {
    if (exists(job.out)) fail(fmt::format("{}: exists already; --force replaces it", job.out));
  }
}

std::vector<FileJob> single_job(const FileArgs& args) {
  constexpr const char* kHint = "say 'mollify blur IN OUT' or 'mollify blur IN... -o FOLDER'";
  if (args.paths.size() == 1) fail_usage(fmt::format("no output given; {}", kHint));
  if (args.paths.size() > 2) fail_usage(fmt::format("{} files and no -o FOLDER; {}", args.paths.size(), kHint));
  const std::string& in = args.paths[0];
  const std::string& out = args.paths[1];
  if (is_folder(in)) fail_usage(fmt::format("{} is a folder; give the folder of the results with -o", in));
  if (is_folder(out)) fail_usage(fmt::format("{} is a folder; say -o {}", out, out));
  std::vector<FileJob> jobs{{in, out}};
  if (!args.force) refuse_to_replace_files(jobs);
  return jobs;
}

void refuse_to_replace_inputs(const std::vector<FileJob>& jobs) {
  std::map<fs::path, std::string> inputs;
  std::error_code error;
  for (const FileJob& job : jobs) inputs.emplace(fs::weakly_canonical(job.in, error), job.in);
  for (const FileJob& job : jobs) {
    if (inputs.contains(fs::weakly_canonical(job.out, error))) {
      fail(fmt::format("{}: would be replaced by its own blur or another; --force does it", job.out));
    }
  }
}

void refuse_same_outputs(const std::vector<FileJob>& jobs) {
  std::map<std::string, std::string> owners;
  for (const FileJob& job : jobs) {
    const auto [place, is_new] = owners.emplace(job.out, job.in);
    if (!is_new) fail(fmt::format("{}: two inputs have this output: {} and {}", job.out, place->second, job.in));
  }
}

std::vector<FileJob> folder_jobs(const FileArgs& args) {
  const std::string& folder = *args.folder;
  if (!is_folder(folder)) {
    if (exists(folder)) fail(fmt::format("{}: is a file; -o takes a folder", folder));
    if (files::format_of_name(folder)) fail_usage(fmt::format("-o takes a folder; to name the file: IN {}", folder));
  }
  std::vector<FileJob> jobs;
  const auto add = [&](const std::string& in) {
    jobs.push_back({in, (fs::path(folder) / fs::path(in).filename()).string()});
  };
  for (const std::string& path : args.paths) {
    if (!is_folder(path))
      add(path);
    else
      std::ranges::for_each(images_in(path), add);
  }
  refuse_same_outputs(jobs);
  if (!args.force) {
    refuse_to_replace_inputs(jobs);
    refuse_to_replace_files(jobs);
  }

  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(fmt::format("{}: cannot be made: {}", folder, error.message()));
  return jobs;
}

}  // namespace

std::vector<FileJob> make_file_jobs(const FileArgs& args) {
  return args.folder ? folder_jobs(args) : single_job(args);
}

}  // namespace mollify::cli
