// What passes tell the CUDA backend of their kernels, from which it makes the structs of arguments.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/pass_arguments.h"

namespace mollify::cuda {

using Whole = Narrow<std::int32_t>;

/// sep_fused.
struct NoArguments {
  static void each(auto& /*self*/, auto /*visit*/) {}
};

/// sep_scatter and sep_warps.
struct SumsArguments {
  Whole taps;  ///< that the kernel has, on either axis
  static void each(auto& self, auto visit) { visit("taps", self.taps); }
};

/// sep_matrix.
struct MatrixArguments {
  Whole across;           ///< a MatrixSize
  Whole down;             ///< of the same
  PerAxis<bool> splits;   ///< of floats: whether a tap is the sum of two halves
  Whole lead;             ///< pixels that a strip is read from on before its first tap
  bool clamps;            ///< sums can leave the range of codes
  PerAxis<Whole> skip;    ///< pixels that lie between the first strip's beginning and the first of the destination
  PerAxis<double> start;  ///< what sums begin with
  double gain;            ///< that sums of floats are multiplied by
  Whole left_strips;      ///< strips at the left edge, whose chunks have other rows
  Whole right_strips;     ///< the same at the right edge
  Whole edge_rows;        ///< of these chunks
  static void each(auto& self, auto visit) {
    visit("left_strips", self.left_strips);
    visit("right_strips", self.right_strips);
    visit("edge_rows", self.edge_rows);
    visit("across", self.across);
    visit("down", self.down);
    visit("splits", self.splits);
    visit("lead", self.lead);
    visit("clamps", self.clamps);
    visit("skip", self.skip);
    visit("start", self.start);
    visit("gain", self.gain);
  }
};

/// sep_rows and nxn_direct.
struct FloatArguments {
  bool wide;  ///< sums are of f64
  static void each(auto& self, auto visit) { visit("wide", self.wide); }
};

/// sep_columns.
struct ColumnsArguments {
  bool wide;        ///< sums are of f64
  Whole first_row;  ///< row of the image that row 0 of the pass's source is
  static void each(auto& self, auto visit) {
    visit("wide", self.wide);
    visit("first_row", self.first_row);
  }
};

/// gauss_upsample, and what gauss_decimate and gauss_matrix take as well: how coarse samples lie among pixels.
struct CoarseGridArguments {
  PerAxis<Whole> first;   ///< coarse sample of the grid
  PerAxis<Whole> centre;  ///< tap of the spline that lies on a coarse sample
  Whole factor_x;         ///< pixels from a coarse sample to the next
  Whole factor_y;
  Whole support_x;  ///< coarse samples that a pixel belongs to
  Whole support_y;
  static void each(auto& self, auto visit) {
    visit("first", self.first);
    visit("centre", self.centre);
    visit("factor_x", self.factor_x);
    visit("factor_y", self.factor_y);
    visit("support_x", self.support_x);
    visit("support_y", self.support_y);
  }
};

/// gauss_decimate.
struct DecimateArguments {
  CoarseGridArguments grid;
  Whole step_rows;  ///< that are loaded together
  static void each(auto& self, auto visit) {
    visit("", self.grid);
    visit("step_rows", self.step_rows);
  }
};

/// gauss_matrix.
struct DecimateMatrixArguments {
  CoarseGridArguments grid;
  PerAxis<Whole> skip;  ///< coarse samples that lie between the first block's beginning and the first of the grid
  static void each(auto& self, auto visit) {
    visit("", self.grid);
    visit("skip", self.skip);
  }
};

/// gauss_strips, whose taps are those of the blur and then the splines.
struct StripsArguments {
  CoarseGridArguments grid;
  PerAxis<Whole> taps;  ///< of the blur
  Whole step_rows;      ///< of coarse samples that are blurred at once
  Whole source_width;   ///< coarse samples of a row that are no padding
  static void each(auto& self, auto visit) {
    visit("", self.grid);
    visit("taps", self.taps);
    visit("step_rows", self.step_rows);
    visit("source_width", self.source_width);
  }
};

/// gauss_upsample_matrix.
struct UpsampleMatrixArguments {
  CoarseGridArguments grid;
  PerAxis<Whole> skip;  ///< pixels that lie between the first segment's or band's beginning and the first of the destination
  Whole source_width;   ///< coarse samples of a row that are no padding
  static void each(auto& self, auto visit) {
    visit("", self.grid);
    visit("skip", self.skip);
    visit("source_width", self.source_width);
  }
};

/// gauss_grid_matrix.
struct GridMatrixArguments {
  PerAxis<Whole> skip;  ///< coarse samples that lie between the first block's beginning and the first of the destination
  Whole source_width;   ///< coarse samples of a row that are no padding
  static void each(auto& self, auto visit) {
    visit("skip", self.skip);
    visit("source_width", self.source_width);
  }
};

/// gauss_grid, gauss_grid_rows and gauss_grid_columns.
struct GridBlurArguments {
  Whole source_width;  ///< coarse samples of a row that are no padding
  static void each(auto& self, auto visit) { visit("source_width", self.source_width); }
};

/// box_any, box_down and box_along.
struct BoxArguments {
  bool integer;                     ///< sums are of integers
  bool any;                         ///< the kernel for all images and windows
  Whole four_bytes;                 ///< that four components of a result take in shared memory
  PerAxis<Whole> window;            ///< whole pixels
  PerAxis<Whole> before;            ///< of these, those before the pixel
  PerAxis<Whole> skip;              ///< pixels that are made before the first of the destination
  Whole across;                     ///< column of the image that column 0 of an image of sums is
  PerAxis<double> before_fraction;  ///< what the pixel before the whole ones counts for
  PerAxis<double> after_fraction;
  double lift;   ///< that numbers are multiplied with, so that sums are finite
  double scale;  ///< number of the result = sum * scale
  static void each(auto& self, auto visit) {
    visit("integer", self.integer);
    visit("any", self.any);
    visit("four_bytes", self.four_bytes);
    visit("window", self.window);
    visit("before", self.before);
    visit("skip", self.skip);
    visit("across", self.across);
    visit("before_fraction", self.before_fraction);
    visit("after_fraction", self.after_fraction);
    visit("lift", self.lift);
    visit("scale", self.scale);
  }
};

/// box_segments.
struct BoxSegmentsArguments {
  BoxArguments box;
  Whole form;                        ///< of box_segments_of()
  std::optional<Whole> first_block;  ///< where block sums are read: columns of these before the first that the first strip reads
  static void each(auto& self, auto visit) {
    visit("", self.box);
    visit("form", self.form);
    visit("first_block", self.first_block);
  }
};

/// box_blocks.
struct BoxBlocksArguments {
  Whole part;   ///< rows of a window beside whole blocks
  bool many;    ///< sums of bytes are of 32 bits
  double lift;  ///< as that of a BoxArguments
  static void each(auto& self, auto visit) {
    visit("part", self.part);
    visit("many", self.many);
    visit("lift", self.lift);
  }
};

/// box_rows and box_columns: windows along one axis, as a BoxPass has them.
struct BoxPassArguments {
  bool wide;  ///< numbers between the passes are f64
  Whole window;
  Whole before;
  Whole first_block;
  Whole blocks;
  Whole first_row;  ///< of the image between the passes
  Whole rows;       ///< of the same, without the ends of blocks that are kept below them
  Whole edge;
  Whole period;
  Whole fraction_before_at;
  Whole fraction_after_at;
  double periods;
  double far_before;
  double far_after;
  double fraction_before;
  double fraction_after;
  double scale;
  double divisor;
  static void each(auto& self, auto visit) {
    visit("wide", self.wide);
    visit("window", self.window);
    visit("before", self.before);
    visit("first_block", self.first_block);
    visit("blocks", self.blocks);
    visit("first_row", self.first_row);
    visit("rows", self.rows);
    visit("edge", self.edge);
    visit("period", self.period);
    visit("fraction_before_at", self.fraction_before_at);
    visit("fraction_after_at", self.fraction_after_at);
    visit("periods", self.periods);
    visit("far_before", self.far_before);
    visit("far_after", self.far_after);
    visit("fraction_before", self.fraction_before);
    visit("fraction_after", self.fraction_after);
    visit("scale", self.scale);
    visit("divisor", self.divisor);
  }
};

}  // namespace mollify::cuda
