#include "windows_support.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "fuzz/random_case.h"
#include "support.h"

namespace mollify::test {

using cases::Case;
using cases::Random;

namespace {

/// Places that cut [0, length) into pieces.
std::vector<std::int32_t> random_cuts(Random& random, std::int32_t length) {
  std::vector<std::int32_t> cuts{0, length};
  for (std::size_t i = random.below(4); i > 0; --i) cuts.push_back(random.between(0, length));
  std::ranges::sort(cuts);
  const auto same = std::ranges::unique(cuts);
  cuts.erase(same.begin(), same.end());
  return cuts;
}

/// Rectangles that make up an image, in any order.
std::vector<Rect> random_pieces(Random& random, const ImageDesc& desc) {
  const std::vector<std::int32_t> columns = random_cuts(random, desc.width), rows = random_cuts(random, desc.height);
  std::vector<Rect> pieces;
  for (std::size_t j = 0; j + 1 < rows.size(); ++j) {
    for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
      pieces.push_back({columns[i], rows[j], columns[i + 1] - columns[i], rows[j + 1] - rows[j]});
      std::swap(pieces.back(), pieces[random.below(pieces.size())]);
    }
  }
  return pieces;
}

/// The image that windows of it make up one after the other.
Pixels in_windows(const Executable& executable, const ConstImageView& src, Random& random) {
  const Plan& plan = executable.plan();
  Pixels result = Pixels::constant(plan.dst, 0.0);
  for (const Rect& piece : random_pieces(random, plan.dst)) {
    SourceWindows source(src);
    for (const Rect& needed : region_of(plan, piece)) source.add_stacked(needed, random);
    Result<Workspace> workspace = executable.make_workspace(PerAxis<std::int32_t>{piece.width, piece.height});
    if (!workspace) throw std::runtime_error(workspace.error().message);
    const Status status = executable.run(source.windows(), {crop(result.view(), piece), piece.x, piece.y}, *workspace);
    if (!status) throw std::runtime_error(explain(plan) + status.error().message);
  }
  return result;
}

/// How many rows a step takes and makes.
struct Step {
  std::int32_t source_rows, rows;
};

Step random_step(const Stream& stream, const Plan& plan, std::int32_t most, Random& random) {
  const std::int32_t left = plan.src.height - stream.next_source_row();
  if (random.one_in(3)) {  // rows of the destination are what counts
    const std::int32_t rows = std::min(random.between(1, most), plan.dst.height - stream.next_row());
    return {stream.needed_source_rows(rows), rows};
  }
  const std::int32_t source_rows = std::min(random.between(1, most), left);
  const std::int32_t ready = stream.ready_rows(source_rows);
  return {source_rows, random.one_in(4) ? random.between(0, ready) : ready};
}

/// The image that strips of at most so many rows make up. Strips of the source lie in guarded memory, which is gone after each step.
Pixels in_strips(const Executable& executable, const ConstImageView& src, std::int32_t most, Random& random) {
  const Plan& plan = executable.plan();
  Pixels result = Pixels::constant(plan.dst, 0.0);
  Result<Stream> made_stream = Stream::create(executable);
  if (!made_stream) throw std::runtime_error(made_stream.error().message);
  Stream& stream = *made_stream;
  while (stream.next_row() < plan.dst.height) {
    const Step step = random_step(stream, plan, most, random);
    const auto side = [&] { return random.one_in(2) ? GuardedPixels::Side::begin : GuardedPixels::Side::end; };
    const GuardedPixels source({plan.src.width, std::max(step.source_rows, 1), plan.src.format}, side());
    const GuardedPixels made({plan.dst.width, std::max(step.rows, 1), plan.dst.format}, side());
    const auto strip = [](const ImageView& view, std::int32_t rows) { return crop(view, {0, 0, view.desc.width, rows}); };
    const Rect next{0, stream.next_source_row(), plan.src.width, step.source_rows};
    if (step.source_rows > 0) copy_rows(crop(src, next), source.view());
    const Rect place{0, stream.next_row(), plan.dst.width, step.rows};
    const Status status = stream.advance(strip(source.view(), step.source_rows), strip(made.view(), step.rows));
    if (!status) throw std::runtime_error(status.error().message);
    copy_rows(strip(made.view(), step.rows), crop(result.view(), place));
  }
  return result;
}

/// Whether a stream of the plan can be made. If not, that is for the reason that a border wraps down the image.
bool can_stream(const Executable& executable) {
  const Result<Stream> stream = Stream::create(executable);
  if (stream) return true;
  EXPECT_EQ(stream.error().code, ErrorCode::unsupported);
  EXPECT_EQ(executable.plan().spec.border.mode.y, BorderMode::wrap);
  return false;
}

/// Where two images of the same shape differ first, and in how many numbers; or nothing.
std::string first_difference(const Pixels& made, const Pixels& whole) {
  if (made == whole) return "";
  const ImageDesc& desc = whole.desc();
  std::string first = "bits of NaN";
  std::int64_t count = 0;
  for (std::int32_t y = desc.height - 1; y >= 0; --y) {
    for (std::int32_t x = desc.width - 1; x >= 0; --x) {
      for (int channel = 0; channel < info(desc.format).channels; ++channel) {
        const double a = made.at(x, y, channel), b = whole.at(x, y, channel);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        ++count;
        first = "column " + std::to_string(x) + ", row " + std::to_string(y) + ": " + std::to_string(a) + " for " + std::to_string(b) +
                ", by " + std::to_string(a - b);
      }
    }
  }
  return first + "; " + std::to_string(count) + " numbers differ";
}

}  // namespace

