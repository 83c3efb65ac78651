// Names of cases: `name()` and `parse_case()`. The grammar is in cases.h.
#include <algorithm>
#include <charconv>
#include <map>
#include <system_error>

#include "cases/cases.h"

namespace mollify::cases {
namespace {

template <class Number>
std::string text(Number number) {
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number).ptr;
  return {std::begin(buffer), end};
}

template <class Number>
std::string size_text(Number x, Number y) {
  return text(x) + "x" + text(y);
}

/// One number where both axes agree.
template <class Number>
std::string pair_text(const PerAxis<Number>& pair) {
  return pair.x == pair.y ? text(pair.x) : size_text(pair.x, pair.y);
}

template <class Range>
std::string list_text(const Range& numbers) {
  std::string result;
  for (const double number : numbers) result += (result.empty() ? "" : "_") + text(number);
  return result;
}

std::string normalization_text(Normalization normalization) {
  return normalization == Normalization::unit_sum ? ",normalization=unit_sum" : "";
}

struct KernelText {
  std::string operator()(const Gaussian& g) const {
    std::string result = "gaussian:sigma=" + pair_text(g.sigma);
    if (g.radius) result += ",radius=" + pair_text(*g.radius);
    if (g.truncate) result += ",truncate=" + text(*g.truncate);
    return result;
  }
  std::string operator()(const Box& b) const {
    const PerAxis<double> before{b.extent.x.before, b.extent.y.before};
    const PerAxis<double> after{b.extent.x.after, b.extent.y.after};
    if (before == after) return "box:radius=" + pair_text(before);
    return "box:before=" + pair_text(before) + ",after=" + pair_text(after);
  }
  std::string operator()(const Tent& t) const { return "tent:radius=" + pair_text(t.radius); }
  std::string operator()(const Taps& t) const {
    const auto axis = [](const AxisTaps& taps) { return list_text(taps.weights) + "@" + text(taps.anchor); };
    return "taps:x=" + axis(t.x) + ",y=" + axis(t.y) + normalization_text(t.normalization);
  }
  std::string operator()(const Matrix& m) const {
    return "matrix:size=" + size_text(m.width, m.height) + ",anchor=" + size_text(m.anchor.x, m.anchor.y) +
           ",weights=" + list_text(m.weights) + normalization_text(m.normalization);
  }
};

std::string border_text(const Border& border) {
  std::string result(mollify::name(border.mode.x));
  if (border.mode.y != border.mode.x) result += "+" + std::string(mollify::name(border.mode.y));
  if (border.value != Border{}.value) result += ":value=" + list_text(border.value);
  return result;
}

std::string rect_text(const Rect& rect) {
  return size_text(rect.width, rect.height) + "+" + text(rect.x) + "+" + text(rect.y);
}

std::string_view content_name(Content content) {
  switch (content) {
    case Content::ordinary:
      return "ordinary";
    case Content::outliers:
      return "outliers";
    case Content::bad:
      return "bad";
  }
  return "";
}

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::packed:
      return "packed";
    case Layout::padded:
      return "padded";
    case Layout::in_place:
      return "in_place";
  }
  return "";
}

/// Thrown inside the parser only.
struct Mistake {
  std::string message;
};

[[noreturn]] void reject(std::string_view what, std::string_view given, std::string_view wanted) {
  throw Mistake{std::string(what) + " \"" + std::string(given) + "\" is not " + std::string(wanted)};
}

std::vector<std::string_view> split(std::string_view whole, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = whole.find(separator);
    parts.push_back(whole.substr(0, end));
    if (end == std::string_view::npos) return parts;
    whole.remove_prefix(end + 1);
  }
}

template <class Number>
Number parse_number(std::string_view given) {
  Number number{};
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), number);
  if (given.empty() || error != std::errc{} || end != given.data() + given.size()) reject("number", given, "a number");
  return number;
}

template <class Number>
PerAxis<Number> parse_size(std::string_view given) {
  const auto parts = split(given, 'x');
  if (parts.size() != 2) reject("size", given, "WIDTHxHEIGHT");
  return {parse_number<Number>(parts[0]), parse_number<Number>(parts[1])};
}

template <class Number>
PerAxis<Number> parse_pair(std::string_view given) {
  if (given.find('x') != std::string_view::npos) return parse_size<Number>(given);
  const auto number = parse_number<Number>(given);
  return {number, number};
}

std::vector<double> parse_list(std::string_view given) {
  std::vector<double> numbers;
  if (given.empty()) return numbers;
  for (const auto part : split(given, '_')) numbers.push_back(parse_number<double>(part));
  return numbers;
}

/// "head:key=value,key=value", each key to be taken once.
class Fields {
 public:
  explicit Fields(std::string_view given) : head_(given.substr(0, given.find(':'))) {
    if (head_.size() == given.size()) return;
    for (const auto field : split(given.substr(head_.size() + 1), ',')) {
      const std::size_t equals = field.find('=');
      if (equals == std::string_view::npos) reject("field", field, "KEY=VALUE");
      values_[field.substr(0, equals)] = field.substr(equals + 1);
    }
  }

