// A field as a column of text: what the CSV report shows. Heavy, as core/field_json.h.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/field_json.h"

namespace plumbline {

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
