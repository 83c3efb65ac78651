// In the place of what plans for CUDA, where the library is built without a GPU backend: each refuses.
#include "algorithms/box/box_any.h"
#include "algorithms/matrix2d/nxn.h"
#include "algorithms/multirate/gauss_decimate.h"
#include "algorithms/separable/sep_fused.h"

namespace mollify {
namespace {

Error no_gpu_backend() {
  return refusal("this library is built without a GPU backend");
}

}  // namespace

Result<Proposal> add_gauss_decimate_cuda_passes(const Problem&, const AxisPlan&, const AxisPlan&, Proposal) {
  return no_gpu_backend();
}
Result<Proposal> propose_box_any_cuda(const Problem&) {
  return no_gpu_backend();
}
Result<Proposal> propose_nxn_direct_cuda(const Problem&) {
  return no_gpu_backend();
}
Result<Proposal> propose_sep_fused_cuda(const Problem&) {
  return no_gpu_backend();
}

}  // namespace mollify
