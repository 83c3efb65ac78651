// What the channels of OpenEXR mean. The file does not say, so it is read from the names that renderers give them.
#include <algorithm>
#include <array>
#include <cctype>
#include <tuple>

#include "files/exr.h"

namespace mollify::files::exr {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The table of channels that are kept: numbers that a blur would turn into other, wrong numbers. All in lower case.

/// Channels of a layer, or without one, whatever the layer is called.
constexpr std::array<std::string_view, 5> kKeptComponents = {
    "z",  "zback", "zfront",  // depth: OpenEXR's own names, Arnold, Blender, Nuke
    "id",                     // OpenEXR's own name for the id of a sample
    "pz",                     // Houdini's depth
};

/// Names of a layer, or of a channel without a layer, as a whole.
constexpr std::array<std::string_view, 16> kKeptNames = {
    "n",  "ng", "nn",     "ns",   "nworld",              // normals: Arnold, RenderMan, Houdini
    "p",  "po", "pworld", "pref", "dpdtime",             // positions: Arnold, RenderMan, Houdini
    "uv", "st", "mv",     "xyz",  "forward", "backward"  // texture coordinates, motion: Arnold, RenderMan, Redshift, Nuke
};

/// Words of a name: "VRayBumpNormals" has "bump" and "normals", "crypto_object00" has "crypto" and "object".
constexpr std::array<std::string_view, 32> kKeptWords = {
    "crypto",   "cryptomatte", "cryptoobject",  "cryptomaterial", "cryptoasset",  // Arnold, Blender, V-Ray, Redshift
    "depth",    "zdepth",      "zbuffer",                                         // V-Ray, Blender, Nuke, RenderMan
    "normal",   "normals",                                                        // all
    "position", "positions",   "worldposition", "worldpos",                       // Blender, Redshift, V-Ray
    "motion",   "velocity",    "vector",        "vectors",        "motionvector", "motionvectors", "motionfore", "motionback",  // all
    "id",       "ids",         "objectid",      "materialid",     "renderid",     "nodeid",        "instanceid",  // V-Ray, Redshift, Arnold
    "index",    "texcoord",    "deepid"};  // Blender's IndexOB and IndexMA, all

/// Layers of motion or of texture coordinates have components of these names.
constexpr std::array<std::string_view, 4> kCoordinates = {"u", "v", "s", "t"};

constexpr std::array<std::string_view, 7> kColours = {"r", "g", "b", "red", "green", "blue", "y"};
constexpr std::array<std::string_view, 2> kAlphas = {"a", "alpha"};
constexpr std::array<std::string_view, 2> kChroma = {"ry", "by"};

/// Words begin at capitals behind small letters, at the last capital before a small letter, and behind all that is no letter.
std::vector<std::string> words_of(std::string_view name) {
  const auto at = [&](std::size_t i) { return i < name.size() ? static_cast<unsigned char>(name[i]) : 0; };
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(lower(word));
    word.clear();
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!std::isalpha(at(i))) {
      end_word();
      continue;
    }
    const bool begins = i > 0 && std::isupper(at(i)) && (std::islower(at(i - 1)) || std::islower(at(i + 1)));
    if (begins) end_word();
    word.push_back(static_cast<char>(at(i)));
  }
  end_word();
  return words;
}

/// "n01" and "__Nworld" are "n" and "nworld".
std::string without_decoration(std::string_view name) {
  while (name.starts_with('_')) name.remove_prefix(1);
  while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.back()))) name.remove_suffix(1);
  return lower(name);
}

bool is_kept_name(std::string_view name) {
  if (contains(kKeptNames, without_decoration(name))) return true;
  const std::vector<std::string> words = words_of(name);
  return std::any_of(words.begin(), words.end(), [](const std::string& word) { return contains(kKeptWords, word); }) ||
         contains(kKeptWords, without_decoration(name));
}

/// Any of the names between the dots: "ViewLayer.Depth" has two.
bool is_kept_layer(std::string_view layer) {
  while (!layer.empty()) {
    const std::size_t dot = std::min(layer.find('.'), layer.size());
    if (is_kept_name(layer.substr(0, dot))) return true;
    layer.remove_prefix(std::min(dot + 1, layer.size()));
  }
  return false;
}

bool has_component(const std::vector<StoredChannel>& all, std::string_view layer, std::string_view component) {
  return std::any_of(all.begin(), all.end(), [&](const StoredChannel& each) {
    const SplitName name = split(each.name);
    return name.layer == layer && lower(name.component) == component;
  });
}

/// X, Y and Z of one layer are a vector: its Z is no depth and its Y no luminance.
bool is_of_vector(const std::vector<StoredChannel>& all, std::string_view layer) {
  return has_component(all, layer, "x") && has_component(all, layer, "y");
}

bool is_kept(const StoredChannel& channel, const std::vector<StoredChannel>& all, const std::vector<std::string>& cryptomattes) {
  if (channel.type == NumberType::u32) return true;  // ids: numbers between two of them mean nothing
  const auto belongs = [&](const std::string& layer) { return channel.name.starts_with(layer); };
  if (std::any_of(cryptomattes.begin(), cryptomattes.end(), belongs)) return true;
  const SplitName name = split(channel.name);
  if (name.layer.empty() && is_kept_name(name.component)) return true;
  if (is_kept_layer(name.layer)) return true;
  const std::string component = without_decoration(name.component);
  if (contains(kKeptComponents, component)) return !is_of_vector(all, name.layer);
  return contains(kCoordinates, component) && has_component(all, name.layer, component == "u" || component == "v" ? "u" : "s") &&
         has_component(all, name.layer, component == "u" || component == "v" ? "v" : "t");
}

/// Places of a channel in its layer.
int rank(std::string_view component) {
  constexpr std::array<std::string_view, 14> kOrder = {"r", "red", "g", "green", "b", "blue", "x", "y", "ry", "by", "z", "w", "a", "alpha"};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), lower(component)) - kOrder.begin());
}

}  // namespace

SplitName split(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

std::vector<std::string> cryptomatte_layers(const std::vector<Part>& parts) {
  std::vector<std::string> layers;
  for (const Part& part : parts) {
    for (const Attribute& attribute : part.attributes) {
      if (!attribute.name.starts_with("cryptomatte/") || !attribute.name.ends_with("/name")) continue;
      if (!attribute.data.empty()) layers.emplace_back(attribute.data.begin(), attribute.data.end());
    }
  }
  return layers;
}

ChannelRole role_of(const StoredChannel& channel, const std::vector<StoredChannel>& all, const std::vector<std::string>& cryptomattes) {
  if (is_kept(channel, all, cryptomattes)) return ChannelRole::kept;
  const SplitName name = split(channel.name);
  const std::string component = lower(name.component);
  if (contains(kAlphas, component)) return ChannelRole::alpha;
  if (component == "y" && is_of_vector(all, name.layer)) return ChannelRole::data;
  if (contains(kColours, component) || contains(kChroma, component)) return ChannelRole::colour;
  return ChannelRole::data;
}

std::vector<StoredChannel> in_usual_order(std::vector<StoredChannel> channels) {
  std::stable_sort(channels.begin(), channels.end(), [](const StoredChannel& a, const StoredChannel& b) {
    const SplitName left = split(a.name);
    const SplitName right = split(b.name);
    return std::tuple(left.layer, rank(left.component), left.component) < std::tuple(right.layer, rank(right.component), right.component);
  });
  return channels;
}

}  // namespace mollify::files::exr
