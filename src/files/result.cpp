#include "files/result.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "files/accounts.h"
#include "files/channels.h"
#include "files/items.h"
#include "files/jpeg_structure.h"
#include "files/orientation.h"
#include "files/resolution.h"
#include "files/result_pages.h"
#include "files/tiff_codestream.h"

namespace mollify::files {
namespace {

std::string text_of(FileFormat format) {
  return std::string(name_of(format));
}

class ResultPlanner {
 public:
  ResultPlanner(const Document& source, const ResultRequest& request, Messages& messages)
      : source_(source),
        request_(request),
        messages_(messages),
        accounts_(source.format, request.format, messages),
        is_same_(source.format == request.format) {}

  ResultPlan plan() {
    if (source_.pages.empty()) throw FileError("holds no picture");
    choice_ = choose_pages(source_, request_, accounts_, messages_);
    std::vector<int> places(source_.pages.size(), -1);  // of the source's pages in the result
    for (std::size_t i = 0; i < source_.pages.size(); ++i) {
      const Page& page = source_.pages[i];
      if (!choice_.stays[i]) continue;
      require_few_channels(page);
      PageWork work = plan_page(static_cast<int>(i));
      if (page.parent >= 0) work.blurred.parent = work.result.parent = places[static_cast<std::size_t>(page.parent)];
      places[i] = static_cast<int>(out_.pages.size());
      out_.pages.push_back(std::move(work));
    }
    out_.document.format = request_.format;
    out_.document.big_endian = source_.big_endian && is_same_;
    out_.document.big_offsets = source_.big_offsets && is_same_;
    convert_all_items();
    return std::move(out_);
  }

 private:
  [[nodiscard]] Outcome outcome_of(ItemKind kind) const { return accounts_.outcome_of(kind); }
  Outcome account(ItemKind kind, const std::string& details = {}) const { return accounts_.account(kind, details); }

  /// What is done to a page takes time in proportion to the square of its channels. A damaged header may claim 65535.
  static void require_few_channels(const Page& page) {
    constexpr std::size_t kMostChannels = 4096;
    if (page.channels.size() <= kMostChannels) return;
    throw FileError("has " + std::to_string(page.channels.size()) + " channels, more than the " + std::to_string(kMostChannels) +
                    " that a page may have");
  }

  PageWork plan_page(int index) {
    PageWork work;
    work.source = index;
    work.from = source_.pages[static_cast<std::size_t>(index)];
    work.space = std::make_shared<ColourSpace>(source_, work.from);
    const std::vector<int> channels = channels_of_result(work.from);
    choose_roles(work.from, channels);
    work.blurred = work.from;
    work.blurred.items.clear();
    if (channels.size() < work.from.channels.size()) leave_out_channels(work, channels);
    if (!is_same_) forget_coding(work.blurred);
    account_for_storage(work.from);
    choose_region(work);
    choose_alpha(work);
    choose_light(work);
    choose_colours(work);
    choose_types(work);
    choose_structure(work);
    work.result = work.blurred;
    choose_orientation(work);
    choose_kernel_scale(work);
    return work;
  }

  /// Those that a format of pictures holds: grey or colours with one alpha. All of them for other formats.
  [[nodiscard]] std::vector<int> channels_of_result(const Page& page) const {
    std::vector<int> all(page.channels.size());
    std::iota(all.begin(), all.end(), 0);
    if (outcome_of(ItemKind::layers) == Outcome::kept || is_ink_of_jpeg(page)) return all;
    return channels_of_picture(page);
  }
  [[nodiscard]] bool is_ink_of_jpeg(const Page& page) const {
    return page.model == ColourModel::cmyk && page.channels.size() == 4 && outcome_of(ItemKind::colour_ink) == Outcome::kept;
  }

