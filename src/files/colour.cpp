#include "files/colour.h"

#include <lcms2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace mollify::files {
namespace {

struct CloseProfile {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};
using ProfileHandle = std::unique_ptr<void, CloseProfile>;
struct FreeCurve {
  void operator()(cmsToneCurve* curve) const { cmsFreeToneCurve(curve); }
};
using CurveHandle = std::unique_ptr<cmsToneCurve, FreeCurve>;

constexpr cmsCIExyY kD65{0.3127, 0.3290, 1.0};
constexpr cmsCIExyYTRIPLE kRec709{{0.64, 0.33, 1.0}, {0.30, 0.60, 1.0}, {0.15, 0.06, 1.0}};
constexpr int kSamples = 4096;  // of a curve that has no formula

const Item* find(const Document& document, const Page& page, ItemKind kind) {
  for (const auto* items : {&page.items, &document.items}) {
    const auto item = std::find_if(items->begin(), items->end(), [&](const Item& each) { return each.kind == kind; });
    if (item != items->end()) return &*item;
  }
  return nullptr;
}

CurveHandle sampled(const std::function<double(double)>& curve) {
  std::vector<float> samples(kSamples);
  for (int i = 0; i < kSamples; ++i) samples[static_cast<std::size_t>(i)] = static_cast<float>(curve(i / (kSamples - 1.0)));
  return CurveHandle(cmsBuildTabulatedToneCurveFloat(nullptr, kSamples, samples.data()));
}

CurveHandle gamma_curve(double exponent) {
  return CurveHandle(cmsBuildGamma(nullptr, exponent));
}

CurveHandle srgb_curve() {
  const std::array<cmsFloat64Number, 5> parameters = {2.4, 1.0 / 1.055, 0.055 / 1.055, 1.0 / 12.92, 0.04045};
  return CurveHandle(cmsBuildParametricToneCurve(nullptr, 4, parameters.data()));
}

/// ITU-T H.273: transfer characteristics.
CurveHandle curve_of_code_point(int code) {
  constexpr double kAlpha = 1.09929682680944, kBeta = 0.018053968510807;  // BT.709
  switch (code) {
    case 1:
    case 6:
    case 14:
    case 15:
      return sampled([](double v) { return v < 4.5 * kBeta ? v / 4.5 : std::pow((v + kAlpha - 1.0) / kAlpha, 1.0 / 0.45); });
    case 4:
      return gamma_curve(2.2);
    case 5:
      return gamma_curve(2.8);
    case 8:
      return gamma_curve(1.0);
    case 13:
      return srgb_curve();
    case 16:
      return sampled([](double v) {  // SMPTE ST 2084
        const double p = std::pow(v, 1.0 / 78.84375);
        return std::pow(std::max(0.0, p - 0.8359375) / (18.8515625 - 18.6875 * p), 1.0 / 0.1593017578125);
      });
    case 17:
      return gamma_curve(2.6);
    case 18:
      return sampled([](double v) {  // hybrid log-gamma
        constexpr double kA = 0.17883277, kB = 0.28466892, kC = 0.55991073;
        return v <= 0.5 ? v * v / 3.0 : (std::exp((v - kC) / kA) + kB) / 12.0;
      });
    default:
      return nullptr;
  }
}

struct Primaries {
  cmsCIExyY white;
  cmsCIExyYTRIPLE colours;
};

std::optional<Primaries> primaries_of_code_point(int code) {
  switch (code) {
    case 1:
      return Primaries{kD65, kRec709};
    case 5:
      return Primaries{kD65, {{0.64, 0.33, 1.0}, {0.29, 0.60, 1.0}, {0.15, 0.06, 1.0}}};
    case 6:
    case 7:
      return Primaries{kD65, {{0.63, 0.34, 1.0}, {0.31, 0.595, 1.0}, {0.155, 0.07, 1.0}}};
    case 9:
      return Primaries{kD65, {{0.708, 0.292, 1.0}, {0.17, 0.797, 1.0}, {0.131, 0.046, 1.0}}};
    case 11:
      return Primaries{{0.314, 0.351, 1.0}, {{0.68, 0.32, 1.0}, {0.265, 0.69, 1.0}, {0.15, 0.06, 1.0}}};
    case 12:
      return Primaries{kD65, {{0.68, 0.32, 1.0}, {0.265, 0.69, 1.0}, {0.15, 0.06, 1.0}}};
    default:
      return std::nullopt;
  }
}

/// White x y, then those of red, green and blue, as 8 floats.
std::optional<Primaries> primaries_of(const Item* chromaticities) {
  std::array<float, 8> v;
  if (chromaticities == nullptr || chromaticities->data.size() != sizeof v) return std::nullopt;
  std::memcpy(v.data(), chromaticities->data.data(), sizeof v);
  for (std::size_t i = 1; i < v.size(); i += 2) {
    if (!(v[i] > 0.0F) || !(v[i] <= 1.0F)) return std::nullopt;
  }
  return Primaries{{v[0], v[1], 1.0}, {{v[2], v[3], 1.0}, {v[4], v[5], 1.0}, {v[6], v[7], 1.0}}};
}

bool is_about(const Primaries& a, const Primaries& b) {
  const auto near = [](const cmsCIExyY& p, const cmsCIExyY& q) { return std::abs(p.x - q.x) < 2e-3 && std::abs(p.y - q.y) < 2e-3; };
  return near(a.white, b.white) && near(a.colours.Red, b.colours.Red) && near(a.colours.Green, b.colours.Green) &&
         near(a.colours.Blue, b.colours.Blue);
}

double largest_difference(const cmsToneCurve* curve, const std::function<double(double)>& other) {
  double largest = 0.0;
  for (int i = 0; i <= 256; ++i) {
    const double v = i / 256.0;
    largest = std::max(largest, std::abs(static_cast<double>(cmsEvalToneCurveFloat(curve, static_cast<float>(v))) - other(v)));
  }
  return largest;
}

double srgb_to_light(double v) {
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

ProfileHandle rgb_profile(const Primaries& primaries, cmsToneCurve* curve) {
  const std::array<cmsToneCurve*, 3> curves = {curve, curve, curve};
  return ProfileHandle(cmsCreateRGBProfile(&primaries.white, &primaries.colours, curves.data()));
}

ProfileHandle grey_profile(cmsToneCurve* curve) {
  return ProfileHandle(cmsCreateGrayProfile(&kD65, curve));
}

std::string text_of(cmsHPROFILE profile) {
  std::array<char, 128> text{};
  cmsGetProfileInfoASCII(profile, cmsInfoDescription, "en", "US", text.data(), text.size() - 1);
  return text.data();
}

}  // namespace

namespace colour_detail {

struct Profile {
  ProfileHandle handle;
  ColourModel model = ColourModel::rgb;
  std::vector<cmsToneCurve*> curves;  ///< of the handle's own, or of `own`
  CurveHandle own;
  bool is_inks_without_profile = false;
};

/// A curve by its nodes, which are equally far apart: between them it is straight, forth and back.
class SampledCurve {
 public:
  explicit SampledCurve(std::vector<float> nodes) : nodes_(std::move(nodes)) {
    if (!rises()) return;
    for (std::uint32_t key = 0; key <= key_of(1.0F) + 1; ++key)
      begins_.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(nodes_, std::bit_cast<float>(key << kBits)) - nodes_.begin()));
  }
  /// From 0 or above, so that there is one way back.
  [[nodiscard]] bool rises() const { return std::ranges::is_sorted(nodes_) && nodes_.front() >= 0.0F && nodes_.front() < nodes_.back(); }
  [[nodiscard]] float decode(float value) const {
    const float place = value * steps();
    const std::size_t below = std::min(static_cast<std::size_t>(place), nodes_.size() - 2);
    return std::lerp(nodes_[below], nodes_[below + 1], place - static_cast<float>(below));
  }
  [[nodiscard]] float encode(float light) const {
    const std::uint32_t key = key_of(light);
    const auto place = [&](std::uint32_t k) { return nodes_.begin() + static_cast<std::ptrdiff_t>(begins_[k]); };
    const auto above = std::lower_bound(place(key), place(key + 1), light);
    if (above == nodes_.begin()) return 0.0F;
    if (above == nodes_.end()) return 1.0F;
    const float below = *(above - 1);
    return (static_cast<float>(above - nodes_.begin() - 1) + (light - below) / (*above - below)) / steps();
  }

