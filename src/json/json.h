// A JSON value. json.cpp is the only file that knows the library that reads and writes JSON, because its header takes seconds to compile.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mollify {

/// What a Json converts to by itself. It is no char: strings could be assigned one, too.
template <class T>
concept JsonScalar = (std::is_arithmetic_v<T> && !std::same_as<T, char>) || std::is_enum_v<T> || std::same_as<T, std::string>;

/// Null, a bool, a number, a string, an array, or an object whose members keep their order. Functions that expect another kind of value
/// than there is throw std::runtime_error.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json();
  Json(std::nullptr_t);
  Json(const char* text);
  Json(std::string text);
  Json(std::string_view text);
  template <class T>
  requires(std::is_arithmetic_v<T>) Json(T value) : value_(stored(value)) {}
  /// Enumerators are their numbers.
  template <class T>
  requires(std::is_enum_v<T>) Json(T value) : Json(static_cast<std::underlying_type_t<T>>(value)) {}
  Json(Array elements);
  template <class T>
  Json(const std::vector<T>& values) : Json(Array(values.begin(), values.end())) {}
  template <class T>
  Json(const std::set<T>& values) : Json(Array(values.begin(), values.end())) {}
  template <class T, std::size_t N>
  Json(const std::array<T, N>& values) : Json(Array(values.begin(), values.end())) {}
  template <class T, class Order>
  Json(const std::map<std::string, T, Order>& members) : Json(object()) {
    for (const auto& [key, value] : members) (*this)[key] = value;
  }
  /// {{"name", value}, ...} is an object; any other list is an array.
  Json(std::initializer_list<Json> list);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  [[nodiscard]] static Json array(std::initializer_list<Json> elements = {});
  [[nodiscard]] static Json object();

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_integer() const;
  /// A number that is not an integer's.
  [[nodiscard]] bool is_float() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;

  /// A scalar, or a container of them.
  template <class T>
  [[nodiscard]] T get() const;
  template <JsonScalar T>
  operator T() const {
    return get<T>();
  }

  [[nodiscard]] Array& elements();
  [[nodiscard]] const Array& elements() const;
  [[nodiscard]] Array::const_iterator begin() const { return elements().begin(); }
  [[nodiscard]] Array::const_iterator end() const { return elements().end(); }
  [[nodiscard]] std::size_t size() const { return elements().size(); }
  /// Null becomes an array.
  void push_back(Json element);
  [[nodiscard]] Json& operator[](std::size_t index) { return elements().at(index); }
  [[nodiscard]] const Json& operator[](std::size_t index) const { return elements().at(index); }

  [[nodiscard]] Object& members();
  [[nodiscard]] const Object& members() const;
  /// Null where there is no such member, or no object.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// Adds a member that is not there. Null becomes an object.
  [[nodiscard]] Json& operator[](std::string_view key);
  /// The member must be there.
  [[nodiscard]] const Json& operator[](std::string_view key) const;
  void erase(std::string_view key);
  /// The member, or something else where there is none.
  template <class T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const Json* member = find(key);
    return member != nullptr ? member->get<T>() : std::move(otherwise);
  }
  [[nodiscard]] std::string value(std::string_view key, const char* otherwise) const { return value(key, std::string(otherwise)); }

  /// One line, or lines that are indented by so many spaces. What is no UTF-8 in strings is replaced.
  [[nodiscard]] std::string dump(int indent = -1) const;
  /// Null where the text is no JSON.
  [[nodiscard]] static Json parse(std::string_view text);
  /// A compact form for messages between processes, which keeps strings that are no UTF-8.
  [[nodiscard]] std::vector<std::uint8_t> to_cbor() const;
  /// Throws where the bytes are none that to_cbor() has made.
  [[nodiscard]] static Json from_cbor(const std::uint8_t* bytes, std::size_t count);

  /// Numbers are equal by value, whatever they are stored as.
  friend bool operator==(const Json& a, const Json& b);
  template <class T>
  requires(std::is_arithmetic_v<T>) friend bool operator==(const Json& a, T b) { return a == Json(b); }

 private:
  using Value = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;
  friend struct JsonText;

  template <class T>
  static Value stored(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      return static_cast<std::uint64_t>(value);
    } else {
      return static_cast<std::int64_t>(value);
    }
  }
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] std::int64_t as_signed() const;
  [[nodiscard]] std::uint64_t as_unsigned() const;
  [[nodiscard]] const std::string& as_string() const;
  template <class T>
  void get_to(T& value) const;
  template <class T>
  void get_to(std::vector<T>& values) const;
  template <class T>
  void get_to(std::set<T>& values) const;
  template <class T, std::size_t N>
  void get_to(std::array<T, N>& values) const;

  Value value_;
};

template <class T>
T Json::get() const {
  T value{};
  get_to(value);
  return value;
}

template <class T>
void Json::get_to(T& value) const {
  if constexpr (std::is_same_v<T, Json>) {
    value = *this;
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = as_string();
  } else if constexpr (std::is_same_v<T, bool>) {
    value = as_bool();
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(as_signed());
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(as_double());
  } else if constexpr (std::is_unsigned_v<T>) {
    value = static_cast<T>(as_unsigned());
  } else {
    value = static_cast<T>(as_signed());
  }
}

template <class T>
void Json::get_to(std::vector<T>& values) const {
  for (const Json& element : elements()) values.push_back(element.get<T>());
}

template <class T>
void Json::get_to(std::set<T>& values) const {
  for (const Json& element : elements()) values.insert(element.get<T>());
}

template <class T, std::size_t N>
void Json::get_to(std::array<T, N>& values) const {
  for (std::size_t i = 0; i < N; ++i) values[i] = (*this)[i].template get<T>();
}

}  // namespace mollify