  /// What the user says by name comes before what the reader thinks of a channel.
  void choose_roles(Page& page, const std::vector<int>& channels_of_result) {
    const auto matches = [](const std::vector<std::string>& patterns, const std::string& name) {
      return std::ranges::any_of(patterns, [&](const std::string& each) { return ::fnmatch(each.c_str(), name.c_str(), 0) == 0; });
    };
    std::vector<std::string> kept;
    for (const int c : channels_of_result) {
      Channel& channel = page.channels[static_cast<std::size_t>(c)];
      const bool is_asked_for = matches(request_.blur_patterns, channel.name);
      if (matches(request_.keep_patterns, channel.name) || (!request_.blur_patterns.empty() && !is_asked_for)) {
        channel.role = ChannelRole::kept;
      } else if (is_asked_for && channel.role == ChannelRole::kept) {
        channel.role = ChannelRole::data;
      }
      if (channel.role == ChannelRole::kept) kept.push_back(channel.name);
    }
    if (!kept.empty()) messages_.add("kept as stored: " + listed(kept) + "; --channels NAME blurs them");
  }

  /// Channels that the result lacks are not blurred. Those that it has lose the name of their layer.
  void leave_out_channels(PageWork& work, const std::vector<int>& channels) {
    std::vector<std::string> left_out;
    work.blurred.channels.clear();
    for (int c = 0; c < static_cast<int>(work.from.channels.size()); ++c) {
      Channel& channel = work.from.channels[static_cast<std::size_t>(c)];
      if (std::ranges::find(channels, c) == channels.end()) {
        left_out.push_back(channel.name);
        channel.role = ChannelRole::kept;
        channel.name.insert(0, "left out.");  // so that it has no namesake in the result
      } else {
        channel.name.erase(0, channel.name.rfind('.') + 1);
      }
    }
    for (const int c : channels) work.blurred.channels.push_back(work.from.channels[static_cast<std::size_t>(c)]);
    const bool has_alpha = std::ranges::any_of(work.blurred.channels, [](const Channel& each) { return each.role == ChannelRole::alpha; });
    if (!has_alpha) work.from.alpha = work.blurred.alpha = AlphaKind::none;
    account(ItemKind::layers, listed(left_out));
    const bool is_grey = work.from.model == ColourModel::grey;
    if (work.blurred.channels.size() > 2 || (is_grey && work.blurred.channels.front().role != ChannelRole::kept)) return;
    become_grey(work);
  }

  /// One channel of many. A single ink is dark where it is, and what is kept as stored is no colour.
  static void become_grey(PageWork& work) {
    constexpr int kSeparated = 5;
    const auto* tiff = std::get_if<TiffCoding>(&work.from.coding);
    const bool is_ink = work.from.model == ColourModel::cmyk || (tiff != nullptr && tiff->photometric == kSeparated);
    const bool is_kept = work.blurred.channels.front().role == ChannelRole::kept;
    for (Page* page : {&work.from, &work.blurred}) {
      page->model = is_kept ? ColourModel::other : ColourModel::grey;
      page->white_is_zero = is_ink;
      for (Channel& each : page->channels) {
        if (each.name == work.blurred.channels.front().name && each.role == ChannelRole::data) each.role = ChannelRole::colour;
      }
    }
  }

  static void forget_coding(Page& page) {
    page.coding = {};
    page.name.clear();
  }

  void account_for_storage(const Page& page) {
    if (page.significant_bits > 0 && page.significant_bits < 8 * bytes_of(page.channels.front().type)) {
      account(ItemKind::depth, std::to_string(page.significant_bits) + (page.significant_bits == 1 ? " bit" : " bits"));
    }
    const auto* png = std::get_if<PngCoding>(&page.coding);
    if (png != nullptr && png->has_palette) account(ItemKind::palette);
    if (page.tile_width > 0 && outcome_of(ItemKind::tiling) == Outcome::dropped) account(ItemKind::tiling);
    const auto* tiff = std::get_if<TiffCoding>(&page.coding);
    const std::string_view jpeg = tiff == nullptr ? std::string_view() : tiff::jpeg_name_of(tiff->compression);
    if (is_same_ && !jpeg.empty()) account(ItemKind::jpeg_inside, std::string(jpeg));
  }

