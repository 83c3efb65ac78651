#include "channels.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace mollify::cli {
namespace {

constexpr int kMaxChannels = 4;
constexpr int kMaxColoursWithAlpha = 3;

std::string_view layer_of(std::string_view channel) {
  const std::size_t dot = channel.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : channel.substr(0, dot);
}

std::string base_of(std::string_view channel) {
  std::string base(channel.substr(layer_of(channel).size()));
  if (base.starts_with('.')) base.erase(0, 1);
  std::transform(base.begin(), base.end(), base.begin(), [](unsigned char c) { return std::tolower(c); });
  return base;
}

ChannelRole role_of(const OIIO::ImageSpec& spec, int channel) {
  if (channel == spec.alpha_channel) return ChannelRole::alpha;
  if (channel == spec.z_channel) return ChannelRole::data;
  const std::string base = base_of(spec.channel_name(channel));
  if (base == "a" || base == "alpha") return ChannelRole::alpha;
  constexpr std::array kColours = {"r", "g", "b", "red", "green", "blue", "y", "i", "l", "c", "m", "k"};
  const bool colour = std::find(kColours.begin(), kColours.end(), base) != kColours.end();
  return colour ? ChannelRole::colour : ChannelRole::data;
}

struct Layer {
  std::vector<int> colours;
  int alpha = -1;
};

// In the order in which they appear. A second alpha of a layer is data.
std::vector<Layer> layers_of(const OIIO::ImageSpec& spec, std::vector<ChannelRole>& roles) {
  std::vector<Layer> layers;
  std::map<std::string_view, std::size_t> index;
  for (int c = 0; c < spec.nchannels; ++c) {
    if (roles[c] == ChannelRole::data) continue;
    const auto [place, is_new] = index.try_emplace(layer_of(spec.channelnames[c]), layers.size());
    if (is_new) layers.emplace_back();
    Layer& layer = layers[place->second];
    if (roles[c] == ChannelRole::colour)
      layer.colours.push_back(c);
    else if (layer.alpha < 0)
      layer.alpha = c;
    else
      roles[c] = ChannelRole::data;
  }
  return layers;
}

// Chunks of at most four channels of one type, in order.
void add_chunks(const OIIO::ImageSpec& spec, const std::vector<int>& channels, bool is_colour,
                std::vector<ChannelGroup>& groups) {
  bool start = true;
  for (const int c : channels) {
    const bool joins = !start && groups.back().stored < kMaxChannels &&
                       spec.channelformat(groups.back().channels.back()) == spec.channelformat(c);
    if (!joins) groups.push_back({.channels = {}, .has_alpha = false, .is_colour = is_colour, .stored = 0});
    groups.back().channels.push_back(c);
    groups.back().stored += 1;
    start = false;
  }
}

// Formats with alpha have one or three colours, so two go one by one.
void add_chunks_with_alpha(const Layer& layer, std::vector<ChannelGroup>& groups) {
  bool alpha_stored = false;
  const auto& colours = layer.colours;
  for (std::size_t i = 0; i < colours.size();) {
    const std::size_t count = colours.size() - i >= kMaxColoursWithAlpha ? kMaxColoursWithAlpha : 1;
    ChannelGroup group{.channels = {}, .has_alpha = true, .is_colour = true, .stored = static_cast<int>(count)};
    group.channels.assign(colours.begin() + i, colours.begin() + i + count);
    group.channels.push_back(layer.alpha);
    if (!alpha_stored) group.stored += 1;
    alpha_stored = true;
    groups.push_back(std::move(group));
    i += count;
  }
}

}  // namespace

std::vector<ChannelRole> channel_roles(const OIIO::ImageSpec& spec) {
  std::vector<ChannelRole> roles;
  for (int c = 0; c < spec.nchannels; ++c) roles.push_back(role_of(spec, c));
  return roles;
}

std::vector<ChannelGroup> group_channels(const OIIO::ImageSpec& spec, Grouping grouping) {
  std::vector<ChannelGroup> groups;
  std::vector<int> rest;
  std::vector<ChannelRole> roles = channel_roles(spec);
  const std::vector<Layer> layers = layers_of(spec, roles);
  if (grouping == Grouping::uniform) {
    for (int c = 0; c < spec.nchannels; ++c) rest.push_back(c);
    add_chunks(spec, rest, false, groups);
    return groups;
  }

  std::vector<bool> taken(spec.nchannels, false);
  for (const Layer& layer : layers) {
    if (layer.colours.empty()) continue;
    const bool with_alpha = grouping == Grouping::colour_with_alpha && layer.alpha >= 0;
    if (with_alpha)
      add_chunks_with_alpha(layer, groups);
    else
      add_chunks(spec, layer.colours, true, groups);
    for (const int c : layer.colours) taken[c] = true;
    if (with_alpha) taken[layer.alpha] = true;
  }
  for (int c = 0; c < spec.nchannels; ++c) {
    if (!taken[c]) rest.push_back(c);
  }
  add_chunks(spec, rest, false, groups);
  return groups;
}

}  // namespace mollify::cli
