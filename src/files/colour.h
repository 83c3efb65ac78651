// What the colour numbers of a page mean, by Little CMS: tone curves for blurs of light, and conversions for formats that hold one kind of
// colour only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "files/codec.h"
#include "files/document.h"

namespace mollify::files {

enum class ColourEncoding : std::uint8_t {
  unnamed,  ///< the file says nothing: sRGB for integers, as everyone takes it; as stored for floats
  srgb,
  linear,
  curves,  ///< a curve for each channel: a gamma, a matrix profile
  tables,  ///< a profile of tables, which has no curves; inks; Lab
};

struct ColourMeaning {
  ColourEncoding encoding = ColourEncoding::unnamed;
  std::string name;  ///< "sRGB", "linear light", "gamma 1.8", "that of the profile \"Display P3\""; empty where the file says nothing
  bool has_srgb_primaries = true;
};

namespace colour_detail {
struct Profile;
struct Curves;
struct Transform;
}  // namespace colour_detail

/// The meaning of the colour channels of one page, from its profile, cICP, gAMA and cHRM, or chromaticities, in this order.
class ColourSpace {
 public:
  ColourSpace(const Document& document, const Page& page);
  ColourSpace(const ColourSpace&) = delete;
  ColourSpace& operator=(const ColourSpace&) = delete;
  ~ColourSpace();

  [[nodiscard]] const ColourMeaning& meaning() const { return meaning_; }
  /// Whether the file's profile is for the channels that the page has.
  [[nodiscard]] bool has_unfit_profile() const { return has_unfit_profile_; }
  /// How long it is, where it is; 0: there is no such profile.
  [[nodiscard]] std::size_t profile_bytes() const { return profile_bytes_; }
  /// Its curves and primaries as a profile for formats that hold nothing else; without the file's own profile.
  [[nodiscard]] Bytes made_profile() const;

  [[nodiscard]] const colour_detail::Profile& profile() const { return *profile_; }

 private:
  std::unique_ptr<colour_detail::Profile> profile_;
  ColourMeaning meaning_;
  bool has_unfit_profile_ = false;
  std::size_t profile_bytes_ = 0;
};

/// Colours of full scale 1 to light and back, a channel at a time. Beyond 0 to 1 the curves go on, odd about 0.
class ToneCurves {
 public:
  /// Of a space whose encoding is not `tables`.
  explicit ToneCurves(const ColourSpace& space);
  ToneCurves(const ToneCurves&) = delete;
  ToneCurves& operator=(const ToneCurves&) = delete;
  ~ToneCurves();
  [[nodiscard]] float decode(int channel, float value) const;
  [[nodiscard]] float encode(int channel, float value) const;

 private:
  std::unique_ptr<colour_detail::Curves> curves_;
};

/// Colours of one space, full scale 1, as those of another.
class ColourTransform {
 public:
  enum class Target : std::uint8_t { srgb, linear_srgb };
  ColourTransform(const ColourSpace& from, Target to);
  ColourTransform(const ColourTransform&) = delete;
  ColourTransform& operator=(const ColourTransform&) = delete;
  ~ColourTransform();
  /// 1 for grey, 3 for RGB.
  [[nodiscard]] int result_channels() const;
  /// `count` pixels; those of the source and the result are `source_stride` and `result_stride` floats apart.
  void run(const float* from, std::ptrdiff_t source_stride, float* to, std::ptrdiff_t result_stride, std::size_t count) const;

 private:
  std::unique_ptr<colour_detail::Transform> transform_;
};

}  // namespace mollify::files