  void choose_region(PageWork& work) {
    Page& page = work.blurred;
    if (request_.region) {
      const Rect& r = *request_.region;
      const bool inside = r.x >= 0 && r.y >= 0 && r.width > 0 && r.height > 0 && std::int64_t{r.x} + r.width <= page.width &&
                          std::int64_t{r.y} + r.height <= page.height;
      if (!inside) {
        throw FileError("--roi " + std::to_string(r.width) + "x" + std::to_string(r.height) + "+" + std::to_string(r.x) + "+" +
                        std::to_string(r.y) + " is not inside the " + std::to_string(page.width) + "x" + std::to_string(page.height) +
                        " pixels" + page_text(source_, work.source));
      }
      work.region = r;
      page.width = r.width;
      page.height = r.height;
      if (source_.format == FileFormat::exr && is_same_) {  // it stays where it was in the picture
        const Rect shown = work.from.display.value_or(Rect{0, 0, work.from.width, work.from.height});
        page.display = Rect{shown.x - r.x, shown.y - r.y, shown.width, shown.height};
      } else {
        page.display.reset();
      }
    }
    if (page.display && !is_same_) show_window(work);
    if (request_.grow == PerAxis<Reach>()) return;
    if (request_.format != FileFormat::exr)
      throw FileError("--grow is for OpenEXR, whose pixels may lie outside the picture that is shown");
    const Rect shown = page.display.value_or(Rect{0, 0, page.width, page.height});
    grow(work, request_.grow);
    page.display = Rect{shown.x + work.grow.x.before, shown.y + work.grow.y.before, shown.width, shown.height};
  }

  static void grow(PageWork& work, const PerAxis<Reach>& by) {
    work.grow = by;
    work.blurred.width += by.x.before + by.x.after;
    work.blurred.height += by.y.before + by.y.after;
  }

  /// The picture becomes what the display window shows. Pixels outside count for the blur, and missing ones are zero.
  void show_window(PageWork& work) {
    account(ItemKind::display_window);
    const Page& from = work.from;
    const Rect shown = *from.display;
    const auto before = [](std::int64_t begin) { return std::max<std::int64_t>(0, -begin); };
    const auto after = [](std::int64_t begin, std::int64_t size, std::int64_t pixels) {
      return std::max<std::int64_t>(0, begin + size - pixels);
    };
    const std::int64_t left = before(shown.x), right = after(shown.x, shown.width, from.width);
    const std::int64_t top = before(shown.y), bottom = after(shown.y, shown.height, from.height);
    constexpr double kMostPixels = 1e12;
    const double pixels = static_cast<double>(left + from.width + right) * static_cast<double>(top + from.height + bottom);
    constexpr std::int64_t kMost = 1 << 30;
    if (std::max({left, right, top, bottom}) > kMost || pixels > kMostPixels)
      throw FileError("has a display window that is far larger than its pixels; --roi cuts a picture out");
    const auto reach = [](std::int64_t one, std::int64_t other) {
      return Reach{static_cast<std::int32_t>(one), static_cast<std::int32_t>(other)};
    };
    grow(work, {reach(left, right), reach(top, bottom)});
    work.region = Rect{work.grow.x.before + shown.x, work.grow.y.before + shown.y, shown.width, shown.height};
    work.blurred.width = shown.width;
    work.blurred.height = shown.height;
    work.blurred.display.reset();
  }

  [[nodiscard]] bool result_holds_alpha() const { return request_.format != FileFormat::jpeg && request_.format != FileFormat::hdr; }
  [[nodiscard]] AlphaKind alpha_of_result(AlphaKind source) const {
    if (source == AlphaKind::none || !result_holds_alpha()) return AlphaKind::none;
    if (request_.format == FileFormat::tiff) return source;
    return request_.format == FileFormat::exr ? AlphaKind::associated : AlphaKind::unassociated;
  }

  /// In the colours of the result, which may be inks.
  [[nodiscard]] std::array<double, 4> colour_behind(const Page& page) const {
    constexpr std::array kWhite = {1.0, 1.0, 1.0};
    const auto [red, green, blue] = request_.flatten.value_or(kWhite);
    const bool is_ink = page.model == ColourModel::cmyk && outcome_of(ItemKind::colour_ink) == Outcome::kept;
    return is_ink ? std::array{1 - red, 1 - green, 1 - blue, 0.0} : std::array{red, green, blue, 0.0};
  }

