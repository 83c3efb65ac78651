// Draws a test chart on which a blur's faults show: edges like text, a zone plate, flat colours, gradients, points on
// black, and shapes on transparency that hides a loud colour. A wrong border darkens the frame, lost precision bands
// the gradients, a kernel that is not round shows at the points, a blur that forgets alpha leaks the hidden colour.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/codec.h"
#include "files/numbers.h"

namespace {

struct Colour {
  float r = 0.0F, g = 0.0F, b = 0.0F, a = 1.0F;
};

constexpr Colour kBackground{0.083F, 0.092F, 0.114F};
constexpr Colour kPaper{0.965F, 0.949F, 0.914F};
constexpr Colour kInk{0.122F, 0.133F, 0.176F};
constexpr Colour kAccent{0.902F, 0.294F, 0.208F};
constexpr Colour kHidden{0.0F, 1.0F, 0.1F, 0.0F};  // must never be seen
constexpr float kPointBrightness = 400.0F;         // float files keep it; 8-bit ones store full scale

/// Between two colours, each weighing as much as it is opaque.
Colour mix(const Colour& from, const Colour& to, float share) {
  const float alpha = std::lerp(from.a, to.a, share);
  if (alpha == 0.0F) return to;
  const float weight = share * to.a / alpha;
  return {std::lerp(from.r, to.r, weight), std::lerp(from.g, to.g, weight), std::lerp(from.b, to.b, weight), alpha};
}

Colour grey(float value) {
  return {value, value, value};
}

Colour hue(float turns, float saturation, float value) {
  const auto component = [&](float shift) {
    const float wave = std::abs(std::fmod(turns + shift, 1.0F) * 6.0F - 3.0F) - 1.0F;
    return value * std::lerp(1.0F, std::clamp(wave, 0.0F, 1.0F), saturation);
  };
  return {component(1.0F), component(2.0F / 3.0F), component(1.0F / 3.0F)};
}

/// The share of a pixel covered by a shape whose edge is `distance` pixels away, negative inside.
float coverage(float distance) {
  return std::clamp(0.5F - distance, 0.0F, 1.0F);
}

// Letters of 5 x 7 cells, one number a row, the leftmost cell in bit 4.
struct Glyph {
  char letter;
  std::array<std::uint8_t, 7> rows;
};
constexpr Glyph kGlyphs[] = {
    {'A', {0x0E, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}}, {'B', {0x1E, 0x11, 0x11, 0x1E, 0x11, 0x11, 0x1E}},
    {'D', {0x1E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x1E}}, {'E', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x1F}},
    {'F', {0x1F, 0x10, 0x10, 0x1E, 0x10, 0x10, 0x10}}, {'G', {0x0E, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0E}},
    {'H', {0x11, 0x11, 0x11, 0x1F, 0x11, 0x11, 0x11}}, {'I', {0x0E, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0E}},
    {'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1F}}, {'M', {0x11, 0x1B, 0x15, 0x15, 0x11, 0x11, 0x11}},
    {'O', {0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E}}, {'P', {0x1E, 0x11, 0x11, 0x1E, 0x10, 0x10, 0x10}},
    {'R', {0x1E, 0x11, 0x11, 0x1E, 0x14, 0x12, 0x11}}, {'S', {0x0F, 0x10, 0x10, 0x0E, 0x01, 0x01, 0x1E}},
    {'T', {0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}}, {'U', {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E}},
    {'Y', {0x11, 0x11, 0x0A, 0x04, 0x04, 0x04, 0x04}},
};

/// Whether the text, whose top left corner is the origin, has ink at (x, y). Cells are `cell` pixels wide and high.
bool has_ink(std::string_view text, int cell, float x, float y) {
  const int column = static_cast<int>(std::floor(x / static_cast<float>(cell)));
  const int row = static_cast<int>(std::floor(y / static_cast<float>(cell)));
  const int pitch = 6;
  if (column < 0 || row < 0 || row >= 7 || column / pitch >= static_cast<int>(text.size()) || column % pitch == 5) {
    return false;
  }
  const char letter = text[static_cast<std::size_t>(column / pitch)];
  const auto* glyph = std::ranges::find(kGlyphs, letter, &Glyph::letter);
  return glyph != std::end(kGlyphs) && ((glyph->rows[static_cast<std::size_t>(row)] >> (4 - column % pitch)) & 1) != 0;
}

// Panels. Each gives the colour at (x, y), in pixels from its top left corner.

constexpr float kTextWidth = 576.0F, kTextHeight = 280.0F;
Colour text(float x, float y) {
  struct Line {
    std::string_view text;
    int cell;
    float y;
    Colour colour;
  };
  static constexpr std::string_view kSlogan = "BLURS IMAGES AT THE SPEED OF MEMORY";
  static constexpr Line kLines[] = {
      {"MOLLIFY", 12, 28.0F, kInk},
      {"BLURS IMAGES AT", 5, 136.0F, kAccent},
      {"THE SPEED OF MEMORY", 4, 183.0F, kInk},
      {kSlogan, 2, 224.0F, kInk},
      {kSlogan, 1, 249.0F, kInk},
  };
  for (const Line& line : kLines) {
    if (has_ink(line.text, line.cell, x - 32.0F, y - line.y)) return line.colour;
  }
  return kPaper;
}

constexpr float kZonePlateWidth = 320.0F, kZonePlateHeight = 280.0F;
Colour zone_plate(float x, float y) {
  // The phase grows with the square of the distance; at the left and right edge it turns half a period a pixel.
  const float dx = x - kZonePlateWidth / 2.0F, dy = y - kZonePlateHeight / 2.0F;
  const float phase = std::numbers::pi_v<float> * (dx * dx + dy * dy) / kZonePlateWidth;
  return grey(0.5F + 0.5F * std::cos(phase));
}

constexpr float kPatchesWidth = 384.0F, kPatchesHeight = 192.0F;
Colour patches(float x, float y) {
  const int column = static_cast<int>(x / 48.0F), row = static_cast<int>(y / 48.0F);
  const float turns = static_cast<float>(column) / 8.0F;
  if (row == 3) return grey(static_cast<float>(column) / 7.0F);
  constexpr std::array<std::pair<float, float>, 3> kRows{{{1.0F, 1.0F}, {0.55F, 0.95F}, {0.8F, 0.5F}}};
  const auto [saturation, value] = kRows[static_cast<std::size_t>(row)];
  return hue(turns, saturation, value);
}

constexpr float kPointsWidth = 176.0F, kPointsHeight = 192.0F;
Colour points(float x, float y) {
  const float disc = coverage(std::hypot(x - 88.0F, y - 72.0F) - 7.0F);
  const bool single = y >= 144.0F && y < 145.0F && static_cast<int>(x) % 44 == 22;
  const bool line = x >= 24.0F && x < 152.0F && y >= 168.0F && y < 169.0F;
  if (single || disc == 1.0F) return grey(kPointBrightness);
  return grey(line ? 1.0F : disc);
}

constexpr float kTransparencyWidth = 320.0F, kTransparencyHeight = 192.0F;
Colour transparency(float x, float y) {
  // A star with a hard edge, a glow that fades, stripes of half transparency; where nothing is, the hidden colour.
  const float sx = x - 84.0F, sy = y - 96.0F;
  const float star_radius = 58.0F + 20.0F * std::cos(5.0F * std::atan2(sx, -sy));
  if (std::hypot(sx, sy) < star_radius) return {0.98F, 0.77F, 0.18F, 1.0F};

  const float glow = std::clamp(1.0F - std::hypot(x - 226.0F, y - 76.0F) / 64.0F, 0.0F, 1.0F);
  if (glow > 0.0F) return {0.25F, 0.52F, 0.96F, glow};

  const bool stripe = y >= 152.0F && y < 176.0F && x >= 164.0F && x < 300.0F && static_cast<int>(x - 164.0F) % 16 < 8;
  if (stripe) return {kAccent.r, kAccent.g, kAccent.b, 0.6F};
  return kHidden;
}

constexpr float kGradientsWidth = 912.0F, kGradientsHeight = 72.0F;
Colour gradients(float x, float y) {
  const float share = x / kGradientsWidth;
  if (y < 24.0F) return grey(share);
  if (y < 48.0F) return mix({0.05F, 0.08F, 0.30F}, {1.0F, 0.85F, 0.55F}, share);
  return hue(share, 0.75F, 0.95F);
}

struct Panel {
  float x, y, width, height;
  Colour (*colour)(float x, float y);
};
constexpr Panel kPanels[] = {
    {24.0F, 24.0F, kTextWidth, kTextHeight, text},
    {616.0F, 24.0F, kZonePlateWidth, kZonePlateHeight, zone_plate},
    {24.0F, 320.0F, kPatchesWidth, kPatchesHeight, patches},
    {424.0F, 320.0F, kPointsWidth, kPointsHeight, points},
    {616.0F, 320.0F, kTransparencyWidth, kTransparencyHeight, transparency},
    {24.0F, 528.0F, kGradientsWidth, kGradientsHeight, gradients},
};
constexpr int kWidth = 960, kHeight = 624;

Colour chart(float x, float y) {
  for (const Panel& panel : kPanels) {
    const float px = x - panel.x, py = y - panel.y;
    if (px < 0.0F || py < 0.0F || px >= panel.width || py >= panel.height) continue;
    const float corner = 10.0F;
    const float dx = std::max(std::abs(px - panel.width / 2.0F) - (panel.width / 2.0F - corner), 0.0F);
    const float dy = std::max(std::abs(py - panel.height / 2.0F) - (panel.height / 2.0F - corner), 0.0F);
    const float inside = coverage(std::hypot(dx, dy) - corner);
    return mix(kBackground, panel.colour(px, py), inside);
  }
  return kBackground;
}

namespace files = mollify::files;

std::vector<Colour> drawn() {
  std::vector<Colour> pixels;
  pixels.reserve(std::size_t{kWidth} * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) pixels.push_back(chart(static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F));
  }
  return pixels;
}

