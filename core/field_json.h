// Fields as JSON: how each type of member is written and read, and what makes a row of a
// table (core/field.h) from a member. A new kind of member is one more FieldValue. Heavy: for
// the .cc files that hold tables.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/field.h"
#include "core/json.h"

namespace plumbline {

// A value that cannot be: the words for people, thrown through the JSON library.
[[noreturn]] inline void refuse_field(const std::string& what) {
  throw nlohmann::json::other_error::create(501, what, nullptr);
}

template <typename T>
concept HasFields = requires {
  FieldsOf<T>::all();
};

template <typename Owner>
void write_fields(const Owner& owner, nlohmann::json& object) {
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.sparse && !field.is_set(owner)) continue;
    field.write(owner, object[field.words.name]);
  }
}

// Keys that no table names are ignored.
template <typename Owner>
void read_fields(const nlohmann::json& object, Owner& owner) {
  if (!object.is_object()) {
    refuse_field(std::string("an object is needed, but this is ") + object.type_name());
  }
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.read == nullptr) continue;
    const char* name = field.words.name;
    const auto found = object.find(name);
    if (found == object.end()) {
      if (!field.sparse && !field.may_lack)
        refuse_field(std::string("key '") + name + "' not found");
      field.clear(owner);
      continue;
    }
    try {
      field.read(*found, owner);
    } catch (const nlohmann::json::exception& error) {
      refuse_field(std::string(name) + ": " + json_reason(error));
    }
  }
  if constexpr (requires { FieldsOf<Owner>::check(owner); }) FieldsOf<Owner>::check(owner);
}

template <typename Owner>
void add_rows(const std::string& prefix, FieldRows& rows);

// How one type of member is JSON. Text, numbers, and what has conversions of its own:
template <typename T>
struct FieldValue {
  static constexpr const char* kType = std::is_same_v<T, bool>          ? "boolean"
                                       : std::is_integral_v<T>          ? "integer"
                                       : std::is_floating_point_v<T>    ? "number"
                                       : std::is_same_v<T, std::string> ? "string"
                                                                        : "object";
  static constexpr bool kNullable = false;
  static bool is_set(const T& value, const T& usual) { return !(value == usual); }
  static void write(const T& value, nlohmann::json& out) {
    out = value;
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) out = nullptr;
    }
  }
  static void read(const nlohmann::json& in, T& value) { in.get_to(value); }
  static void rows(const std::string&, const FieldWords&, FieldRows&) {}
};

template <typename T>
requires HasFields<T>
struct FieldValue<T> {
  static constexpr const char* kType = "object";
  static constexpr bool kNullable = false;
  static void write(const T& value, nlohmann::json& out) {
    out = nlohmann::json::object();
    write_fields(value, out);
  }
  static void read(const nlohmann::json& in, T& value) { read_fields(in, value); }
  static void rows(const std::string& path, const FieldWords&, FieldRows& rows) {
    add_rows<T>(path + ".", rows);
  }
};

template <typename T>
struct FieldValue<std::optional<T>> {
  static constexpr const char* kType = FieldValue<T>::kType;
  static constexpr bool kNullable = true;
  static bool is_set(const std::optional<T>& value, const std::optional<T>&) {
    if constexpr (std::is_floating_point_v<T>) return value && std::isfinite(*value);
    return value.has_value();
  }
  static void write(const std::optional<T>& value, nlohmann::json& out) {
    if (value) FieldValue<T>::write(*value, out);
  }
  static void read(const nlohmann::json& in, std::optional<T>& value) {
    value.reset();
    if (!in.is_null()) FieldValue<T>::read(in, value.emplace());
  }
  static void rows(const std::string& path, const FieldWords& words, FieldRows& rows) {
    FieldValue<T>::rows(path, words, rows);
  }
};

// A list, and a pair as a list of two.
template <typename T>
void add_element_rows(const std::string& path, const FieldWords& words, FieldRows& rows) {
  rows.add(path, "", {"", FieldValue<T>::kType, FieldValue<T>::kNullable, words.unit, words.each});
  FieldValue<T>::rows(path, words, rows);
}

template <typename T>
struct FieldValue<std::vector<T>> {
  static constexpr const char* kType = "array";
  static constexpr bool kNullable = false;
  static bool is_set(const std::vector<T>& list, const std::vector<T>&) { return !list.empty(); }
  static void write(const std::vector<T>& list, nlohmann::json& out) {
    out = nlohmann::json::array();
    for (const T& value : list) FieldValue<T>::write(value, out.emplace_back());
  }
  static void read(const nlohmann::json& in, std::vector<T>& list) {
    if (!in.is_array()) refuse_field("no list");
    list.clear();
    list.reserve(in.size());
    for (const nlohmann::json& value : in) FieldValue<T>::read(value, list.emplace_back());
  }
  static void rows(const std::string& path, const FieldWords& words, FieldRows& rows) {
    add_element_rows<T>(path + "[]", words, rows);
  }
};

