// The options of `mollify blur`, and what they ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "args.h"
#include "batch/batch.h"
#include "batch/file_jobs.h"
#include "batch/wire.h"
#include "blur_file.h"

namespace mollify::cli {

struct BlurArgs {
  FileArgs files;
  KernelArgs kernel;
  std::optional<std::string> like;
  BorderArgs border;
  DeviceArgs device;
  PlanArgs plan;
  std::optional<int> page;
  std::optional<std::string> roi;
  std::optional<std::string> format;
  std::optional<std::string> alpha;
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

void add_blur_options(Command& command, BlurArgs& args);

/// Texts that cannot be read are wrong usage.
[[nodiscard]] BlurRequest make_request(const BlurArgs& args);
/// Whatever is wrong with the request itself is found before a file is touched: its numbers are right or wrong for all files.
void check_request(const BlurRequest& request);
/// The same for files in flight, threads and memory.
[[nodiscard]] BatchOptions batch_options(const BlurArgs& args, std::size_t files);
/// A kernel from a pipe can be read once only; workers find it in memory. No descriptor where they can read it by themselves.
[[nodiscard]] Descriptor kernel_for_workers(const BlurArgs& args, const KernelSpec& kernel);
/// What makes a difference to the pixels of a result: the options as given, but for those that say which files and how fast.
[[nodiscard]] std::string blur_text(const Command& command);

}  // namespace mollify::cli
