#include "lab/record.h"

#include <chrono>
#include <ctime>
#include <string_view>
#include <utility>

#include "model/gpu_model.h"

namespace mollify::lab {
namespace {

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

Json pair(PerAxis<std::int32_t> value) {
  return Json::array({value.x, value.y});
}

Json plan_json(const Plan& plan) {
  Json passes = Json::array();
  for (const Pass& pass : plan.passes) {
    passes.push_back({{"kernel", pass.kernel}, {"size", pair(pass.size)}, {"tile", pair(pass.tile)}, {"group", pair(pass.group)}});
  }
  Json intermediates = Json::array();
  for (const ImageDesc& image : plan.intermediates) {
    intermediates.push_back({{"width", image.width}, {"height", image.height}, {"format", info(image.format).name}});
  }
  return {{"passes", std::move(passes)},
          {"intermediates", std::move(intermediates)},
          {"scratch_bytes", plan.scratch_bytes},
          {"moved_bytes", plan.moved_bytes},
          {"allowed_error", plan.allowed_error},
          {"assumption", plan.assumption.empty() ? Json(nullptr) : Json(plan.assumption)},
          {"predicted_ns", plan.predicted_seconds * 1e9}};
}

/// The row of `mollify tune` that the options came from.
Json measured_json(const std::optional<TuningRow>& row) {
  if (!row) return nullptr;
  Json options = Json::object();
  for (const auto& [key, value] : row->options) options[key] = value;
  return {{"origin", row->origin == TuningOrigin::user ? "user" : "shipped"}, {"gain", row->gain}, {"options", std::move(options)}};
}

/// Which numbers the planner went by. The CPU's follow from its caches.
Json tuning_json(const Plan& plan) {
  const DeviceInfo& device = plan.device;
  if (device.backend == Backend::cpu) {
    return {{"row", "cpu"}, {"measured", measured_json(plan.tuning)}, {"l2_bytes", device.l2_bytes}, {"llc_bytes", device.llc_bytes}};
  }
  const GpuModel model = gpu_model(device);
  return {{"row", model.row},
          {"measured", measured_json(plan.tuning)},
          {"bytes_per_second", model.bytes_per_second},
          {"multiprocessors", model.multiprocessors.count}};
}

// Case names need no quotes in a shell; names of devices may.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command(const Context& context, const std::string& case_name) {
  return "mollify bench --device " + shell_word(context.device_name) + context.device_flags + " --case " + case_name;
}

void add_context(Json& json, const Context& context, const std::string& group, const std::string& case_name) {
  json["lab"] = 1;
  json["suite"] = context.suite;
  json["group"] = group;
  json["driver"] = context.driver;
  json["measured_at"] = now();
  json["command"] = command(context, case_name);
}

}  // namespace

Json to_record(const bench::Record& record, const Plan* plan, bool chosen, const std::string& group, const Json& clocks,
               const Context& context) {
  Json json = bench::to_json(record, context.environment);
  add_context(json, context, group, record.case_name);
  json["outcome"] = "timed";
  json["chosen"] = chosen;
  json["clocks"] = clocks;
  json["plan"] = plan != nullptr ? plan_json(*plan) : Json(nullptr);
  json["tuning"] = plan != nullptr ? tuning_json(*plan) : Json(nullptr);
  return json;
}

Json to_record(const cases::Case& c, const Error& error, const DeviceInfo& device, const std::string& group, const Context& context) {
  const std::string case_name = cases::name(c);
  Json json{{"case", case_name},
            {"algorithm", c.algorithm.id},
            {"backend", name(device.backend)},
            {"device", device.name},
            {"threads", device.backend == Backend::cpu ? device.threads : 1},
            {"peer", nullptr},
            {"environment", bench::to_json(context.environment)}};
  add_context(json, context, group, case_name);
  json["outcome"] = error.code == ErrorCode::unsupported ? "refused" : "wrong";
  json["message"] = error.message;
  return json;
}

}  // namespace mollify::lab
