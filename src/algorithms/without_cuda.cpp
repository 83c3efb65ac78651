// In the place of what plans for CUDA, where the library is built without that backend: each refuses.
#include "algorithms/matrix2d/nxn.h"
#include "algorithms/separable/sep_fused.h"

namespace mollify {
namespace {

Error no_cuda_backend() {
  return refusal("this library is built without the CUDA backend");
}

}  // namespace

Result<Proposal> propose_nxn_direct_cuda(const Problem&) {
  return no_cuda_backend();
}
Result<Proposal> propose_sep_fused_cuda(const Problem&) {
  return no_cuda_backend();
}

}  // namespace mollify
