#include "reports/import/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/lower_case.h"
#include "core/number.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr double kMaxCount = 9007199254740992.0;  // 2^53: whole numbers that a double holds
constexpr uint64_t kBandwidthFrom = 64 << 10;

std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const int letter = static_cast<unsigned char>(c);
    if (std::isalpha(letter) != 0) out += lower_case(c);
  }
  return out;
}

}  // namespace

std::string at_line(const ImportFile& file, size_t line) {
  return fmt::format("{}:{}: ", file.path, line);
}

void each_line(std::string_view text,
               const std::function<void(size_t number, std::string_view line)>& take) {
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    take(++number, line);
    begin = end + 1;
  }
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

std::optional<uint64_t> table_count(std::string_view word) {
  const std::optional<double> value = table_number(word);
  if (!value || *value < 0 || *value > kMaxCount || *value != std::floor(*value)) return {};
  return static_cast<uint64_t>(*value);
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

}  // namespace plumbline
