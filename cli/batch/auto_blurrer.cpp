#include "batch/auto_blurrer.h"

#include <algorithm>
#include <utility>

#include "auto_device.h"
#include "failure.h"

namespace mollify::cli {
namespace {

constexpr const char* kOwnerHasEnded = "the process that owns the GPU has ended";

}  // namespace

DeviceChoice& AutoBlurrer::choose(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  const auto known =
      std::ranges::find_if(choices_, [&](const Choice& each) { return each.spec == spec && each.src == src && each.dst == dst; });
  if (known != choices_.end()) return known->choice;
  return choices_.emplace_back(Choice{spec, src, dst, new_choice(spec, src, dst)}).choice;
}

DeviceChoice AutoBlurrer::new_choice(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  const Result<std::vector<Plan>> plans = all_threads_.plans(spec, src, dst);
  if (!plans) return {kCpuDevice, {}};  // which fails there, and is said then
  const double seconds = expected_seconds(*plans);
  if (!owner_.has_owner()) {
    if (std::optional<DeviceChoice> choice = choose_without_gpu(seconds, auto_options().seconds_to_open)) return *std::move(choice);
    owner_.set_owner(find_owner_());
  }
  try {
    return owner_.choose(spec, src, dst, seconds);
  } catch (const DeviceGone&) {
    owner_.set_owner(Wire(-1));
    return {kCpuDevice, std::string("auto: cpu, since ") + kOwnerHasEnded};
  }
}

template <class Ask>
std::optional<BlurOutcome> AutoBlurrer::on_gpu(DeviceChoice& choice, const Ask& ask) {
  std::string reason;
  try {
    const Result<BlurOutcome> outcome = ask();
    if (outcome) return *outcome;
    reason = one_line(outcome.error());
  } catch (const DeviceGone& gone) {
    reason = gone.reason.empty() ? kOwnerHasEnded : gone.reason;
    owner_.set_owner(Wire(-1));
  }
  choice = {kCpuDevice, "auto: cpu, since " + choice.device + " has failed: " + reason};
  return std::nullopt;
}

Result<BlurOutcome> AutoBlurrer::plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  DeviceChoice& choice = choose(spec, src, dst);
  std::optional<BlurOutcome> outcome;
  if (choice.device != kCpuDevice) outcome = on_gpu(choice, [&] { return owner_.plan(spec, src, dst); });
  Result<BlurOutcome> result = outcome ? *outcome : cpu_.plan(spec, src, dst);
  if (result) keep(choice);
  return result;
}

Result<BlurOutcome> AutoBlurrer::run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) {
  DeviceChoice& choice = choose(spec, src.desc, dst.desc);
  std::optional<BlurOutcome> outcome;
  if (choice.device != kCpuDevice) outcome = on_gpu(choice, [&] { return owner_.run(spec, src, dst); });
  Result<BlurOutcome> result = outcome ? *outcome : cpu_.run(spec, src, dst);
  if (result) keep(choice);
  return result;
}

Result<std::unique_ptr<StripBlur>> AutoBlurrer::prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                               StripsFor purpose) {
  const DeviceChoice choice = purpose == StripsFor::memory
                                  ? DeviceChoice{kCpuDevice, "auto: cpu, since images that do not fit into memory are blurred there"}
                                  : choose(spec, src, dst);
  if (choice.device != kCpuDevice) return Error{ErrorCode::unsupported, "a GPU blurs whole images", {}};
  Result<std::unique_ptr<StripBlur>> strips = cpu_.prepare_strips(spec, src, dst, purpose);
  if (strips) keep(choice);
  return strips;
}

std::vector<DeviceChoice> AutoBlurrer::take_choices() {
  choices_.clear();
  return std::exchange(to_tell_, {});
}

void AutoBlurrer::keep(const DeviceChoice& choice) {
  if (std::ranges::find(to_tell_, choice) == to_tell_.end()) to_tell_.push_back(choice);
}

}  // namespace mollify::cli
