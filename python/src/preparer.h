// From a task to its runs: which axes each run blurs, from where to where, and how exact it must be.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "axis_kernel.h"
#include "prepared.h"

namespace mollify::python {

/// Own memory of a Prepared, by index.
enum Memory : std::size_t {
  kPackedSource,
  kPackedResult,
  kBetween,  ///< and the next one: runs take turns
  kBetween2,
  kSharpened,
  kBlurred,
  kConvertedSource,
  kConvertedResult,
  kWeights,
  kBlurredWeights,
  kMemories
};

class Preparer {
 public:
  /// Throws std::invalid_argument.
  explicit Preparer(const Task& task);
  /// Fills in the steps, the memory and the error. Throws std::invalid_argument, Unsupported or std::bad_alloc.
  void prepare(Prepared& out) const;

 private:
  using Place = Prepared::Place;
  using Step = Prepared::Step;
  using Steps = std::vector<Step>;
  using Axes = std::vector<std::size_t>;  // of the array

  [[nodiscard]] bool is_matrix() const { return std::holds_alternative<MatrixKernel>(task_.request.kernel); }
  void find_axes();
  void check_border() const;
  void check_alpha() const;
  [[nodiscard]] double border_value() const;

  [[nodiscard]] Place source() const { return {Place::Whose::source, 0, task_.src.element, task_.src.strides}; }
  [[nodiscard]] Place destination() const { return {Place::Whose::destination, 0, task_.dst.element, task_.dst.strides}; }
  /// What lies between two runs.
  [[nodiscard]] Element between() const { return task_.src.element.between(); }
  /// Where runs read and write: as the caller's arrays lie, or float32 for numbers that are not native.
  [[nodiscard]] Place read_place() const;
  [[nodiscard]] Place written_place() const;
  [[nodiscard]] bool reads_unorm() const { return read_place().element.is_unorm(); }
  [[nodiscard]] Place own_place(std::size_t memory, Element element, std::span<const std::size_t> order) const;
  [[nodiscard]] std::optional<ImageLayout> layout_of(const Place& from, const Place& to, const Axes& blurred) const;
  [[nodiscard]] std::optional<Steps> find_runs(Place from, const Place& to, const Axes& changed) const;
  [[nodiscard]] Steps find_steps(const Place& source, const Place& destination, const Axes& changed) const;

  [[nodiscard]] std::size_t number_of(std::size_t array_axis) const;
  [[nodiscard]] KernelSpec kernel_of(const ImageLayout& layout) const;
  [[nodiscard]] double gain_of(const ImageLayout& layout) const;
  [[nodiscard]] double sum_of(const ImageLayout& layout) const;
  [[nodiscard]] BlurSpec spec_of(const ImageLayout& layout, double border_value) const;
  [[nodiscard]] double make_run(Step& step, const BlurSpec& spec, const Device& device) const;
  [[nodiscard]] double make_runs(Steps& steps, double allowed) const { return make_runs(steps, allowed, border_value()); }
  [[nodiscard]] double make_runs(Steps& steps, double allowed, double border_value) const;
  void add(Steps steps, Prepared& out) const;
  [[nodiscard]] std::optional<Prepared::Slices> by_slices(Step& first, Step& second) const;
  [[nodiscard]] double prepare_sharpening(double amount, double allowed, Prepared& out) const;
  // Known and unknown elements.
  [[nodiscard]] bool is_masked() const { return task_.mask || task_.request.manner.skips_nan; }
  void check_mask() const;
  void add_weights(const Place& weights, Prepared& out) const;
  [[nodiscard]] Step division(const Place& weights, const Place& image, double error) const;
  [[nodiscard]] double prepare_masked(double allowed, Prepared& out) const;

  [[nodiscard]] double largest_gain() const;
  [[nodiscard]] double unit_of_errors() const;
  [[nodiscard]] double allowed_error() const;
  void measure_memory(Prepared& out) const;

  // Numbers that are summed in float64.
  void check_wide() const;
  [[nodiscard]] double error_of_wide() const;
  [[nodiscard]] double prepare_block(const BlockKernel& block, Prepared& out) const;

  const Task& task_;
  Axes axes_;                        // that the request blurs, in its order
  std::vector<AxisKernel> kernels_;  // of these axes; none for a matrix
  std::vector<BorderMode> modes_;    // of these axes
  Axes changed_;                     // those axes that do not stay as they are
  std::optional<std::size_t> channel_axis_;
};

}  // namespace mollify::python