  void choose_alpha(PageWork& work) {
    const AlphaKind from = work.from.alpha;
    if (from == AlphaKind::none) {
      if (request_.alpha == AlphaChoice::premultiply) messages_.add("no alpha channel");
      return;
    }
    const bool is_unassociated = from == AlphaKind::unassociated;
    const std::string what = is_unassociated ? "alpha is unassociated" : "alpha is associated";
    if (request_.alpha == AlphaChoice::ignore) {
      messages_.add(what + ", ignored as asked");
    } else if (request_.alpha == AlphaChoice::premultiply || is_unassociated) {
      messages_.add(what + ", premultiplied around the blur" + (is_unassociated ? "" : " as asked"));
      work.alpha = AlphaMode::premultiply;
    } else {
      messages_.add(what + ", blurred as stored");
    }
    work.blurred.alpha = alpha_of_result(from);
    if (work.blurred.alpha == AlphaKind::none) {
      work.flatten = colour_behind(work.from);
      messages_.add(request_.flatten ? "alpha is laid on the colour of --flatten"
                                     : "alpha is laid on white, since " + text_of(request_.format) +
                                           " files cannot hold it; --flatten COLOUR takes another colour");
      std::erase_if(work.blurred.channels, [](const Channel& channel) { return channel.role == ChannelRole::alpha; });
      work.divides_by_alpha = !is_unassociated;
      return;
    }
    if (work.blurred.alpha == from) return;
    const bool divides = work.blurred.alpha == AlphaKind::unassociated;
    messages_.add(std::string("alpha becomes ") + (divides ? "unassociated" : "associated") + " for " + text_of(request_.format));
    work.divides_by_alpha = divides;
    work.multiplies_by_alpha = !divides;
  }

  void choose_light(PageWork& work) {
    const ColourMeaning& meaning = work.space->meaning();
    if (work.from.model == ColourModel::other) return;
    if (!request_.linear) {
      if (!meaning.name.empty()) messages_.add("colour is " + meaning.name + ", blurred as stored");
      return;
    }
    switch (meaning.encoding) {
      case ColourEncoding::linear:
        messages_.add("colour is linear already, so --linear changes nothing");
        return;
      case ColourEncoding::tables:
        throw FileError("its colour is " + meaning.name + ", which has no tone curves for --linear to go by");
      case ColourEncoding::unnamed:
        messages_.add("no colour space named, taken for sRGB, decoded around the blur");
        work.light = Light::srgb;
        break;
      case ColourEncoding::srgb:
        messages_.add("colour is " + meaning.name + ", decoded to linear light around the blur");
        work.light = Light::srgb;
        break;
      case ColourEncoding::curves:
        messages_.add("colour is " + meaning.name + ", decoded by its curves around the blur");
        work.light = Light::curves;
        break;
    }
    const bool is_encoded_after_multiplying = work.alpha == AlphaMode::ignore && work.from.alpha == AlphaKind::associated;
    if (is_encoded_after_multiplying) throw FileError("its colour is multiplied by alpha already; --linear needs unassociated alpha");
  }

  [[nodiscard]] static bool is_linear(FileFormat format) { return format == FileFormat::exr || format == FileFormat::hdr; }

  /// Colours of another kind than the result's format holds.
  void choose_colours(PageWork& work) {
    const Page& page = work.from;
    if (page.white_is_zero && outcome_of(ItemKind::white_is_zero) != Outcome::kept) {
      account(ItemKind::white_is_zero);
      work.negates = true;
      work.blurred.white_is_zero = false;
    }
    work.negates = work.negates || (page.white_is_zero && work.light != Light::as_stored);
    if (page.model == ColourModel::cmyk && account(ItemKind::colour_ink) == Outcome::converted)
      set_colour(work, is_linear(request_.format));
    if (page.model == ColourModel::lab && account(ItemKind::colour_lab) == Outcome::converted) set_colour(work, is_linear(request_.format));
    if (is_same_ || work.colour || page.model == ColourModel::other) return;
    if (const std::size_t bytes = work.space->profile_bytes(); request_.format == FileFormat::jpeg && bytes > jpeg::kMostProfileBytes) {
      set_colour(work, false);
      messages_.add("colour becomes sRGB, since its profile of " + std::to_string(bytes) + " bytes is longer than those of JPEG files");
      return;
    }
    const ColourMeaning& meaning = work.space->meaning();
    const bool source_is_linear = meaning.encoding == ColourEncoding::linear;
    const bool floats_without_a_name = meaning.encoding == ColourEncoding::unnamed && is_float(page.channels.front().type);
    if (is_linear(request_.format)) {
      if (is_linear(source_.format) || floats_without_a_name || is_plain_linear(meaning)) return;
      set_colour(work, true);
      messages_.add("colour becomes linear light for " + text_of(request_.format));
      return;
    }
    const bool to_tiff_as_floats = request_.format == FileFormat::tiff && !request_.type.has_value();
    if (is_linear(source_.format) && source_is_linear) {
      if (to_tiff_as_floats) {
        messages_.add("colour stays linear light, which the TIFF does not say");
        return;
      }
      set_colour(work, false);
      messages_.add("colour becomes sRGB for " + text_of(request_.format));
    }
  }

