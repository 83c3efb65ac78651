// In the place of what plans for GPUs, where the library is built without a GPU backend: each refuses.
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

Result<Proposal> propose_box_any_gpu(const Problem&) {
  return no_gpu_backend();
}
Result<Proposal> propose_nxn_direct_gpu(const Problem&) {
  return no_gpu_backend();
}
Result<Proposal> propose_sep_fused_gpu(const Problem&) {
  return no_gpu_backend();
}
// The definition with a GPU moves the proposal.  NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<Proposal> add_gauss_decimate_gpu_passes(const Problem&, const AxisPlan&, const AxisPlan&, Proposal) {
  return no_gpu_backend();
}

}  // namespace mollify
