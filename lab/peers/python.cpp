#include "lab/peers/python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "json/json.h"
#include "lab/page_files.h"

extern "C" char** environ;

namespace mollify::lab {
namespace {

Error broken(const std::string& what) {
  return {ErrorCode::internal, what, {}};
}

/// The process, and a folder for the images that go to and fro.
class Process {
 public:
  static Result<std::shared_ptr<Process>> start(const std::string& python) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return broken(std::strerror(errno));
    std::shared_ptr<Process> process(new Process);
    process->socket_ = ends[0];

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is for us; we end it
    std::string script(page_file("peers.py"));
    std::array<std::string, 3> words{python, "-c", script};
    std::array<char*, 4> arguments{words[0].data(), words[1].data(), words[2].data(), nullptr};
    const int failed = posix_spawnp(&process->pid_, python.c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    if (failed != 0) {
      process->pid_ = -1;
      return broken(python + ": " + std::strerror(failed));
    }
    std::string folder = (std::filesystem::temp_directory_path() / "mollify_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return broken(folder + ": " + std::strerror(errno));
    process->folder_ = folder;
    return process;
  }

  ~Process() {
    close(socket_);  // the end of its input ends it
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }

  Result<Json> ask(const Json& request) {
    const std::string line = request.dump() + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t count = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return broken("the Python process has gone");
      sent += static_cast<std::size_t>(count);
    }
    std::size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      std::array<char, 4096> more{};
      const ssize_t count = recv(socket_, more.data(), more.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return broken("the Python process has gone");
      received_.append(more.data(), static_cast<std::size_t>(count));
    }
    Json answer = Json::parse(std::string_view(received_).substr(0, end));
    received_.erase(0, end + 1);
    if (!answer.is_object()) return broken("the Python process speaks no JSON");
    if (answer.contains("refused")) return Error{ErrorCode::unsupported, answer.value("refused", ""), {}};
    if (answer.contains("error")) return broken(answer.value("error", ""));
    return answer;
  }

 private:
  Process() = default;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::filesystem::path folder_;
  std::string received_;
};

/// What was prepared there is forgotten there when nobody here holds it.
struct Handle {
  std::shared_ptr<Process> process;
  int id;
  ~Handle() { (void)process->ask({{"op", "forget"}, {"id", id}}); }
};

Result<Json> kernel_json(const KernelSpec& kernel) {
  if (const auto* gaussian = std::get_if<Gaussian>(&kernel)) {
    if (gaussian->truncate) return Error{ErrorCode::unsupported, "takes no truncation", {}};
    const Json radius = gaussian->radius ? Json::array({gaussian->radius->x, gaussian->radius->y}) : Json(nullptr);
    return Json{{"name", "gaussian"}, {"sigma", {gaussian->sigma.x, gaussian->sigma.y}}, {"radius", radius}};
  }
  if (const auto* box = std::get_if<Box>(&kernel)) {
    return Json{
        {"name", "box"}, {"before", {box->extent.x.before, box->extent.y.before}}, {"after", {box->extent.x.after, box->extent.y.after}}};
  }
  return Error{ErrorCode::unsupported, "is asked for Gaussians and boxes only", {}};
}

Result<Json> case_json(const cases::Case& c) {
  const auto refuse = [](const char* why) { return Error{ErrorCode::unsupported, why, {}}; };
  const bool whole = c.src.format == c.dst.format && !c.spec.roi && c.layout == cases::Layout::packed;
  if (!whole) return refuse("is asked for whole images only");
  const bool plain = c.spec.alpha == AlphaMode::ignore && c.spec.transfer == TransferFunction::none;
  if (!plain) return refuse("knows nothing of colour");
  if (c.spec.border.mode.x != c.spec.border.mode.y) return refuse("is asked for one border only");
  if (c.spec.border.value != Border{}.value) return refuse("is asked for a constant border of 0 only");
  Result<Json> kernel = kernel_json(c.spec.kernel);
  if (!kernel) return kernel;
  const FormatInfo& format = info(c.src.format);
  if (format.is_wide()) return refuse("is asked for unorm pixels and floats of up to 32 bits only");
  return Json{
      {"width", c.src.width},        {"height", c.src.height}, {"component", (format.is_unorm() ? "u" : "f") + std::to_string(format.bits)},
      {"channels", format.channels}, {"kernel", *kernel},      {"border", name(c.spec.border.mode.x)}};
}

Status write_rows(const ConstImageView& view, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  for (std::int32_t y = 0; y < view.desc.height; ++y) {
    file.write(reinterpret_cast<const char*>(view.row(y)), view.desc.row_payload_bytes());
  }
  file.close();
  if (!file) return broken(path + ": cannot write");
  return {};
}

Status read_rows(const ImageView& view, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  for (std::int32_t y = 0; y < view.desc.height; ++y) {
    file.read(reinterpret_cast<char*>(view.row(y)), view.desc.row_payload_bytes());
  }
  if (!file) return broken(path + ": cannot read");
  return {};
}

Status run_once(const Handle& handle, const ConstImageView& src, const ImageView& dst) {
  Process& process = *handle.process;
  const std::string from = process.path("src");
  const std::string to = process.path("dst");
  if (Status s = write_rows(src, from); !s) return s;
  if (const Result<Json> answer = process.ask({{"op", "run"}, {"id", handle.id}, {"src", from}, {"dst", to}}); !answer) {
    return answer.error();
  }
  return read_rows(dst, to);
}

Result<bench::PeerRun> prepare(const std::shared_ptr<Process>& process, const std::string& peer, const cases::Case& c) {
  const Result<Json> shape = case_json(c);
  if (!shape) return shape.error();
  const Result<Json> answer = process->ask({{"op", "prepare"}, {"peer", peer}, {"case", *shape}});
  if (!answer) return answer.error();

  const auto handle = std::shared_ptr<Handle>(new Handle{process, (*answer)["id"].get<int>()});
  bench::PeerRun run{.function = answer->value("function", ""), .options = {}, .note = answer->value("note", ""), .run = {}};
  for (const auto& [key, value] : (*answer)["options"].members()) run.options[key] = value.get<std::string>();
  if (const auto mode = parse_border_mode(answer->value("border", "")); mode && *mode != c.spec.border.mode.x) {
    run.border = Border{.mode = {*mode, *mode}};
  }
  run.run = [handle](const ConstImageView& src, const ImageView& dst) { return run_once(*handle, src, dst); };
  run.turn = [handle]() -> Result<bench::PeerTurn> {
    const Result<Json> timed = handle->process->ask({{"op", "turn"}, {"id", handle->id}});
    if (!timed) return timed.error();
    return bench::PeerTurn{(*timed)["ns"].get<std::vector<double>>(), timed->value("copy_ns", std::vector<double>())};
  };
  return run;
}

}  // namespace

Result<std::vector<bench::Peer>> python_peers(const std::string& python, const DeviceInfo& device) {
  const Result<std::shared_ptr<Process>> process = Process::start(python);
  if (!process) return process.error();
  const bool gpu = device.backend != Backend::cpu;
  const Result<Json> hello = (*process)->ask({{"op", "hello"}, {"gpu", gpu}, {"threads", device.threads}});
  if (!hello) return broken(python + " cannot run the peers (is NumPy there?): " + hello.error().message);
  std::vector<bench::Peer> peers;
  for (const Json& entry : (*hello)["peers"]) {
    const auto name = entry.get<std::string>();
    peers.push_back({.name = name,
                     .prepare = [process = *process, name](const cases::Case& c, int) { return prepare(process, name, c); },
                     .on_gpu = gpu});
  }
  return peers;
}

}  // namespace mollify::lab
