// Which files are blurred into which.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "files/codec.h"

namespace mollify::cli {

/// The name of standard input and of standard output.
inline constexpr const char* kPipe = "-";

struct FileJob {
  std::string in;
  std::string out;
  std::string place{};    ///< the name of the result below its folder
  bool in_place = false;  ///< the result replaces its source
  int source = -1;        ///< an open file that is read, and one that is written, where these are not files with their names
  int result = -1;
  std::optional<files::FileFormat> format{};  ///< of such a result
};

/// What messages call the source and the result of a job.
[[nodiscard]] std::string name_of_source(const FileJob& job);
[[nodiscard]] std::string name_of_result(const FileJob& job);

struct FileArgs {
  std::vector<std::string> paths;     ///< IN OUT, or IN... with a folder
  std::optional<std::string> folder;  ///< of -o
  std::optional<std::string> to;      ///< the ending of results: "png"
  bool force = false;
  bool recursive = false;
  bool skip_existing = false;
};

/// What lies in the folders that were named and is not blurred.
struct LeftOut {
  int folders = 0;
  int files = 0;                    ///< that are no image files by the endings of their names
  std::set<std::string> endings{};  ///< of these
  int specials = 0;                 ///< pipes, sockets, devices
  std::size_t existing = 0;         ///< results that exist and were to be kept
  std::size_t done = 0;             ///< results of the run that was interrupted
};
/// "2 folders, 5 files: .heic .gif"; empty if nothing was left out.
[[nodiscard]] std::string to_string(const LeftOut& left);

struct FileJobs {
  std::vector<FileJob> jobs;
  LeftOut left_out;
};

/// Expands folders and checks names; touches nothing. Throws Failure for anything that would lose a file.
[[nodiscard]] FileJobs make_file_jobs(const FileArgs& args);

/// The ending of the results of --to, "png", with its point. Wrong usage where no image is written so.
[[nodiscard]] std::string ending_of_results(const std::string& to);

}  // namespace mollify::cli
