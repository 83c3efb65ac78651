#include "fuzz/files/child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "fuzz/files/heap_meter.h"

namespace mollify::fuzz {
namespace {

constexpr int kProcessorSeconds = 10;  ///< of one mutant
constexpr unsigned kSeconds = 120;     ///< of one mutant, waiting included
constexpr std::uint64_t kMostMutants = 1024;

/// What a child tells its parent, in memory that both see.
struct Shared {
  std::uint64_t done = 0;  ///< mutants that are through
  std::int64_t heap_peak = 0;
  bool has_leaks = false;
  bool blurred[kMostMutants] = {};
  char finding[1000] = {};
};

void set_processor_limit(int seconds) {
  const itimerval timer{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &timer, nullptr);
}

/// Without a sanitizer, whose shadow takes much of it, the address space is limited.
void limit_memory() {
#ifndef __SANITIZE_ADDRESS__
  constexpr rlim_t kMost = rlim_t{1} << 30;
  const rlimit limit{kMost, kMost};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void note(Shared& shared, const std::string& finding) {
  std::snprintf(shared.finding, sizeof shared.finding, "%s", finding.c_str());
}

void run_in_child(std::uint64_t first, std::uint64_t count, const RunMutant& run, const std::string& folder, int output, Shared& shared) {
  limit_memory();
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  try {
    Trial trial(folder);
    for (std::uint64_t i = 0; i < count; ++i) {
      set_processor_limit(kProcessorSeconds);
      ::alarm(kSeconds);
      shared.blurred[i] = run(first + i, trial) == Outcome::blurred;
      shared.heap_peak = std::max(shared.heap_peak, trial.heap_peak());
      std::fflush(nullptr);
      if (::lseek(output, 0, SEEK_END) > 0) throw Finding("something was printed");
      shared.done = i + 1;
    }
  } catch (const std::exception& finding) {
    note(shared, finding.what());
    return;
  }
  set_processor_limit(0);
  ::alarm(kSeconds);
  shared.has_leaks = has_leaks();
}

std::string text_of(int file) {
  std::string text(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(file, 0, SEEK_END))), '\0');
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text;
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGPROF) return "took more than " + std::to_string(kProcessorSeconds) + " s of processor time";
    if (signal == SIGALRM) return "took more than " + std::to_string(kSeconds) + " s";
    return std::string("ended by ") + ::strsignal(signal);
  }
  return WEXITSTATUS(status) == 0 ? "" : "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Chunk run_once(std::uint64_t first, std::uint64_t count, const RunMutant& run, bool& has_leaks) {
  const TemporaryFolder folder;
  const int output = ::memfd_create("output", MFD_CLOEXEC);
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* shared = new (memory) Shared;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    run_in_child(first, count, run, folder.path(), output, *shared);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Chunk chunk;
  chunk.finding = *shared->finding != 0 ? shared->finding : ending_of(status);
  chunk.at = first + shared->done;
  chunk.next = chunk.at + (chunk.finding.empty() ? 0 : 1);
  chunk.heap_peak = shared->heap_peak;
  chunk.blurred.assign(shared->blurred, shared->blurred + (chunk.next - first));
  if (!chunk.finding.empty() || shared->has_leaks) chunk.report = text_of(output);
  has_leaks = shared->has_leaks;
  ::munmap(memory, sizeof(Shared));
  ::close(output);
  return chunk;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const char* memory = "/dev/shm";
  std::string pattern = (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path().string()) +
                        std::string("/mollify_fuzz.XXXXXX");
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Chunk run_chunk(std::uint64_t first, std::uint64_t count, const RunMutant& run) {
  bool has_leaks = false;
  Chunk chunk = run_once(first, std::min(count, kMostMutants), run, has_leaks);
  if (!has_leaks) return chunk;
  // The half of the mutants that leaks, down to one.
  std::uint64_t begin = first, left = chunk.next - first;
  std::string report = chunk.report;
  while (left > 1) {
    bool leaks = false;
    const Chunk half = run_once(begin, left / 2, run, leaks);
    if (leaks) {
      left /= 2;
      report = half.report;
    } else {
      begin += left / 2;
      left -= left / 2;
    }
  }
  chunk.at = begin;
  chunk.finding = "memory that was not freed";
  chunk.report = report;
  return chunk;
}

}  // namespace mollify::fuzz