template <typename T>
struct FieldValue<std::pair<T, T>> {
  static constexpr const char* kType = "array";
  static constexpr bool kNullable = false;
  static void write(const std::pair<T, T>& pair, nlohmann::json& out) {
    out = nlohmann::json::array();
    FieldValue<T>::write(pair.first, out.emplace_back());
    FieldValue<T>::write(pair.second, out.emplace_back());
  }
  static void read(const nlohmann::json& in, std::pair<T, T>& pair) { in.get_to(pair); }
  static void rows(const std::string& path, const FieldWords& words, FieldRows& rows) {
    add_element_rows<T>(path + "[]", words, rows);
  }
};

template <typename T>
struct FieldValue<std::map<std::string, T>> {
  static constexpr const char* kType = "object";
  static constexpr bool kNullable = false;
  static bool is_set(const std::map<std::string, T>& map, const std::map<std::string, T>&) {
    return !map.empty();
  }
  static void write(const std::map<std::string, T>& map, nlohmann::json& out) {
    out = nlohmann::json::object();
    for (const auto& [key, value] : map) FieldValue<T>::write(value, out[key]);
  }
  // A number that is null is not there.
  static void read(const nlohmann::json& in, std::map<std::string, T>& map) {
    if (!in.is_object()) refuse_field("no object");
    map.clear();
    for (const auto& [key, value] : in.items()) {
      if (std::is_floating_point_v<T> && value.is_null()) continue;
      FieldValue<T>::read(value, map[key]);
    }
  }
  static void rows(const std::string& path, const FieldWords& words, FieldRows& rows) {
    add_element_rows<T>(path + ".*", words, rows);
  }
};

template <typename Owner>
void add_rows(const std::string& prefix, FieldRows& rows) {
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    const FieldWords& words = field.words;
    const std::string path = prefix + words.name;
    rows.add(path, field.sparse ? field.absent() : "",
             {"", field.type, field.nullable, words.unit, words.help, field.sparse, words.limits});
    field.rows_below(path, words, rows);
  }
}

template <typename Member>
struct MemberOf;
template <typename T, typename O>
struct MemberOf<T O::*> {
  using Type = T;
  using Owner = O;
};

// The row of a member that is always written and must be there when a record is read.
template <auto Member>
constexpr auto field(FieldWords words) {
  using Owner = typename MemberOf<decltype(Member)>::Owner;
  using Type = typename MemberOf<decltype(Member)>::Type;
  using Value = FieldValue<Type>;
  Field<Owner> row{};
  row.words = words;
  row.type = Value::kType;
  row.nullable = Value::kNullable;
  row.write = [](const Owner& owner, nlohmann::json& out) { Value::write(owner.*Member, out); };
  row.read = [](const nlohmann::json& in, Owner& owner) { Value::read(in, owner.*Member); };
  row.rows_below = [](const std::string& path, const FieldWords& all, FieldRows& rows) {
    Value::rows(path, all, rows);
  };
  row.clear = [](Owner& owner) {
    static const Owner kNew{};
    owner.*Member = kNew.*Member;
  };
  if constexpr (std::is_same_v<Type, std::string>) {
    row.word = [](const Owner& owner) -> std::string_view { return owner.*Member; };
  } else if constexpr (std::is_integral_v<Type> && !std::is_same_v<Type, bool>) {
    row.number = [](const Owner& owner) { return static_cast<int64_t>(owner.*Member); };
  }
  return row;
}

// The row of one that is left out where it is as in a new Owner; read as that where it is not
// there.
template <auto Member>
constexpr auto sparse_field(FieldWords words) {
  using Owner = typename MemberOf<decltype(Member)>::Owner;
  using Type = typename MemberOf<decltype(Member)>::Type;
  using Value = FieldValue<Type>;
  Field<Owner> row = field<Member>(words);
  row.sparse = true;
  row.nullable = false;
  row.is_set = [](const Owner& owner) {
    static const Owner kNew{};
    return Value::is_set(owner.*Member, kNew.*Member);
  };
  row.absent = [] {
    static const Owner kNew{};
    nlohmann::json out;
    Value::write(kNew.*Member, out);
    return out.dump();
  };
  return row;
}

// ---- a field as a column of text: what the CSV report shows ----

// A value as one text: numbers with ten significant digits, lists joined by ";", maps as
// "key=value", nothing for null.
std::string value_text(const nlohmann::json& value);

template <typename Owner>
std::string field_text(const Field<Owner>& field, const Owner& owner) {
  if (field.word != nullptr) return std::string(field.word(owner));
  if (field.number != nullptr) return fmt::format("{}", field.number(owner));
  nlohmann::json value;
  field.write(owner, value);
  return value_text(value);
}

// The field that is this column of the CSV report; nullptr when the table has none.
template <typename Owner>
const Field<Owner>* find_column(std::string_view name) {
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.column != nullptr && field.column == name) return &field;
  }
  return nullptr;
}

}  // namespace plumbline