 private:
  // The exponent of a number and the first five bits of its fraction say roughly where it is.
  static constexpr int kBits = 18;
  [[nodiscard]] static std::uint32_t key_of(float light) { return std::bit_cast<std::uint32_t>(light) >> kBits; }
  [[nodiscard]] float steps() const { return static_cast<float>(nodes_.size() - 1); }

  std::vector<float> nodes_;
  std::vector<std::uint32_t> begins_;  ///< the first node that is not below the numbers of a key
};

struct Curve {
  CurveHandle forward, backward;        ///< where there is a formula
  std::optional<SampledCurve> sampled;  ///< where there is none

  [[nodiscard]] bool is_invertible() const { return sampled ? sampled->rises() : forward && backward; }
  [[nodiscard]] float decode(float value) const { return sampled ? sampled->decode(value) : cmsEvalToneCurveFloat(forward.get(), value); }
  [[nodiscard]] float encode(float light) const { return sampled ? sampled->encode(light) : cmsEvalToneCurveFloat(backward.get(), light); }
};

struct Curves {
  std::vector<Curve> channels;
};

struct Transform {
  struct Delete {
    void operator()(void* transform) const { cmsDeleteTransform(transform); }
  };
  std::unique_ptr<void, Delete> handle;
  int source_channels = 3;
  int result_channels = 3;
  ColourModel model = ColourModel::rgb;
  bool is_plain_ink = false;
};

}  // namespace colour_detail

