// The one-call blur: plans, prepares, runs, and keeps the last few executables with their workspaces.
#include <iterator>
#include <list>
#include <mutex>

#include "base/views.h"
#include "mollify/mollify.h"

namespace mollify {
namespace {

struct Request {
  BlurSpec spec;
  ImageDesc src;
  ImageDesc dst;
  Overlap overlap;
  bool operator==(const Request&) const = default;
};

/// An executable and a workspace that nobody else is using.
struct Ready {
  Request request;
  Executable executable;
  Workspace workspace;
};

/// Calls take an entry out and put it back, so that two equal requests at once each have their own workspace.
class Cache {
 public:
  Result<Ready> take(const Request& request) {
    {
      const std::scoped_lock lock(mutex_);
      for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (!(entry->request == request)) continue;
        Ready ready = std::move(*entry);
        entries_.erase(entry);
        return ready;
      }
    }
    return make(request);
  }

  /// The last one stays however large it is: a request that is repeated should not allocate.
  void put_back(Ready ready) {
    const std::scoped_lock lock(mutex_);
    entries_.push_front(std::move(ready));
    std::int64_t bytes = 0;
    std::size_t kept = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      bytes += entry->executable.plan().scratch_bytes;
      const bool stays = kept == 0 || (kept < kEntries && bytes <= kMostBytes);
      entry = stays ? std::next(entry) : entries_.erase(entry);
      if (stays) ++kept;
    }
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    entries_.clear();
  }

 private:
  static constexpr std::size_t kEntries = 8;
  static constexpr std::int64_t kMostBytes = 256 << 20;  // of scratch

  Result<Ready> make(const Request& request) {
    const Result<Device>& device = shared_device();
    if (!device) return device.error();
    const Result<Plan> plan =
        make_plan(request.spec, request.src, request.dst, device->info(), {.algorithm = {}, .overlap = request.overlap});
    if (!plan) return plan.error();
    Result<Executable> executable = device->prepare(*plan);
    if (!executable) return executable.error();
    Result<Workspace> workspace = executable->make_workspace();
    if (!workspace) return workspace.error();
    return Ready{request, *executable, std::move(*workspace)};
  }

  static const Result<Device>& shared_device() {
    static const auto* device = new Result<Device>(Device::open("cpu"));  // never destroyed, as the cache
    return *device;
  }

  std::mutex mutex_;
  std::list<Ready> entries_;
};

// Never destroyed: destructors of static objects, and threads that outlive main(), may still blur.
Cache& cache() {
  static auto* instance = new Cache;
  return *instance;
}

}  // namespace

Status blur(const ConstImageView& src, const ImageView& dst, const BlurSpec& spec) {
  if (Status s = validate(spec, src.desc, dst.desc); !s) return s;
  if (Status s = check_view("source", src, src.desc); !s) return s;
  if (Status s = check_view("destination", dst, dst.desc); !s) return s;
  Result<Ready> ready = cache().take({spec, src.desc, dst.desc, share_bytes(src, dst) ? Overlap::in_place : Overlap::none});
  if (!ready) return ready.error();
  Status status = ready->executable.run(src, dst, ready->workspace);
  cache().put_back(std::move(*ready));
  return status;
}

void clear_blur_cache() {
  cache().clear();
}

}  // namespace mollify
