// mollify: blurs images at the speed of memory.
//
//   mollify::BlurSpec spec;
//   spec.kernel = mollify::Gaussian{.sigma = {4.0, 4.0}};
//   mollify::Status status = mollify::blur(source_view, destination_view, spec);
#pragma once

#include <string_view>

#include "mollify/device.h"  // IWYU pragma: export
#include "mollify/image.h"   // IWYU pragma: export
#include "mollify/plan.h"    // IWYU pragma: export
#include "mollify/result.h"  // IWYU pragma: export
#include "mollify/spec.h"    // IWYU pragma: export
#include "mollify/tuning.h"  // IWYU pragma: export

namespace mollify {

/// Blurs `src` into `dst` on the CPU with all hardware threads. The two may overlap. Thread-safe, also where main() has returned. Keeps up to
/// eight prepared plans and their scratch memory, so a repeated request pays for planning once: the last one's whatever it has, and of the
/// others as much as fits into 256 MiB.
/// `dst` has the size of `spec.roi`, or of `src` without one; formats may differ, channel counts may not.
[[nodiscard]] Status blur(const ConstImageView& src, const ImageView& dst, const BlurSpec& spec);

/// Frees what blur() keeps and nobody is using.
void clear_blur_cache();

/// Of the library that runs: "0.1.0", major, minor and patch.
[[nodiscard]] std::string_view version();

}  // namespace mollify