  [[nodiscard]] bool is_plain_linear(const ColourMeaning& meaning) const {
    return meaning.encoding == ColourEncoding::linear && meaning.has_srgb_primaries;
  }

  void set_colour(PageWork& work, bool linear) {
    work.colour = linear ? ColourTransform::Target::linear_srgb : ColourTransform::Target::srgb;
    if (work.from.alpha == AlphaKind::associated) work.divides_by_alpha = true;
    if (work.blurred.alpha == AlphaKind::associated) work.multiplies_by_alpha = true;
    if (work.from.model != ColourModel::cmyk && work.from.model != ColourModel::lab) return;
    work.blurred.model = ColourModel::rgb;
    const NumberType type = type_of_source(work);
    std::vector<Channel> channels = {{"R", type, ChannelRole::colour}, {"G", type, ChannelRole::colour}, {"B", type, ChannelRole::colour}};
    std::ranges::copy_if(work.blurred.channels, std::back_inserter(channels),
                         [](const Channel& each) { return each.role != ChannelRole::colour; });
    work.blurred.channels = std::move(channels);
  }

  /// Types that the result's format has.
  [[nodiscard]] NumberType fitting(NumberType type) const {
    switch (request_.format) {
      case FileFormat::png:
        return type == NumberType::u8 || type == NumberType::i8 ? NumberType::u8 : NumberType::u16;
      case FileFormat::jpeg:
      case FileFormat::webp:
        return NumberType::u8;
      case FileFormat::hdr:
        return NumberType::f32;
      case FileFormat::exr:
        if (type == NumberType::u8 || type == NumberType::i8 || type == NumberType::f16) return NumberType::f16;
        return NumberType::f32;
      default:
        return type;
    }
  }

  /// Of the first channel of the result, before it is converted.
  [[nodiscard]] static NumberType type_of_source(const PageWork& work) {
    const auto& channels = work.from.channels;
    const auto found = std::ranges::find(channels, work.blurred.channels.front().name, &Channel::name);
    return found == channels.end() ? channels.front().type : found->type;
  }

  void choose_types(PageWork& work) {
    Page& page = work.blurred;
    if (request_.channels && *request_.channels != static_cast<int>(work.from.channels.size())) {
      throw FileError("has " + std::to_string(work.from.channels.size()) + " channels, --format asks for " +
                      std::to_string(*request_.channels) + "; u8, u16, f16 and f32 keep their number");
    }
    NumberType common = page.channels.front().type;
    for (const Channel& channel : page.channels) common = common_type(common, channel.type);
    const bool is_mixed = std::ranges::any_of(page.channels, [&](const Channel& each) { return each.type != common; });
    const bool joins = is_mixed && outcome_of(ItemKind::channel_types) == Outcome::converted && !request_.type;
    if (joins) account(ItemKind::channel_types);
    const NumberType from = type_of_source(work);
    const bool joins_integers = joins && !is_float(common);  // which are data where some have signs
    work.scale = request_.scale.value_or(has_colours(work.from) && !joins_integers ? Scale::colour : Scale::data);
    work.data_scale = request_.scale.value_or(Scale::data);
    const auto scale_of = [&](NumberType type) { return is_data(type) ? work.data_scale : work.scale; };
    for (Channel& channel : page.channels) {
      const bool is_id = channel.role == ChannelRole::kept && request_.format == FileFormat::exr && is_same_;
      if (is_id) continue;
      const NumberType before = channel.type;
      channel.type = request_.type.value_or(fitting(joins ? common : channel.type));
      if (request_.type && fitting(channel.type) != channel.type) {
        throw FileError(text_of(request_.format) + " files cannot hold " + std::string(describe(channel.type)) +
                        "; another --format converts them");
      }
      if (channel.type != before) say_conversion(before, channel.type, channel.role == ChannelRole::kept ? Scale::data : scale_of(before));
    }
    const NumberType to = page.channels.front().type;
    if (from != to) page.significant_bits = 0;
    const auto has_white = [](NumberType type) { return is_float(type) || type == NumberType::u8 || type == NumberType::u16; };
    const bool is_fraction = from == to || scale_of(from) == Scale::colour;
    work.decodes_integers = work.light == Light::srgb && is_fraction && !(has_white(from) && has_white(to));
    const bool is_blurred = std::ranges::any_of(page.channels, [](const Channel& each) { return each.role != ChannelRole::kept; });
    if (work.changes_colours() && is_wide(from) && is_blurred) {
      messages_.add(std::string(describe(from)) + " become 32-bit floats, of 24 bits, where their colours change");
    }
  }

