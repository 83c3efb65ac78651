// mollify: blurs images at the speed of memory.
//
//   mollify::BlurSpec spec;
//   spec.kernel = mollify::Gaussian{.sigma = {4.0, 4.0}};
//   mollify::Status status = mollify::blur(source_view, destination_view, spec);
#pragma once

#include "mollify/device.h"  // IWYU pragma: export
#include "mollify/image.h"   // IWYU pragma: export
#include "mollify/plan.h"    // IWYU pragma: export
#include "mollify/result.h"  // IWYU pragma: export
#include "mollify/spec.h"    // IWYU pragma: export
#include "mollify/tuning.h"  // IWYU pragma: export

namespace mollify {

/// Blurs `src` into `dst` on the CPU with all hardware threads. The two may overlap. Thread-safe. Keeps a small cache of
/// prepared plans, so a repeated request pays for planning once.
/// `dst` has the size of `spec.roi`, or of `src` without one; formats may differ, channel counts may not.
[[nodiscard]] Status blur(const ConstImageView& src, const ImageView& dst, const BlurSpec& spec);

}  // namespace mollify
