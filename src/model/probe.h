// What the times of a probe say of a GPU that no row is about. Pure.
#pragma once

#include "mollify/plan.h"

namespace mollify {

/// The nearest power of the fourth root of two.
[[nodiscard]] double to_quarter_octave(double value);

/// What a probe sees of a plan: the fastest of several runs.
struct ProbeTimes {
  double copy_seconds = 0.0;    ///< of moving the plan's min_bytes
  double blur_seconds = 0.0;    ///< of the plan's passes
  double launch_seconds = 0.0;  ///< of one dispatch that has next to nothing to do
};

/// Of a plan that was made for the device while no rates of it were known: the times that this takes besides launches say how fast the
/// device is beside a typical one. Rounded to quarter octaves, so that a repeated probe seldom says anything else.
[[nodiscard]] GpuRates rates_from(const Plan& plan, const ProbeTimes& times);

}  // namespace mollify