GuardedPixels::GuardedPixels(const ImageDesc& desc, Side side) : desc_(desc) {
  const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t payload = desc.row_payload_bytes();
  const std::int64_t stored = (payload + page - 1) / page * page;
  row_bytes_ = stored + page;
  bytes_ = static_cast<std::size_t>(page + desc.height * row_bytes_);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<std::byte*>(memory);
  std::memset(memory_, 0x5A, bytes_);
  for (std::int32_t y = 0; y <= desc.height; ++y) mprotect(memory_ + y * row_bytes_, static_cast<std::size_t>(page), PROT_NONE);
  pixels_ = memory_ + page + (side == Side::end ? stored - payload : 0);
}

GuardedPixels::~GuardedPixels() {
  munmap(memory_, bytes_);
}

void copy_rows(const ConstImageView& from, const ImageView& to) {
  const auto bytes = static_cast<std::size_t>(from.desc.row_payload_bytes());
  for (std::int32_t y = 0; y < from.desc.height; ++y) std::memcpy(to.row(y), from.row(y), bytes);
}

void SourceWindows::add(const Rect& place, GuardedPixels::Side side) {
  const GuardedPixels& pixels = pixels_.emplace_back(ImageDesc{place.width, place.height, image_.desc.format}, side);
  copy_rows(crop(image_, place), pixels.view());
  windows_.push_back({pixels.view(), place.x, place.y});
}

void SourceWindows::add_stacked(const Rect& place, Random& random) {
  for (std::int32_t y = 0; y < place.height;) {
    const std::int32_t rows = random.one_in(2) ? place.height - y : random.between(1, place.height - y);
    add({place.x, place.y + y, place.width, rows}, random.one_in(2) ? GuardedPixels::Side::begin : GuardedPixels::Side::end);
    y += rows;
    std::swap(windows_.back(), windows_[random.below(windows_.size())]);
  }
}

std::vector<Rect> region_of(const Plan& plan, const Rect& destination) {
  Result<std::vector<Rect>> region = plan.source_region(destination);
  if (!region) throw std::runtime_error(region.error().message);
  return std::move(*region);
}

std::vector<AlgorithmChoice> random_choices(Random& random) {
  std::vector<AlgorithmChoice> choices;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    AlgorithmChoice& choice = choices.emplace_back(AlgorithmChoice{std::string(algorithm.id), {}});
    for (const OptionInfo& option : algorithm.options) {
      if (!option.values.empty() && random.one_in(2)) choice.options[std::string(option.name)] = std::string(random.pick(option.values));
    }
    choices.push_back({std::string(algorithm.id), {}});
  }
  return choices;
}

Case windowed_case(Random& random) {
  Case c = cases::random_case(random);
  if (random.one_in(2)) return c;
  if (random.one_in(2)) c.src.format = *find_format(ComponentClass::unorm, 8, info(c.src.format).channels);
  c.src = {random.between(1, 1200), random.between(1, 500), c.src.format};
  if (random.one_in(2)) {
    const PerAxis<double> sigma{random.uniform(2.5, 20.0), random.uniform(2.5, 20.0)};
    Gaussian gaussian{sigma, {}, {}};
    if (random.one_in(2)) gaussian.truncate = random.uniform(2.0, 4.0);
    c.spec.kernel = gaussian;
  }
  c.spec.roi.reset();
  c.spec.alpha = AlphaMode::ignore;
  c.spec.transfer = TransferFunction::none;
  for (double& value : c.spec.border.value) value = random.uniform();
  c.spec.stride = {};
  if (!std::holds_alternative<Matrix>(c.spec.kernel) && random.one_in(3)) c.spec.stride = cases::random_stride(random, c.spec.kernel);
  c.dst = destination_desc(c.spec, c.src, c.src.format);
  return c;
}

