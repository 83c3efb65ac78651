#include "batch/pipes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "failure.h"
#include "files/codec.h"
#include "message.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

// All of one descriptor into another.
void copy(int from, int to, const char* source, const char* target, std::int64_t most_bytes) {
  std::vector<char> block(1 << 20);
  std::int64_t all = 0;
  while (true) {
    const ssize_t n = ::read(from, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fmt::format("{}: {}", source, std::strerror(errno)));
    if (n == 0) return;
    all += n;
    if (all > most_bytes) {
      fail(fmt::format("{}: is larger than the {} that it may use; --memory sets that", source, bytes_text(most_bytes)));
    }
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = ::write(to, block.data() + done, static_cast<std::size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
      done += written;
    }
  }
}

files::FileFormat format_of_source(const FileJob& job) {
  const std::string name = name_of_source(job);
  const std::string path = job.in == kPipe ? fmt::format("/proc/self/fd/{}", job.source) : job.in;
  try {
    const auto source = files::open_source(path, std::numeric_limits<std::int64_t>::max());
    const files::FileFormat format = files::format_of_bytes(*source);
    if (static_cast<int>(format) < files::kWrittenFormats) return format;
    fail(fmt::format("standard output: {} files are not written; --to png names another format", files::name_of(format)));
  } catch (const files::FileError& error) {
    fail(fmt::format("{}: {}", name, error.what()));
  }
}

Descriptor file_without_name() {
  std::error_code error;
  const std::string folder = fs::temp_directory_path(error).string();
  Descriptor file(open_without_name(folder));
  if (file.get() < 0) fail(fmt::format("{}: no temporary file can be made: {}; TMPDIR names another folder", folder, std::strerror(errno)));
  return file;
}

}  // namespace

files::FileFormat format_for_pipe(const FileJob& job, const std::optional<std::string>& named) {
  return named ? *files::format_of_name("x" + ending_of_results(*named)) : format_of_source(job);
}

void Pipes::connect(FileJob& job, const std::optional<std::string>& to, std::int64_t most_bytes) {
  if (job.in == kPipe) {
    if (::isatty(STDIN_FILENO) != 0) fail("standard input is a terminal; give it a picture: mollify blur - OUT < IN");
    source_ = file_without_name();
    job.source = source_.get();
    copy(STDIN_FILENO, job.source, "standard input", "a temporary file", most_bytes);
  }
  if (job.out == kPipe) {
    if (::isatty(STDOUT_FILENO) != 0) fail("standard output is a terminal; lead it into a file or a program: mollify blur IN - > OUT");
    job.format = format_for_pipe(job, to);
    result_ = file_without_name();
    job.result = result_.get();
  }
}

void Pipes::deliver(const FileJob& job) const {
  if (job.out != kPipe) return;
  ::lseek(job.result, 0, SEEK_SET);
  copy(job.result, STDOUT_FILENO, "a temporary file", "standard output", std::numeric_limits<std::int64_t>::max());
}

}  // namespace mollify::cli
