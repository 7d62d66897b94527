// The table that nccl-tests prints, and `plumbline coll` as it does. Columns are found by the names
// of its header, so that tables with and without root, per-iteration columns or time stamps are
// read alike. Lines may stand behind a launcher's mark: each process has a table of its own then.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/number.h"
#include "core/record/cell.h"
#include "core/split.h"
#include "reports/export/nccl.h"
#include "reports/import/foreign.h"
#include "reports/import/nccl_import.h"

namespace plumbline {
namespace {

bool is_nccl_text(std::string_view start) {
  // With very many ranks the header of the columns comes later.
  return has_all(start, {"algbw", "busbw", "#", "(elements)"}) ||
         has_all(start, {"# Collective test starting: "});
}

constexpr std::string_view kDigits = "0123456789";

// How many digits stand here.
size_t digits_at(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
  return at < text.size() ? end - at : 0;
}

// The length of "0:", with or without a blank behind it, right-aligned with blanks.
size_t number_and_colon(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t colon = begin + digits_at(line, begin);
  if (colon == begin || colon >= line.size() || line[colon] != ':') return 0;
  if (colon + 1 == line.size()) return line.size();
  return line[colon + 1] == ' ' ? colon + 2 : 0;
}

// The length of "[1,0]<stdout>:" or "[job@1,0]<stderr>: ", a blank behind it included.
size_t tag(std::string_view line) {
  const size_t close = line.find("]<");
  if (line.empty() || line[0] != '[' || close == std::string_view::npos) return 0;
  const size_t comma = line.substr(0, close).rfind(',');
  if (comma == std::string_view::npos || digits_at(line, comma + 1) != close - comma - 1) return 0;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", "<stddiag>:"}) {
    const size_t end = close + 1 + stream.size();
    if (line.substr(close + 1, stream.size()) != stream) continue;
    return end < line.size() && line[end] == ' ' ? end + 1 : end;
  }
  return 0;
}

// The length of "[0] ".
size_t number_in_brackets(std::string_view line) {
  if (line.empty() || line[0] != '[') return 0;
  const size_t close = 1 + digits_at(line, 1);
  if (close == 1 || close >= line.size() || line[close] != ']') return 0;
  if (close + 1 == line.size()) return line.size();
  return line[close + 1] == ' ' ? close + 2 : 0;
}

// The mark that a launcher puts before every line of its processes: "0: " (srun --label),
// "[1,0]<stdout>:" (mpirun --tag-output of Open MPI, whose version 5 may name the job before the
// comma), "[0] " (mpiexec -l of MPICH and Intel MPI). Takes it off the line and returns it, which
// is the same for all lines of one process and one stream; empty when there is none.
std::string_view take_launcher_label(std::string_view& line) {
  for (const auto form : {number_and_colon, tag, number_in_brackets}) {
    const size_t length = form(line);
    if (length == 0) continue;
    std::string_view label = line.substr(0, length);
    line.remove_prefix(length);
    while (!label.empty() && label.back() == ' ') label.remove_suffix(1);
    return label;
  }
  return {};
}

// State of reading: what the preamble said, and the columns.
struct NcclTextTable {
  NcclImportRow row;  // what all rows share
  std::vector<std::string> columns;
  int ranks_listed = 0;
  size_t rows = 0;

  // The n-th column of this name; absent when there is none.
  std::optional<size_t> column(const char* name, int nth) const {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == name && nth-- == 0) return i;
    }
    return std::nullopt;
  }
};

// "# plumbline 1.0 algorithm ring transport tcp": a table of ours.
void take_ours(const std::string& about, NcclTextTable& table) {
  const std::vector<std::string_view> words = table_words(about);
  if (words.empty()) return;
  table.row.version = "as written by plumbline " + std::string(words[0].substr(0, 64));
  for (size_t i = 1; i + 1 < words.size(); i += 2) {
    const std::string value(words[i + 1].substr(0, 64));
    if (words[i] == "algorithm") table.row.algorithm = value;
    if (words[i] == "transport") table.row.transport = value;
    if (words[i] == "compression") table.row.compression = value;
    if (words[i] == "split" && parse_split(value)) table.row.split = value;
  }
}

