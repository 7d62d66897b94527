// nlohmann's JSON with integers that are checked. The library's own conversion to an integer casts:
// 1e99 as a uint64_t is undefined behaviour, -1 becomes 18446744073709551615 and 2^40 an int of 0.
// Here such a number is an error (json::exception), whoever asks for it: get<int>(), get_to(),
// value(), the elements of vectors, pairs and maps. 5.0 is 5. That holds only when every file sees
// this header, so all of them include it instead of the library's
// (tests/core/include_direction_test.cc sees to it). Heavy: for .cc files; headers use
// <nlohmann/json_fwd.hpp>.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <type_traits>

namespace nlohmann {

// Declared before the library can have looked for it: clang takes a later one silently for nothing.
template <typename T>
struct adl_serializer<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  template <typename Json>
  static void to_json(Json& json, T value);
  template <typename Json>
  static void from_json(const Json& json, T& value);
};

}  // namespace nlohmann

#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// "type must be number, but is string" of "[json.exception.type_error.302] type must be ...".
inline std::string json_reason(const std::exception& error) {
  const std::string_view text = error.what();
  const size_t end = text.starts_with("[json.exception.") ? text.find("] ") : text.npos;
  return std::string(end == text.npos ? text : text.substr(end + 2));
}

// As text for files and people, with a line's end. What is no UTF-8 (a path, a name that a user
// typed) becomes U+FFFD, where the library's own dump() would throw.
template <typename Json>
std::string json_text(const Json& json, int indent = 1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The member when it is a text, else an empty one.
template <typename Json>
std::string string_member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->template get<std::string>()
                                                     : std::string();
}

// The whole number that a JSON number stands for; throws when it is none, or none of this type.
template <typename T, typename Json>
T checked_integer(const Json& json) {
  using Limits = std::numeric_limits<T>;
  bool fits = false;
  T value = 0;
  if (json.is_number_unsigned()) {
    const auto number = *json.template get_ptr<const typename Json::number_unsigned_t*>();
    fits = number <= static_cast<std::make_unsigned_t<T>>(Limits::max());
    value = static_cast<T>(number);
  } else if (json.is_number_integer()) {
    const auto number = *json.template get_ptr<const typename Json::number_integer_t*>();
    if constexpr (std::is_signed_v<T>) {
      fits = number >= Limits::min() && number <= Limits::max();
    } else {
      fits = number >= 0 && static_cast<uint64_t>(number) <= Limits::max();
    }
    value = static_cast<T>(number);
  } else if (json.is_number_float()) {
    const auto number = *json.template get_ptr<const typename Json::number_float_t*>();
    const double end = std::ldexp(1.0, Limits::digits);  // the first value too large
    fits = number == std::trunc(number) && number >= static_cast<double>(Limits::min()) &&
           number < end;  // false of NaN
    if (fits) value = static_cast<T>(number);
  } else {
    throw Json::type_error::create(
        302, std::string("type must be number, but is ") + json.type_name(), nullptr);
  }
  if (!fits) {
    throw Json::out_of_range::create(406,
                                     json.dump() + " is no whole number from " +
                                         std::to_string(Limits::min()) + " to " +
                                         std::to_string(Limits::max()),
                                     nullptr);
  }
  return value;
}

// object.at(key).get_to(value), with the key in the error: "cell: bytes: -1 is no whole number
// ...".
template <typename Json, typename T>
void get_field(const Json& object, const char* key, T& value) {
  const Json& field = object.at(key);
  try {
    field.get_to(value);
  } catch (const typename Json::exception& error) {
    throw Json::other_error::create(501, std::string(key) + ": " + json_reason(error), nullptr);
  }
}

// The same where the key may be missing: then `value` becomes `otherwise`.
template <typename Json, typename T>
void get_field_or(const Json& object, const char* key, T& value, const T& otherwise) {
  if (!object.is_object()) {
    throw Json::type_error::create(
        306, std::string("an object is needed, but this is ") + object.type_name(), nullptr);
  }
  if (object.find(key) == object.end()) {
    value = otherwise;
  } else {
    get_field(object, key, value);
  }
}

}  // namespace plumbline

namespace nlohmann {

template <typename T>
template <typename Json>
void adl_serializer<
    T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>::to_json(Json& json,
                                                                                     T value) {
  ::nlohmann::to_json(json, value);
}

template <typename T>
template <typename Json>
void adl_serializer<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>>::
    from_json(const Json& json, T& value) {
  value = ::plumbline::checked_integer<T>(json);
}

// An empty one is null.
template <typename T>
struct adl_serializer<std::optional<T>> {
  template <typename Json>
  static void to_json(Json& json, const std::optional<T>& value) {
    if (value) {
      json = *value;
    } else {
      json = nullptr;
    }
  }
  template <typename Json>
  static void from_json(const Json& json, std::optional<T>& value) {
    if (json.is_null()) {
      value.reset();
    } else {
      value = json.template get<T>();
    }
  }
};

}  // namespace nlohmann

// Structs as JSON objects from the list of their fields: PLUMBLINE_JSON_FIELDS(Type, a, b, c)
// defines to_json and from_json. Missing keys keep their default, unknown keys are ignored, a value
// of the wrong type or an integer out of range throws nlohmann::json::exception, which names the
// key: whoever reads foreign text catches it.
// The names nlohmann_json_* are those that the library's own field macros expect.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PLUMBLINE_JSON_FROM(field)                                          \
  ::plumbline::get_field_or(nlohmann_json_j, #field, nlohmann_json_t.field, \
                            nlohmann_json_default_obj.field);
#define PLUMBLINE_JSON_FIELDS(Type, ...)                                         \
  void to_json(nlohmann::json& nlohmann_json_j, const Type& nlohmann_json_t) {   \
    nlohmann_json_j = nlohmann::json::object();                                  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))     \
  }                                                                              \
  void from_json(const nlohmann::json& nlohmann_json_j, Type& nlohmann_json_t) { \
    const Type nlohmann_json_default_obj{};                                      \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(PLUMBLINE_JSON_FROM, __VA_ARGS__))  \
  }
// NOLINTEND(bugprone-macro-parentheses)
