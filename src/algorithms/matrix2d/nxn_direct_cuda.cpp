// nxn.direct on CUDA: a thread makes a pixel of all weights, each of which is a load.
#include "algorithms/matrix2d/nxn.h"
#include "backends/cuda/kernels/nxn_direct_shape.h"
#include "backends/cuda/kernels/pass_arguments.h"
#include "math/weights.h"

namespace mollify {

using namespace gpu;

Result<Proposal> propose_nxn_direct_cuda(const Problem& p) {
  if (Status s = only_options(p, {kNxnAccumulator}); !s) return s.error();
  Result<NxnMatrix> nxn = nxn_matrix(p);
  if (!nxn) return nxn.error();
  const bool wide = nxn->is_wide(p);
  const Rect r = region(p);
  Pass pass = make_pass("nxn_direct", cuda::FloatArguments{wide}, {p.dst.width, p.dst.height}, {cuda::kNxnColumns, cuda::kNxnRows},
                        {cuda::kNxnColumns * cuda::kNxnRows, 1}, Storage::buffer);
  pass.origin = {r.x, r.y};
  Proposal out;
  out.options = {kNxnAccumulator.as(wide ? NxnAccumulator::f64 : NxnAccumulator::f32)};
  out.error = nxn->error(p, wide ? Accumulator::f64 : Accumulator::f32);
  out.moved_bytes = moved_bytes(p, {});
  const auto weights = static_cast<double>(nxn->matrix.weights.size());
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = weights,
                         .operations = weights * (wide ? 4.0 : 1.0),
                         .bytes = static_cast<double>(out.moved_bytes)});
  pass.matrix = std::move(nxn->matrix);
  out.passes.push_back(std::move(pass));
  out.window_blocks = {1, 1};
  return out;
}

}  // namespace mollify
