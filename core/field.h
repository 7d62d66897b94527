// A field told once. A struct of records has a table of its fields (Cell, PerRank, HostFacts ...):
// what each is called, its unit, what it means, and which member it is. From these tables come the
// JSON that is written and read (core/field_json.h), the JSON Schema and the reference of
// docs/record_format.md, columns of the CSV report, terms that pick cells, and what a submitted
// result keeps. Plain values; the tables are constant.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// ---- fields as rows, for people and for JSON Schema (draft-07) ----

struct FieldRow {
  const char* path;  // "time_ns.p50"; "[]" = each element of a list, "*" = any key of an object
  const char*
      type;  // JSON Schema type: "string", "integer", "number", "boolean", "object", "array"
  bool nullable;
  const char* unit;  // "ns", "bytes", "bytes/s", "elements", "" ...
  const char* help;
  bool optional = false;      // only where there is such a thing; others do without the key
  const char* limits = "{}";  // further keywords of JSON Schema, as JSON: {"minimum":0}
  const char* absent = "";    // what it means that an optional one is not there, as JSON
};

// Rows that were put together, with the texts that they need.
class FieldRows {
 public:
  void add(const std::string& path, const std::string& absent, FieldRow row);
  std::span<const FieldRow> all() const { return rows_; }

 private:
  const char* kept(const std::string& text);

  std::vector<std::unique_ptr<const std::string>> texts_;
  std::vector<FieldRow> rows_;
};

// The schema of any such table as text with a newline at the end: every field that is not optional
// is required, none may stand beside them.
std::string schema_json(std::span<const FieldRow> rows, const std::string& title);

// ---- and as members of structs ----

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
// The same with more than one such word.
inline constexpr const char* kPublishedTransport = R"({"pattern":"^[A-Za-z0-9_.+-]{0,40}$"})";
// A word with the parameter of an algorithm behind it: its numbers and marks.
inline constexpr const char* kPublishedAlgorithm =
    R"({"pattern":"^[A-Za-z0-9_.-]{0,40}(:[0-9x:-]{1,192})?$"})";
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

  constexpr Field in_csv(const char* name) const { return with(&Field::column, name); }
  constexpr Field published(const char* within = "{}") const {
    return with(&Field::publish, within);
  }
  constexpr Field bare() const { return with(&Field::is_bare, true); }
  constexpr Field set_where(bool (*holds)(const Owner&)) const {
    return with(&Field::is_set, holds);
  }
  constexpr Field lacking_in_old() const { return with(&Field::may_lack, true); }
  // It follows from the others: written, not read.
  constexpr Field derived() const { return with(&Field::read, nullptr); }

 private:
  template <typename Part, typename Value>
  constexpr Field with(Part Field::*part, Value value) const {
    Field other = *this;
    other.*part = value;
    return other;
  }
};

// Specialised for every struct that has a table, behind the struct, by one of the macros below.
// check() throws for what no record can hold.
template <typename T>
struct FieldsOf {};

#define PLUMBLINE_FIELDS(Type)                  \
  template <>                                   \
  struct FieldsOf<Type> {                       \
    using Owner = Type;                         \
    static std::span<const Field<Owner>> all(); \
  }
#define PLUMBLINE_CHECKED_FIELDS(Type)          \
  template <>                                   \
  struct FieldsOf<Type> {                       \
    using Owner = Type;                         \
    static std::span<const Field<Owner>> all(); \
    static void check(const Owner& value);      \
  }

}  // namespace plumbline
