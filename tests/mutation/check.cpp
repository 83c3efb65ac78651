// A short run over what the test suite checks at length; exits with 1 and the first failure.
//   check BACKEND [NAME...]   the cases of these algorithms, or these cases, by their names
// Without names the CPU backend runs every third case of all algorithms.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "cases/cases.h"
#include "cases/side_by_side.h"
#include "cases/source.h"

namespace mollify::cases {
namespace {

constexpr std::size_t kEvery = 3;  // of the cases of all algorithms; those of one are few

/// Those of an algorithm, or the one of this name.
std::vector<Case> cases_of(const Device& device, std::string_view what) {
  if (what.find('/') == std::string_view::npos) return pairwise_cases(device.info(), what);
  const Result<Case> one = parse_case(what);
  return one ? std::vector{*one} : std::vector<Case>();
}

/// The reference is most of the work and runs on one thread, so cases of the CPU run side by side.
bool conforms(const Device& device, const std::vector<Case>& cases, std::size_t every) {
  std::mutex speaking;
  const bool on_cpu = device.info().backend == Backend::cpu;
  const std::size_t count = (cases.size() + every - 1) / every;
  return side_by_side(count, on_cpu ? std::thread::hardware_concurrency() : 1, [&](std::size_t i) {
    const Case& c = cases[i * every];
    const CaseResult result = run_case(device, c);
    if (result.outcome == Outcome::pass) return true;
    const std::scoped_lock lock(speaking);
    std::printf("%s\n  %s\n", name(c).c_str(), result.message.c_str());
    return false;
  });
}

Result<std::vector<std::byte>> blurred(const Device& device, const BlurSpec& spec, const ConstImageView& src) {
  const ImageDesc desc = destination_desc(spec, src.desc, src.desc.format);
  PlanOptions options;
  options.algorithm = AlgorithmChoice{"box.any", {}};  // taps may be faster, but hold no running sums
  const Result<Plan> plan = make_plan(spec, src.desc, desc, device.info(), options);
  if (!plan) return plan.error();
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) return executable.error();
  Result<Workspace> workspace = executable->make_workspace();
  if (!workspace) return workspace.error();
  std::vector<std::byte> bytes(static_cast<std::size_t>(desc.payload_bytes()));
  const ImageView view{desc, bytes.data(), static_cast<std::ptrdiff_t>(desc.row_payload_bytes())};
  if (Status status = executable->run(src, view, *workspace); !status) return status.error();
  return bytes;
}

/// Rows that begin anywhere have the bits of the whole, even where rounding errors are as large as the pixels.
bool rows_do_not_depend_on_the_region(const Device& device) {
  const ImageDesc desc{40, 300, PixelFormat::r32f};
  BlurSpec spec;
  spec.kernel = Box::of_radius(3, 5);
  std::vector<float> pixels(40 * 300);
  const ImageView src{desc, pixels.data(), desc.row_payload_bytes()};
  fill_random(src, spec, 4);
  for (std::size_t i = 0; i < pixels.size(); i += 371) pixels[i] = 1e16F;
  const Result<std::vector<std::byte>> whole = blurred(device, spec, src);
  for (const std::int32_t y : {1, 65, 131, 200}) {
    spec.roi = Rect{0, y, 40, 90};
    const Result<std::vector<std::byte>> part = blurred(device, spec, src);
    if (part && whole && std::memcmp(part->data(), whole->data() + y * 160, part->size()) == 0) continue;
    std::printf("rows %d to %d differ from those of the whole image\n", y, y + 89);
    return false;
  }
  return true;
}

/// An infinite pixel is not seen by windows that it has left.
bool infinity_stays_in_its_window(const Device& device) {
  constexpr std::int32_t kWidth = 40;
  constexpr std::int32_t kFrom = 20;  // the row of the pixel
  constexpr std::int32_t kRadius = 3;
  const ImageDesc desc{kWidth, 64, PixelFormat::rgba32f};
  BlurSpec spec;
  spec.kernel = Box::of_radius(kRadius, kRadius);
  std::vector<float> pixels(kWidth * 64 * 4, 0.5F);
  pixels[(kFrom * kWidth + 10) * 4] = HUGE_VALF;
  const Result<std::vector<std::byte>> out = blurred(device, spec, {desc, pixels.data(), desc.row_payload_bytes()});
  std::vector<float> values(pixels.size());
  if (out) std::memcpy(values.data(), out->data(), out->size());
  const auto below = values.begin() + (kFrom + kRadius + 1) * kWidth * 4;
  if (out && std::all_of(below, values.end(), [](float v) { return std::isfinite(v); })) return true;
  std::printf("an infinity is seen below its windows\n");
  return false;
}

}  // namespace
}  // namespace mollify::cases

int main(int count, char** arguments) {
  using namespace mollify;
  if (count < 2) return 2;
  const std::span names(arguments + 2, arguments + count);
  const Result<Device> device = Device::open(arguments[1], {2});
  if (!device) {
    std::printf("%s\n", device.error().message.c_str());
    return 1;
  }
  if (device->info().backend == Backend::cpu &&
      !(cases::rows_do_not_depend_on_the_region(*device) && cases::infinity_stays_in_its_window(*device))) {
    return 1;
  }
  if (names.empty()) return cases::conforms(*device, cases::pairwise_cases(device->info()), cases::kEvery) ? 0 : 1;
  for (const char* name : names) {
    const std::vector<cases::Case> cases = cases::cases_of(*device, name);
    if (cases.empty()) std::printf("there are no cases of %s\n", name);
    if (cases.empty() || !cases::conforms(*device, cases, 1)) return 1;
  }
  return 0;
}
