#include "reports/import/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/error.h"
#include "core/json.h"
#include "core/json_scan.h"
#include "core/number.h"
#include "core/text.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr uint64_t kBandwidthFrom = 64 << 10;

std::optional<uint64_t> whole(std::optional<double> value) {
  constexpr double kMost = 9007199254740992.0;  // 2^53: whole numbers that a double holds
  if (!value || *value < 0 || *value > kMost || *value != std::floor(*value)) return {};
  return static_cast<uint64_t>(*value);
}

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const int letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0) out += lower_case(c);
  }
  return out;
}

// JSON of other tools is made strict in one pass that also bounds its depth and size, then parsed.
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

std::string at_line(const ImportFile& file, size_t line) {
  return fmt::format("{}:{}: ", file.path, line);
}

void add_note(const ImportFile& file, size_t line, const std::string& text, ImportResult& out) {
  out.notes.push_back(at_line(file, line) + text);
}

bool has_all(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::all_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [text](std::string_view word) { return has_all(text, {word}); });
}

Status each_line(std::string_view text,
                 const std::function<Status(size_t number, std::string_view line)>& take) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (Status taken = take(++number, line); !taken) return taken;
    begin = end + 1;
  }
  return {};
}

std::vector<std::string_view> table_words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r\v\f";
  constexpr size_t kMaxWords = 256;  // no table has as many columns
  for (size_t begin = line.find_first_not_of(kBlanks);
       begin != std::string_view::npos && words.size() < kMaxWords;
       begin = line.find_first_not_of(kBlanks, begin)) {
    const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::optional<double> table_number(std::string_view word) {
  constexpr size_t kLongest = 64;
  return word.size() > kLongest ? std::nullopt : parse_decimal(word);
}

std::optional<uint64_t> table_count(std::string_view word) { return whole(table_number(word)); }

bool has_all_columns(const ImportFile& file, size_t line,
                     const std::vector<std::string_view>& words, size_t columns,
                     ImportResult& out) {
  if (words.size() >= columns) return true;
  add_note(file, line,
           fmt::format("a row with {} of {} columns is left out", words.size(), columns), out);
  return false;
}

std::string text_behind(std::string_view line, std::string_view key) {
  const size_t found = line.find(key);
  if (found == std::string_view::npos) return {};
  std::string_view rest = line.substr(found + key.size());
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.front())) != 0) {
    rest.remove_prefix(1);
  }
  while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest.back())) != 0) {
    rest.remove_suffix(1);
  }
  return std::string(rest.substr(0, 1000));
}

Record imported_record(const char* tool, const std::string& version) {
  Record record;
  record.cell.engine = tool;
  record.cell.redop = "none";
  record.cell.dtype = "u8";
  record.cell.sync = "none";
  record.cell.cache = "hot";
  record.measurement.reported.emplace();
  record.measurement.reported->tool = tool;
  record.measurement.reported->version = clean(version);
  return record;
}

std::optional<Op> op_by_any_name(std::string_view name) {
  std::string wanted = letters_of(name);
  if (wanted.size() > 4 && wanted.compare(wanted.size() - 4, 4, "perf") == 0) {
    wanted.resize(wanted.size() - 4);
  }
  if (wanted == "bcast") wanted = "broadcast";
  for (const OpRow& row : op_table()) {
    if (letters_of(row.name) == wanted) return row.op;
  }
  return std::nullopt;
}

void set_op(std::string_view name, Record& record) {
  Cell& cell = record.cell;
  if (const std::optional<Op> op = op_by_any_name(name)) {
    const OpRow& known = row(*op);
    cell.op = known.name;
    cell.redop = known.reduces ? "sum" : "none";
    cell.root = known.rooted ? 0 : -1;
    return;
  }
  cell.op.clear();
  for (const char c : clean(name.substr(0, 100))) {
    const int letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      cell.op += lower_case(c);
    } else if (!cell.op.empty() && cell.op.back() != '_') {
      cell.op += '_';
    }
  }
  while (!cell.op.empty() && cell.op.back() == '_') cell.op.pop_back();
  if (cell.op.empty()) cell.op = "unnamed";
}

uint64_t whole_bytes(const Cell& cell, uint64_t bytes_of_rank) {
  const std::optional<Op> op = op_from(cell.op);
  const bool spans = op && row(*op).per_rank_share && *op != Op::kReduceScatter;
  const auto ranks = static_cast<uint64_t>(std::max(cell.ranks, 1));
  if (!spans || bytes_of_rank > UINT64_MAX / ranks) return bytes_of_rank;
  return bytes_of_rank * ranks;
}

CellKind kind_by_size(uint64_t bytes) {
  return bytes < kBandwidthFrom ? CellKind::kLatency : CellKind::kBandwidth;
}

void set_bytes(uint64_t bytes, Record& record) {
  record.cell.bytes = bytes;
  const std::optional<DType> type = dtype_from(record.cell.dtype);
  record.cell.count = type ? bytes / size_of(*type) : bytes;
  const std::optional<Op> op = op_from(record.cell.op);
  if (op && row(*op).per_rank_share && record.cell.ranks > 0) {
    record.cell.count /= static_cast<uint64_t>(record.cell.ranks);
  }
}

Status add_record(const ImportFile& file, Record record, ImportResult& out) {
  if (out.records.size() >= kMaxImportRecords) {
    return fail(ErrorCode::kConfig,
                fmt::format("{}: more than {} results in one file", file.path, kMaxImportRecords),
                "cut it into files of one run each");
  }
  out.records.push_back(std::move(record));
  return {};
}

Status each_json(const ImportFile& file, ImportResult& out,
                 const std::function<Status(const json& object, size_t line)>& take) {
  const std::string_view text = file.text;
  size_t at = text.find('{');
  if (at == std::string_view::npos) return fail(ErrorCode::kConfig, file.path + ": no JSON object");
  if (text.substr(0, at).find_first_not_of(" \t\r\n\xEF\xBB\xBF") != std::string_view::npos) {
    add_note(file, 1, "text before the JSON is left out", out);
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
      add_note(file, line, "text after the JSON is left out", out);
      return {};
    }
  }
}

const json* foreign_field(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

const json& foreign_list(const json& object, const char* key) {
  static const json kNone = json::array();
  const json* value = foreign_field(object, key);
  return value != nullptr && value->is_array() ? *value : kNone;
}

std::optional<double> foreign_number(const json& object, const char* key) {
  const json* value = foreign_field(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const auto number = value->get<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<uint64_t> foreign_count(const json& object, const char* key) {
  return whole(foreign_number(object, key));
}

std::string foreign_text(const json& object, const char* key) {
  const json* value = foreign_field(object, key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>().substr(0, 1000);
}

}  // namespace plumbline
