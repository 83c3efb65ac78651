// mollify bench: how fast, beside a copy of the same bytes and the peers. Times nothing that did not verify.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/report.h"
#include "bench/time_group.h"
#include "cases/cases.h"
#include "cases/filter.h"
#include "commands.h"
#include "lab/results.h"

namespace mollify::cli {
namespace {

constexpr PixelFormat kDefaultFormat = PixelFormat::rgba8;

struct BenchCommand {
  std::string size = "3840x2160";
  std::optional<std::string> format;
  KernelArgs kernel;
  BorderArgs border;
  PlanArgs plan;
  DeviceArgs device;
  std::optional<std::string> filter;
  std::vector<std::string> case_names;
  std::optional<std::string> json_path;
  bool no_peers = false;
  int batch = 1;
  double seconds = 1.0;
};

cases::Case case_of_kernel(const BenchCommand& args, PerAxis<std::int32_t> size) {
  cases::Case c;
  c.spec.kernel = make_kernel(args.kernel);
  c.src = {size.x, size.y, args.format ? parse_format_name(*args.format) : kDefaultFormat};
  c.dst = c.src;
  return c;
}

// The table of the case list: in one format unless a pattern selects among all.
std::vector<cases::Case> cases_of_table(const BenchCommand& args, PerAxis<std::int32_t> size) {
  std::vector<cases::Case> selected = cases::bench_cases(size);
  if (args.format || !args.filter) {
    const PixelFormat format = args.format ? parse_format_name(*args.format) : kDefaultFormat;
    std::erase_if(selected, [&](const cases::Case& c) { return c.src.format != format; });
    if (selected.empty()) fail(fmt::format("--format {}: not in the table of cases; name a kernel too", *args.format));
  }
  return selected;
}

std::vector<cases::Case> select(const BenchCommand& args) {
  if (!args.case_names.empty()) {
    std::vector<cases::Case> named;
    for (const std::string& text : args.case_names) named.push_back(value_or_fail(cases::parse_case(text)));
    return named;
  }
  const PerAxis<std::int32_t> size = parse_size(args.size, "--size");
  refuse_stray_options(args.kernel);
  std::vector<cases::Case> selected = has_kernel(args.kernel) ? std::vector{case_of_kernel(args, size)} : cases_of_table(args, size);
  for (cases::Case& c : selected) {
    c.spec.border = make_border(args.border);
    check_border_values(args.border, c.src.format);
    c.spec.accuracy = make_accuracy(args.plan);
    c.algorithm = make_plan_options(args.plan).algorithm.value_or(AlgorithmChoice{});
  }
  if (args.filter) {
    std::erase_if(selected, [&](const cases::Case& c) { return !cases::matches(*args.filter, cases::name(c)); });
    if (selected.empty()) fail(fmt::format("--filter \"{}\": no case has such a name", *args.filter));
  }
  return selected;
}

// A name says everything about its case; an option that it would silently overrule is a mistake.
void refuse_beside_case(const Command& command, const BenchCommand& args) {
  if (args.case_names.empty()) return;
  for (const char* option : {"--size", "--format", "--gaussian", "--radius", "--truncate", "--box", "--box-size", "--anchor", "--tent",
                             "--kernel", "--normalize", "--border", "--border-value", "--algorithm", "--max-error", "--filter"}) {
    if (command.is_given(option)) fail_usage(fmt::format("{} does not go with --case, which says it all", option));
  }
}

// One line on a terminal that says what is being measured, until there is something to show.
class Waiting {
 public:
  explicit Waiting(const std::string& what) : live_(isatty(STDERR_FILENO) != 0) {
    if (live_) fmt::print(stderr, "\r\033[Kmeasuring {} ...", what.substr(0, 60));
    std::fflush(stderr);
  }
  ~Waiting() {
    if (live_) fmt::print(stderr, "\r\033[K");
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  bool live_;
};

/// The first ones that differ in nothing but their algorithms: these take turns on the same images.
std::span<const cases::Case> first_group(std::span<const cases::Case> all) {
  const auto problem = [](cases::Case c) {
    c.algorithm = {};
    return c;
  };
  std::size_t count = 1;
  while (count < all.size() && problem(all[count]) == problem(all.front())) ++count;
  return all.first(count);
}

Result<bench::GroupTiming> time_waiting(const Device& device, std::span<const cases::Case> group, const bench::GroupOptions& options) {
  const Waiting waiting(cases::name(group.front()));
  return bench::time_group(device, group, options);
}

// What is said of the cases, and what it comes to in the end.
class Report {
 public:
  Report(const DeviceInfo& device, int batch, std::span<const cases::Case> all, std::optional<lab::Results> json)
      : device_(device), batch_(batch), table_(names(all)), json_(std::move(json)) {}

  void add(std::span<const cases::Case> group, const Result<bench::GroupTiming>& timing) {
    if (!timing) return give_up(group.front(), timing.error());
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Result<bench::Record>& own = timing->cases[i].record;
      if (!own) {
        give_up(group[i], own.error());
        continue;
      }
      if (timed_++ == 0) print_heading();
      std::vector<bench::Record> row = {*own};
      row.insert(row.end(), timing->peers.begin(), timing->peers.end());
      fmt::print("{}\n", table_.row(row));
      std::fflush(stdout);
      keep({&*own, 1});
    }
    keep(timing->peers);
    for (const std::string& note : timing->notes) {
      if (std::ranges::find(notes_, note) == notes_.end()) notes_.push_back(note);
    }
  }

