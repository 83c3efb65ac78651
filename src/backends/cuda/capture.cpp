#include "backends/cuda/capture.h"

#include <mutex>
#include <utility>
#include <vector>

namespace mollify::cuda {
namespace {

using Kept = std::shared_ptr<const Prepared>;

/// Plans whose graphs are gone. The driver says so where nobody may call it, so that they are freed later.
class Gone {
 public:
  static Gone& instance() {
    static auto* gone = new Gone;  // never destroyed: graphs may go at any time
    return *gone;
  }
  void add(Kept kept) {
    const std::scoped_lock lock(mutex_);
    kept_.push_back(std::move(kept));
  }
  [[nodiscard]] std::vector<Kept> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(kept_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Kept> kept_;
};

void CUDA_CB release(void* held) {
  const std::unique_ptr<Kept> kept(static_cast<Kept*>(held));
  Gone::instance().add(std::move(*kept));
}

}  // namespace

Status keep_for_graph(std::shared_ptr<const Prepared> prepared, CUstream stream) {
  const Current current(*prepared->context());
  const Functions& cu = prepared->context()->cu();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  if (const CUresult r = cu.StreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr); r != CUDA_SUCCESS) {
    return to_error(cu, r, "looking for a graph");
  }
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return {};
  auto kept = std::make_unique<Kept>(prepared);
  CUuserObject object = nullptr;
  CUresult r = cu.UserObjectCreate(&object, kept.get(), release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (r == CUDA_SUCCESS) {
    (void)kept.release();
    r = cu.GraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  }
  return r == CUDA_SUCCESS ? Status() : Status(to_error(cu, r, "keeping tables for a graph"));
}

void free_of_graphs() {
  (void)Gone::instance().take();
}

}  // namespace mollify::cuda