  /// Numbers of elevation, tomography and the like are data; those of pictures are colours.
  [[nodiscard]] static bool has_colours(const Page& page) {
    const bool is_map = std::ranges::any_of(page.items, [](const Item& item) { return item.kind == ItemKind::geotiff; });
    return !is_map && page.model != ColourModel::other;
  }

  /// Whether a type has all numbers of another, up to their fractions.
  [[nodiscard]] static bool holds_all_of(NumberType from, NumberType to) {
    if (is_float(from) || is_float(to)) return is_float(to);
    if (is_signed_integer(from) && !is_signed_integer(to)) return false;
    return is_signed_integer(from) == is_signed_integer(to) ? bytes_of(to) >= bytes_of(from) : bytes_of(to) > bytes_of(from);
  }

  void say_conversion(NumberType from, NumberType to, Scale scale) {
    std::string text = std::string(describe(from)) + " become " + std::string(describe(to));
    if (is_float(from) != is_float(to)) {
      const bool is_colour = scale == Scale::colour;
      const double full = full_scale(is_float(from) ? to : from);
      text += is_colour ? ", " + std::to_string(static_cast<long long>(full)) + " is 1.0 (--scale data keeps the numbers)"
                        : ", numbers keep their values (--scale colour makes fractions of full scale)";
      if (!is_float(to) && is_colour) text += ", values outside 0 to 1 are clipped";
    }
    if (scale == Scale::data && !holds_all_of(from, to)) text += ", values beyond their range are clipped";
    messages_.add(std::move(text));
  }

  /// Channels and structure beyond what the result's format holds.
  void choose_structure(PageWork& work) {
    Page& page = work.blurred;
    if (outcome_of(ItemKind::layers) != Outcome::kept && page.channels.size() == 1) {
      page.channels.front().role = ChannelRole::colour;  // one channel of any name is grey
      page.model = ColourModel::grey;
    }
    account_for_names(page);
    if (request_.format == FileFormat::hdr && page.model == ColourModel::grey) repeat_grey(work);
    if (request_.format != FileFormat::tiff && request_.format != FileFormat::exr) page.tile_width = page.tile_height = 0;
    if (!is_same_ && page.kind != PageKind::level && page.kind != PageKind::mask) {
      page.kind = request_.format == FileFormat::exr ? PageKind::part
                  : page.kind == PageKind::frame && outcome_of(ItemKind::frames) == Outcome::kept && !choice_.is_one_of_many
                      ? PageKind::frame
                      : PageKind::page;
    } else if (choice_.is_one_of_many && (page.kind == PageKind::frame || page.kind == PageKind::plane)) {
      page.kind = PageKind::page;
    }
    if (page.kind != PageKind::frame) page.timing.reset();
    choose_resolution(page);
  }

  void choose_resolution(Page& page) {
    if (!page.resolution) return;
    const bool is_held = account(ItemKind::resolution) != Outcome::dropped;
    page.resolution = is_held ? fitted_resolution(request_.format, *page.resolution, messages_) : std::nullopt;
  }

