#include "batch/device_owner.h"

#include <sys/mman.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "auto_device.h"
#include "batch/device_messages.h"
#include "batch/mapped.h"
#include "batch/strip_service.h"

namespace mollify::cli {
namespace {

#ifdef MOLLIFY_TEST_HOOKS
// MOLLIFY_TEST_OWNER=31: images of that width crash the process. Tests have no driver that does so for ever.
void crash_as_asked(const ImageDesc& desc) {
  const char* width = std::getenv("MOLLIFY_TEST_OWNER");
  if (width != nullptr && std::atoi(width) == desc.width) std::raise(SIGSEGV);
}
#endif

// One image is copied while another is blurred. More at once would only take memory of the GPU.
using Turns = std::counting_semaphore<2>;

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) { turns_.acquire(); }
  ~Turn() { turns_.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

class DeviceOwner {
 public:
  DeviceOwner(Wire& batch, const BlurRequest& request, const DeviceArgs& args) : batch_(batch), request_(request) {
    if (args.device == kAutoDevice) {
      devices_.emplace(args);
      batch_.send({{"ready", ""}});
    } else {
      use(open_device_quietly(args));
    }
  }

  void serve(Wire& worker) {
    StripService strips;
    while (true) {
      std::vector<Descriptor> blocks;
      const std::optional<Json> question = worker.receive(&blocks);
      if (!question) return;
      const Json answer = answer_to(*question, blocks, strips);
      worker.send(answer);  // where it has ended meanwhile, its end comes next
      const bool is_lost = answer.contains(kErrorKey) && error_of(answer[kErrorKey]).code == ErrorCode::device_lost;
      if (is_lost) std::_Exit(1);  // a new process opens the device anew
    }
  }

 private:
  Json answer_to(const Json& question, const std::vector<Descriptor>& blocks, StripService& strips) {
    try {
      if (question.contains(kChooseKey)) return choose(question);
      if (question.contains(kStripsKey)) return answer_of_strips(question, blocks, strips);
      return question.contains(kPlanKey) ? plan(question) : run(question, blocks);
    } catch (const std::bad_alloc&) {
      return {{kErrorKey, to_json(Error{ErrorCode::out_of_memory, "not enough memory", {}})}};
    } catch (const std::exception& error) {
      return {{kErrorKey, to_json(Error{ErrorCode::internal, error.what(), {}})}};
    }
  }

  Json answer_of_strips(const Json& question, const std::vector<Descriptor>& blocks, StripService& strips) {
#ifdef MOLLIFY_TEST_HOOKS
    if (question.contains("dst") && question["dst"].contains("image")) crash_as_asked(shared_image_of(question["dst"]["image"]).desc);
#endif
    const Turn turn(running_);
    return strips.answer(question, blocks, blurrer());
  }

  static Json answer_of(const Result<BlurOutcome>& outcome) {
    if (!outcome) return {{kErrorKey, to_json(outcome.error())}};
    return to_json(*outcome);
  }

  /// And tells the batch so, with what is wrong with stored tuning.
  void use(const Device& device) {
    const auto tuning = stored_tuning(cache_folder(), device.info());
    batch_.send({{"ready", tuning ? "" : one_line(tuning.error())}});
    blurrer_.emplace(device, request_.spec, request_.plan, request_.like);
  }

  [[nodiscard]] DeviceBlurrer& blurrer() {
    if (!blurrer_) throw std::logic_error("no GPU has been chosen");
    return *blurrer_;
  }

  [[nodiscard]] std::optional<GpuWork> work_on(const GpuAndCpu& machine, const Json& question) const {
    const ImageSpec spec = image_spec_of(question[kChooseKey]);
    const ImageDesc src = image_desc_of(question["src"]), dst = image_desc_of(question["dst"]);
    const auto plans = blurrer_ ? blurrer_->planner().plans(spec, src, dst)
                                : ImagePlanner(machine.info, request_.spec, request_.plan, request_.like).plans(spec, src, dst);
    return plans ? std::optional(gpu_work(*plans)) : std::nullopt;
  }

  // Whoever uses the GPU has asked here before, and sees what is opened here.
  Json choose(const Json& question) {
    if (!devices_) throw std::logic_error("the device is given");
    const std::scoped_lock lock(choosing_);
    DeviceChoice choice = devices_->choose(question["cpu_seconds"], [&](const GpuAndCpu& machine) { return work_on(machine, question); });
    if (choice.device == kCpuDevice || blurrer_) return to_json(choice);
    const Result<Device> device = devices_->open(choice.device);
    if (!device)
      return to_json(DeviceChoice{kCpuDevice, "auto: cpu, since " + choice.device + " cannot be opened: " + one_line(device.error())});
    use(*device);
    return to_json(choice);
  }

  Json plan(const Json& question) {
    return answer_of(blurrer().plan(image_spec_of(question[kPlanKey]), image_desc_of(question["src"]), image_desc_of(question["dst"])));
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
    const Turn turn(running_);
    return answer_of(blurrer().run(image_spec_of(question["spec"]), src, dst));
  }

  Wire& batch_;
  const BlurRequest& request_;
  std::mutex choosing_;
  std::optional<AutoDevice> devices_;  ///< from which it chooses
  std::optional<DeviceBlurrer> blurrer_;
  Turns running_{2};
};

}  // namespace

void run_device_owner(Wire& batch, const BlurRequest& request, const DeviceArgs& device) {
  DeviceOwner owner(batch, request, device);
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
