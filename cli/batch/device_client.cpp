#include "batch/device_client.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

#include "args.h"
#include "batch/device_messages.h"
#include "batch/strip_client.h"

namespace mollify::cli {

PixelBytes DeviceClient::allocate(std::int64_t bytes) {
  Descriptor file(::memfd_create("pixels", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool has_size = file.get() >= 0 && ::ftruncate(file.get(), bytes) == 0;
  // The other process relies on it: memory that shrinks while it is read ends whoever reads it.
  const bool is_sealed = has_size && ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  void* memory =
      is_sealed ? ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "memory to share with the owner of the GPU");
  auto* pixels = static_cast<std::uint8_t*>(memory);
  blocks_.emplace(pixels, Block{std::move(file), bytes});
  return {pixels, [this](std::uint8_t* p) { free(p); }};
}

void DeviceClient::free(std::uint8_t* pixels) {
  const auto block = blocks_.find(pixels);
  ::munmap(pixels, static_cast<std::size_t>(block->second.bytes));
  blocks_.erase(block);
}

DeviceClient::Place DeviceClient::place_of(const void* pixels) const {
  const auto* at = static_cast<const std::uint8_t*>(pixels);
  const auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) throw std::logic_error("pixels that are not shared");
  const auto& [begin, block] = *std::prev(next);
  if (at - begin >= block.bytes) throw std::logic_error("pixels that are not shared");
  return {block.file.get(), at - begin};
}

Json DeviceClient::ask(const Json& question, std::span<const int> descriptors) {
  if (!owner_.send(question, descriptors)) throw DeviceGone{};
  const std::optional<Json> answer = owner_.receive();
  if (!answer) throw DeviceGone{};
  if (answer->contains(kErrorKey)) {
    const Error error = error_of((*answer)[kErrorKey]);
    if (error.code == ErrorCode::device_lost) throw DeviceGone{error.message};
  }
  return *answer;
}

Result<BlurOutcome> DeviceClient::plan(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst) {
  const Json answer = ask({{kPlanKey, to_json(spec)}, {"src", to_json(src)}, {"dst", to_json(dst)}}, {});
  if (answer.contains(kErrorKey)) return error_of(answer[kErrorKey]);
  return outcome_of(answer);
}

Result<BlurOutcome> DeviceClient::run(const ImageSpec& spec, const ConstImageView& src, const ImageView& dst) {
  const Place from = place_of(src.data);
  const Place to = place_of(dst.data);
  const Json question{{"spec", to_json(spec)},
                      {"src", to_json(SharedImage{src.desc, src.row_bytes, from.offset})},
                      {"dst", to_json(SharedImage{dst.desc, dst.row_bytes, to.offset})}};
  const Json answer = ask(question, std::array{from.descriptor, to.descriptor});
  if (answer.contains(kErrorKey)) return error_of(answer[kErrorKey]);
  return outcome_of(answer);
}

Result<std::unique_ptr<StripBlur>> DeviceClient::prepare_strips(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                                                                StripsFor purpose) {
  if (purpose == StripsFor::speed) return Error{ErrorCode::unsupported, "a GPU streams only what does not fit into memory", {}};
  return StripClient::prepare(*this, spec, src, dst);
}

DeviceChoice DeviceClient::choose(const ImageSpec& spec, const ImageDesc& src, const ImageDesc& dst, double cpu_seconds) {
  const Json answer = ask({{kChooseKey, to_json(spec)}, {"src", to_json(src)}, {"dst", to_json(dst)}, {"cpu_seconds", cpu_seconds}}, {});
  if (answer.contains(kErrorKey)) return {kCpuDevice, "auto: cpu, since the choice has failed: " + error_of(answer[kErrorKey]).message};
  return choice_of(answer);
}

}  // namespace mollify::cli