  /// Names that say more than which colour a channel is.
  void account_for_names(const Page& page) {
    if (source_.format != FileFormat::exr || is_same_) return;
    constexpr std::array<std::string_view, 5> kPlain = {"R", "G", "B", "A", "Y"};
    std::vector<std::string> names;
    for (const Channel& channel : page.channels) {
      if (std::ranges::find(kPlain, channel.name) == kPlain.end()) names.push_back(channel.name);
    }
    if (!names.empty()) account(ItemKind::channel_names, listed(names));
  }

  /// HDR has three channels, always. What is kept as stored is so in each of them.
  void repeat_grey(PageWork& work) {
    const auto found = std::ranges::find(work.from.channels, work.blurred.channels.front().name, &Channel::name);
    work.repeated = static_cast<int>(found - work.from.channels.begin());
    Channel& stored = *found;
    if (stored.role != ChannelRole::kept) stored.role = ChannelRole::colour;
    const NumberType type = work.blurred.channels.front().type;
    work.blurred.channels = {{"R", type, stored.role}, {"G", type, stored.role}, {"B", type, stored.role}};
    work.blurred.model = ColourModel::rgb;
    messages_.add((stored.role == ChannelRole::kept ? stored.name : "grey") + " becomes three equal channels");
  }

  void choose_orientation(PageWork& work) {
    if (work.from.orientation <= 1 || outcome_of(ItemKind::orientation) == Outcome::kept) return;
    if (outcome_of(ItemKind::orientation) == Outcome::absent) return;
    messages_.add("turned upright, since " + text_of(request_.format) + " files cannot say how they are to be turned");
    work.turns = true;
    turn_upright(work.result);
  }

  void choose_kernel_scale(PageWork& work) const {
    if (work.from.kind != PageKind::level || work.from.parent < 0) return;
    const Page& top = source_.pages[static_cast<std::size_t>(work.from.parent)];
    work.kernel_scale = {static_cast<double>(work.from.width) / top.width, static_cast<double>(work.from.height) / top.height};
  }

  // Items

  /// TIFF and OpenEXR have items of each page. Other formats have those of the file, to which the first page's belong there.
  void convert_all_items() {
    const bool has_items_of_pages = request_.format == FileFormat::tiff || request_.format == FileFormat::exr;
    std::vector<Item> of_file = source_.items;
    const PageWork& first = out_.pages.front();
    if (!has_items_of_pages) of_file.insert(of_file.end(), first.from.items.begin(), first.from.items.end());
    out_.document.items = converted_items(of_file, first.from, first);
    for (PageWork& work : out_.pages) {
      if (has_items_of_pages) work.result.items = converted_items(work.from.items, work.from, work);
      out_.document.pages.push_back(work.result);
    }
  }

  /// What is true of an animation or a stack only.
  static bool is_of_many(const Item& item) {
    return item.kind == ItemKind::loop_count || (item.kind == ItemKind::background && item.name == "ANIM") ||
           item.kind == ItemKind::ome_xml || item.kind == ItemKind::imagej;
  }
  void leave_out_items_of_many(std::vector<Item>& items) {
    if (!choice_.is_one_of_many) return;
    for (const Item& item : items) {
      if (is_of_many(item)) messages_.add(std::string(contract_row(item.kind).name) + " left out: it is not true of one page");
    }
    std::erase_if(items, is_of_many);
  }

  std::vector<Item> converted_items(std::vector<Item> items, const Page& from, const PageWork& work) {
    leave_out_items_of_many(items);
    const ItemContext context{source_.format, request_.format,         from,
                              work.result,    request_.region,         request_.keep_unknown,
                              work.turns,     work.colour.has_value(), work.space.get()};
    return convert_items(items, context, messages_);
  }

  const Document& source_;
  const ResultRequest& request_;
  Messages& messages_;
  Accounts accounts_;
  bool is_same_;
  PageChoice choice_;
  ResultPlan out_;
};

}  // namespace

ResultPlan plan_result(const Document& source, const ResultRequest& request, Messages& messages) {
  return ResultPlanner(source, request, messages).plan();
}

}  // namespace mollify::files
