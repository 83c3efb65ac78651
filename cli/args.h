// The option groups that several commands share, and what their text means.
// A text that cannot be read is wrong usage (exit code 2); numbers that make no sense are left to the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "mollify/mollify.h"
#include "parse.h"  // IWYU pragma: export

namespace mollify::cli {

// --gaussian --radius --truncate --box --box-size --anchor --tent --kernel --normalize
struct KernelArgs {
  std::optional<std::string> gaussian;
  std::optional<std::string> radius;
  std::optional<std::string> truncate;
  std::optional<std::string> box;
  std::optional<std::string> box_size;
  std::optional<std::string> anchor;
  std::optional<std::string> tent;
  std::optional<std::string> kernel_file;
  bool normalize = false;
};
void add_kernel_options(Command& command, KernelArgs& args);
/// Whether any kernel was asked for.
[[nodiscard]] bool has_kernel(const KernelArgs& args);
/// Options that only say something beside one kind of kernel.
void refuse_stray_options(const KernelArgs& args);
/// Exactly one kernel must have been asked for. Reads the file of `--kernel`.
[[nodiscard]] KernelSpec make_kernel(const KernelArgs& args);
/// "gaussian 3", "box 2.5x1", "kernel 5x5".
[[nodiscard]] std::string describe(const KernelSpec& kernel);

// --border --border-value
struct BorderArgs {
  std::optional<std::string> modes;
  std::optional<std::string> values;
};
void add_border_options(Command& command, BorderArgs& args);
/// One value stands for every channel. `usual` is the mode where none was asked for.
[[nodiscard]] Border make_border(const BorderArgs& args, BorderMode usual = BorderMode::clamp);
/// The border values as given, for images of any number of channels; empty when none were.
[[nodiscard]] std::vector<double> border_values(const BorderArgs& args);
/// They are none, one for all channels, or one a channel.
void check_border_values(const BorderArgs& args, PixelFormat format);

// --device --threads --cpu-target --probe
inline constexpr const char* kCpuDevice = "cpu";
inline constexpr const char* kAutoDevice = "auto";
struct DeviceArgs {
  std::string device = kCpuDevice;
  std::int32_t threads = 0;
  std::string cpu_target{};
  std::string probe = "on";
};
/// Whether a command takes `--device auto`. Those that measure or check a device want its name.
enum class TakesAuto : bool { no, yes };
void add_device_options(Command& command, DeviceArgs& args, TakesAuto takes_auto = TakesAuto::no);
/// `--device auto` is wrong usage.
void require_device_name(const DeviceArgs& args);
[[nodiscard]] DeviceOptions device_options(const DeviceArgs& args);
/// The device of this name. Warns in one line where what `mollify tune` stored for it cannot be used.
[[nodiscard]] Device open_device(const DeviceArgs& args);
/// Without the warning.
[[nodiscard]] Device open_device_quietly(const DeviceArgs& args);
void warn_of_stored_tuning(const DeviceInfo& device);
/// Where programs of this user keep what they can make again; empty where the system names no such place.
[[nodiscard]] std::string cache_folder();

// --algorithm --max-error
struct PlanArgs {
  std::optional<std::string> algorithm;
  std::optional<std::string> max_error;
};
void add_plan_options(Command& command, PlanArgs& args);
[[nodiscard]] PlanOptions make_plan_options(const PlanArgs& args);
[[nodiscard]] Accuracy make_accuracy(const PlanArgs& args);

// --json
void add_json_flag(Command& command, bool& json);

}  // namespace mollify::cli
