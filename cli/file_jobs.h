// Which files are blurred into which.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace mollify::cli {

struct FileJob {
  std::string in;
  std::string out;
};

struct FileArgs {
  std::vector<std::string> paths;     ///< IN OUT, or IN... with a folder
  std::optional<std::string> folder;  ///< of -o
  bool force = false;
};

/// Expands folders and checks names. Throws Failure for anything that would lose a file. Makes the folder of -o.
[[nodiscard]] std::vector<FileJob> make_file_jobs(const FileArgs& args);

}  // namespace mollify::cli
