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

/// A plan whose time depends on what shared memory takes.
struct SharedTimes {
  double taken = 0.0;    ///< seconds, measured
  double besides = 0.0;  ///< predicted, if shared memory and barriers took nothing
  double loads = 0.0;    ///< of pixels from shared memory
  double waits = 0.0;    ///< of threads at barriers
};

/// The same rates with those of shared memory: as fast beside arithmetic as a typical device's.
[[nodiscard]] GpuRates with_typical_shared(GpuRates rates);
/// As these two plans' times say, one of many loads and one of many barriers: whole steps from what is typical.
[[nodiscard]] GpuRates with_shared(GpuRates rates, const SharedTimes& loading, const SharedTimes& waiting);

}  // namespace mollify
