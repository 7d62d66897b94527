// A field told once. A struct of records has a table of its fields (Cell, PerRank, HostFacts ...):
// what each is called, its unit, what it means, and which member it is. From these tables come the
// JSON that is written and read (core/field_json.h), the JSON Schema and the reference of
// docs/record_format.md (core/field_rows.h), columns of the CSV report (core/field_text.h), terms
// that pick cells, and what a submitted result keeps. Plain values; the tables are constant.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace plumbline {

class FieldRows;

// What is said of a field beside its member.
struct FieldWords {
  const char* name;
  const char* unit;  // "ns", "bytes", "bytes/s", "elements", "" ...
  const char* help;
  const char* each = "";      // of a list or map: what one element is
  const char* limits = "{}";  // further keywords of JSON Schema, as JSON: {"minimum":0}
};

// Limits of texts and numbers in submitted results, as JSON Schema.
inline constexpr const char* kPublishedWord = R"({"pattern":"^[A-Za-z0-9_.-]{0,40}$"})";
inline constexpr const char* kPublishedCount = R"({"minimum":0,"maximum":9007199254740992})";
// No control characters, and none with which Markdown, HTML or a shell begins something.
inline constexpr const char* kPublishedLine =
    R"({"maxLength":160,"pattern":"^[^\\x00-\\x1f\\x7f<>\\[\\]|\\\\`{}@$^]*$"})";
inline constexpr const char* kPublishedSmall = R"({"minimum":0,"maximum":1000000})";

// One field of a struct; made by field() and its like in core/field_json.h.
template <typename Owner>
struct Field {
  FieldWords words;
  const char* type;  // as in FieldRow
  bool nullable;
  bool sparse;                   // left out where it is not set
  bool may_lack;                 // always written, but older records may be without
  bool (*is_set)(const Owner&);  // is it something else than in a new Owner?
  void (*clear)(Owner&);         // as in a new Owner
  std::string (*absent)();       // the value in a new Owner, as JSON
  void (*write)(const Owner&, nlohmann::json& value);
  // Throws nlohmann's exceptions on what cannot be; nullptr = it follows from others.
  void (*read)(const nlohmann::json& value, Owner&);
  void (*rows_below)(const std::string& path, const FieldWords& words, FieldRows& rows);
  // The first is there for a text, the second for a whole number.
  std::string_view (*word)(const Owner&);
  int64_t (*number)(const Owner&);
  const char* column;   // of the CSV report; nullptr = none of its own
  const char* publish;  // limits in a submitted result; nullptr = it is not in one
  bool is_bare;         // a bare word of a filter is compared with it

  constexpr Field in_csv(const char* name) const {
    Field other = *this;
    other.column = name;
    return other;
  }
  constexpr Field published(const char* limits = "{}") const {
    Field other = *this;
    other.publish = limits;
    return other;
  }
  constexpr Field bare() const {
    Field other = *this;
    other.is_bare = true;
    return other;
  }
  constexpr Field set_where(bool (*holds)(const Owner&)) const {
    Field other = *this;
    other.is_set = holds;
    return other;
  }
  constexpr Field lacking_in_old() const {
    Field other = *this;
    other.may_lack = true;
    return other;
  }
  // It follows from the others: written, not read.
  constexpr Field derived() const {
    Field other = *this;
    other.read = nullptr;
    return other;
  }
};

// Specialised for every struct that has a table (core/record/record_tables.h,
// core/host/host_fields.h):
//   static std::span<const Field<T>> all();
//   static void check(const T& value);   // may be missing; throws for what no record can hold
template <typename T>
struct FieldsOf {};

}  // namespace plumbline
