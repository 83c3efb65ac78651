// What passes tell the kernels of the CPU backend.
#pragma once

#include <cstdint>

#include "base/pass_arguments.h"

namespace mollify::cpu {

/// sep_fused and nxn_direct.
struct FloatArguments {
  bool wide;  ///< sums are of f64
  static void each(auto& self, auto visit) { visit("wide", self.wide); }
};

/// sep_fused_u8, and what others that sum 16-bit integers take as well.
struct FixedArguments {
  int halvings;
  Narrow<std::uint16_t> rounding;  ///< what is added before the low byte is dropped
  static void each(auto& self, auto visit) {
    visit("halvings", self.halvings);
    visit("rounding", self.rounding);
  }
};

/// gauss_pyramid.
struct PyramidArguments {
  FixedArguments fixed;
  int levels;
  static void each(auto& self, auto visit) {
    visit("", self.fixed);
    visit("levels", self.levels);
  }
};

/// gauss_cut: of each axis what a CutAxis has.
struct CutArguments {
  FixedArguments fixed;
  PerAxis<int> levels;
  PerAxis<std::uint16_t> undershoot;
  PerAxis<std::int64_t> radius;
  PerAxis<std::uint16_t> height;
  static void each(auto& self, auto visit) {
    visit("", self.fixed);
    visit("levels", self.levels);
    visit("undershoot", self.undershoot);
    visit("radius", self.radius);
    visit("height", self.height);
  }
};

/// box_column_sums.
struct BoxArguments {
  bool integer;               ///< sums are of integers
  bool wide_pixels;           ///< numbers of pixels are f64
  std::int64_t segment_rows;  ///< after which sums of floats begin anew
  static void each(auto& self, auto visit) {
    visit("integer", self.integer);
    visit("wide_pixels", self.wide_pixels);
    visit("segment_rows", self.segment_rows);
  }
};

/// gauss_decimate, gauss_upsample and gauss_one_pass: where coarse samples lie. Taps of an axis are those of the grid's kernel, and then
/// factor * support of the spline.
struct DecimationArguments {
  PerAxis<std::int64_t> first;  ///< coarse sample of the grid
  std::int64_t columns;         ///< of the grid
  std::int64_t rows;
  PerAxis<std::int64_t> factor;   ///< pixels from a coarse sample to the next
  PerAxis<std::int64_t> support;  ///< coarse samples that a pixel belongs to
  static void each(auto& self, auto visit) {
    visit("first", self.first);
    visit("columns", self.columns);
    visit("rows", self.rows);
    visit("factor", self.factor);
    visit("support", self.support);
  }
};

/// Which taps of a pass are those of a part: so many, behind those of the parts before.
struct PartArguments {
  PerAxis<std::int64_t> taps;
  PerAxis<std::int32_t> anchor;
  static void each(auto& self, auto visit) {
    visit("taps", self.taps);
    visit("anchor", self.anchor);
  }
};

/// A part that is a decimated Gaussian.
struct DecimatedPartArguments {
  PartArguments part;
  DecimationArguments decimation;
  static void each(auto& self, auto visit) {
    visit("", self.part);
    visit("", self.decimation);
  }
};

/// gauss_cut_tails. A cut Gaussian is the sum of the endless one, its tails along rows, which are made of the coarse rows of the first, and
/// its tails down columns. A part that there is not has no taps.
struct CutTailsArguments {
  PerAxis<std::int64_t> cells;  ///< on either side, whose range a pixel is limited to
  DecimatedPartArguments whole;
  PartArguments across;
  DecimatedPartArguments down;
  static void each(auto& self, auto visit) {
    visit("cells", self.cells);
    visit("whole_", self.whole);
    visit("across_", self.across);
    visit("down_", self.down);
  }
};

}  // namespace mollify::cpu
