// The lists of cases that the axes give.
#include <algorithm>
#include <charconv>
#include <string>

#include "cases/axes.h"
#include "cases/cases.h"
#include "cases/covering_array.h"
#include "cases/random.h"

namespace mollify::cases {
namespace {

constexpr std::uint64_t kSeed = 20240229;

/// What an option may be: unset first.
std::vector<std::string> values_of(const OptionInfo& option, const DeviceInfo& device) {
  std::vector<std::string> values = listed_values(option, device);
  values.insert(values.begin(), "");
  if (option.values.empty()) values.insert(values.end(), {"1", "3"});
  return values;
}

/// The cases of one algorithm, or of the planner's choice for an empty id. A row is first a value of each option.
class Rows {
 public:
  Rows(const Axes& axes, std::string id, std::span<const OptionInfo> options) : axes_(axes), id_(std::move(id)) {
    Choice anything;
    anything.fill(kOpen);
    for (const OptionInfo& option : options) {
      const std::string name(option.name);
      std::vector<std::string> values = values_of(option, axes.device);
      // Those of another backend make no rows, and what goes with them need not be asked.
      const bool is_taken = std::any_of(values.begin() + 1, values.end(), [&](const std::string& value) {
        return can_run(axes, {id_, {{name, value}}}, anything);
      });
      if (!is_taken) continue;
      names_.push_back(name);
      values_.push_back(std::move(values));
    }
  }

  void append_to(std::vector<Case>& cases) const {
    std::vector<std::size_t> sizes;
    for (const std::vector<std::string>& values : values_) sizes.push_back(values.size());
    sizes.push_back(1);  // the algorithm, which is to meet every value where it has no options
    const std::size_t leading = sizes.size();
    const Choice counts = axes_.counts();
    sizes.insert(sizes.end(), counts.begin(), counts.end());
    const auto allowed = [&](std::span<const std::size_t> row) { return can_run(axes_, algorithm(row), choice(row)); };
    // Formats, sizes and borders meet one another in the planner's choice. On a slow device they meet often enough in the
    // rows of the algorithms, of which the choice is one.
    const bool all_pairs = id_.empty() && !axes_.is_slow;
    for (const auto& row : covering_array(sizes, all_pairs ? sizes.size() : leading, allowed, kSeed)) {
      cases.push_back(axes_.at(algorithm(row), choice(row), cases.size() + 1));
    }
  }

 private:
  [[nodiscard]] AlgorithmChoice algorithm(std::span<const std::size_t> row) const {
    AlgorithmChoice out{id_, {}};
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (row[i] != kOpen && row[i] != 0) out.options[names_[i]] = values_[i][row[i]];
    }
    return out;
  }
  [[nodiscard]] static Choice choice(std::span<const std::size_t> row) {
    Choice out{};
    std::copy(row.end() - Axis::kCount, row.end(), out.begin());
    return out;
  }

  const Axes& axes_;
  std::string id_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> values_;
};

/// Each algorithm as it is and with each value of each option alone.
std::vector<AlgorithmChoice> algorithm_choices(const DeviceInfo& device) {
  std::vector<AlgorithmChoice> choices{{}};
  for (const AlgorithmInfo& algorithm : algorithms()) {
    const std::string id(algorithm.id);
    choices.push_back({id, {}});
    for (const OptionInfo& option : algorithm.options) {
      for (const std::string& value : values_of(option, device)) {
        if (!value.empty() && value != option.default_value) choices.push_back({id, {{std::string(option.name), value}}});
      }
    }
  }
  return choices;
}

/// Whether there may be plans for formats that FormatInfo::is_wide().
bool takes_wide(const DeviceInfo& device) {
  return device.backend != Backend::vulkan;
}

}  // namespace

std::vector<std::string> listed_values(const OptionInfo& option, const DeviceInfo& device) {
  const std::int32_t most = device.gpu.is_software ? option.most_in_software : 0;
  std::vector<std::string> values;
  for (const std::string_view value : option.values) {
    std::int32_t number = 0;
    std::from_chars(value.data(), value.data() + value.size(), number);
    if (most == 0 || number <= most) values.emplace_back(value);
  }
  return values;
}

