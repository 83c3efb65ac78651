// From what a source holds to what its result will hold: every page and every item gets the outcome that the contract says, and a message
// where that is not "kept". No pixel is touched here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/codec.h"
#include "files/colour.h"
#include "files/document.h"
#include "files/numbers.h"
#include "mollify/plan.h"
#include "mollify/spec.h"

namespace mollify::files {

enum class AlphaChoice : std::uint8_t {
  automatic,    ///< unassociated alpha is multiplied in around the blur, associated alpha is so already
  ignore,       ///< alpha is a channel like the others
  premultiply,  ///< the file's alpha is unassociated, whatever the file says
};

/// What is asked of a result.
struct ResultRequest {
  FileFormat format = FileFormat::png;
  std::optional<NumberType> type{};  ///< unset: each channel keeps its own
  std::optional<int> channels{};     ///< set: the source must have that many
  std::optional<Scale> scale{};      ///< unset: by what the file is
  std::optional<int> page{};         ///< the only one of the result, counted from 1
  std::optional<Rect> region{};      ///< of the pixels as stored
  PerAxis<Reach> grow{};             ///< pixels by which the data window of an OpenEXR file grows on either side
  AlphaChoice alpha = AlphaChoice::automatic;
  bool linear = false;                             ///< blur light
  std::optional<std::array<double, 3>> flatten{};  ///< sRGB, 0 to 1: what lies behind a picture whose alpha the result cannot hold
  bool keep_unknown = false;                       ///< unknown blocks of any size, whatever is inside
  std::vector<std::string> blur_patterns{};        ///< channels that are blurred, whatever they are
  std::vector<std::string> keep_patterns{};        ///< channels that are copied
};

/// What is blurred: light or the stored numbers.
enum class Light : std::uint8_t { as_stored, srgb, curves };

/// What happens to one page.
struct PageWork {
  int source = 0;  ///< index of the page of the source
  Page from;       ///< that page, with the roles of its channels
  Page blurred;    ///< the result as the source is stored
  Page result;     ///< as it is written: upright where the format cannot say otherwise
  bool turns = false;
  AlphaMode alpha = AlphaMode::ignore;
  Light light = Light::as_stored;
  bool decodes_integers = false;     ///< of which the library does not know which number is white
  bool divides_by_alpha = false;     ///< colours are associated and become unassociated, or are so for a change of colours
  bool multiplies_by_alpha = false;  ///< the result is associated
  std::optional<ColourTransform::Target> colour{};
  std::optional<std::array<double, 4>> flatten{};  ///< in the result's colours
  bool negates = false;                            ///< white at zero becomes black at zero
  std::optional<int> repeated{};                   ///< channel of `from` that becomes three equal ones
  Scale scale = Scale::colour;                     ///< of numbers of pictures whose type changes
  Scale data_scale = Scale::colour;                ///< of numbers of types that are data, see is_data()
  std::shared_ptr<const ColourSpace> space;
  PerAxis<Reach> grow{};                   ///< zeros that are put around the source's pixels
  std::optional<Rect> region{};            ///< of the source's pixels with those zeros: what is blurred and stays
  PerAxis<double> kernel_scale{1.0, 1.0};  ///< of a smaller copy: its size over that of its picture

  /// From numbers of a type of the source to those of a type of the result.
  [[nodiscard]] double factor(NumberType before, NumberType after) const {
    const bool keeps = before == after || (is_data(before) ? data_scale : scale) == Scale::data;
    return keeps ? 1.0 : full_scale(after) / full_scale(before);
  }

  /// Whether colours go through 32-bit floats, since something else than a blur is to be done to them.
  [[nodiscard]] bool changes_colours() const {
    return colour.has_value() || flatten.has_value() || divides_by_alpha || multiplies_by_alpha || negates || repeated.has_value() ||
           light == Light::curves || decodes_integers;
  }
};

struct ResultPlan {
  Document document;  ///< what the writer gets
  std::vector<PageWork> pages;
};

/// Throws FileError for what is refused, with the way out where there is one.
[[nodiscard]] ResultPlan plan_result(const Document& source, const ResultRequest& request, Messages& messages);

}  // namespace mollify::files
