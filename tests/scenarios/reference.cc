// The key table as Markdown: the reference part of docs/scenario_format.md.
#include <fmt/format.h>

#include <cmath>

#include "core/record/cell.h"
#include "core/units.h"
#include "scenarios/key_table.h"
#include "tests/scenarios/schema.h"

namespace plumbline::scenario_docs {
namespace {

std::string number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

std::string bytes(double value) { return format_bytes(static_cast<uint64_t>(value)); }

std::string words_text(const KeyRow& row) {
  const std::string_view words = row.words;
  if (words == "@algorithm" || words == "@transport" || words == "@engine" || words == "@probe" ||
      words == "@report") {
    const bool vowel = words[1] == 'a' || words[1] == 'e';
    return fmt::format("name of {} {}", vowel ? "an" : "a", words.substr(1));
  }
  std::string out;
  for (const std::string& word : accepted_words(row, {})) {
    out += (out.empty() ? "" : ", ") + fmt::format("`\"{}\"`", word);
  }
  return out;
}

std::string shapes_text(const KeyRow& row, unsigned mask) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", or ") + text; };
  if ((mask & kInt) != 0) {
    add(row.min == row.max
            ? "`" + number(row.min) + "`"
            : fmt::format("whole number {} to {}", number(row.min), number(row.max)));
  }
  if ((mask & kReal) != 0) {
    add(fmt::format("number {} to {}", number(row.min), number(row.max)));
  }
  if ((mask & kSize) != 0) add(fmt::format("size {} to {}", bytes(row.min), bytes(row.max)));
  if ((mask & kDuration) != 0) add("duration");
  if ((mask & kBool) != 0) add("`true` or `false`");
  if ((mask & kText) != 0) add(row.words == nullptr ? "text" : words_text(row));
  if ((mask & kScalar) != 0) add("text, number or boolean");
  if ((mask & kObject) != 0) add("object");
  if ((mask & kTexts) != 0) add("list of texts");
  if ((mask & kNull) != 0) add("`null`");
  return out;
}

std::string type_text(const KeyRow& row) {
  if (row.each == 0) return shapes_text(row, row.one);
  if (row.one == 0) return "list of: " + shapes_text(row, row.each);
  if (row.one == row.each) return shapes_text(row, row.one) + ", or a list of these";
  return shapes_text(row, row.one) + ", or a list of: " + shapes_text(row, row.each);
}

std::string default_text(const KeyRow& row) {
  if (row.required) return "required";
  const std::string text = row.fallback;
  if (text.empty()) return "";
  // Words about the default stand as they are, values as code.
  const bool words = text == "none" || text == "any" || text.find(' ') != std::string::npos;
  return words && text.front() != '{' ? text : "`" + text + "`";
}

}  // namespace

std::string help_of(const KeyRow& row) {
  if (*row.help != '\0') return row.help;
  std::string help;
  for (const CellKindRow& kind : cell_kind_table()) {
    if (kind.asked_for)
      help += fmt::format("{}`{}`: {}.", help.empty() ? "" : " ", kind.name, kind.help);
  }
  return help;
}

std::string scenario_reference_markdown() {
  std::string out = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const KeyRow& row : key_table()) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", row.path, type_text(row), default_text(row),
                       help_of(row));
  }
  out += "\nKnown keys that are refused:\n\n";
  for (const RefusedKeyRow& row : refused_key_table()) {
    out += fmt::format("- `{}` {}.\n", row.path, row.reason);
  }
  return out;
}

}  // namespace plumbline::scenario_docs