std::vector<Case> usual_cases(const DeviceInfo& device) {
  const Axes a = axes(device);
  std::vector<Case> cases;
  Rows(a, "", {}).append_to(cases);
  for (const AlgorithmInfo& algorithm : algorithms()) {
    Rows(a, std::string(algorithm.id), algorithm.options).append_to(cases);
  }
  return cases;
}

std::vector<Case> wide_cases(const DeviceInfo& device) {
  std::vector<Case> cases;
  if (!takes_wide(device)) return cases;
  const Axes a = axes(device, Formats::wide);
  Rows(a, "", {}).append_to(cases);
  for (const AlgorithmInfo& algorithm : algorithms()) {
    Rows(a, std::string(algorithm.id), algorithm.options).append_to(cases);
  }
  return cases;
}

std::vector<Case> pairwise_cases(const DeviceInfo& device) {
  std::vector<Case> cases = usual_cases(device);
  const std::vector<Case> wide = wide_cases(device);
  cases.insert(cases.end(), wide.begin(), wide.end());
  return cases;
}

std::vector<Case> pairwise_cases(const DeviceInfo& device, std::string_view algorithm) {
  std::vector<Case> cases;
  for (const Formats formats : {Formats::usual, Formats::wide}) {
    if (formats == Formats::wide && !takes_wide(device)) continue;
    const Axes a = axes(device, formats);
    for (const AlgorithmInfo& info : algorithms()) {
      if (info.id == algorithm) Rows(a, std::string(info.id), info.options).append_to(cases);
    }
  }
  return cases;
}

std::vector<Case> all_cases(const DeviceInfo& device) {
  const Axes a = axes(device);
  const Choice counts = a.counts();
  Random random(kSeed);
  std::vector<Case> cases;
  for (const AlgorithmChoice& algorithm : algorithm_choices(device)) {
    Choice choice;
    choice.fill(kOpen);
    for (choice[Axis::kKernel] = 0; choice[Axis::kKernel] < counts[Axis::kKernel]; ++choice[Axis::kKernel]) {
      choice[Axis::kSize] = choice[Axis::kSource] = kOpen;
      if (!can_run(a, algorithm, choice)) continue;
      for (choice[Axis::kSize] = 0; choice[Axis::kSize] < counts[Axis::kSize]; ++choice[Axis::kSize]) {
        for (choice[Axis::kSource] = 0; choice[Axis::kSource] < counts[Axis::kSource]; ++choice[Axis::kSource]) {
          if (!can_run(a, algorithm, choice)) continue;
          Choice full = choice;
          for (int attempt = 0; attempt < 20; ++attempt) {  // of those that can run
            for (std::size_t axis = Axis::kSource + 1; axis < Axis::kCount; ++axis) full[axis] = random.below(counts[axis]);
            if (!can_run(a, algorithm, full)) continue;
            cases.push_back(a.at(algorithm, full, cases.size() + 1));
            break;
          }
        }
      }
    }
  }
  return cases;
}

std::vector<Case> bench_cases(PerAxis<std::int32_t> size) {
  std::vector<KernelSpec> kernels;
  for (const std::int32_t radius : {1, 4, 9, 15, 32}) {
    kernels.emplace_back(Gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}});
  }
  for (const double sigma : {5.0, 20.0}) kernels.emplace_back(Gaussian{{sigma, sigma}, {}, {}});
  for (const double radius : {1, 4, 9, 32, 128}) kernels.emplace_back(Box::of_radius(radius, radius));
  Matrix matrix{7, 7, {}, {3, 3}, Normalization::unit_sum};  // a disc: no separable kernel
  for (int y = -3; y <= 3; ++y) {
    for (int x = -3; x <= 3; ++x) matrix.weights.push_back(x * x + y * y <= 10 ? 1.0 : 0.0);
  }
  kernels.emplace_back(matrix);

  std::vector<Case> cases;
  using enum PixelFormat;
  for (const PixelFormat format : {rgba8, rgba32f, rgba16f, r8, rgb8, r32f}) {
    for (const KernelSpec& kernel : kernels) {
      Case c;
      c.spec.kernel = kernel;
      c.src = c.dst = {size.x, size.y, format};
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

}  // namespace mollify::cases
