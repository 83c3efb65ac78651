#include "windows_support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <string>

#include "fuzz/random_case.h"
#include "support.h"

namespace mollify::test {

using cases::Case;
using cases::Random;

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
  c.dst = destination_desc(c.spec, c.src, c.src.format);
  return c;
}

}  // namespace mollify::test