// A number that no table of ours has is that of an ordinary row.
int arrays_in(std::string_view word) { return parse_whole(word, 1, kMostArrays).value_or(1); }

void take_comment(std::string_view line, NcclTextTable& table) {
  constexpr std::string_view kOurs = "# plumbline ";
  if (line.substr(0, kOurs.size()) == kOurs) {
    return take_ours(std::string(line.substr(kOurs.size())), table);
  }
  std::vector<std::string_view> words = table_words(line.substr(1));
  if (words.size() == 2 && words[0] == kNcclArrays) table.row.arrays = arrays_in(words[1]);
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
  if (!words.empty() && words[0] == "Rank") ++table.ranks_listed;
  if (words.size() > 2 && words[0] == "size" && words[1] == "count") {
    table.columns.assign(words.begin(), words.end());
  }
}

std::optional<double> cell_number(const NcclTextTable& table,
                                  const std::vector<std::string_view>& words, const char* name,
                                  int nth) {
  const std::optional<size_t> column = table.column(name, nth);
  if (!column || *column >= words.size()) return std::nullopt;
  return table_number(words[*column]);
}

std::string cell_text(const NcclTextTable& table, const std::vector<std::string_view>& words,
                      const char* name) {
  const std::optional<size_t> column = table.column(name, 0);
  return column && *column < words.size() ? std::string(words[*column].substr(0, 64)) : "";
}

Status take_row(const ImportFile& file, const NcclTextTable& table,
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

constexpr size_t kMaxTables = 1 << 16;  // more marks than that are no processes

NcclTextTable& table_of(std::string_view label,
                        std::map<std::string, NcclTextTable, std::less<>>& tables) {
  const auto found = tables.find(label);
  if (found != tables.end()) return found->second;
  return tables[tables.size() < kMaxTables ? std::string(label) : std::string()];
}

void say_what_is_odd(const ImportFile& file,
                     const std::map<std::string, NcclTextTable, std::less<>>& tables,
                     ImportResult& out) {
  size_t with_rows = 0;
  bool ranks = true;
  for (const auto& [label, table] : tables) {
    if (table.rows == 0) continue;
    ++with_rows;
    ranks = ranks && table.ranks_listed > 0;
  }
  if (with_rows > 1) {
    out.notes.push_back(fmt::format(
        "{}: {} processes printed a table each, and every one is read: without MPI built in, each "
        "measures alone",
        file.path, with_rows));
  }
  if (!ranks && !file.assume.ranks) {
    out.notes.push_back(file.path +
                        ": does not say how many ranks took part; say --assume ranks=N");
  }
}

Status read_nccl_text(const ImportFile& file, ImportResult& out) {
  std::map<std::string, NcclTextTable, std::less<>> tables;  // by the launcher's mark
  const Status status = each_line(file.text, [&](size_t number, std::string_view line) -> Status {
    NcclTextTable& table = table_of(take_launcher_label(line), tables);
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return {};
    if (line.front() == '#') {
      take_comment(line, table);
      return {};
    }
    // What a launcher says in between.
    if (table.columns.empty() || !table_count(words[0])) return {};
    if (!has_all_columns(file, number, words, table.columns.size(), out)) return {};
    if (table.row.op.empty()) table.row.op = file.assume.op;
    if (table.row.op.empty()) {
      return fail(ErrorCode::kConfig,
                  at_line(file, number) + "the table does not say which operation it is of",
                  "say --assume op=allreduce, or whatever it was");
    }
    table.row.ranks = table.ranks_listed > 0 ? table.ranks_listed : file.assume.ranks.value_or(0);
    ++table.rows;
    return take_row(file, table, words, out);
  });
  if (status) say_what_is_odd(file, tables, out);
  return status;
}

}  // namespace

ImportRow nccl_text_import() {
  return {{"nccl-tests", "the table of nccl-tests"}, is_nccl_text, read_nccl_text};
}

}  // namespace plumbline
