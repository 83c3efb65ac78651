// The algorithms of the library: their names, what they do, and the options that they understand.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mollify/result.h"

namespace mollify {

/// The options of an algorithm: values by name, such as "f64" for "accumulator".
using Options = std::map<std::string, std::string, std::less<>>;

/// When `mollify tune` tries the values of an option.
enum class Tuned : std::uint8_t {
  always,
  where_exact,  ///< Only where nothing may be approximated: else the error that is allowed decides.
  never,        ///< The caller, the error or the size of an image decides, not the device.
};

/// One option that an algorithm understands.
struct OptionInfo {
  std::string_view name;                     ///< The name, such as "accumulator".
  std::span<const std::string_view> values;  ///< The values that it can have, or examples of them.
  std::string_view default_value;            ///< The value that it has if nobody sets it.
  std::string_view summary;                  ///< What it does, in one line.
  bool open = false;                         ///< Whether `values` are examples and the algorithm takes others of the same form.
  /// Whether the value decides how sums are rounded. A region, or one image of a batch, then takes the value of the whole image or batch,
  /// so that it has the bits of the whole.
  bool changes_bits = false;
  Tuned tuned = Tuned::always;                       ///< When `mollify tune` tries its values,
  std::span<const std::string_view> tuned_values{};  ///< which are these, or `values` if there are none.
  /// The largest number that Vulkan drivers which run on the processor compile quickly, as it unrolls loops; 0 for any.
  std::int32_t most_in_software = 0;
};

/// What is known of an algorithm before it plans anything.
struct AlgorithmInfo {
  std::string_view id;                  ///< The name that is used everywhere, such as "sep.fused".
  std::string_view summary;             ///< What it does, in one line.
  std::string_view source;              ///< The paper or post that it comes from, or "this project".
  std::span<const OptionInfo> options;  ///< The options that it understands.
};

/// Every algorithm of the library, in order of the registry.
[[nodiscard]] std::vector<AlgorithmInfo> algorithms();

/// An algorithm with options.
struct AlgorithmChoice {
  std::string id;   ///< The algorithm's id.
  Options options;  ///< Options by name. Those that are not named are the algorithm's choice.
  bool operator==(const AlgorithmChoice&) const = default;
};
/// Reads "box.any" or "box.any:key=value,key=value". The error says what is wrong with the form; it is not checked whether there is such an
/// algorithm.
[[nodiscard]] Result<AlgorithmChoice> parse_algorithm(std::string_view text);
/// The text that parse_algorithm() reads.
[[nodiscard]] std::string to_string(const AlgorithmChoice& choice);

}  // namespace mollify
