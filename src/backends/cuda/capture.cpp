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

/// That the stream is being captured into; null if it is not.
Result<CUgraph> graph_of(const Context& context, CUstream stream) {
  const Current current(context);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUresult r = context.cu().StreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
  if (r != CUDA_SUCCESS) return to_error(context.cu(), r, "looking for a graph");
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? graph : nullptr;
}

}  // namespace

Result<bool> is_captured(const Context& context, CUstream stream) {
  const Result<CUgraph> graph = graph_of(context, stream);
  if (!graph) return graph.error();
  return *graph != nullptr;
}

Status keep_for_graph(std::shared_ptr<const Prepared> prepared, CUstream stream) {
  const Result<CUgraph> graph = graph_of(*prepared->context(), stream);
  if (!graph) return graph.error();
  if (*graph == nullptr) return {};
  const Current current(*prepared->context());
  const Functions& cu = prepared->context()->cu();
  auto kept = std::make_unique<Kept>(prepared);
  CUuserObject object = nullptr;
  CUresult r = cu.UserObjectCreate(&object, kept.get(), release, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  if (r == CUDA_SUCCESS) {
    (void)kept.release();
    r = cu.GraphRetainUserObject(*graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  }
  return r == CUDA_SUCCESS ? Status() : Status(to_error(cu, r, "keeping tables for a graph"));
}

void free_of_graphs() {
  (void)Gone::instance().take();
}

}  // namespace mollify::cuda
