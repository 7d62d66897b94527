// Options of the data path as JSON Schema.
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/number.h"
#include "scenarios/read.h"
#include "tests/scenarios/schema_rules.h"

namespace plumbline::scenario_docs {
namespace {

// "tcp" -> "[tT][cC][pP]": options are read without regard to case.
std::string in_any_case(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0) {
      out += {'[', static_cast<char>(std::tolower(letter)), static_cast<char>(std::toupper(letter)),
              ']'};
    } else {
      out += std::isalnum(letter) != 0 || c == '_' ? std::string(1, c) : std::string("\\") + c;
    }
  }
  return out;
}

std::string one_of_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "^(" : "|") + in_any_case(word);
  return out + ")$";
}

Json text_like(const std::string& pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

// A number as such, within the row's bounds. They hold for text too, but no pattern compares.
Json number_of(const OptionRow& row, const char* type) {
  Json schema = {{"type", type}};
  if (row.min > row.max) return schema;
  schema["minimum"] = static_cast<int64_t>(row.min);
  if (static_cast<double>(static_cast<int64_t>(row.min)) != row.min) schema["minimum"] = row.min;
  schema["maximum"] = static_cast<int64_t>(row.max);
  if (static_cast<double>(static_cast<int64_t>(row.max)) != row.max) schema["maximum"] = row.max;
  return schema;
}

Json either(std::vector<Json> choices) { return Json::object({{"anyOf", std::move(choices)}}); }

// Without the first and the last sign of a pattern.
std::string inner(const char* pattern) {
  const std::string_view text = pattern;
  return std::string(text.substr(1, text.size() - 2));
}

// Of the words that may stand as such in JSON: on and off are true and false, digits numbers.
Json choice_schema(const std::vector<std::string>& words) {
  Json bare = Json::array();
  for (const std::string& word : words) {
    const std::string spelled = in_any_case(word);
    for (const bool on : {true, false}) {
      if (spelled == in_any_case(on ? "on" : "off")) bare.push_back(on);
    }
    if (const auto number = parse_whole<int>(word)) bare.push_back(*number);
  }
  const Json text = text_like(one_of_words(words));
  return bare.empty() ? text : either({text, {{"enum", bare}}});
}

std::vector<std::string> words_of_row(const OptionRow& row) {
  std::vector<std::string> words;
  for (std::string_view rest = row.choices; !rest.empty();) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    words.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return words;
}

Json value_schema(const OptionRow& row, const OptionChoices& named) {
  constexpr const char* kWhole = "-?[0-9]+";
  switch (row.type) {
    case OptionType::kBool:
      return either(
          {{{"type", "boolean"}},
           {{"type", "integer"}, {"minimum", 0}, {"maximum", 1}},
           text_like(one_of_words({"on", "true", "yes", "1", "off", "false", "no", "0"}))});
    case OptionType::kInt:
      return either({number_of(row, "integer"), text_like(std::string("^") + kWhole + "$")});
    case OptionType::kPort:
    case OptionType::kCount:
      return either({number_of(row, "integer"),
                     text_like(std::string("^(") + kWhole + "|" + in_any_case("auto") + ")$")});
    case OptionType::kBytes:
      return either({number_of(row, "integer"), text_like(kSizePattern)});
    case OptionType::kDurationMs:
      return either({number_of(row, "integer"),
                     text_like(std::string("^(") + kWhole + "|" + inner(kDurationPattern) + ")$")});
    case OptionType::kChoice:
      return choice_schema(words_of_row(row));
    case OptionType::kNamed: {
      const auto words = named.find(row.name);
      if (words != named.end()) return choice_schema(words->second);
      return text_like("^[A-Za-z0-9_-]+$");  // nobody has said which there are
    }
    case OptionType::kAddress:
      return text_like("^(" + in_any_case("auto") + "|[0-9A-Fa-f:.]+(%.*)?)$");
    case OptionType::kText:
      break;
  }
  return {{"type", {"string", "number", "boolean"}}, {"maxLength", 4096}};
}

}  // namespace

Json option_schemas(bool of_block, const Vocabulary& vocabulary) {
  const OptionChoices named = option_choices(vocabulary);
  Json out = Json::object();
  for (const OptionRow& row : option_table()) {
    if (row.refused != nullptr || !option_place(row.name, of_block).empty()) continue;
    out[row.name] = value_schema(row, named);
  }
  return out;
}

}  // namespace plumbline::scenario_docs