bool expect_same_bits(const Case& c, const AlgorithmChoice& algorithm, const Device& device, Random& random) {
  const Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device.info(), {algorithm, Overlap::none});
  if (!plan || !plan->halo) return false;
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) throw std::runtime_error(executable.error().message);
  const Pixels src = Pixels::random(c.src, c.seed, c.spec);
  Pixels whole(c.dst);
  Result<Workspace> workspace = executable->make_workspace();
  EXPECT_TRUE(workspace && executable->run(src.view(), whole.view(), *workspace));
  const std::string difference = first_difference(in_windows(*executable, src.view(), random), whole);
  EXPECT_EQ(difference, "") << cases::name(c) << " by " << to_string(plan->algorithm);
  return true;
}

bool expect_same_bits_in_strips(const Case& c, const AlgorithmChoice& algorithm, const Device& device, Random& random) {
  Result<Plan> plan = make_plan(c.spec, c.src, c.dst, device.info(), {algorithm, Overlap::none});
  if (!plan || !plan->halo) return false;
  if (random.one_in(2)) plan->cached_bytes = 0;  // a CPU writes past the cache, as to a large image
  const Result<Executable> executable = device.prepare(*plan);
  if (!executable) throw std::runtime_error(executable.error().message);
  if (!can_stream(*executable)) return false;
  const Pixels src = Pixels::random(c.src, c.seed, c.spec);
  Pixels whole(c.dst);
  Result<Workspace> workspace = executable->make_workspace();
  EXPECT_TRUE(workspace && executable->run(src.view(), whole.view(), *workspace));
  const std::int32_t most = random.one_in(3) ? 3 : random.one_in(2) ? 40 : random.between(1, c.src.height);
  const std::string difference = first_difference(in_strips(*executable, src.view(), most, random), whole);
  EXPECT_EQ(difference, "") << cases::name(c) << " by " << to_string(plan->algorithm) << " in strips of up to " << most << " rows";
  return true;
}

Case cut_floats(Random& random) {
  Case c = cases::random_case(random);
  // Wide ones make tails down for several rows at once.
  const auto sigma = [&] { return random.one_in(3) ? random.uniform(28.0, 60.0) : random.uniform(7.0, 15.0); };
  c.src = {random.between(1, 700), random.between(1, 400), *find_format(ComponentClass::floating, 32, random.between(1, 4))};
  const BorderMode modes[] = {BorderMode::clamp, BorderMode::mirror, BorderMode::reflect, BorderMode::wrap, BorderMode::constant};
  c.spec = {};
  c.spec.border.mode = {modes[random.between(0, 4)], modes[random.between(0, 4)]};
  for (double& value : c.spec.border.value) value = random.uniform();
  c.spec.kernel = Gaussian{{sigma(), sigma()}, {}, 4.0};
  c.dst = destination_desc(c.spec, c.src, c.src.format);
  return c;
}

namespace {

/// So many cases at random that the algorithm can run, as `expect` says of each.
template <class Expect>
void for_random_cases(std::string_view algorithm, const std::vector<Device>& devices, int cases, std::optional<double> max_error,
                      const Expect& expect) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int tried = 0; cases > 0 && !testing::Test::HasFailure() && tried < 20'000; ++tried) {
    Case c = windowed_case(random);
    if (max_error) c.spec.accuracy.max_error = *max_error;
    for (const AlgorithmChoice& choice : random_choices(random)) {
      if (choice.id == algorithm && expect(c, choice, random.pick(devices), random)) --cases;
    }
  }
  EXPECT_LE(cases, 0) << "too few cases were for " << algorithm;
}

}  // namespace

void expect_same_bits_on_windows(std::string_view algorithm, const std::vector<Device>& devices, int cases,
                                 std::optional<double> max_error) {
  for_random_cases(algorithm, devices, cases, max_error, expect_same_bits);
}

void expect_same_bits_in_strips(std::string_view algorithm, const std::vector<Device>& devices, int cases,
                                std::optional<double> max_error) {
  const auto expect = [](const Case& c, const AlgorithmChoice& choice, const Device& device, Random& random) {
    return expect_same_bits_in_strips(c, choice, device, random);
  };
  for_random_cases(algorithm, devices, cases, max_error, expect);
}

}  // namespace mollify::test
