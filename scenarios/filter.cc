#include "scenarios/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/units.h"
#include "scenarios/problems.h"

namespace plumbline {
namespace {

// The fields of a cell that a term can name: one of the two functions is there.
struct FieldRow {
  const char* name;
  const std::string& (*word)(const Cell&);
  int64_t (*number)(const Cell&);
  bool bare;  // a bare word is compared with it
};
constexpr FieldRow kFields[] = {
    {"kind", [](const Cell& c) -> const std::string& { return c.kind; }, nullptr, true},
    {"op", [](const Cell& c) -> const std::string& { return c.op; }, nullptr, true},
    {"algorithm", [](const Cell& c) -> const std::string& { return c.algorithm; }, nullptr, true},
    {"dtype", [](const Cell& c) -> const std::string& { return c.dtype; }, nullptr, true},
    {"transport", [](const Cell& c) -> const std::string& { return c.transport; }, nullptr, true},
    {"measure", [](const Cell& c) -> const std::string& { return c.measure; }, nullptr, true},
    {"engine", [](const Cell& c) -> const std::string& { return c.engine; }, nullptr, false},
    {"redop", [](const Cell& c) -> const std::string& { return c.redop; }, nullptr, false},
    {"placement", [](const Cell& c) -> const std::string& { return c.placement; }, nullptr, false},
    {"sync", [](const Cell& c) -> const std::string& { return c.sync; }, nullptr, false},
    {"cache", [](const Cell& c) -> const std::string& { return c.cache; }, nullptr, false},
    {"hosts", [](const Cell& c) -> const std::string& { return c.hosts; }, nullptr, false},
    {"distribution", [](const Cell& c) -> const std::string& { return c.distribution; }, nullptr,
     false},
    {"bytes", nullptr, [](const Cell& c) { return static_cast<int64_t>(c.bytes); }, false},
    {"count", nullptr, [](const Cell& c) { return static_cast<int64_t>(c.count); }, false},
    {"ranks", nullptr, [](const Cell& c) { return int64_t{c.ranks}; }, false},
    {"root", nullptr, [](const Cell& c) { return int64_t{c.root}; }, false},
    {"outstanding", nullptr, [](const Cell& c) { return int64_t{c.outstanding}; }, false},
    {"repeat", nullptr, [](const Cell& c) { return int64_t{c.repeat}; }, false},
};

const FieldRow* find_field(const std::string& name) {
  for (const FieldRow& row : kFields) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

std::vector<std::string> field_names() {
  std::vector<std::string> names;
  for (const FieldRow& row : kFields) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  size_t from = 0;
  while (true) {
    const size_t end = text.find(separator, from);
    out.push_back(text.substr(from, end - from));
    if (end == std::string::npos) return out;
    from = end + 1;
  }
}

Expected<int64_t> parse_number(const std::string& field, const std::string& text) {
  if (field == "bytes") {
    const auto bytes = parse_bytes(text);
    if (!bytes) return fail(bytes.error());
    return static_cast<int64_t>(*bytes);
  }
  int64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::kUsage, fmt::format("{} is not a whole number", in_quotes(text)));
  }
  return number;
}

// Values that the cells have in this field, or (row = nullptr) in any field for bare words.
std::vector<std::string> words_in(const std::vector<Cell>& cells, const FieldRow* row) {
  std::set<std::string> words;
  for (const FieldRow& each : kFields) {
    const bool wanted = row == nullptr ? each.bare : &each == row;
    if (!wanted || each.word == nullptr) continue;
    for (const Cell& cell : cells) {
      if (!each.word(cell).empty()) words.insert(each.word(cell));
    }
  }
  return {words.begin(), words.end()};
}

Error bad_term(const std::string& text, const std::string& what, const std::string& hint) {
  Error error;
  error.code = ErrorCode::kUsage;
  error.what = fmt::format("filter {}: {}", in_quotes(text), what);
  error.hint = hint;
  return error;
}

}  // namespace

Expected<FilterTerm> FilterTerm::parse(const std::string& text, const std::vector<Cell>& cells) {
  FilterTerm term;
  const size_t mark = text.find_first_of("=!<>");
  const FieldRow* row = nullptr;
  std::string values = text;
  if (mark != std::string::npos) {
    term.field_ = text.substr(0, mark);
    row = find_field(term.field_);
    if (row == nullptr) {
      return fail(bad_term(text, fmt::format("a cell has no field {}", in_quotes(term.field_)),
                           hint_for(term.field_, field_names())));
    }
    static const std::vector<std::pair<std::string, Relation>> kRelations = {
        {">=", Relation::kAtLeast}, {"<=", Relation::kAtMost}, {"!=", Relation::kNotEqual},
        {"=", Relation::kEqual},    {">", Relation::kAbove},   {"<", Relation::kBelow}};
    const auto relation = std::find_if(kRelations.begin(), kRelations.end(), [&](const auto& each) {
      return text.compare(mark, each.first.size(), each.first) == 0;
    });
    if (relation == kRelations.end()) {
      return fail(bad_term(text, "no relation", "use one of = != >= <= > <"));
    }
    term.relation_ = relation->second;
    values = text.substr(mark + relation->first.size());
  }
  const bool ordered = term.relation_ != Relation::kEqual && term.relation_ != Relation::kNotEqual;
  if (row != nullptr && row->number != nullptr) {
    for (const std::string& value : split(values, ',')) {
      const auto number = parse_number(term.field_, value);
      if (!number) return fail(bad_term(text, number.error().what, number.error().hint));
      term.numbers_.push_back(*number);
    }
    if (ordered && term.numbers_.size() > 1) {
      return fail(bad_term(text, "several values cannot be compared so", "give one"));
    }
    return term;
  }
  if (ordered) return fail(bad_term(text, "this field is not a number", "use = or !="));
  const std::vector<std::string> known = words_in(cells, row);
  for (const std::string& value : split(values, ',')) {
    if (std::find(known.begin(), known.end(), value) == known.end()) {
      return fail(
          bad_term(text, fmt::format("no cell has {}", in_quotes(value)), hint_for(value, known)));
    }
    term.words_.push_back(value);
  }
  return term;
}

bool FilterTerm::holds(const Cell& cell) const {
  if (const FieldRow* row = find_field(field_); row != nullptr && row->number != nullptr) {
    const int64_t have = row->number(cell);
    const auto listed = [&] {
      return std::find(numbers_.begin(), numbers_.end(), have) != numbers_.end();
    };
    switch (relation_) {
      case Relation::kEqual:
        return listed();
      case Relation::kNotEqual:
        return !listed();
      case Relation::kAtLeast:
        return have >= numbers_.front();
      case Relation::kAtMost:
        return have <= numbers_.front();
      case Relation::kAbove:
        return have > numbers_.front();
      case Relation::kBelow:
        return have < numbers_.front();
    }
  }
  const bool equal = std::any_of(std::begin(kFields), std::end(kFields), [&](const FieldRow& row) {
    const bool asked = field_.empty() ? row.bare : field_ == row.name;
    return asked && row.word != nullptr &&
           std::find(words_.begin(), words_.end(), row.word(cell)) != words_.end();
  });
  return equal != (relation_ == Relation::kNotEqual);
}

}  // namespace plumbline
