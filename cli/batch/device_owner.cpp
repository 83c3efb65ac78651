#include "batch/device_owner.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "batch/device_messages.h"

namespace mollify::cli {
namespace {

/// A block of a worker's memory, mapped into this process.
class Mapped {
 public:
  Mapped(const Descriptor& file, int protection) {
    struct stat status {};
    const int seals = ::fcntl(file.get(), F_GET_SEALS);
    const bool keeps_size = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (!keeps_size || ::fstat(file.get(), &status) != 0 || status.st_size <= 0) throw std::invalid_argument("no shared memory");
    bytes_ = status.st_size;
    void* memory = ::mmap(nullptr, static_cast<std::size_t>(bytes_), protection, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::uint8_t*>(memory);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { ::munmap(begin_, static_cast<std::size_t>(bytes_)); }

  /// What a worker says of its memory is checked: a codec may have destroyed the worker's own.
  [[nodiscard]] ImageView view(const SharedImage& image) const {
    const auto [desc, row_bytes, offset] = image;
    const bool has_size = desc.width > 0 && desc.height > 0 && offset >= 0 && offset < bytes_;
    const bool fits =
        has_size && row_bytes >= std::int64_t{desc.width} * info(desc.format).pixel_bytes() && row_bytes <= (bytes_ - offset) / desc.height;
    if (!fits) throw std::invalid_argument("an image that does not fit into its memory");
    return {desc, begin_ + offset, row_bytes};
  }

 private:
  std::uint8_t* begin_ = nullptr;
  std::int64_t bytes_ = 0;
};

#ifdef MOLLIFY_TEST_HOOKS
// MOLLIFY_TEST_OWNER=31: images of that width crash the process. Tests have no driver that does so for ever.
void crash_as_asked(const ImageDesc& desc) {
  const char* width = std::getenv("MOLLIFY_TEST_OWNER");
  if (width != nullptr && std::atoi(width) == desc.width) std::raise(SIGSEGV);
}
#endif

class DeviceOwner {
 public:
  explicit DeviceOwner(DeviceBlurrer blurrer) : blurrer_(std::move(blurrer)) {}

  void serve(Wire& worker) {
    while (true) {
      std::vector<Descriptor> blocks;
      const std::optional<Json> question = worker.receive(&blocks);
      if (!question) return;
      const Json answer = answer_to(*question, blocks);
      worker.send(answer);  // where it has ended meanwhile, its end comes next
      const bool is_lost = answer.contains(kErrorKey) && error_of(answer[kErrorKey]).code == ErrorCode::device_lost;
      if (is_lost) std::_Exit(1);  // a new process opens the device anew
    }
  }

 private:
  Json answer_to(const Json& question, const std::vector<Descriptor>& blocks) {
    try {
      return question.contains(kPlanKey) ? plan(question) : run(question, blocks);
    } catch (const std::bad_alloc&) {
      return {{kErrorKey, to_json(Error{ErrorCode::out_of_memory, "not enough memory", {}})}};
    } catch (const std::exception& error) {
      return {{kErrorKey, to_json(Error{ErrorCode::internal, error.what(), {}})}};
    }
  }

  static Json answer_of(const Result<BlurOutcome>& outcome) {
    if (!outcome) return {{kErrorKey, to_json(outcome.error())}};
    return to_json(*outcome);
  }

  Json plan(const Json& question) {
    return answer_of(blurrer_.plan(image_spec_of(question[kPlanKey]), image_desc_of(question["src"]), image_desc_of(question["dst"])));
  }

  Json run(const Json& question, const std::vector<Descriptor>& blocks) {
    if (blocks.size() != 2) throw std::invalid_argument("images without memory");
    const Mapped from(blocks[0], PROT_READ);
    const Mapped to(blocks[1], PROT_READ | PROT_WRITE);
    const ImageView src = from.view(shared_image_of(question["src"]));
    const ImageView dst = to.view(shared_image_of(question["dst"]));
#ifdef MOLLIFY_TEST_HOOKS
    crash_as_asked(src.desc);
#endif
    running_.acquire();
    const Result<BlurOutcome> outcome = blurrer_.run(image_spec_of(question["spec"]), src, dst);
    running_.release();
    return answer_of(outcome);
  }

  DeviceBlurrer blurrer_;
  // One image is copied while another is blurred. More at once would only take memory of the GPU.
  std::counting_semaphore<2> running_{2};
};

}  // namespace

void run_device_owner(Wire& batch, const BlurRequest& request, const DeviceArgs& device_args) {
  const Device device = open_device_quietly(device_args);
  const auto tuning = stored_tuning(cache_folder(), device.info());
  batch.send({{"ready", tuning ? "" : one_line(tuning.error())}});

  DeviceOwner owner(DeviceBlurrer(device, request.spec, request.plan, request.like));
  std::vector<std::jthread> workers;
  while (true) {
    std::vector<Descriptor> ends;
    if (!batch.receive(&ends)) return;
    for (Descriptor& end : ends) {
      workers.emplace_back([&owner, worker = Wire(std::move(end))]() mutable { owner.serve(worker); });
    }
  }
}

}  // namespace mollify::cli
