// The table that perftest prints. Column names hold blanks, so they are found by their beginning,
// and the unit of bandwidths stands behind in brackets.
#include <fmt/format.h>

#include <algorithm>

#include "reports/import/foreign.h"
#include "reports/import/perftest_rows.h"

namespace plumbline {
namespace {

bool is_perftest_text(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return has("#bytes") && has("#iterations") &&
         (has("BW average[") || has("t_typical[") || has("t_avg["));
}

struct ColumnName {
  const char* begins;
  std::optional<double> PerftestRow::*field;
};
constexpr ColumnName kColumns[] = {
    {"#sl", nullptr},
    {"BW peak[", &PerftestRow::peak_Bps},
    {"BW average[", &PerftestRow::average_Bps},
    {"MsgRate[", &PerftestRow::message_rate},
    {"t_min[", &PerftestRow::min_us},
    {"t_max[", &PerftestRow::max_us},
    {"t_typical[", &PerftestRow::typical_us},
    {"t_avg[", &PerftestRow::mean_us},
    {"t_stdev[", nullptr},
    {"99% percentile[", &PerftestRow::p99_us},
    {"99.9% percentile[", &PerftestRow::p999_us},
    {"tps average", nullptr},
};

struct PerftestTable {
  PerftestRow row;  // what the preamble said
  std::vector<std::optional<double> PerftestRow::*> columns;
  double unit = 0;
  size_t iterations_column = 1;
};

// False when the unit of its bandwidths is none that perftest has.
bool take_header(std::string_view line, PerftestTable& table) {
  std::vector<std::pair<size_t, const ColumnName*>> found;
  for (const ColumnName& name : kColumns) {
    size_t at = line.find(name.begins);
    // "99% percentile[" does not mean the end of "99.9% percentile[".
    while (at != std::string_view::npos && at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t') {
      at = line.find(name.begins, at + 1);
    }
    if (at != std::string_view::npos) found.emplace_back(at, &name);
  }
  std::sort(found.begin(), found.end());
  table.columns.clear();
  table.iterations_column = 1;
  const size_t iterations = line.find("#iterations");
  for (const auto& [at, name] : found) {
    if (at < iterations) ++table.iterations_column;  // #sl stands before it
    table.columns.push_back(name->field);
  }
  const std::string unit = text_behind(line, "BW average[");
  if (unit.empty()) return true;
  const std::optional<double> known = perftest_unit(unit.substr(0, unit.find(']')));
  table.unit = known.value_or(0);
  return known.has_value();
}

void take_preamble(std::string_view line, PerftestTable& table) {
  constexpr std::pair<const char*, const char*> kParams[] = {
      {"Device         :", "device"}, {"Connection type :", "connection"}, {"Link type", "link"}};
  const size_t test = line.rfind(" Test");
  if (test != std::string_view::npos && line.find(':') == std::string_view::npos) {
    table.row = {};
    table.columns.clear();
    table.row.test = text_behind(line, "");
  }
  for (const auto& [key, name] : kParams) {
    std::string value = text_behind(line, key);
    if (!value.empty() && value.front() == ':') value = text_behind(value, ":");
    const std::vector<std::string_view> words = table_words(value);
    if (!words.empty()) table.row.params.emplace_back(name, std::string(words.front()));
  }
}

Status take_perftest_row(const ImportFile& file, size_t number, const PerftestTable& table,
                         const std::vector<std::string_view>& words, ImportResult& out) {
  if (words.size() < table.columns.size() + 2) {
    out.notes.push_back(at_line(file, number) +
                        fmt::format("a row with {} of {} columns is left out", words.size(),
                                    table.columns.size() + 2));
    return {};
  }
  PerftestRow row = table.row;
  row.bytes = *table_count(words[0]);
  row.iterations = table_count(words[table.iterations_column]).value_or(0);
  size_t word = 1;
  for (const auto field : table.columns) {
    if (word == table.iterations_column) ++word;
    const std::optional<double> value = table_number(words[word++]);
    if (field != nullptr && value && *value >= 0) row.*field = value;
  }
  if (row.average_Bps) *row.average_Bps *= table.unit;
  if (row.peak_Bps) *row.peak_Bps *= table.unit;
  return add_perftest_row(file, row, out);
}

Status read_perftest_text(const ImportFile& file, ImportResult& out) {
  PerftestTable table;
  Status status;
  each_line(file.text, [&](size_t number, std::string_view line) {
    if (!status) return;
    if (line.find("#bytes") != std::string_view::npos) {
      if (!take_header(line, table)) {
        status = fail(ErrorCode::kConfig, at_line(file, number) + "unknown unit of bandwidth",
                      "perftest prints MB/sec, MiB/sec or Gb/sec");
      }
      return;
    }
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return;
    if (table.columns.empty() || !table_count(words[0])) return take_preamble(line, table);
    status = take_perftest_row(file, number, table, words, out);
  });
  return status;
}

}  // namespace

ImportRow perftest_text_import() {
  return {{"perftest", "the table of perftest (ib_write_bw, ib_send_lat ...)", {}, {}, ""},
          is_perftest_text,
          read_perftest_text};
}

}  // namespace plumbline