namespace {

using colour_detail::Profile;

/// What Little CMS calls the channels of the page.
cmsColorSpaceSignature signature_of(const Page& page) {
  switch (page.model) {
    case ColourModel::grey:
      return cmsSigGrayData;
    case ColourModel::cmyk:
      return cmsSigCmykData;
    case ColourModel::lab:
      return cmsSigLabData;
    default:
      return cmsSigRgbData;
  }
}

/// The curves that a matrix or grey profile has; none of tables.
std::vector<cmsToneCurve*> curves_of(cmsHPROFILE profile) {
  const auto tag = [&](cmsTagSignature signature) { return static_cast<cmsToneCurve*>(cmsReadTag(profile, signature)); };
  std::vector<cmsToneCurve*> curves;
  if (cmsGetColorSpace(profile) == cmsSigGrayData) {
    curves = {tag(cmsSigGrayTRCTag)};
  } else if (cmsIsMatrixShaper(profile) && !cmsIsTag(profile, cmsSigAToB0Tag)) {
    curves = {tag(cmsSigRedTRCTag), tag(cmsSigGreenTRCTag), tag(cmsSigBlueTRCTag)};
  }
  if (std::find(curves.begin(), curves.end(), nullptr) != curves.end()) curves.clear();
  return curves;
}

ColourEncoding encoding_of(const std::vector<cmsToneCurve*>& curves) {
  const auto all = [&](double tolerance, const std::function<double(double)>& other) {
    return std::all_of(curves.begin(), curves.end(),
                       [&](const cmsToneCurve* curve) { return largest_difference(curve, other) < tolerance; });
  };
  if (curves.empty()) return ColourEncoding::tables;
  if (all(1e-6, [](double v) { return v; })) return ColourEncoding::linear;
  if (all(1e-4, srgb_to_light)) return ColourEncoding::srgb;
  return ColourEncoding::curves;
}

/// What the header of a profile says that it is for.
cmsColorSpaceSignature space_of(const Bytes& profile) {
  constexpr std::size_t kOffset = 16;
  std::uint32_t signature = 0;
  for (std::size_t i = kOffset; i < kOffset + 4 && i < profile.size(); ++i) signature = signature << 8 | profile[i];
  return static_cast<cmsColorSpaceSignature>(signature);
}

/// A profile that the file has, where it fits.
bool take_profile(const Item& item, const Page& page, Profile& profile, ColourMeaning& meaning) {
  if (space_of(item.data) != signature_of(page)) return false;
  meaning.has_srgb_primaries = false;
  ProfileHandle handle(cmsOpenProfileFromMem(item.data.data(), static_cast<cmsUInt32Number>(item.data.size())));
  if (!handle) {
    meaning.encoding = ColourEncoding::tables;
    meaning.name = "that of a profile that cannot be read";
    return true;
  }
  profile.curves = curves_of(handle.get());
  meaning.encoding = encoding_of(profile.curves);
  meaning.name = "that of the profile \"" + text_of(handle.get()) + "\"";
  profile.handle = std::move(handle);
  return true;
}

void set_made_profile(Profile& profile, CurveHandle curve, const std::optional<Primaries>& primaries) {
  profile.handle = profile.model == ColourModel::grey ? grey_profile(curve.get())
                                                      : rgb_profile(primaries.value_or(Primaries{kD65, kRec709}), curve.get());
  profile.curves.assign(profile.model == ColourModel::grey ? 1 : 3, curve.get());
  profile.own = std::move(curve);
}

std::string short_number(double v) {
  std::string text = std::to_string(std::round(v * 1000.0) / 1000.0);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

ColourSpace::ColourSpace(const Document& document, const Page& page) : profile_(std::make_unique<Profile>()) {
  cmsSetLogErrorHandler(nullptr);  // none of its complaints reaches stderr
  Profile& profile = *profile_;
  profile.model = page.model;
  if (const Item* item = find(document, page, ItemKind::icc_profile)) {
    has_unfit_profile_ = !take_profile(*item, page, profile, meaning_);
    if (!has_unfit_profile_) {
      profile_bytes_ = item->data.size();
      return;
    }
  }
  if (page.model == ColourModel::cmyk || page.model == ColourModel::lab) {
    meaning_ = {ColourEncoding::tables, page.model == ColourModel::lab ? "CIE L*a*b*" : "ink", false};
    profile.is_inks_without_profile = page.model == ColourModel::cmyk;
    if (page.model == ColourModel::lab) profile.handle = ProfileHandle(cmsCreateLab4Profile(nullptr));
    return;
  }
  const std::optional<Primaries> primaries =
      primaries_of(find(document, page, document.format == FileFormat::png ? ItemKind::chromaticities : ItemKind::light_primaries));
  meaning_.has_srgb_primaries = !primaries || is_about(*primaries, {kD65, kRec709});
  if (const Item* cicp = find(document, page, ItemKind::cicp); cicp != nullptr && cicp->data.size() == 4) {
    CurveHandle curve = curve_of_code_point(cicp->data[1]);
    const std::optional<Primaries> named = primaries_of_code_point(cicp->data[0]);
    if (curve && (named || page.model == ColourModel::grey)) {
      set_made_profile(profile, std::move(curve), named);
      meaning_.encoding = encoding_of(profile.curves);
      meaning_.has_srgb_primaries = cicp->data[0] == 1;
      meaning_.name = meaning_.encoding == ColourEncoding::srgb && meaning_.has_srgb_primaries
                          ? "sRGB"
                          : "that of cICP " + std::to_string(cicp->data[0]) + "/" + std::to_string(cicp->data[1]);
      return;
    }
  }
  if (find(document, page, ItemKind::srgb_intent) != nullptr) {
    set_made_profile(profile, srgb_curve(), {});
    meaning_ = {ColourEncoding::srgb, "sRGB", true};
    return;
  }
  if (const Item* gamma = find(document, page, ItemKind::gamma); gamma != nullptr && gamma->number > 0) {
    const double exponent = 100000.0 / gamma->number;
    // 45455 is what encoders of sRGB write who have no better word for it.
    const bool is_srgb = gamma->number == 45455 && meaning_.has_srgb_primaries;
    set_made_profile(profile, is_srgb ? srgb_curve() : gamma_curve(exponent), primaries);
    meaning_.encoding = is_srgb ? ColourEncoding::srgb : gamma->number == 100000 ? ColourEncoding::linear : ColourEncoding::curves;
    meaning_.name = gamma->number == 100000 ? "linear light" : "gamma " + short_number(exponent);
    return;
  }
  const bool is_linear = document.format == FileFormat::exr || document.format == FileFormat::hdr;
  set_made_profile(profile, is_linear ? gamma_curve(1.0) : srgb_curve(), primaries);
  if (is_linear) {
    meaning_.encoding = ColourEncoding::linear;
    meaning_.name = "linear light";
  }
}

ColourSpace::~ColourSpace() = default;

Bytes ColourSpace::made_profile() const {
  cmsUInt32Number size = 0;
  // No clock in results: the time of creation is that of an empty header.
  cmsHPROFILE handle = profile_->handle.get();
  if (handle == nullptr || !cmsSaveProfileToMem(handle, nullptr, &size)) return {};
  Bytes bytes(size);
  if (!cmsSaveProfileToMem(handle, bytes.data(), &size)) return {};
  constexpr std::size_t kDate = 24, kDateBytes = 12, kId = 84, kIdBytes = 16;
  if (bytes.size() > 128) {
    std::fill_n(bytes.begin() + kDate, kDateBytes, std::uint8_t{0});
    std::fill_n(bytes.begin() + kId, kIdBytes, std::uint8_t{0});
    constexpr std::array<std::uint8_t, 6> kFirstDay = {0x07, 0xB2, 0, 1, 0, 1};  // 1970-01-01
    std::copy(kFirstDay.begin(), kFirstDay.end(), bytes.begin() + kDate);
  }
  return bytes;
}

namespace {

/// Of a table that the file has, its own numbers.
std::vector<float> nodes_of(const cmsToneCurve* curve, bool is_of_file) {
  constexpr float kMost = 65535.0F;
  const std::size_t count = is_of_file ? cmsGetToneCurveEstimatedTableEntries(curve) : kSamples;
  std::vector<float> nodes(std::max<std::size_t>(count, 2));
  const cmsUInt16Number* stored = cmsGetToneCurveEstimatedTable(curve);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const float value = static_cast<float>(i) / static_cast<float>(nodes.size() - 1);
    nodes[i] = is_of_file && i < count ? static_cast<float>(stored[i]) / kMost : cmsEvalToneCurveFloat(curve, value);
  }
  return nodes;
}

}  // namespace

ToneCurves::ToneCurves(const ColourSpace& space) : curves_(std::make_unique<colour_detail::Curves>()) {
  for (const cmsToneCurve* stored : space.profile().curves) {
    colour_detail::Curve& curve = curves_->channels.emplace_back();
    if (cmsGetToneCurveParametricType(stored) != 0) {
      curve.forward.reset(cmsDupToneCurve(stored));
      curve.backward.reset(cmsReverseToneCurve(stored));
    } else {
      curve.sampled.emplace(nodes_of(stored, !space.profile().own));
    }
    if (!curve.is_invertible()) throw FileError("has a tone curve that cannot be inverted");
  }
}

ToneCurves::~ToneCurves() = default;

namespace {

const colour_detail::Curve& curve_of(const colour_detail::Curves& curves, int channel) {
  return curves.channels[std::min(static_cast<std::size_t>(channel), curves.channels.size() - 1)];
}

/// A table ends at 1; the straight line through its end goes on. Below zero curves are as above.
template <class Evaluate>
float continued(float value, const Evaluate& evaluate) {
  const float magnitude = std::abs(value);
  return std::copysign(magnitude <= 1.0F ? evaluate(magnitude) : magnitude * evaluate(1.0F), value);
}

}  // namespace

float ToneCurves::decode(int channel, float value) const {
  const colour_detail::Curve& curve = curve_of(*curves_, channel);
  return continued(value, [&](float v) { return curve.decode(v); });
}
float ToneCurves::encode(int channel, float value) const {
  const colour_detail::Curve& curve = curve_of(*curves_, channel);
  return continued(value, [&](float v) { return curve.encode(v); });
}

ColourTransform::ColourTransform(const ColourSpace& from, Target to) : transform_(std::make_unique<colour_detail::Transform>()) {
  const Profile& profile = from.profile();
  colour_detail::Transform& t = *transform_;
  t.model = profile.model;
  t.is_plain_ink = profile.is_inks_without_profile;
  const bool is_grey = profile.model == ColourModel::grey;
  t.source_channels = is_grey ? 1 : profile.model == ColourModel::cmyk ? 4 : 3;
  t.result_channels = is_grey ? 1 : 3;
  if (t.is_plain_ink) return;
  const CurveHandle curve = to == Target::srgb ? srgb_curve() : gamma_curve(1.0);
  const cmsUInt32Number source_type = is_grey                              ? TYPE_GRAY_FLT
                                      : profile.model == ColourModel::cmyk ? TYPE_CMYK_FLT
                                      : profile.model == ColourModel::lab  ? TYPE_Lab_FLT
                                                                           : TYPE_RGB_FLT;
  const ProfileHandle target = is_grey ? grey_profile(curve.get()) : rgb_profile({kD65, kRec709}, curve.get());
  if (!profile.handle) throw FileError("has a colour profile that cannot be read");
  t.handle.reset(cmsCreateTransform(profile.handle.get(), source_type, target.get(), is_grey ? TYPE_GRAY_FLT : TYPE_RGB_FLT,
                                    INTENT_RELATIVE_COLORIMETRIC,
                                    cmsFLAGS_NOCACHE | cmsFLAGS_NOOPTIMIZE | cmsFLAGS_BLACKPOINTCOMPENSATION));
  if (!t.handle) throw FileError("has a colour profile that cannot be converted");
}

ColourTransform::~ColourTransform() = default;

int ColourTransform::result_channels() const {
  return transform_->result_channels;
}

void ColourTransform::run(const float* from, std::ptrdiff_t source_stride, float* to, std::ptrdiff_t result_stride,
                          std::size_t count) const {
  const colour_detail::Transform& t = *transform_;
  constexpr std::size_t kBlock = 512;  // pixels of one call, whose cost is then small
  std::array<float, kBlock * 4> in;
  std::array<float, kBlock * 3> out;
  const float unit = t.model == ColourModel::cmyk && !t.is_plain_ink ? 100.0F : 1.0F;  // ink in percent
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t pixels = std::min(kBlock, count - first);
    for (std::size_t i = 0; i < pixels; ++i, from += source_stride) {
      for (int c = 0; c < t.source_channels; ++c)
        in[i * static_cast<std::size_t>(t.source_channels) + static_cast<std::size_t>(c)] = unit * from[c];
    }
    if (t.is_plain_ink) {
      for (std::size_t i = 0; i < pixels; ++i) {
        for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = (1.0F - in[4 * i + c]) * (1.0F - in[4 * i + 3]);
      }
    } else {
      cmsDoTransform(t.handle.get(), in.data(), out.data(), static_cast<cmsUInt32Number>(pixels));
    }
    for (std::size_t i = 0; i < pixels; ++i, to += result_stride) {
      std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(i) * t.result_channels, t.result_channels, to);
    }
  }
}

}  // namespace mollify::files
