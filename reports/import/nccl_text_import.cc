// The table that nccl-tests prints. Columns are found by the names of its header, so that tables
// with and without root, per-iteration columns or time stamps are read alike.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/import/foreign.h"
#include "reports/import/nccl_rows.h"

namespace plumbline {
namespace {

bool recognise(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return has("algbw") && has("busbw") && has("#") && has("(elements)");
}

// State of reading: what the preamble said, and the columns.
struct Table {
  NcclImportRow row;  // what all rows share
  std::vector<std::string> columns;
  int ranks_listed = 0;

  // The n-th column of this name; absent when there is none.
  std::optional<size_t> column(const char* name, int nth) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == name && nth-- == 0) return i;
    }
    return std::nullopt;
  }
};

void take_comment(std::string_view line, Table& table) {
  const std::string program = text_behind(line, "Collective test starting:");
  if (!program.empty()) table.row.op = program;
  const std::string version = text_behind(line, "nccl-tests version");
  if (!version.empty()) table.row.version = version.substr(0, version.find(' '));
  const std::string iterations = text_behind(line, " iters: ");
  if (!iterations.empty()) {
    // "warmup iters: 1 iters: 20": the second is the one that counts.
    const std::string second = text_behind(iterations, " iters: ");
    const std::string& text = second.empty() ? iterations : second;
    table.row.iterations = table_count(text.substr(0, text.find(' '))).value_or(0);
  }
  std::vector<std::string_view> words = table_words(line.substr(1));
  if (!words.empty() && words[0] == "Rank") ++table.ranks_listed;
  if (words.size() > 2 && words[0] == "size" && words[1] == "count") {
    table.columns.assign(words.begin(), words.end());
  }
}

std::optional<double> cell_number(const Table& table, const std::vector<std::string_view>& words,
                                  const char* name, int nth) {
  const std::optional<size_t> column = table.column(name, nth);
  if (!column || *column >= words.size()) return std::nullopt;
  return table_number(words[*column]);
}

std::string cell_text(const Table& table, const std::vector<std::string_view>& words,
                      const char* name) {
  const std::optional<size_t> column = table.column(name, 0);
  return column && *column < words.size() ? std::string(words[*column].substr(0, 64)) : "";
}

Status take_row(const ImportFile& file, const Table& table,
                const std::vector<std::string_view>& words, ImportResult& out) {
  NcclImportRow row = table.row;
  row.size = table_count(words[0]).value_or(0);
  row.count = table_count(words[1]).value_or(0);
  row.type = cell_text(table, words, "type");
  row.redop = cell_text(table, words, "redop");
  const double root = cell_number(table, words, "root", 0).value_or(-1);
  row.root = root >= 0 && root <= (1 << 20) ? static_cast<int>(root) : -1;
  for (int side = 0; side < 2; ++side) {
    row.in_place = side == 1;
    row.time_us = cell_number(table, words, "time", side);
    row.algbw = cell_number(table, words, "algbw", side);
    row.busbw = cell_number(table, words, "busbw", side);
    row.wrong = cell_number(table, words, "#wrong", side);
    if (!row.time_us) continue;
    // Of a small message the table's bandwidth is 0.00; its time has four digits.
    if (op_by_any_name(row.op) && row.ranks > 0) {
      row.algbw.reset();
      row.busbw.reset();
    }
    if (const Status added = add_nccl_row(file, row, out); !added) return added;
  }
  return {};
}

Status read(const ImportFile& file, ImportResult& out) {
  Table table;
  Status status;
  each_line(file.text, [&](size_t number, std::string_view line) {
    if (!status) return;
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return;
    if (line.front() == '#') return take_comment(line, table);
    if (table.columns.empty() || !table_count(words[0])) return;  // what a launcher says in between
    if (words.size() < table.columns.size()) {
      out.notes.push_back(at_line(file, number) +
                          fmt::format("a row with {} of {} columns is left out", words.size(),
                                      table.columns.size()));
      return;
    }
    if (table.row.op.empty()) table.row.op = file.assume.op;
    if (table.row.op.empty()) {
      status = fail(ErrorCode::kConfig,
                    at_line(file, number) + "the table does not say which operation it is of",
                    "say --assume op=allreduce, or whatever it was");
      return;
    }
    table.row.ranks = table.ranks_listed > 0 ? table.ranks_listed : file.assume.ranks.value_or(0);
    status = take_row(file, table, words, out);
  });
  if (status && table.ranks_listed == 0 && !file.assume.ranks && !out.records.empty()) {
    out.notes.push_back(file.path +
                        ": does not say how many ranks took part; say --assume ranks=N");
  }
  return status;
}

}  // namespace

ImportRow nccl_text_import() {
  return {{"nccl-tests", "the table of nccl-tests", {}, {}, ""}, recognise, read};
}

}  // namespace plumbline
