// JSON of other tools: made strict in one pass that also bounds its depth and size, then parsed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/json.h"
#include "core/json_scan.h"
#include "core/json_trouble.h"
#include "core/lower_case.h"
#include "reports/import/foreign.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxValues = 4'000'000;  // of one object; bounds the memory of parsing it

// One object, cut out of the text and made strict.
struct Cut {
  std::string text;
  size_t end = 0;       // behind it
  bool whole = false;   // its brackets close
  std::string problem;  // why it was given up, in words
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Copies a string with its quotes.
size_t copy_string(std::string_view text, size_t at, std::string& out) {
  const size_t begin = at++;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  at = std::min(at + 1, text.size());
  out += text.substr(begin, at - begin);
  return at;
}

// A word outside of strings: a value that JSON has, one that it has not, or a name without quotes.
size_t copy_word(std::string_view text, size_t at, std::string& out) {
  const size_t begin = at;
  if (text[at] == '-' || text[at] == '+') ++at;
  while (at < text.size() && is_word(text[at])) ++at;
  std::string word(text.substr(begin, at - begin));
  size_t next = at;
  while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
  if (next < text.size() && text[next] == ':') {
    out += '"' + word + '"';
    return at;
  }
  std::string lower = lower_case(word);
  if (lower.front() == '-' || lower.front() == '+') lower.erase(0, 1);
  const bool no_number = lower == "nan" || lower == "inf" || lower == "infinity";
  out += no_number ? "null" : word;
  return at;
}

Cut cut_object(std::string_view text, size_t at) {
  Cut cut;
  size_t depth = 0, values = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = copy_string(text, at, cut.text);
      continue;
    }
    const bool sign = (c == '-' || c == '+') && at + 1 < text.size();
    if (is_digit(c) || (sign && is_digit(text[at + 1]))) {
      const size_t end = std::min(text.find_first_not_of("0123456789+-.eE", at), text.size());
      cut.text += text.substr(at, end - at);
      at = end;
      continue;
    }
    if (is_word(c) || (sign && is_word(text[at + 1]))) {
      at = copy_word(text, at, cut.text);
      continue;
    }
    cut.text += c;
    ++at;
    if (c == '{' || c == '[') ++depth;
    if (c == '{' || c == '[' || c == ',' || c == ':') ++values;
    if ((c == '}' || c == ']') && --depth == 0) {
      cut.whole = true;
      break;
    }
    if (depth > kMaxDepth) cut.problem = fmt::format("is nested deeper than {}", kMaxDepth);
    if (values > kMaxValues) cut.problem = fmt::format("has more than {} values", kMaxValues);
    if (!cut.problem.empty()) break;
  }
  cut.end = at;
  return cut;
}

size_t lines_in(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// "line 3, column 7: a comma is missing ...".
std::string parse_problem(const std::string& text, const json::exception& error) {
  const JsonScan scan = scan_json(text);
  if (!scan.broken) return json_trouble(error);
  const JsonFault& fault = scan.faults.back();
  return fmt::format("line {}, column {}: {}", fault.spot.line, fault.spot.column,
                     clean(fault.what));
}

Expected<json> parse_cut(const Cut& cut) {
  if (!cut.problem.empty()) return fail(ErrorCode::kConfig, "the JSON " + cut.problem);
  if (!cut.whole) {
    return fail(ErrorCode::kConfig, "the JSON that begins here is cut off",
                "was the tool stopped while writing?");
  }
  try {
    return json::parse(cut.text);
  } catch (const json::exception& error) {
    return fail(ErrorCode::kConfig,
                "broken JSON, counted from here: " + parse_problem(cut.text, error));
  }
}

}  // namespace

Status each_json(const ImportFile& file, ImportResult& out,
                 const std::function<Status(const json& object, size_t line)>& take) {
  const std::string_view text = file.text;
  size_t at = text.find('{');
  if (at == std::string_view::npos) return fail(ErrorCode::kConfig, file.path + ": no JSON object");
  if (text.substr(0, at).find_first_not_of(" \t\r\n\xEF\xBB\xBF") != std::string_view::npos) {
    out.notes.push_back(at_line(file, 1) + "text before the JSON is left out");
  }
  size_t line = 1 + lines_in(text.substr(0, at));
  for (bool first = true;; first = false) {
    const Cut cut = cut_object(text, at);
    Expected<json> object = parse_cut(cut);
    if (!object) {
      const std::string problem = at_line(file, line) + object.error().what;
      if (first) return fail(ErrorCode::kConfig, problem, object.error().hint);
      out.notes.push_back(problem + "; left out, with everything after it");
      return {};
    }
    if (Status taken = take(*object, line); !taken) return taken;
    line += lines_in(text.substr(at, cut.end - at));
    at = cut.end;
    const size_t next = std::min(text.find_first_not_of(", \t\r\n", at), text.size());
    line += lines_in(text.substr(at, next - at));
    at = next;
    if (at == text.size()) return {};
    if (text[at] != '{') {
      out.notes.push_back(at_line(file, line) + "text after the JSON is left out");
      return {};
    }
  }
}

const json* foreign_field(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<double> foreign_number(const json& object, const char* key) {
  const json* value = foreign_field(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<uint64_t> foreign_count(const json& object, const char* key) {
  const std::optional<double> value = foreign_number(object, key);
  constexpr double kMaxCount = 9007199254740992.0;  // 2^53
  if (!value || *value < 0 || *value > kMaxCount || *value != std::floor(*value)) return {};
  return static_cast<uint64_t>(*value);
}

std::string foreign_text(const json& object, const char* key) {
  const json* value = foreign_field(object, key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>().substr(0, 1000);
}

}  // namespace plumbline
