#include "batch/pipes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "failure.h"
#include "files/codec.h"

namespace mollify::cli {
namespace {

namespace fs = std::filesystem;

// All of one descriptor into another. `what` is the end that may fail.
void copy(int from, int to, const char* source, const char* target) {
  std::vector<char> block(1 << 20);
  while (true) {
    const ssize_t n = ::read(from, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(fmt::format("{}: {}", source, std::strerror(errno)));
    if (n == 0) return;
    for (ssize_t done = 0; done < n;) {
      const ssize_t written = ::write(to, block.data() + done, static_cast<std::size_t>(n - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(fmt::format("{}: cannot be written: {}", target, std::strerror(errno)));
      done += written;
    }
  }
}

std::string ending_of_format(files::FileFormat format) {
  constexpr std::array kEndings = {".png", ".jpg", ".tif", ".exr", ".webp", ".hdr"};
  if (static_cast<int>(format) >= files::kWrittenFormats) {
    fail(fmt::format("standard output: {} files are not written; --to png names another format", files::name_of(format)));
  }
  return kEndings[static_cast<std::size_t>(format)];
}

std::string format_ending(const FileJob& job) {
  try {
    const auto source = files::open_source(job.source(), std::numeric_limits<std::int64_t>::max());
    return ending_of_format(files::format_of_bytes(*source));
  } catch (const files::FileError& error) {
    fail(fmt::format("{}: {}", job.in == kPipe ? "standard input" : job.in, error.what()));
  }
}

}  // namespace

Pipes::~Pipes() {
  std::error_code error;
  if (!folder_.empty()) fs::remove_all(folder_, error);
}

const std::string& Pipes::folder() {
  if (!folder_.empty()) return folder_;
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "mollify-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr) fail(fmt::format("{}: cannot be made: {}", name, std::strerror(errno)));
  return folder_ = name;
}

void Pipes::connect(FileJob& job, const std::string& to) {
  if (job.in == kPipe) {
    if (::isatty(STDIN_FILENO) != 0) fail("standard input is a terminal; give it a picture: mollify blur - OUT < IN");
    job.in_file = folder() + "/source";
    const int file = ::open(job.in_file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) fail(fmt::format("{}: {}", job.in_file, std::strerror(errno)));
    try {
      copy(STDIN_FILENO, file, "standard input", job.in_file.c_str());
    } catch (...) {
      ::close(file);
      throw;
    }
    ::close(file);
  }
  if (job.out == kPipe) {
    if (::isatty(STDOUT_FILENO) != 0) fail("standard output is a terminal; lead it into a file or a program: mollify blur IN - > OUT");
    job.out_file = folder() + "/result" + (to.empty() ? format_ending(job) : to);
  }
}

void Pipes::deliver(const FileJob& job) const {
  if (job.out != kPipe) return;
  const int file = ::open(job.out_file.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(fmt::format("{}: {}", job.out_file, std::strerror(errno)));
  try {
    copy(file, STDOUT_FILENO, job.out_file.c_str(), "standard output");
  } catch (...) {
    ::close(file);
    throw;
  }
  ::close(file);
}

}  // namespace mollify::cli
