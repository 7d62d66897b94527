// Structs as JSON objects from the list of their fields: PLUMBLINE_JSON_FIELDS(Type, a, b, c)
// defines to_json and from_json. Missing keys keep their default, unknown keys are ignored, a value
// of the wrong type or an integer out of range throws nlohmann::json::exception, which names the
// key: whoever reads foreign text catches it. An empty std::optional is null. Include core/json.h
// before using the macro.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace nlohmann {

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