  void end() {
    if (timed_ > 0 && device_.backend != Backend::cpu) {
      notes_.emplace_back("times are the device's own, with the images on it; copies are of the same bytes on the device");
    }
    for (const std::string& note : notes_) fmt::print("note: {}\n", note);
    if (timed_ > 0) fmt::print("load average at the end: {:.2f}\n", bench::load_average());
    std::fflush(stdout);
    if (wrong_ > 0 || timed_ == 0) throw Failure{kExitFailure, ""};
  }

 private:
  static std::vector<std::string> names(std::span<const cases::Case> all) {
    std::vector<std::string> names;
    for (const cases::Case& c : all) names.push_back(cases::name(c));
    return names;
  }
  void print_heading() const {
    const std::string of_batches = batch_ == 1 ? "" : fmt::format("; times of {} images in one dispatch a pass", batch_);
    fmt::print("{}: {}, {}, threads: {}{}; load average {:.2f}\n{}\n", name(device_.backend), device_.name, device_.driver, device_.threads,
               of_batches, bench::load_average(), table_.header());
  }
  void give_up(const cases::Case& c, const Error& why) {
    fmt::print(stderr, "mollify: {}: {}\n", cases::name(c), one_line(why));
    if (why.code != ErrorCode::unsupported) ++wrong_;
  }
  void keep(std::span<const bench::Record> records) {
    if (!json_ || records.empty()) return;
    const bench::Environment environment = bench::environment();
    for (const bench::Record& record : records) value_or_fail(json_->add(bench::to_json(record, environment)));
  }

  DeviceInfo device_;
  int batch_;
  bench::Table table_;
  std::optional<lab::Results> json_;
  std::vector<std::string> notes_;
  int timed_ = 0;
  int wrong_ = 0;
};

void run(const BenchCommand& args) {
  if (!(args.seconds >= 0.0 && std::isfinite(args.seconds))) {
    fail_usage(fmt::format("--seconds {}: not a length of time", args.seconds));
  }
  if (args.batch < 1) fail_usage(fmt::format("--batch {}: one image at least", args.batch));
  const std::vector<cases::Case> selected = select(args);
  for (const cases::Case& c : selected) value_or_fail(validate(c.spec, c.src, c.dst));
  const Device device = open_device(args.device);
  if (args.batch > 1 && device.info().backend == Backend::cpu) {
    fail(fmt::format("--batch {}: a CPU dispatches nothing; name a GPU with --device", args.batch));
  }
  std::optional<lab::Results> json;  // figures of earlier runs are never lost
  if (args.json_path) require_name(*args.json_path, "--json");
  if (args.json_path) json = value_or_fail(lab::Results::open(*args.json_path, lab::Resume::yes));
  Report report(device.info(), args.batch, selected, std::move(json));

  const bool has_peers = !args.no_peers && args.batch == 1;
  const bench::GroupOptions options{
      .seconds = args.seconds, .batch = args.batch, .peers = has_peers ? bench::peers() : std::span<const bench::Peer>()};
  for (std::span<const cases::Case> rest = selected; !rest.empty();) {
    const std::span<const cases::Case> group = first_group(rest);
    rest = rest.subspan(group.size());
    report.add(group, time_waiting(device, group, options));
  }
  report.end();
}

}  // namespace

void add_bench(Command& app) {
  const auto args = std::make_shared<BenchCommand>();
  Command command = app.add_command("bench", "Measure on this machine, beside a copy of the same bytes");
  command.add_option("--size", args->size, "Image size in pixels").type_name("WxH").show_default();
  command.add_option("--format", args->format, "Pixel format, see 'mollify list formats' [rgba8]").type_name("F");
  add_kernel_options(command, args->kernel);
  add_border_options(command, args->border);
  add_plan_options(command, args->plan);
  add_device_options(command, args->device);
  command.add_option("--filter", args->filter, "Those of the table with this in their name; or with * and ?").type_name("PATTERN");
  command
      .add_option("--case", args->case_names, "This one, as 'verify' and 'bench' name it; several that differ only in algorithm take turns")
      .type_name("NAME")
      .one_value_each();
  command.add_option("--json", args->json_path, "Add one JSON object a line to this file").type_name("FILE");
  command.add_option("--batch", args->batch, "GPU: images in one dispatch; other libraries are left out").type_name("N").show_default();
  command.add_flag("--no-peers", args->no_peers, "Leave other libraries out");
  command.add_option("--seconds", args->seconds, "To spend on each thing that is timed; 9 runs at least").type_name("S").show_default();
  command.set_footer(R"(Examples:
  mollify bench                                          a table of common kernels
  mollify bench --size 4096x4096 --format rgba32f --gaussian 3 --radius 9
  mollify bench --device vulkan --size 256x256 --gaussian 2 --batch 64
  mollify bench --case sep.fused/1920x1080/rgba8/box:radius=2/clamp --case box.any/1920x1080/rgba8/box:radius=2/clamp
  mollify bench --filter box: --json results.jsonl)");
  command.on_run([args, command] {
    refuse_beside_case(command, *args);
    run(*args);
  });
}

}  // namespace mollify::cli
