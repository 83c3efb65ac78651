// mollify plan: how a blur would run, and why not otherwise. Reads no image.
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "auto_device.h"
#include "commands.h"
#include "json/json.h"
#include "mollify/mollify.h"

namespace mollify::cli {
namespace {

struct PlanCommand {
  std::string size;
  std::string format;
  std::optional<std::string> to_format;
  std::optional<std::string> roi;
  std::string alpha = "ignore";
  bool linear = false;
  bool json = false;
  KernelArgs kernel;
  BorderArgs border;
  DeviceArgs device;
  PlanArgs plan;
};

std::string name_of(const Binding& binding) {
  switch (binding.kind) {
    case Binding::Kind::source:
      return "source";
    case Binding::Kind::destination:
      return "destination";
    case Binding::Kind::intermediate:
      break;
  }
  return fmt::format("intermediate {}", binding.index);
}

Json to_json(const Pass& pass) {
  Json constants = Json::object();
  for (const auto& [key, value] : pass.constants) constants[key] = value;
  for (const auto& [key, value] : pass.parameters) constants[key] = value;
  return {{"kernel", pass.kernel},
          {"source", name_of(pass.source)},
          {"destination", name_of(pass.destination)},
          {"taps", {pass.taps.x.weights.size(), pass.taps.y.weights.size()}},
          {"tile", {pass.tile.x, pass.tile.y}},
          {"group", {pass.group.x, pass.group.y}},
          {"constants", std::move(constants)}};
}

/// Null where no option came from a measurement.
Json to_json(const std::optional<TuningRow>& row) {
  if (!row) return nullptr;
  return {{"options", row->options}, {"gain", row->gain}, {"origin", row->origin == TuningOrigin::user ? "user" : "shipped"}};
}

Json to_json(const Plan& plan) {
  Json options = Json::object();
  for (const auto& [key, value] : plan.algorithm.options) options[key] = value;
  Json passes = Json::array();
  for (const Pass& pass : plan.passes) passes.push_back(to_json(pass));
  Json refusals = Json::array();
  for (const Refusal& refusal : plan.refusals) {
    refusals.push_back({{"algorithm", refusal.algorithm}, {"reason", refusal.reason}});
  }
  return {{"algorithm", plan.algorithm.id},
          {"options", std::move(options)},
          {"tuning", to_json(plan.tuning)},
          {"backend", name(plan.device.backend)},
          {"device", plan.device.name},
          {"threads", plan.device.threads},
          {"width", plan.src.width},
          {"height", plan.src.height},
          {"src_format", info(plan.src.format).name},
          {"dst_width", plan.dst.width},
          {"dst_height", plan.dst.height},
          {"dst_format", info(plan.dst.format).name},
          {"kernel", describe(plan.spec.kernel)},
          {"border", {name(plan.spec.border.mode.x), name(plan.spec.border.mode.y)}},
          {"passes", std::move(passes)},
          {"scratch_bytes", plan.scratch_bytes},
          {"min_bytes", plan.min_bytes},
          {"moved_bytes", plan.moved_bytes},
          {"predicted_error", plan.predicted_error},
          {"reach", {{plan.reach.x.before, plan.reach.x.after}, {plan.reach.y.before, plan.reach.y.after}}},
          {"assumption", plan.assumption},
          {"allowed_error", plan.allowed_error},
          {"predicted_seconds", plan.predicted_seconds},
          {"predicted_copy_ratio", plan.predicted_copy_ratio},
          {"refusals", std::move(refusals)}};
}

struct Planned {
  Plan plan;
  std::optional<DeviceChoice> choice{};  ///< of `--device auto`
};

using PlanOn = std::function<Result<Plan>(const DeviceInfo& device)>;

Planned planned_on_auto(const PlanOn& plan_on, const DeviceArgs& args) {
  AutoDevice devices(args);
  const Device cpu = value_or_fail(devices.open(kCpuDevice));
  Plan on_cpu = value_or_fail(plan_on(cpu.info()));
  const auto on_gpu = [&](const GpuAndCpu& machine) -> std::optional<GpuWork> {
    const Result<Plan> plan = plan_on(machine.info);
    return plan ? std::optional(gpu_work({&*plan, 1})) : std::nullopt;
  };
  DeviceChoice choice = devices.choose(mollify::expected_seconds(on_cpu), on_gpu);
  const Device device = value_or_fail(devices.open(choice.device));
  warn_of_stored_tuning(device.info());
  if (choice.device == kCpuDevice) return {std::move(on_cpu), std::move(choice)};
  return {value_or_fail(plan_on(device.info())), std::move(choice)};
}

Planned planned(const PlanOn& plan_on, const DeviceArgs& args) {
  if (args.device == kAutoDevice) return planned_on_auto(plan_on, args);
  return {value_or_fail(plan_on(open_device(args).info()))};
}

void run(const PlanCommand& args) {
  const PerAxis<std::int32_t> size = parse_size(args.size, "the image size");
  const ImageDesc src{size.x, size.y, parse_format_name(args.format)};

  BlurSpec spec;
  spec.kernel = make_kernel(args.kernel);
  spec.border = make_border(args.border);
  spec.accuracy = make_accuracy(args.plan);
  spec.alpha = args.alpha == "premultiply" ? AlphaMode::premultiply : AlphaMode::ignore;
  spec.transfer = args.linear ? TransferFunction::srgb : TransferFunction::none;
  if (args.roi) spec.roi = parse_rect(*args.roi, "--roi");

  check_border_values(args.border, src.format);

  const ImageDesc dst = destination_desc(spec, src, args.to_format ? parse_format_name(*args.to_format) : src.format);
  const PlanOptions options = make_plan_options(args.plan);
  const auto [plan, choice] = planned([&](const DeviceInfo& device) { return make_plan(spec, src, dst, device, options); }, args.device);
  if (args.json) {
    Json json = to_json(plan);
    if (choice) json["choice"] = {{"device", choice->device}, {"why", choice->why}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (choice) fmt::print("{}\n", choice->why);
  const std::string text = explain(plan);
  fmt::print("{}{}", text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

void add_plan(Command& app) {
  const auto args = std::make_shared<PlanCommand>();
  Command command = app.add_command("plan", "Explain how a blur would run, without an image");
  command.add_option("size", args->size, "Image size in pixels").type_name("WxH").required();
  command.add_option("pixel_format", args->format, "Pixel format, see 'mollify list formats'").type_name("FORMAT").required();
  add_kernel_options(command, args->kernel);
  add_border_options(command, args->border);
  command.add_option("--roi", args->roi, "Only this region").type_name("WxH+X+Y");
  command.add_option("--format", args->to_format, "Pixel format of the result [as the source]").type_name("F");
  command.add_option("--alpha", args->alpha, "What the last of 2 or 4 channels is").one_of({"ignore", "premultiply"}).show_default();
  command.add_flag("--linear", args->linear, "Decode sRGB to linear light around the blur");
  add_plan_options(command, args->plan);
  add_device_options(command, args->device, TakesAuto::yes);
  add_json_flag(command, args->json);
  command.set_footer(R"(Examples:
  mollify plan 3840x2160 rgba8 --gaussian 12
  mollify plan 3840x2160 rgba32f --box 30 --border mirror --json
  mollify plan 3840x2160 rgba32f --box 30 --device auto      where it should end first, and why)");
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
