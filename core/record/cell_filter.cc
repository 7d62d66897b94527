#include "core/record/cell_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/number.h"
#include "core/record/record.h"
#include "core/text.h"
#include "core/units.h"

namespace plumbline {
namespace {

constexpr std::string_view kConfig = "config.";  // and the name of an option of the cell's own

using CellField = Field<Cell>;

// One that a term can name: a text or a number.
bool is_term(const CellField& field) { return field.word != nullptr || field.number != nullptr; }

const CellField* find_field(const std::string& name) {
  for (const CellField& field : FieldsOf<Cell>::all()) {
    if (name == field.words.name && is_term(field)) return &field;
  }
  return nullptr;
}

bool is_config(const std::string& field) {
  return field.size() > kConfig.size() && field.compare(0, kConfig.size(), kConfig) == 0;
}

Expected<int64_t> parse_number(const std::string& field, const std::string& text) {
  if (field == "bytes") {
    const auto bytes = parse_bytes(text);
    if (!bytes) return fail(bytes.error());
    return static_cast<int64_t>(*bytes);
  }
  if (field == "rate_bps" && text.find("bit") != std::string::npos) {
    const auto rate = parse_bit_rate(text);
    if (!rate) return fail(rate.error());
    return static_cast<int64_t>(*rate);
  }
  if (const auto number = parse_whole(text)) return *number;
  return fail(ErrorCode::kUsage, fmt::format("{} is not a whole number", in_quotes(text)));
}

// "64Ki", or "64Ki..1Mi" with both ends in it.
Expected<std::pair<int64_t, int64_t>> parse_range(const std::string& field,
                                                  const std::string& text) {
  const size_t dots = text.find("..");
  const auto first = parse_number(field, text.substr(0, dots));
  if (!first) return fail(first.error());
  if (dots == std::string::npos) return std::pair(*first, *first);
  const auto last = parse_number(field, text.substr(dots + 2));
  if (!last) return fail(last.error());
  if (*first > *last) {
    return fail(ErrorCode::kUsage, fmt::format("{} ends before it begins", in_quotes(text)),
                "exchange its ends");
  }
  return std::pair(*first, *last);
}

// Values that the cells have in this field, or (field = "") in any field for bare words.
std::vector<std::string> words_in(const std::vector<Cell>& cells, const std::string& field) {
  std::set<std::string> words;
  for (const Cell& cell : cells) {
    if (is_config(field)) {
      const auto found = cell.params.find(field.substr(kConfig.size()));
      if (found != cell.params.end()) words.insert(found->second);
      continue;
    }
    for (const CellField& row : FieldsOf<Cell>::all()) {
      const bool wanted = field.empty() ? row.is_bare : field == row.words.name;
      if (!wanted || row.word == nullptr || row.word(cell).empty()) continue;
      words.emplace(row.word(cell));
    }
  }
  return {words.begin(), words.end()};
}

Error bad_term(const std::string& text, const std::string& what, const std::string& hint) {
  return {ErrorCode::kUsage, fmt::format("filter {}: {}", in_quotes(text), what), 0, hint, ""};
}

}  // namespace

std::optional<Relation> take_relation(std::string& text) {
  constexpr std::pair<std::string_view, Relation> kRelations[] = {
      {">=", Relation::kAtLeast}, {"<=", Relation::kAtMost}, {"!=", Relation::kNotEqual},
      {"==", Relation::kEqual},   {"=", Relation::kEqual},   {">", Relation::kAbove},
      {"<", Relation::kBelow}};
  for (const auto& [sign, relation] : kRelations) {
    if (!text.starts_with(sign)) continue;
    text.erase(0, sign.size());
    return relation;
  }
  return std::nullopt;
}

std::vector<std::string> filter_field_names() {
  std::vector<std::string> names;
  for (const CellField& field : FieldsOf<Cell>::all()) {
    if (is_term(field)) names.emplace_back(field.words.name);
  }
  return names;
}

bool filter_field_is_number(const std::string& name) {
  const CellField* row = find_field(name);
  return row != nullptr && row->number != nullptr;
}

Expected<FilterTerm> FilterTerm::parse_with(const std::string& text,
                                            const std::vector<Cell>* cells) {
  FilterTerm term;
  term.text_ = text;
  const size_t mark = text.find_first_of("=!<>");
  std::string values = text;
  if (mark != std::string::npos) {
    term.field_ = text.substr(0, mark);
    if (find_field(term.field_) == nullptr && !is_config(term.field_)) {
      return fail(bad_term(text, fmt::format("a cell has no field {}", in_quotes(term.field_)),
                           hint_for(term.field_, filter_field_names())));
    }
    values = text.substr(mark);
    const std::optional<Relation> relation = take_relation(values);
    if (!relation) return fail(bad_term(text, "no relation", "use one of = != >= <= > <"));
    term.relation_ = *relation;
  } else if (cells == nullptr) {
    return fail(bad_term(text, "it names no field", "write field=value"));
  }
  const bool ordered = term.relation_ != Relation::kEqual && term.relation_ != Relation::kNotEqual;
  if (filter_field_is_number(term.field_)) {
    for (const std::string& value : split_at(values, ',')) {
      const auto range = parse_range(term.field_, value);
      if (!range) return fail(bad_term(text, range.error().what, range.error().hint));
      term.ranges_.push_back(*range);
    }
    const bool one = term.ranges_.size() == 1 && term.ranges_[0].first == term.ranges_[0].second;
    if (ordered && !one) {
      return fail(bad_term(text, "several values cannot be compared so", "give one"));
    }
    return term;
  }
  if (ordered) return fail(bad_term(text, "this field is not a number", "use = or !="));
  const std::vector<std::string> known =
      cells == nullptr ? std::vector<std::string>{} : words_in(*cells, term.field_);
  for (const std::string& value : split_at(values, ',')) {
    const bool right = cells == nullptr
                           ? !value.empty()
                           : std::find(known.begin(), known.end(), value) != known.end();
    if (!right && cells == nullptr) return fail(bad_term(text, "a value is empty", ""));
    if (!right) {
      return fail(
          bad_term(text, fmt::format("no cell has {}", in_quotes(value)), hint_for(value, known)));
    }
    term.words_.push_back(value);
  }
  return term;
}

bool FilterTerm::number_holds(int64_t have) const {
  const bool listed = std::any_of(ranges_.begin(), ranges_.end(), [have](const auto& range) {
    return have >= range.first && have <= range.second;
  });
  if (relation_ == Relation::kEqual || relation_ == Relation::kNotEqual) {
    return listed == (relation_ == Relation::kEqual);
  }
  return stands_so(have, relation_, ranges_.front().first, ranges_.front().second);
}

bool FilterTerm::holds(const Cell& cell) const {
  if (const CellField* row = find_field(field_); row != nullptr && row->number != nullptr) {
    return number_holds(row->number(cell));
  }
  const auto named = [&](std::string_view word) {
    return std::find(words_.begin(), words_.end(), word) != words_.end();
  };
  bool equal = false;
  if (is_config(field_)) {
    const auto found = cell.params.find(field_.substr(kConfig.size()));
    equal = found != cell.params.end() && named(found->second);
  } else {
    const std::span<const CellField> all = FieldsOf<Cell>::all();
    equal = std::any_of(all.begin(), all.end(), [&](const CellField& row) {
      const bool asked = field_.empty() ? row.is_bare : field_ == row.words.name;
      return asked && row.word != nullptr && named(row.word(cell));
    });
  }
  return equal != (relation_ == Relation::kNotEqual);
}

}  // namespace plumbline
