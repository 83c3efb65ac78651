// Which source pixels a rectangle of the destination is made from, as a plan's halo and the borders say.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/source_needs.h"
#include "mollify/plan.h"

namespace mollify {

/// The pixels that are read to make `made`, wherever they lie.
[[nodiscard]] Span span_with_halo(const Halo& halo, Span made);

/// The rectangle lies in the destination, and the plan has a halo.
[[nodiscard]] SourceNeeds source_needs(const Plan& plan, const Rect& destination);

/// An Error where a row of what a window of the destination needs lies in none of the windows.
[[nodiscard]] Status check_windows_hold(std::span<const ConstWindow> windows, const SourceNeeds& needs);

/// An Error where a rectangle is empty or does not lie in the image, which is called `what`.
[[nodiscard]] Status check_within(std::string_view what, const Rect& window, const ImageDesc& whole);

/// An Error where a rectangle is empty or does not lie in the destination, or where the plan cannot run on windows.
[[nodiscard]] Status check_destination(const Plan& plan, const Rect& destination);

/// "640x480+100+50"
[[nodiscard]] std::string to_text(const Rect& rect);

}  // namespace mollify