/// Writes red, green, blue and alpha as 8-bit integers, or as halves into OpenEXR.
void write(const std::string& path, const std::vector<Colour>& pixels, int width, int height) {
  const auto format = files::format_of_name(path);
  if (!format) throw files::FileError("no image format is written under this name");
  const bool keeps_range = *format == files::FileFormat::exr;
  const files::NumberType type = keeps_range ? files::NumberType::f16 : files::NumberType::u8;
  files::Document document;
  document.format = *format;
  files::Page page;
  page.width = width;
  page.height = height;
  page.alpha = keeps_range ? files::AlphaKind::associated : files::AlphaKind::unassociated;
  for (const char* name : {"R", "G", "B"}) page.channels.push_back({name, type, files::ChannelRole::colour});
  page.channels.push_back({"A", type, files::ChannelRole::alpha});
  files::Bytes rows;
  for (const Colour& c : pixels) {
    const float weight = keeps_range ? c.a : 1.0F;
    for (const float v : {c.r * weight, c.g * weight, c.b * weight, c.a}) {
      rows.resize(rows.size() + static_cast<std::size_t>(files::bytes_of(type)));
      files::store_number(type, v * files::full_scale(type), rows.data() + rows.size() - files::bytes_of(type));
    }
  }
  document.pages.push_back(std::move(page));
  files::MemorySink sink;
  const std::unique_ptr<files::Writer> writer = files::make_writer(*format, sink, document, {});
  writer->write_rows(0, 0, height, rows.data(), document.pages.front().row_bytes());
  writer->finish();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(sink.bytes().data()), static_cast<std::streamsize>(sink.bytes().size()));
}

