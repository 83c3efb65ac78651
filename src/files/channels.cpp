#include "files/channels.h"

#include <algorithm>
#include <map>

namespace mollify::files {
namespace {

constexpr int kMostChannels = 4;
constexpr std::size_t kMostColoursWithAlpha = 3;

struct Layer {
  std::string_view name;
  std::vector<int> colours;
  int alpha = -1;
};

const Channel& channel_of(const Page& page, int c) {
  return page.channels[static_cast<std::size_t>(c)];
}

/// In the order in which they appear. A second alpha of a layer is data.
std::vector<Layer> layers_of(const Page& page) {
  std::vector<Layer> layers;
  std::map<std::string_view, std::size_t> index;
  for (int c = 0; c < static_cast<int>(page.channels.size()); ++c) {
    const Channel& channel = channel_of(page, c);
    if (channel.role != ChannelRole::colour && channel.role != ChannelRole::alpha) continue;
    const auto [place, is_new] = index.try_emplace(layer_of(channel.name), layers.size());
    if (is_new) layers.push_back({layer_of(channel.name), {}, -1});
    Layer& layer = layers[place->second];
    if (channel.role == ChannelRole::colour) {
      layer.colours.push_back(c);
    } else if (layer.alpha < 0) {
      layer.alpha = c;
    }
  }
  return layers;
}

/// At most four channels of one type each, in order.
void add_groups(const Page& page, const std::vector<int>& channels, bool is_colour, std::vector<ChannelGroup>& groups) {
  bool joins = false;
  for (const int c : channels) {
    joins =
        joins && groups.back().stored < kMostChannels && channel_of(page, groups.back().channels.back()).type == channel_of(page, c).type;
    if (!joins) groups.push_back({.channels = {}, .has_alpha = false, .is_colour = is_colour, .stored = 0});
    groups.back().channels.push_back(c);
    groups.back().stored += 1;
    joins = true;
  }
}

/// Formats with alpha have one or three colours, so two go one by one.
void add_groups_with_alpha(const Layer& layer, std::vector<ChannelGroup>& groups) {
  bool alpha_is_stored = false;
  const std::vector<int>& colours = layer.colours;
  for (std::size_t i = 0; i < colours.size();) {
    const std::size_t count = colours.size() - i >= kMostColoursWithAlpha ? kMostColoursWithAlpha : 1;
    ChannelGroup group{.channels = {}, .has_alpha = true, .is_colour = true, .stored = static_cast<int>(count)};
    group.channels.assign(colours.begin() + static_cast<std::ptrdiff_t>(i), colours.begin() + static_cast<std::ptrdiff_t>(i + count));
    group.channels.push_back(layer.alpha);
    if (!alpha_is_stored) group.stored += 1;
    alpha_is_stored = true;
    groups.push_back(std::move(group));
    i += count;
  }
}

}  // namespace

std::string_view layer_of(std::string_view channel) {
  const std::size_t dot = channel.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : channel.substr(0, dot);
}

std::vector<int> channels_of_picture(const Page& page) {
  const std::vector<Layer> layers = layers_of(page);
  const auto has_colours = [](const Layer& each) { return !each.colours.empty(); };
  auto layer = std::ranges::find_if(layers, [&](const Layer& each) { return each.name.empty() && has_colours(each); });
  if (layer == layers.end()) layer = std::ranges::find_if(layers, has_colours);
  if (layer == layers.end()) {
    const auto blurred = std::ranges::find_if(page.channels, [](const Channel& each) { return each.role != ChannelRole::kept; });
    return {blurred == page.channels.end() ? 0 : static_cast<int>(blurred - page.channels.begin())};
  }
  std::vector<int> channels = layer->colours;
  const std::size_t colours = page.model == ColourModel::cmyk ? 4 : 3;
  if (channels.size() != colours) channels.resize(1);
  if (layer->alpha >= 0) channels.push_back(layer->alpha);
  return channels;
}

std::vector<ChannelGroup> group_channels(const Page& page, Grouping grouping) {
  std::vector<ChannelGroup> groups;
  std::vector<bool> is_done(page.channels.size(), false);
  const auto mark = [&](int c) { is_done[static_cast<std::size_t>(c)] = true; };
  for (std::size_t c = 0; c < page.channels.size(); ++c) is_done[c] = page.channels[c].role == ChannelRole::kept;
  if (grouping != Grouping::uniform) {
    for (const Layer& layer : layers_of(page)) {
      if (layer.colours.empty()) continue;
      const bool with_alpha = grouping == Grouping::colour_with_alpha && layer.alpha >= 0;
      if (with_alpha) {
        add_groups_with_alpha(layer, groups);
        mark(layer.alpha);
      } else {
        add_groups(page, layer.colours, true, groups);
      }
      std::ranges::for_each(layer.colours, mark);
    }
  }
  std::vector<int> rest;
  for (std::size_t c = 0; c < page.channels.size(); ++c) {
    if (!is_done[c]) rest.push_back(static_cast<int>(c));
  }
  add_groups(page, rest, false, groups);
  return groups;
}

}  // namespace mollify::files
