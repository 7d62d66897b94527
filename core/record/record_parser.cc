#include "core/record/record_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/field_json.h"
#include "core/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMostKnownBytes = size_t{64} << 20;  // of environments; one of four hosts has 5 KB
constexpr int kDeepestEnvironment = 64;               // one has 6

// The library counts columns in what was cut out for it.
std::string short_reason(const std::exception& error) {
  std::string text = json_trouble(error);
  if (text.starts_with("no JSON at ")) text = "no JSON";
  return text;
}

// Every link must lie within the cell's world, and each ordered pair may be there once.
void check_links(const Record& record) {
  std::set<std::pair<int, int>> seen;
  for (const LinkResult& link : record.measurement.links) {
    if (std::max(link.from, link.to) >= record.cell.ranks) {
      refuse_field("link of a rank beyond cell.ranks");
    }
    if (!seen.insert({link.from, link.to}).second) refuse_field("the same link twice");
  }
}

// What is not there is null.
const json& member(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

// Compares a stored derived value with its recomputation; "" when they agree within 0.1 %.
std::string difference(const char* name, const json& stored, std::optional<double> computed) {
  if (stored.is_null() && !computed) return "";
  if (stored.is_number() && computed) {
    const auto value = stored.get<double>();
    if (std::abs(value - *computed) <= 1e-3 * std::max(std::abs(value), std::abs(*computed))) {
      return "";
    }
  }
  const bool plain = stored.is_number() || stored.is_null();
  return fmt::format("{} is {} in the file but {} by its samples", name,
                     plain ? stored.dump() : "no number",
                     computed ? fmt::format("{:.6g}", *computed) : "null");
}

void compare_derived(const json& object, const Record& record, std::vector<std::string>& warnings) {
  const json& time = member(object, "time_ns");
  for (const std::string& text :
       {difference("time_ns.p50", member(time, "p50"), record.time_ns.p50),
        difference("time_ns.p99", member(time, "p99"), record.time_ns.p99),
        difference("algbw_Bps", member(object, "algbw_Bps"), record.algbw_Bps),
        difference("busbw_Bps", member(object, "busbw_Bps"), record.busbw_Bps)}) {
    if (!text.empty()) warnings.push_back(fmt::format("cell {}: {}", cell_id(record), text));
  }
}

// Nested deeper than any environment: writing it out, for its hash, would follow.
bool is_deep(std::string_view line) {
  int depth = 0;
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\') {
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      if (++depth > kDeepestEnvironment) return true;
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return false;
}

// `text` with null for the words by which some writers say "no number" (NaN, Infinity, -inf ...;
// JSON has none of them); nullopt when there is none outside of strings.
std::optional<std::string> without_nonfinite(std::string_view text) {
  constexpr std::array<std::string_view, 4> kWords = {"nan", "inf", "infinity", "1.#inf"};
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '+' || c == '.' ||
           c == '#';
  };
  std::string out;
  bool found = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      at = std::min(at + 1, text.size());
    } else if (is_word(text[at])) {
      while (at < text.size() && is_word(text[at])) ++at;
      std::string word(text.substr(begin, at - begin));
      for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      if (word.front() == '-' || word.front() == '+') word.erase(0, 1);
      if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
        out += "null";
        found = true;
        continue;
      }
    } else {
      ++at;
    }
    out += text.substr(begin, at - begin);
  }
  if (!found) return std::nullopt;
  return out;
}

bool is_hash(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

void RecordParser::take_environment(const json& object, std::string_view line,
                                    std::vector<std::string>* warnings) {
  if (is_deep(line)) refuse_field("nested too deep");
  EnvironmentLine read;
  read_fields(object, read);
  if (!is_hash(read.hash)) refuse_field("hash: not 16 hexadecimal digits");
  const json& value = object.at("environment");
  if (hash_of_environment(value) != read.hash) {
    const std::string altered = "the environment was altered: its hash is another";
    if (strict_) refuse_field(altered);
    if (warnings != nullptr) warnings->push_back(altered);
  }
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  known_bytes_ += text.size();
  if (known_bytes_ > kMostKnownBytes) {
    known_.clear();
    known_bytes_ = text.size();
  }
  known_[read.hash] = std::move(text);
  record_.environment = std::move(read.environment);
  current_ = read.hash;
}

void RecordParser::read_environment(const json& value) {
  if (!value.is_string()) {
    current_.clear();
    FieldValue<Environment>::read(value, record_.environment);
    return;
  }
  const auto& hash = value.get_ref<const std::string&>();
  if (!hash.empty() && hash == current_) return;
  const auto known = known_.find(hash);
  if (known == known_.end()) {
    lacks_environment_ = true;
    refuse_field("no line above holds the environment " + in_quotes(hash));
  }
  current_.clear();
  FieldValue<Environment>::read(json::parse(known->second), record_.environment);
  current_ = hash;
}

void RecordParser::read_record(const json& object, std::vector<std::string>* warnings) {
  read_fields(object, record_);
  read_fields(object, record_.measurement);
  check_links(record_);
  read_environment(object.at("environment"));
  recompute(record_);
  if (warnings != nullptr) compare_derived(object, record_, *warnings);
}

Expected<const Record*> RecordParser::parse_json(std::string_view line,
                                                 std::vector<std::string>* warnings) {
  record_.schema = 0;
  lacks_environment_ = false;
  try {
    const json object = json::parse(line);
    if (!object.is_object()) refuse_field(std::string("no JSON object but ") + object.type_name());
    if (object.contains("schema")) get_field(object, "schema", record_.schema);
    if (record_.schema < 1) refuse_field("it has no schema");
    if (record_.schema > kRecordSchema && !newer_) {
      refuse_field(fmt::format("record has schema {}, this program reads {}", record_.schema,
                               kRecordSchema));
    }
    if (object.contains("hash") && !object.contains("cell")) {
      take_environment(object, line, warnings);
      return nullptr;
    }
    read_record(object, warnings);
    return &record_;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kConfig, "not a record: " + short_reason(error),
                record_.schema > kRecordSchema ? "use the version of plumbline that wrote it" : "");
  }
}

Expected<const Record*> RecordParser::parse(std::string_view line,
                                            std::vector<std::string>* warnings) {
  Expected<const Record*> record = parse_json(line, warnings);
  if (record || lacks_environment_) return record;
  const std::optional<std::string> repaired = without_nonfinite(line);
  if (!repaired) return record;
  Expected<const Record*> second = parse_json(*repaired, warnings);
  if (second && warnings != nullptr) {
    warnings->push_back("NaN or infinity, which are not JSON, are read as 'not known'");
  }
  return second;
}

}  // namespace plumbline
