// Kernels of box.any.
#include <cmath>

#include "backends/cuda/drafts.h"
#include "backends/cuda/kernels/box_any_shape.h"
#include "backends/cuda/kernels/box_division.h"
#include "backends/cuda/kernels/box_passes_shape.h"
#include "backends/cuda/kernels/box_segments_shape.h"
#include "base/places.h"

namespace mollify::cuda {

namespace {

BoxAny box_of(const Plan& plan, const Pass& pass, const BoxArguments& given) {
  BoxAny a{shared_of(plan, pass)};
  a.window_x = given.window.x;
  a.window_y = given.window.y;
  a.skip_x = given.skip.x;
  a.skip_y = given.skip.y;
  a.first_x = pass.origin.x - given.before.x;
  a.first_y = pass.origin.y - given.before.y;
  a.first_run = pass.origin.y / kBoxRun;
  const PerAxis<AxisPlaces> places = places_of(plan.spec);
  a.size_x = static_cast<std::int32_t>(places.x.length(plan.dst.width));
  a.size_y = static_cast<std::int32_t>(places.y.length(plan.dst.height));
  a.step_x = plan.spec.stride.x.step;
  a.step_y = plan.spec.stride.y.step;
  a.rows = pass.tile.y;
  a.made = pass.tile.x;
  a.across = given.across;
  a.length = plan.src.width;
  a.before_x = static_cast<float>(given.before_fraction.x);
  a.after_x = static_cast<float>(given.after_fraction.x);
  a.before_y = static_cast<float>(given.before_fraction.y);
  a.after_y = static_cast<float>(given.after_fraction.y);
  a.lift = static_cast<float>(given.lift);
  a.scale = static_cast<float>(given.scale);
  if (given.integer) {
    const BoxDivision division =
        box_division(std::int64_t{a.window_x} * a.window_y, static_cast<std::int64_t>(info(plan.src.format).unit()));
    a.half = division.half;
    a.factor = division.factor;
    a.shift = division.shift;
  }
  a.blocks_across = ceil_div(pass.size.x, a.made);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  return a;
}

/// `kernel`: of box_any.cu or box_wide.cu.
Draft box_draft(const Plan& plan, const Pass& pass, const BoxArguments& given, std::string_view module, std::string_view kernel,
                std::int32_t shared_bytes) {
  const bool is_words = given.integer && info(plan.src.format).bits == 16;
  const std::string_view type = given.any ? "_any" : is_words ? "_u16" : ending_of(plan);
  return {std::string(module),
          name_of(kernel, plan, type),
          {nullptr,
           box_of(plan, pass, given),
           static_cast<std::uint32_t>(pass.group.x),
           static_cast<std::uint32_t>(shared_bytes),
           pass.source,
           pass.destination,
           {}}};
}

/// Kernels of bytes, and of halves and floats.
std::string module_of_segments(const Plan& plan) {
  return info(plan.src.format).is_unorm() ? "box_segments" : "box_segments_floats";
}

}  // namespace

Draft box_any(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables&) {
  const BoxShape shape(info(plan.src.format).channels, pass.group.x, given.four_bytes);
  return box_draft(plan, pass, given, "box_any", "box_any", shape.shared_bytes());
}

Draft box_down(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables&) {
  return box_draft(plan, pass, given, "box_wide", "box_down", 0);
}

Draft box_along(const Plan& plan, const Pass& pass, const BoxArguments& given, Tables&) {
  const BoxAlongShape shape(info(plan.src.format).channels, pass.group.x, given.four_bytes);
  return box_draft(plan, pass, given, "box_wide", "box_along", shape.shared_bytes());
}

/// Sums of blocks of rows: see box_blocks.cuh.
Draft box_blocks(const Plan& plan, const Pass& pass, const BoxBlocksArguments& given, Tables&) {
  BoxAny a{shared_of(plan, pass)};
  a.first_x = pass.origin.x;
  a.first_y = pass.origin.y;
  a.rows = pass.tile.y;
  a.window_y = given.part;
  a.lift = static_cast<float>(given.lift);
  a.blocks_across = ceil_div(pass.size.x, pass.tile.x);
  a.blocks_down = ceil_div(pass.size.y, a.rows);
  return {module_of_segments(plan),
          name_of("box_blocks", plan, std::string(ending_of(plan)) + (given.many ? "_many" : "")),
          {nullptr, a, kBoxBlockThreads, static_cast<std::uint32_t>(box_blocks_shared_bytes(a.rows)), pass.source, pass.destination, {}}};
}

/// Where means of bytes are made of floats, the factor is a little more than 1 / pixels if one may be a half, which then is rounded up.
Result<Draft> box_segments(const Plan& plan, const Pass& pass, const BoxSegmentsArguments& given, Tables&) {
  if (pass.auxiliary.has_value() != given.first_block.has_value()) {
    return Error{ErrorCode::internal, "box_segments is told first_block where it has block sums, and only there", {}};
  }
  BoxSlide a;
  static_cast<BoxAny&>(a) = box_of(plan, pass, given.box);
  const BoxSegments& shape = box_segments_of(info(plan.src.format).pixel_bytes())[static_cast<std::size_t>(given.form)];
  std::string ending = std::string(ending_of(plan)) + "_" + std::to_string(given.form);
  if (given.box.integer) {
    const std::int64_t pixels = std::int64_t{a.window_x} * a.window_y;
    const bool by_floats = has_float_means(given.form) && may_be_float_means(pixels);
    if (by_floats) {
      a.scale = static_cast<float>(1.0 / static_cast<double>(pixels));
      while (pixels % 2 == 0 && static_cast<double>(a.scale) * static_cast<double>(pixels) <= 1.0) a.scale = std::nextafter(a.scale, 1.0F);
    }
    ending += by_floats ? "_floats" : "_integers";
  }
  if (pass.auxiliary) {
    a.whole = a.window_y / a.rows;
    a.part = a.window_y % a.rows;
    a.first_block = *given.first_block;
    a.blocks.width = desc_of(plan, *pass.auxiliary).width;
    a.blocks.height = desc_of(plan, *pass.auxiliary).height;
  }
  return Draft{module_of_segments(plan),
               name_of("box_segments", plan, ending),
               {nullptr, a, static_cast<std::uint32_t>(shape.threads), static_cast<std::uint32_t>(shape.shared_bytes(a.rows, a.window_y)),
                pass.source, pass.destination, pass.auxiliary}};
}

namespace {

/// What a pass of box_passes.cu is given, of either axis.
Draft box_pass(const Plan& plan, const Pass& pass, const BoxPassArguments& given, bool down) {
  BoxPass a{shared_of(plan, pass)};
  const AxisPlaces places = down ? places_of(plan.spec).y : places_of(plan.spec).x;
  a.first = static_cast<std::int32_t>(places.first);
  a.step = static_cast<std::int32_t>(places.step);
  a.window = given.window;
  a.before = given.before;
  a.first_block = given.first_block;
  a.across = given.first_row;
  a.length = plan.src.height;
  a.kept_row = given.rows;
  a.edge = given.edge;
  a.period = given.period;
  a.fraction_before_at = given.fraction_before_at;
  a.fraction_after_at = given.fraction_after_at;
  a.periods = given.periods;
  a.far_before = given.far_before;
  a.far_after = given.far_after;
  a.fraction_before = given.fraction_before;
  a.fraction_after = given.fraction_after;
  a.scale = given.scale;
  a.divisor = given.divisor;
  for (std::size_t c = 0; c < 4; ++c) a.outside_row[c] = a.outside.value[c] * pass.outside_gain;
  const std::int32_t blocks = given.blocks;
  a.blocks_across = down ? ceil_div(a.destination.width, kBoxColumnsAcross) : blocks;
  a.blocks_down = down ? blocks : a.kept_row;
  const std::int32_t threads = pass.group.x;
  const auto shared = static_cast<std::uint32_t>(box_passes_shared_bytes(info(plan.src.format).channels, threads));
  return {"box_passes",
          name_of(down ? "box_columns" : "box_rows", plan, ending_of(given.wide)),
          {nullptr, a, static_cast<std::uint32_t>(threads), shared, pass.source, pass.destination, {}}};
}

}  // namespace

Draft box_rows(const Plan& plan, const Pass& pass, const BoxPassArguments& given, Tables&) {
  return box_pass(plan, pass, given, false);
}

Draft box_columns(const Plan& plan, const Pass& pass, const BoxPassArguments& given, Tables&) {
  return box_pass(plan, pass, given, true);
}

}  // namespace mollify::cuda