/// An 8-bit RGBA picture of the chart's size.
files::Bytes read_chart(const std::string& path) {
  const std::unique_ptr<files::Reader> reader = files::open_reader(files::open_source(path, 1 << 28), {});
  const files::Page& page = reader->document().pages.front();
  if (page.width != kWidth || page.height != kHeight || page.pixel_bytes() != 4)
    throw files::FileError(path + " is not of the chart's shape");
  files::Bytes pixels(static_cast<std::size_t>(page.row_bytes()) * kHeight);
  reader->read_rows(0, 0, kHeight, pixels.data(), page.row_bytes());
  return pixels;
}

/// Two charts side by side on a chequerboard, as docs/ has them: five eighths of their size.
void write_side_by_side(const std::string& left, const std::string& right, const std::string& result) {
  const std::array<files::Bytes, 2> charts = {read_chart(left), read_chart(right)};
  constexpr int kWide = 2 * kWidth * 5 / 8, kHigh = kHeight * 5 / 8, kSquare = 8, kSteps = 4;
  const auto shown = [&](float x, float y) {
    const int column = std::min(static_cast<int>(x), 2 * kWidth - 1), row = std::min(static_cast<int>(y), kHeight - 1);
    const std::uint8_t* p = charts[static_cast<std::size_t>(column / kWidth)].data() +
                            4 * (std::size_t{kWidth} * static_cast<std::size_t>(row) + static_cast<std::size_t>(column % kWidth));
    const float behind = (column / kSquare + row / kSquare) % 2 == 0 ? 0.8F : 1.0F;
    const float alpha = static_cast<float>(p[3]) / 255.0F;
    const auto over = [&](std::uint8_t v) { return std::lerp(behind, static_cast<float>(v) / 255.0F, alpha); };
    return Colour{over(p[0]), over(p[1]), over(p[2])};
  };
  std::vector<Colour> pixels;
  for (int y = 0; y < kHigh; ++y) {
    for (int x = 0; x < kWide; ++x) {
      Colour mean{0.0F, 0.0F, 0.0F};
      for (int i = 0; i < kSteps * kSteps; ++i) {  // the mean over the pixel
        const auto at = [](int pixel, int step) {
          return (static_cast<float>(pixel) + (static_cast<float>(step) + 0.5F) / kSteps) * 8.0F / 5.0F;
        };
        const Colour c = shown(at(x, i % kSteps), at(y, i / kSteps));
        mean.r += c.r / (kSteps * kSteps);
        mean.g += c.g / (kSteps * kSteps);
        mean.b += c.b / (kSteps * kSteps);
      }
      pixels.push_back(mean);
    }
  }
  write(result, pixels, kWide, kHigh);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: mollify_test_chart FILE, or mollify_test_chart LEFT RIGHT FILE for two charts side by side\n");
    return 2;
  }
  try {
    if (argc == 2) {
      write(argv[1], drawn(), kWidth, kHeight);
    } else {
      write_side_by_side(argv[1], argv[2], argv[3]);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mollify_test_chart: %s: %s\n", argv[argc - 1], error.what());
    return 1;
  }
}
