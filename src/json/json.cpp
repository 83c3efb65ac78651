#include "json/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace mollify {
namespace {

[[noreturn]] void expected(const char* kind) {
  throw std::runtime_error(std::string("a JSON value is not ") + kind);
}

/// The alternative of the value. Throws where it has another one.
template <class T, class Value>
auto& alternative(Value& value, const char* kind) {
  auto* const found = std::get_if<T>(&value);
  if (found == nullptr) expected(kind);
  return *found;
}

bool is_member(const Json& pair) {
  return pair.is_array() && pair.size() == 2 && pair[0].is_string();
}

}  // namespace

/// To and from the values of the library.
struct JsonText {
  using Theirs = nlohmann::ordered_json;

  static Theirs from(const Json& json) {
    return std::visit([](const auto& value) { return converted(value); }, json.value_);
  }

  static Json to(const Theirs& value) {
    switch (value.type()) {
      case Theirs::value_t::boolean:
        return value.get<bool>();
      case Theirs::value_t::number_integer:
        return value.get<std::int64_t>();
      case Theirs::value_t::number_unsigned:
        return value.get<std::uint64_t>();
      case Theirs::value_t::number_float:
        return value.get<double>();
      case Theirs::value_t::string:
        return value.get_ref<const std::string&>();
      case Theirs::value_t::array: {
        Json array = Json::array();
        for (const Theirs& element : value) array.push_back(to(element));
        return array;
      }
      case Theirs::value_t::object: {
        Json object = Json::object();
        for (const auto& [key, member] : value.items()) object.members().emplace_back(key, to(member));
        return object;
      }
      default:
        return nullptr;
    }
  }

 private:
  template <class T>
  static Theirs converted(const T& scalar) {
    return scalar;
  }
  static Theirs converted(const Json::Array& elements) {
    Theirs array = Theirs::array();
    for (const Json& element : elements) array.push_back(from(element));
    return array;
  }
  static Theirs converted(const Json::Object& members) {
    Theirs object = Theirs::object();
    for (const auto& [key, member] : members) object[key] = from(member);
    return object;
  }
};

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(Array elements) : value_(std::move(elements)) {}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json::Json(std::initializer_list<Json> list) {
  if (!std::ranges::all_of(list, is_member)) {
    value_ = Array(list);
    return;
  }
  Object members;
  for (const Json& pair : list) members.emplace_back(pair[0].as_string(), pair[1]);
  value_ = std::move(members);
}

Json Json::array(std::initializer_list<Json> elements) {
  return Json(Array(elements));
}

Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

bool Json::is_null() const {
  return std::holds_alternative<std::nullptr_t>(value_);
}
bool Json::is_integer() const {
  return std::holds_alternative<std::int64_t>(value_) || std::holds_alternative<std::uint64_t>(value_);
}
bool Json::is_float() const {
  return std::holds_alternative<double>(value_);
}
bool Json::is_string() const {
  return std::holds_alternative<std::string>(value_);
}
bool Json::is_array() const {
  return std::holds_alternative<Array>(value_);
}
bool Json::is_object() const {
  return std::holds_alternative<Object>(value_);
}

bool Json::as_bool() const {
  return alternative<bool>(value_, "a bool");
}

double Json::as_double() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*number);
  return alternative<double>(value_, "a number");
}

std::int64_t Json::as_signed() const {
  if (const auto* number = std::get_if<std::uint64_t>(&value_)) return static_cast<std::int64_t>(*number);
  return alternative<std::int64_t>(value_, "an integer");
}

std::uint64_t Json::as_unsigned() const {
  if (const auto* number = std::get_if<std::int64_t>(&value_)) return static_cast<std::uint64_t>(*number);
  return alternative<std::uint64_t>(value_, "an integer");
}

const std::string& Json::as_string() const {
  return alternative<std::string>(value_, "a string");
}

Json::Array& Json::elements() {
  return alternative<Array>(value_, "an array");
}
const Json::Array& Json::elements() const {
  return alternative<Array>(value_, "an array");
}
Json::Object& Json::members() {
  return alternative<Object>(value_, "an object");
}
const Json::Object& Json::members() const {
  return alternative<Object>(value_, "an object");
}

void Json::push_back(Json element) {
  if (is_null()) value_ = Array();
  elements().push_back(std::move(element));
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (object == nullptr) return nullptr;
  const auto found = std::ranges::find(*object, key, &Object::value_type::first);
  return found != object->end() ? &found->second : nullptr;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  Object& object = members();
  const auto found = std::ranges::find(object, key, &Object::value_type::first);
  return found != object.end() ? found->second : object.emplace_back(key, nullptr).second;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* member = find(key);
  if (member == nullptr) throw std::runtime_error("a JSON value has no \"" + std::string(key) + '"');
  return *member;
}

void Json::erase(std::string_view key) {
  std::erase_if(members(), [&](const auto& member) { return member.first == key; });
}

std::string Json::dump(int indent) const {
  return JsonText::from(*this).dump(indent, ' ', false, JsonText::Theirs::error_handler_t::replace);
}

Json Json::parse(std::string_view text) {
  return JsonText::to(JsonText::Theirs::parse(text, nullptr, false));
}

std::vector<std::uint8_t> Json::to_cbor() const {
  return JsonText::Theirs::to_cbor(JsonText::from(*this));
}

Json Json::from_cbor(const std::uint8_t* bytes, std::size_t count) {
  return JsonText::to(JsonText::Theirs::from_cbor(bytes, bytes + count));
}

bool operator==(const Json& a, const Json& b) {
  const auto is_number = [](const Json& json) { return json.is_integer() || json.is_float(); };
  if (is_number(a) && is_number(b) && a.value_.index() != b.value_.index()) return a.as_double() == b.as_double();
  return a.value_ == b.value_;
}

}  // namespace mollify
