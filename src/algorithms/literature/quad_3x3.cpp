// quad.3x3: four lanes of a subgroup make a 2x2 quad of pixels and swap what they loaded, so that a 3x3 neighbourhood
// costs a lane four loads instead of nine. 4 loads and 5 swaps a pixel, no barrier, no shared memory; loses where
// loads hit a cache that is faster than swaps, and to two passes nowhere, as it takes no kernel beyond 3x3. Source:
// the quad exchange of "A Tale Of Too Many Blurs".
#include <array>

#include "algorithms/matrix2d/nxn.h"
#include "quad_3x3_arguments.h"

namespace mollify {
namespace {

using namespace gpu;

constexpr std::string_view kKernel = glsl::Quad3x3::kKernel;
constexpr GroupOption kGroup({"16x16", "8x8", "32x8"});
constexpr std::array kOptions = {kStorage.info(), kLaneOrder.info_as("z_curve", "which pixel of a group a lane makes", 1), kGroup.info()};

/// The matrix in the middle of 3x3, or nothing where it reaches further.
std::optional<Matrix> in_3x3(const Matrix& given) {
  Matrix out{3, 3, std::vector<double>(9, 0.0), {1, 1}};
  for (std::int32_t y = 0; y < given.height; ++y) {
    for (std::int32_t x = 0; x < given.width; ++x) {
      const double weight = given.weights[static_cast<std::size_t>(y * given.width + x)];
      if (weight == 0.0) continue;
      const std::int32_t column = x - given.anchor.x + 1;
      const std::int32_t row = y - given.anchor.y + 1;
      if (column < 0 || column > 2 || row < 0 || row > 2) return std::nullopt;
      out.weights[static_cast<std::size_t>(row * 3 + column)] = weight;
    }
  }
  return out;
}

Result<Proposal> propose(const Problem& p) {
  const Result<Storage> where = storage(p, kKernel);
  if (!where) return where.error();
  const GpuInfo& device = p.device.gpu;
  if (!device.quad_operations) return refusal("the device's compute shaders cannot swap pixels within quads");
  Result<NxnMatrix> nxn = nxn_matrix(p);
  if (!nxn) return nxn.error();
  std::optional<Matrix> matrix = in_3x3(nxn->matrix);
  if (!matrix) return refusal("the kernel reaches further than one pixel");
  nxn->matrix = std::move(*matrix);
  const Result<PerAxis<std::int32_t>> shape = kGroup.of(p);
  if (!shape) return shape.error();
  const LaneOrder lane_order = kLaneOrder.of(p, LaneOrder::z_curve);
  if (Status s = check_lane_order(lane_order, *shape); !s) return s.error();
  if (shape->x % 2 != 0 || shape->y % 2 != 0) {
    return refusal("groups of " + to_text(*shape) + " are not made of 2x2 quads");
  }
  const PerAxis<std::int32_t> lanes{shape->x * shape->y, 1};
  if (lanes.x > device.max_group.x) return refusal("the device has no work groups of " + to_text(lanes) + " threads");
  if (device.subgroup_size < 4 || lanes.x % device.subgroup_size != 0) {
    return refusal("groups of " + to_text(*shape) + " threads leave lanes of a subgroup of " + std::to_string(device.subgroup_size) +
                   " without a pixel");
  }

  Proposal out;
  out.options = {kStorage.as(*where), kLaneOrder.as(lane_order), kGroup.as(*shape)};
  out.error = nxn->error(p, Accumulator::f32);
  out.reach = reach_on_both_sides(1, 1);
  const Rect r = region(p);
  Pass pass = make_pass(glsl::Quad3x3{.lane_order = lane_order, .tile_x = shape->x, .tile_y = shape->y}, {p.dst.width, p.dst.height},
                        *shape, lanes, *where);
  pass.origin = {r.x, r.y};
  pass.taps.x = {std::move(nxn->matrix.weights), 0};  // row after row
  out.passes.push_back(std::move(pass));
  out.window_blocks = {2, 2};
  out.moved_bytes = moved_bytes(p, {});
  out.seconds = seconds(p.device, p.src.format,
                        {.pixels = static_cast<double>(p.dst.width) * p.dst.height,
                         .loads = 4.0,
                         .swaps = 5.0,
                         .operations = 9.0,
                         .bytes = static_cast<double>(out.moved_bytes)});
  return out;
}

}  // namespace

constinit const Algorithm kQuad3x3 = {
    {"quad.3x3", "a 3x3 matrix by swaps between the four lanes of a quad", "A Tale Of Too Many Blurs, part 1", kOptions}, propose};

}  // namespace mollify