  [[nodiscard]] std::string_view head() const { return head_; }
  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }
  std::string_view take(std::string_view key) {
    const auto node = values_.extract(key);
    if (node.empty()) reject("field", key, "given after \"" + std::string(head_) + "\"");
    return node.mapped();
  }
  void finish() const {
    if (!values_.empty()) reject("field", values_.begin()->first, "known to \"" + std::string(head_) + "\"");
  }

 private:
  std::string_view head_;
  std::map<std::string_view, std::string_view> values_;
};

Normalization parse_normalization(Fields& fields) {
  if (!fields.has("normalization")) return Normalization::none;
  const auto given = fields.take("normalization");
  if (given == "unit_sum") return Normalization::unit_sum;
  if (given != "none") reject("normalization", given, "none or unit_sum");
  return Normalization::none;
}

AxisTaps parse_axis_taps(std::string_view given) {
  const auto parts = split(given, '@');
  if (parts.size() != 2) reject("taps", given, "WEIGHT_WEIGHT_...@ANCHOR");
  return {parse_list(parts[0]), parse_number<std::int32_t>(parts[1])};
}

KernelSpec parse_gaussian(Fields& fields) {
  Gaussian g;
  g.sigma = parse_pair<double>(fields.take("sigma"));
  if (fields.has("radius")) g.radius = parse_pair<std::int32_t>(fields.take("radius"));
  if (fields.has("truncate")) g.truncate = parse_number<double>(fields.take("truncate"));
  return g;
}

KernelSpec parse_box(Fields& fields) {
  if (fields.has("radius")) {
    const auto radius = parse_pair<double>(fields.take("radius"));
    return Box{{{radius.x, radius.x}, {radius.y, radius.y}}};
  }
  const auto before = parse_pair<double>(fields.take("before"));
  const auto after = parse_pair<double>(fields.take("after"));
  return Box{{{before.x, after.x}, {before.y, after.y}}};
}

KernelSpec parse_tent(Fields& fields) {
  return Tent{parse_pair<double>(fields.take("radius"))};
}

KernelSpec parse_taps(Fields& fields) {
  Taps t;
  t.x = parse_axis_taps(fields.take("x"));
  t.y = parse_axis_taps(fields.take("y"));
  t.normalization = parse_normalization(fields);
  return t;
}

KernelSpec parse_matrix(Fields& fields) {
  Matrix m;
  const auto size = parse_size<std::int32_t>(fields.take("size"));
  m.width = size.x;
  m.height = size.y;
  m.anchor = parse_size<std::int32_t>(fields.take("anchor"));
  m.weights = parse_list(fields.take("weights"));
  m.normalization = parse_normalization(fields);
  return m;
}

KernelSpec parse_kernel(std::string_view given) {
  using Parse = KernelSpec (*)(Fields&);
  static const std::map<std::string_view, Parse> parsers{
      {"gaussian", parse_gaussian}, {"box", parse_box}, {"tent", parse_tent}, {"taps", parse_taps}, {"matrix", parse_matrix}};
  Fields fields(given);
  const auto parser = parsers.find(fields.head());
  if (parser == parsers.end()) reject("kernel", fields.head(), "gaussian, box, tent, taps or matrix");
  KernelSpec kernel = parser->second(fields);
  fields.finish();
  return kernel;
}

BorderMode parse_mode(std::string_view given) {
  const auto mode = parse_border_mode(given);
  if (!mode) reject("border", given, "a border mode");
  return *mode;
}

Border parse_border(std::string_view given) {
  Fields fields(given);
  Border border;
  const auto modes = split(fields.head(), '+');
  if (modes.size() > 2) reject("border", given, "MODE or MODE_X+MODE_Y");
  border.mode = {parse_mode(modes.front()), parse_mode(modes.back())};
  if (fields.has("value")) {
    const auto value = fields.take("value");
    const auto numbers = parse_list(value);
    if (numbers.size() != border.value.size()) reject("border value", value, "four numbers");
    std::copy(numbers.begin(), numbers.end(), border.value.begin());
  }
  fields.finish();
  return border;
}

PixelFormat parse_pixel_format(std::string_view given) {
  const auto format = parse_format(given);
  if (!format) reject("format", given, "a pixel format");
  return *format;
}

Rect parse_rect(std::string_view given) {
  const auto parts = split(given, '+');
  if (parts.size() != 3) reject("region", given, "WIDTHxHEIGHT+X+Y");
  const auto size = parse_size<std::int32_t>(parts[0]);
  return {parse_number<std::int32_t>(parts[1]), parse_number<std::int32_t>(parts[2]), size.x, size.y};
}

/// "2@1", or "2" for a phase of 0; "2@1x3" where the axes differ.
std::string stride_text(const PerAxis<Stride>& stride) {
  const auto axis = [](const Stride& s) { return text(s.step) + (s.phase_halves != 0 ? "@" + text(s.phase_halves) : ""); };
  return axis(stride.x) + (stride.x == stride.y ? "" : "x" + axis(stride.y));
}

