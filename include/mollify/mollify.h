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
#include "mollify/stream.h"  // IWYU pragma: export
#include "mollify/tuning.h"  // IWYU pragma: export

/// Blurs images: what to blur is a BlurSpec, how is a Plan, and a Device runs it. blur() is all of it in one call.
namespace mollify {

/// Blurs `src` into `dst` on the CPU with all hardware threads. `dst` must have the size of `spec.roi`, or of `src` if there is no region,
/// and as many channels as `src`; the formats may differ. The two may overlap. The error says what is wrong with the request, or why no
/// algorithm can do it.
///
/// It may be called from several threads, also after main() has returned. It keeps up to eight prepared plans with their scratch memory, so
/// that a repeated request is planned once: always those of the last call, and of the others as much as fits into 256 MiB.
[[nodiscard]] Status blur(const ConstImageView& src, const ImageView& dst, const BlurSpec& spec);

/// Frees the plans and the scratch memory that blur() keeps and that no call is using.
void clear_blur_cache();

/// The version of the library that runs, as major, minor and patch: "0.2.0".
[[nodiscard]] std::string_view version();

}  // namespace mollify
