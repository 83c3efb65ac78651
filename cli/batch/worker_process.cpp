#include "batch/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "failure.h"

namespace mollify::cli {
namespace {

// "mollify blur --worker 5,6,-1,-1 IN OUT --gaussian 3", from the arguments that this process was started with.
std::vector<std::string> worker_arguments(const WorkerDescriptors& descriptors) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < text.size(); at += arguments.back().size() + 1) arguments.emplace_back(text.c_str() + at);
  if (arguments.size() < 2) fail("a worker process cannot be started: /proc/self/cmdline is not readable");
  arguments.insert(arguments.begin() + 2, {kWorkerOption, to_text(descriptors)});
  return arguments;
}

// Between fork and exec only calls that are safe in a signal handler.
[[noreturn]] void become_worker(char* const* arguments, const WorkerDescriptors& keep, pid_t parent) {
  // What a terminal sends goes to all processes; the batch decides what becomes of its workers.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  for (const int descriptor : {keep.wire, keep.journal, keep.kernel_file, keep.device}) {
    if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, 0);
  }
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
#ifdef NDEBUG
  ::dup2(null, STDERR_FILENO);  // libraries speak there; what a failed assertion says is wanted
#endif
  ::execv("/proc/self/exe", arguments);
  ::_exit(127);
}

std::string signal_text(int number) {
  const char* name = ::sigabbrev_np(number);
  const char* text = ::sigdescr_np(number);
  return fmt::format("SIG{}: {}", name != nullptr ? name : std::to_string(number), text != nullptr ? text : "unknown");
}

}  // namespace

WorkerProcess::WorkerProcess(const WorkerSettings& settings) : wire_(-1) {
  auto [ours, theirs] = make_wire();
  wire_ = std::move(ours);
  const WorkerDescriptors descriptors{theirs.descriptor(), settings.journal, settings.kernel_file, settings.device};
  std::vector<std::string> texts = worker_arguments(descriptors);
  std::vector<char*> arguments;
  arguments.reserve(texts.size() + 1);
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail(fmt::format("a worker process cannot be started: {}", std::strerror(errno)));
  if (pid_ == 0) become_worker(arguments.data(), descriptors, parent);
  wire_.send({{"threads", settings.threads},
              {"all_threads", settings.all_threads},
              {"owns_device", settings.owns_device},
              {"memory_bytes", settings.memory_bytes},
              {"blur", settings.blur}});
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : wire_(std::move(other.wire_)), pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

WorkerProcess::~WorkerProcess() {
  if (pid_ <= 0) return;
  wire_ = Wire(-1);  // which ends a worker that waits for work
  static_cast<void>(wait());
}

std::int64_t WorkerProcess::resident_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/status", pid_));
  std::int64_t kilobytes = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:") || line.starts_with("RssShmem:")) kilobytes += std::stoll(line.substr(line.find(':') + 1));
  }
  return kilobytes * 1024;
}

void WorkerProcess::ask_to_end() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void WorkerProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::string WorkerProcess::wait() {
  while (pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!WIFSIGNALED(status_)) return fmt::format("ended with exit code {}", WEXITSTATUS(status_));
  const int number = WTERMSIG(status_);
  const bool is_crash =
      number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE || number == SIGABRT || number == SIGSYS;
  return fmt::format("{} ({})", is_crash ? "crashed" : "was ended", signal_text(number));
}

bool WorkerProcess::was_killed() const {
  return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL;
}

std::string to_text(const WorkerDescriptors& d) {
  return fmt::format("{},{},{},{}", d.wire, d.journal, d.kernel_file, d.device);
}

WorkerDescriptors worker_descriptors(std::string_view text) {
  WorkerDescriptors d;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int* number : {&d.wire, &d.journal, &d.kernel_file, &d.device}) {
    at = std::from_chars(at, end, *number).ptr;
    if (at != end) ++at;
  }
  return d;
}

}  // namespace mollify::cli