PerAxis<Stride> parse_stride(std::string_view given) {
  const auto axis = [&](std::string_view part) {
    const auto parts = split(part, '@');
    if (parts.size() > 2) reject("stride", given, "STEP[@PHASE] or two such with an x between them");
    return Stride{parse_number<std::int32_t>(parts.front()), parts.size() == 2 ? parse_number<std::int32_t>(parts.back()) : 0};
  };
  const auto axes = split(given, 'x');
  if (axes.size() > 2) reject("stride", given, "STEP[@PHASE] or two such with an x between them");
  return {axis(axes.front()), axis(axes.back())};
}

Layout parse_layout(std::string_view given) {
  for (const Layout layout : {Layout::packed, Layout::padded, Layout::in_place}) {
    if (given == layout_name(layout)) return layout;
  }
  reject("layout", given, "packed, padded or in_place");
}

Case parse_or_throw(std::string_view given) {
  const auto parts = split(given, '/');
  if (parts.size() < 5) reject("case", given, "ALGORITHM/WIDTHxHEIGHT/FORMAT/KERNEL/BORDER");
  Case c;
  if (parts[0] != "auto") {
    const auto algorithm = parse_algorithm(parts[0]);
    if (!algorithm) throw Mistake{algorithm.error().message};
    c.algorithm = *algorithm;
  }
  const auto size = parse_size<std::int32_t>(parts[1]);
  const auto pixel_formats = split(parts[2], '-');
  if (pixel_formats.size() > 2) reject("formats", parts[2], "SOURCE or SOURCE-DESTINATION");
  c.src = {size.x, size.y, parse_pixel_format(pixel_formats.front())};
  c.spec.kernel = parse_kernel(parts[3]);
  c.spec.border = parse_border(parts[4]);

  std::optional<PerAxis<std::int32_t>> dst_size;
  for (std::size_t i = 5; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const auto key = parts[i].substr(0, equals);
    const auto value = equals == std::string_view::npos ? std::string_view{} : parts[i].substr(equals + 1);
    if (key == "roi") {
      c.spec.roi = parse_rect(value);
    } else if (key == "stride") {
      c.spec.stride = parse_stride(value);
    } else if (key == "dst") {
      dst_size = parse_size<std::int32_t>(value);
    } else if (key == "max_error") {
      c.spec.accuracy.max_error = parse_number<double>(value);
    } else if (parts[i] == "premultiply") {
      c.spec.alpha = AlphaMode::premultiply;
    } else if (parts[i] == "srgb") {
      c.spec.transfer = TransferFunction::srgb;
    } else if (parts[i] == content_name(Content::outliers)) {
      c.content = Content::outliers;
    } else if (parts[i] == content_name(Content::bad)) {
      c.content = Content::bad;
    } else if (key == "layout") {
      c.layout = parse_layout(value);
    } else if (key == "seed") {
      c.seed = parse_number<std::uint64_t>(value);
    } else {
      reject("part", parts[i], "roi=, stride=, dst=, max_error=, premultiply, srgb, outliers, bad, layout= or seed=");
    }
  }
  if (c.content != Content::ordinary && !info(c.src.format).is_floating()) {
    reject("content", content_name(c.content), "for integers: they have no such pixels");
  }
  for (const Stride& stride : {c.spec.stride.x, c.spec.stride.y}) {
    if (stride.step < 1) reject("stride", text(stride.step), "at least 1");
  }
  c.dst = destination_desc(c.spec, c.src, parse_pixel_format(pixel_formats.back()));
  if (dst_size) c.dst = {dst_size->x, dst_size->y, c.dst.format};
  return c;
}

}  // namespace

std::string name(const Case& c) {
  std::string result = c.algorithm.id.empty() ? "auto" : to_string(c.algorithm);
  result += "/" + size_text(c.src.width, c.src.height);
  result += "/" + std::string(info(c.src.format).name);
  if (c.dst.format != c.src.format) result += "-" + std::string(info(c.dst.format).name);
  result += "/" + std::visit(KernelText{}, c.spec.kernel);
  result += "/" + border_text(c.spec.border);
  if (c.spec.roi) result += "/roi=" + rect_text(*c.spec.roi);
  if (c.spec.stride != PerAxis<Stride>{}) result += "/stride=" + stride_text(c.spec.stride);
  if (c.dst != destination_desc(c.spec, c.src, c.dst.format)) {
    result += "/dst=" + size_text(c.dst.width, c.dst.height);
  }
  if (c.spec.accuracy.max_error) result += "/max_error=" + text(*c.spec.accuracy.max_error);
  if (c.spec.alpha == AlphaMode::premultiply) result += "/premultiply";
  if (c.spec.transfer == TransferFunction::srgb) result += "/srgb";
  if (c.content != Content::ordinary) result += "/" + std::string(content_name(c.content));
  if (c.layout != Layout::packed) result += "/layout=" + std::string(layout_name(c.layout));
  if (c.seed != Case{}.seed) result += "/seed=" + text(c.seed);
  return result;
}

Result<Case> parse_case(std::string_view text) {
  try {
    return parse_or_throw(text);
  } catch (const Mistake& mistake) {
    return Error{ErrorCode::invalid_argument, "case name: " + mistake.message, {}};
  }
}

}  // namespace mollify::cases
