#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/options/options.h"
#include "core/text.h"
#include "core/units.h"

namespace plumbline {
namespace {

// What a row of the type kChoice or kNamed may be; empty = nobody has said.
std::vector<std::string> words_of(const OptionRow& row, const OptionChoices& choices) {
  if (row.choices != nullptr) return split_at(row.choices, '|');
  const auto handed = choices.find(row.name);
  return handed == choices.end() ? std::vector<std::string>() : handed->second;
}

// "256Ki" for 262144: the shortest exact spelling.
std::string spell_bytes(uint64_t bytes) {
  for (const auto& [unit, shift] : {std::pair{"Gi", 30}, {"Mi", 20}, {"Ki", 10}}) {
    const uint64_t factor = uint64_t{1} << shift;
    if (bytes >= factor && bytes % factor == 0) return fmt::format("{}{}", bytes / factor, unit);
  }
  return std::to_string(bytes);
}

std::string spell_limit(const OptionRow& row, double limit) {
  if (row.type == OptionType::kBytes) return spell_bytes(static_cast<uint64_t>(limit));
  return std::to_string(static_cast<int64_t>(limit));
}

// What a value of this row must look like.
std::string description(const OptionRow& row, const OptionChoices& choices) {
  const std::string range =
      row.min > row.max
          ? ""
          : fmt::format(" from {} to {}", spell_limit(row, row.min), spell_limit(row, row.max));
  switch (row.type) {
    case OptionType::kBool:
      return "on or off";
    case OptionType::kInt:
      return "a whole number" + range;
    case OptionType::kBytes:
      return fmt::format("a size{}, such as {}", range, row.default_value);
    case OptionType::kDurationMs:
      return fmt::format("a time in ms{}, or one with a unit such as 30s", range);
    case OptionType::kChoice:
    case OptionType::kNamed: {
      std::string list;
      for (const std::string& choice : words_of(row, choices)) {
        list += (list.empty() ? "" : ", ") + choice;
      }
      return list.empty() ? "one word" : "one of " + list;
    }
    case OptionType::kPort:
      return "a port" + range + ", or auto";
    case OptionType::kCount:
      return "a whole number" + range + ", or auto";
    case OptionType::kAddress:
      return "a numeric IPv4 or IPv6 address, or auto";
    case OptionType::kText:
      break;
  }
  return "text of one line";
}

bool in_range(const OptionRow& row, double value) {
  return row.min > row.max || (value >= row.min && value <= row.max);
}

std::optional<std::string> canonical_bool(const std::string& text) {
  for (const char* word : {"on", "true", "yes", "1"}) {
    if (text == word) return "on";
  }
  for (const char* word : {"off", "false", "no", "0"}) {
    if (text == word) return "off";
  }
  return std::nullopt;
}

std::optional<std::string> canonical_whole(const OptionRow& row, const std::string& text) {
  const auto value = parse_whole(text);
  if (!value || !in_range(row, static_cast<double>(*value))) return std::nullopt;
  return std::to_string(*value);
}

std::optional<std::string> canonical_bytes(const OptionRow& row, const std::string& text) {
  const auto value = parse_bytes(text);
  if (!value || !in_range(row, static_cast<double>(*value))) return std::nullopt;
  return spell_bytes(*value);
}

std::optional<std::string> canonical_ms(const OptionRow& row, const std::string& text) {
  if (auto plain = canonical_whole(row, text)) return plain;
  const auto ns = parse_duration(text);
  if (!ns || *ns % 1'000'000 != 0) return std::nullopt;
  return canonical_whole(row, std::to_string(*ns / 1'000'000));
}

std::optional<std::string> canonical_choice(const std::vector<std::string>& words,
                                            const std::string& text) {
  for (const std::string& word : words) {
    if (lower_case(word) == lower_case(text)) return word;
  }
  return std::nullopt;
}

// A name of a table that nobody has handed down.
std::optional<std::string> canonical_word(const std::string& text) {
  const bool word = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  constexpr size_t kLongest = 64;
  if (!word || text.empty() || text.size() > kLongest) return std::nullopt;
  return lower_case(text);
}

std::optional<std::string> canonical_address(const std::string& text) {
  if (lower_case(text) == "auto") return "auto";
  if (parse_ip(text)) return lower_case(text);
  const std::optional<Ip> zoned = parse_zoned_ip(text);
  return zoned && zoned->v6 ? std::optional(lower_case(text)) : std::nullopt;
}

// Free text goes into records, hashes and log lines: one line, no control characters.
std::optional<std::string> canonical_text(const std::string& text) {
  const bool printable = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!printable || text.size() > 4096) return std::nullopt;
  return text;
}

}  // namespace

std::optional<std::string> canonical_option(const OptionRow& row, const std::string& text,
                                            const OptionChoices& choices) {
  switch (row.type) {
    case OptionType::kBool:
      return canonical_bool(lower_case(text));
    case OptionType::kInt:
      return canonical_whole(row, text);
    case OptionType::kPort:
    case OptionType::kCount:
      return lower_case(text) == "auto" ? "auto" : canonical_whole(row, text);
    case OptionType::kBytes:
      return canonical_bytes(row, text);
    case OptionType::kDurationMs:
      return canonical_ms(row, text);
    case OptionType::kChoice:
      return canonical_choice(words_of(row, choices), text);
    case OptionType::kNamed: {
      const std::vector<std::string> words = words_of(row, choices);
      return words.empty() ? canonical_word(text) : canonical_choice(words, text);
    }
    case OptionType::kAddress:
      return canonical_address(text);
    case OptionType::kText:
      break;
  }
  return canonical_text(text);
}

std::string accepted_option(const OptionRow& row, const std::string& text,
                            const OptionChoices& choices) {
  if (row.type == OptionType::kBytes) {
    const auto parsed = parse_bytes(text);
    if (!parsed && !parsed.error().hint.empty()) return parsed.error().hint;
  }
  return "give " + description(row, choices);
}

bool is_whole_number(OptionType type) {
  return type == OptionType::kInt || type == OptionType::kBytes ||
         type == OptionType::kDurationMs || type == OptionType::kPort || type == OptionType::kCount;
}

int64_t option_integer(const OptionRow& row, const std::string& value) {
  if (row.type == OptionType::kBytes) return static_cast<int64_t>(parse_bytes(value).value_or(0));
  return parse_whole(value).value_or(0);
}

}  // namespace plumbline
