#include "args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "failure.h"
#include "kernel_file.h"
#include "mollify/experimental/auto_device.h"

namespace mollify::cli {
namespace {

KernelSpec make_gaussian(const KernelArgs& args) {
  if (args.radius && args.truncate) fail_usage("--radius and --truncate say the same thing twice; give one");
  Gaussian gaussian{.sigma = parse_number_pair(*args.gaussian, "--gaussian"), .radius = {}, .truncate = {}};
  if (args.radius) gaussian.radius = parse_whole_pair(*args.radius, "--radius");
  if (args.truncate) gaussian.truncate = parse_number(*args.truncate, "--truncate");
  return gaussian;
}

PerAxis<std::int32_t> make_anchor(const KernelArgs& args, PerAxis<std::int32_t> size) {
  if (!args.anchor) return {size.x / 2, size.y / 2};
  const PerAxis<std::int32_t> anchor = parse_point(*args.anchor, "--anchor");
  if (anchor.x < 0 || anchor.x >= size.x || anchor.y < 0 || anchor.y >= size.y) {
    fail(fmt::format("--anchor {}: outside the kernel of {}x{} pixels", *args.anchor, size.x, size.y));
  }
  return anchor;
}

KernelSpec make_sized_box(const KernelArgs& args) {
  const PerAxis<std::int32_t> size = parse_size(*args.box_size, "--box-size");
  if (size.x < 1 || size.y < 1) fail(fmt::format("--box-size {}: a box has at least one pixel", *args.box_size));
  return Box::of_size(size, make_anchor(args, size));
}

// A single row or column is a 1-D kernel, which may be longer than a matrix is wide.
KernelSpec make_file_kernel(const KernelArgs& args) {
  KernelTable table = read_kernel_file(*args.kernel_file);
  const PerAxis<std::int32_t> anchor = make_anchor(args, {table.width, table.height});
  const Normalization normalization = args.normalize ? Normalization::unit_sum : Normalization::none;
  if (table.height == 1) return Taps{{std::move(table.weights), anchor.x}, {}, normalization};
  if (table.width == 1) return Taps{{}, {std::move(table.weights), anchor.y}, normalization};
  return Matrix{table.width, table.height, std::move(table.weights), anchor, normalization};
}

std::string pair_text(double x, double y) {
  return x == y ? fmt::format("{}", x) : fmt::format("{}x{}", x, y);
}

struct Describe {
  std::string operator()(const Gaussian& k) const {
    std::string text = "gaussian " + pair_text(k.sigma.x, k.sigma.y);
    if (k.radius) text += " radius " + pair_text(k.radius->x, k.radius->y);
    if (k.truncate) text += fmt::format(" truncate {}", *k.truncate);
    return text;
  }
  std::string operator()(const Box& k) const {
    const auto [x, y] = k.extent;
    if (x.before == x.after && y.before == y.after) return "box " + pair_text(x.before, y.before);
    return fmt::format("box {}x{} anchor {},{}", x.before + x.after + 1, y.before + y.after + 1, x.before, y.before);
  }
  std::string operator()(const Tent& k) const { return "tent " + pair_text(k.radius.x, k.radius.y); }
  std::string operator()(const Taps& k) const { return fmt::format("kernel {}x{}", k.x.weights.size(), k.y.weights.size()); }
  std::string operator()(const Matrix& k) const { return fmt::format("kernel {}x{}", k.width, k.height); }
};

BorderMode parse_border_name(std::string_view text) {
  const std::optional<BorderMode> mode = parse_border_mode(text);
  if (!mode) {
    std::vector<std::string_view> names;
    for (const BorderModeInfo& row : border_modes()) names.push_back(row.name);
    fail_usage(fmt::format("--border: {} is not a border mode; there are {}", in_quotes(text), fmt::join(names, ", ")));
  }
  return *mode;
}

}  // namespace

void add_kernel_options(Command& command, KernelArgs& args) {
  const std::string group = "Kernel (give one)";
  command
      .add_option("--gaussian", args.gaussian,
                  "Gaussian of this sigma in pixels, 0 to 1e6; 3x1 differs per axis. SciPy: gaussian_filter; OpenCV: GaussianBlur")
      .type_name("S|SXxSY")
      .group(group);
  command
      .add_option("--box", args.box,
                  "Mean over radius R on each side, 0 to 1048576: 2R+1 pixels; fractions are fine. SciPy: uniform_filter of size 2R+1; "
                  "OpenCV: blur")
      .type_name("R|RXxRY")
      .group(group);
  command.add_option("--box-size", args.box_size, "Mean over WxH pixels, even sizes too").type_name("WxH").group(group);
  command.add_option("--tent", args.tent, "Triangle: weights fall linearly to zero at R+1; R from 0 to 1048576")
      .type_name("R|RXxRY")
      .group(group);
  command
      .add_option("--kernel", args.kernel_file,
                  "Weights from a text file, one row a line; applied as correlation, like SciPy's correlate and OpenCV's filter2D")
      .type_name("FILE")
      .group(group);
  const std::string details = "Kernel details";
  command.add_option("--radius", args.radius, "With --gaussian: exactly the taps -R..R, 0 to 1048576. OpenCV: a kernel of 2R+1")
      .type_name("R|RXxRY")
      .group(details);
  command
      .add_option(
          "--truncate", args.truncate,
          "With --gaussian: radius = floor(T*sigma + 0.5), T from 0 on. SciPy's truncate, whose default is 4; OpenCV cuts 8 bits at 3, "
          "others at 4")
      .type_name("T")
      .group(details);
  command.add_option("--anchor", args.anchor, "With --box-size and --kernel: the tap on the output pixel [centre]")
      .type_name("X,Y")
      .group(details);
  command.add_flag("--normalize", args.normalize, "With --kernel: divide the weights by their sum").group(details);
}

void refuse_stray_options(const KernelArgs& args) {
  const auto refuse = [](bool given, bool belongs, std::string_view option, std::string_view owner) {
    if (given && !belongs) fail_usage(fmt::format("{} goes with {}", option, owner));
  };
  refuse(args.radius.has_value(), args.gaussian.has_value(), "--radius", "--gaussian");
  refuse(args.truncate.has_value(), args.gaussian.has_value(), "--truncate", "--gaussian");
  refuse(args.anchor.has_value(), args.box_size || args.kernel_file, "--anchor", "--box-size or --kernel");
  refuse(args.normalize, args.kernel_file.has_value(), "--normalize", "--kernel");
}

bool has_kernel(const KernelArgs& args) {
  return args.gaussian || args.box || args.box_size || args.tent || args.kernel_file;
}

KernelSpec make_kernel(const KernelArgs& args) {
  const std::array<bool, 5> given = {args.gaussian.has_value(), args.box.has_value(), args.box_size.has_value(), args.tent.has_value(),
                                     args.kernel_file.has_value()};
  const auto count = std::count(given.begin(), given.end(), true);
  if (count == 0) fail_usage("no kernel given; say for example --gaussian 3 or --box 5 (see --help)");
  if (count > 1) fail_usage("more than one kernel given; choose one of --gaussian --box --box-size --tent --kernel");
  refuse_stray_options(args);

  if (args.gaussian) return make_gaussian(args);
  if (args.box_size) return make_sized_box(args);
  if (args.kernel_file) require_name(*args.kernel_file, "--kernel");
  if (args.kernel_file) return make_file_kernel(args);
  if (args.tent) return Tent{parse_number_pair(*args.tent, "--tent")};
  const PerAxis<double> radius = parse_number_pair(*args.box, "--box");
  return Box::of_radius(radius.x, radius.y);
}

std::string describe(const KernelSpec& kernel) {
  return std::visit(Describe{}, kernel);
}

void add_border_options(Command& command, BorderArgs& args) {
  command
      .add_option("--border", args.modes,
                  "Pixels outside: clamp mirror reflect wrap constant; a,b is x then y. SciPy: nearest mirror reflect wrap constant; "
                  "OpenCV: REPLICATE REFLECT_101 REFLECT WRAP CONSTANT [clamp]")
      .type_name("MODE[,MODE_Y]");
  command.add_option("--border-value", args.values, "For constant: one value, or one a channel; 1 is full scale [0]").type_name("V[,V...]");
}

Border make_border(const BorderArgs& args, BorderMode usual) {
  Border border{.mode = {usual, usual}};
  if (args.modes) {
    const std::string_view modes = *args.modes;
    const std::size_t comma = modes.find(',');
    border.mode.x = parse_border_name(modes.substr(0, comma));
    border.mode.y = comma == std::string_view::npos ? border.mode.x : parse_border_name(modes.substr(comma + 1));
  }

  const std::vector<double> values = border_values(args);
  if (values.empty()) return border;
  if (border.mode.x != BorderMode::constant && border.mode.y != BorderMode::constant) {
    fail_usage("--border-value goes with --border constant");
  }
  if (values.size() == 1)
    border.value.fill(values[0]);
  else
    std::copy_n(values.begin(), std::min(values.size(), border.value.size()), border.value.begin());
  return border;
}

std::vector<double> border_values(const BorderArgs& args) {
  return args.values ? parse_numbers(*args.values, "--border-value") : std::vector<double>{};
}

void check_border_values(const BorderArgs& args, PixelFormat format) {
  const std::ptrdiff_t values = std::ssize(border_values(args));
  const FormatInfo& row = info(format);
  if (values <= 1 || values == row.channels) return;
  fail_usage(fmt::format("{} has {} channels, --border-value gives {} values", row.name, row.channels, values));
}

void add_device_options(Command& command, DeviceArgs& args, TakesAuto takes_auto) {
  const bool has_auto = takes_auto == TakesAuto::yes;
  command
      .add_option("--device", args.device,
                  fmt::format("Where to run: cpu, {}vulkan, vulkan:0, vulkan:NAME, or the same of cuda where it is built in; see 'mollify "
                              "list devices'",
                              has_auto ? "auto (where it should end first, by predicted times and the way to a GPU and back), " : ""))
      .type_name("D")
      .show_default();
  command
      .add_option("--threads", args.threads,
                  "CPU threads of all files in flight together, up to 4096; 0: as many as processors; on a GPU they copy images")
      .type_name("N")
      .show_default();
  command.add_option("--cpu-target", args.cpu_target, "CPU instruction set, such as AVX2 [best]").type_name("T");
  command
      .add_option("--probe", args.probe,
                  fmt::format("Measure a GPU of unknown speed for a second when it is used first, and keep that; off: do without{}",
                              has_auto ? ", and auto is the CPU, so that results do not depend on GPUs" : ""))
      .one_of({"on", "off"})
      .show_default();
}

std::string cache_folder() {
  return user_cache_folder();
}

void require_device_name(const DeviceArgs& args) {
  if (args.device == kAutoDevice) {
    fail_usage("--device auto: only 'mollify blur' and 'mollify plan' choose a device; name one of those of 'mollify list devices'");
  }
}

DeviceOptions device_options(const DeviceArgs& args) {
  if (args.threads < 0) fail(fmt::format("--threads {}: must not be negative", args.threads));
  return {.threads = args.threads,
          .cache_folder = cache_folder(),
          .cpu_target = args.cpu_target,
          .probe = args.probe == "on",
          .on_wait = [](const std::string& why) { fmt::print(stderr, "mollify: {}\n", why); }};
}

void warn_of_stored_tuning(const DeviceInfo& device) {
  const auto rows = stored_tuning(cache_folder(), device);
  if (!rows) fmt::print(stderr, "mollify: {}; not used, 'mollify tune' makes it anew\n", one_line(rows.error()));
}

Device open_device(const DeviceArgs& args) {
  Device device = open_device_quietly(args);
  warn_of_stored_tuning(device.info());
  return device;
}

Device open_device_quietly(const DeviceArgs& args) {
  require_device_name(args);
  return value_or_fail(Device::open(args.device, device_options(args)));
}

void add_plan_options(Command& command, PlanArgs& args) {
  command.add_option("--algorithm", args.algorithm, "Force an algorithm, see 'mollify list algorithms' [best]").type_name("ID[:k=v,...]");
  command
      .add_option("--max-error", args.max_error,
                  "Largest allowed error, from 0 on, full scale = 1; 0, or less than what counts as exact: exact "
                  "[see 'mollify list formats']")
      .type_name("E");
}

PlanOptions make_plan_options(const PlanArgs& args) {
  PlanOptions options;
  if (!args.algorithm) return options;
  Result<AlgorithmChoice> choice = parse_algorithm(*args.algorithm);
  if (!choice.ok()) fail_usage("--algorithm: " + one_line(choice.error()));
  options.algorithm = std::move(choice).value();
  return options;
}

Accuracy make_accuracy(const PlanArgs& args) {
  if (!args.max_error) return {};
  return {.max_error = parse_number(*args.max_error, "--max-error")};
}

void add_json_flag(Command& command, bool& json) {
  command.add_flag("--json", json, "Print JSON instead of text");
}

}  // namespace mollify::cli
