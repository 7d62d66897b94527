// Tables of the Intel MPI Benchmarks: blocks "# Benchmarking X", "# #processes = N" and a line of
// column names. The time taken is t_max, the mean over repetitions of the slowest rank, or the only
// one there is. PingPong's is half a round trip and is doubled. "Mbytes/sec" is not read: it is
// 2^20 bytes in old versions, 10^6 in new ones, and does not say which. Uniband and Biband print no
// time: their rate is messages per second times bytes, a sum over pairs and, of Biband, directions.
// With -multi blocks are "Multi-X" of several groups at once; -multi 1 has a row for each.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/import/foreign.h"

namespace plumbline {
namespace {

bool is_imb(std::string_view start) {
  return has_all(start, {"# Benchmarking "}) &&
         has_any(start, {"# #processes", "processes each running simultaneous"});
}

struct Block {
  std::string name, version;
  int ranks = 0, groups = 1;
  std::vector<std::string> columns;
  bool said = false;  // what of it is left out
};

int small_count(const std::string& text) {
  const auto count = table_count(text.substr(0, text.find(' ')));
  return count && *count <= (1 << 20) ? static_cast<int>(*count) : 0;
}

bool take_comment(std::string_view line, Block& block) {
  const std::string name = text_behind(line, "# Benchmarking ");
  if (!name.empty()) {
    constexpr std::string_view kMulti = "Multi-";
    block.name = name.rfind(kMulti, 0) == 0 ? name.substr(kMulti.size()) : name;
    block.columns.clear();
    block.ranks = 0;
    block.groups = 1;
    block.said = false;
    return true;
  }
  // "# ( 2 groups of 4 processes each running simultaneous )"
  const std::string group_size = text_behind(line, " groups of ");
  if (!group_size.empty() && group_size.find("running simultaneous") != std::string::npos) {
    block.groups = std::max(1, small_count(text_behind(line, "# ( ")));
    block.ranks = small_count(group_size);
    return true;
  }
  const std::string processes = text_behind(line, "#processes =");
  if (!processes.empty()) {
    // "4", or "4; rank order (rowwise): "
    block.ranks = small_count(processes.substr(0, processes.find(';')));
    return true;
  }
  const std::string version = text_behind(line, "MPI Benchmarks ");
  if (!version.empty()) block.version = version.substr(0, version.find(','));
  return line.front() == '#' && !has_any(line, {"t_max[usec]", "t[usec]", "Msg/sec"});
}

// Once in each block.
void leave_out(const ImportFile& file, size_t line, const std::string& what, Block& block,
               ImportResult& out) {
  if (!std::exchange(block.said, true)) add_note(file, line, what, out);
}

// Uniband and Biband: half of the processes send to the other half, all pairs at once.
struct PairsRow {
  const char *name, *op;
  int directions;
};
constexpr PairsRow kPairs[] = {{"Uniband", "stream", 1}, {"Biband", "bidirectional", 2}};

const PairsRow* pairs_row(const Block& block) {
  for (const PairsRow& row : kPairs) {
    if (block.name == row.name) return &row;
  }
  return nullptr;
}

// The rate of one pair and direction, from messages a second of all.
void take_rate(const PairsRow& row, double messages_per_s, int pairs, Record& record) {
  Cell& cell = record.cell;
  Measurement& m = record.measurement;
  Reported& told = *m.reported;
  const double each = messages_per_s / pairs / row.directions;
  m.extra["messages_per_s"] = messages_per_s;
  told.algbw_Bps = each * static_cast<double>(cell.bytes);
  told.statistic = "mean";
  if (pairs > 1) cell.params["pairs"] = fmt::format("{}", pairs);
  told.note = "a window of messages in flight";
  if (pairs > 1 || row.directions > 1) {
    told.note += fmt::format("; printed as the sum of {}, here of one",
                             pairs == 1            ? "both directions"
                             : row.directions == 1 ? "all pairs"
                                                   : "all pairs and both directions");
  }
}

// ": time-out.", as IMB says it where numbers would stand.
std::string why_not(const std::vector<std::string_view>& words) {
  for (const std::string_view reason : {"out-of-mem.;", "int-overflow.;", "time-out.;"}) {
    if (std::find(words.begin(), words.end(), reason) == words.end()) continue;
    return fmt::format(" ({})", reason.substr(0, reason.size() - 2));
  }
  return {};
}

Status take_row(const ImportFile& file, size_t line, Block& block,
                const std::vector<std::string_view>& words, ImportResult& out) {
  Record record = imported_record("imb", block.version);
  Cell& cell = record.cell;
  Measurement& m = record.measurement;
  const PairsRow* pairs = pairs_row(block);
  set_op(pairs != nullptr ? pairs->op : block.name, record);
  cell.transport = "mpi";
  cell.ranks = block.ranks;
  if (block.groups > 1) cell.params["groups"] = fmt::format("{}", block.groups);
  if (const auto op = op_from(cell.op); op && row(*op).reduces) cell.dtype = "f32";
  const bool half = cell.op == "pingpong";
  std::optional<double> only, slowest, messages;
  for (size_t i = 0; i < std::min(block.columns.size(), words.size()); ++i) {
    const std::string& column = block.columns[i];
    const std::optional<double> value = table_number(words[i]);
    if (!value || *value < 0) continue;
    if (column == "#bytes") cell.bytes = whole_bytes(cell, table_count(words[i]).value_or(0));
    if (column == "#repetitions") m.iterations = table_count(words[i]).value_or(0);
    if (column == "t[usec]") only = value;
    if (column == "t_max[usec]") slowest = value;
    if (column == "Msg/sec") messages = value;
    if (column == "Group") cell.params["group"] = std::string(words[i].substr(0, 16));
    if (column == "t_min[usec]") m.extra["fastest_rank_mean_ns"] = *value * 1e3;
    if (column == "t_avg[usec]") m.extra["mean_over_ranks_ns"] = *value * 1e3;
  }
  Reported& told = *m.reported;
  if (slowest || only) told.time_ns = (slowest ? *slowest : *only) * 1e3 * (half ? 2 : 1);
  if (pairs != nullptr && messages && cell.bytes == 0) {
    leave_out(file, line, "messages without bytes have no bandwidth; the row is left out", block,
              out);
    return {};
  }
  if (pairs != nullptr && messages)
    take_rate(*pairs, *messages, std::max(1, block.ranks / 2), record);
  if (!told.time_ns && !told.algbw_Bps) {
    leave_out(file, line, "a row without t and t_max is left out" + why_not(words), block, out);
    return {};
  }
  if (told.time_ns) told.statistic = slowest ? "mean of the slowest rank" : "mean";
  if (half) told.note = "printed as half a round trip, doubled here";
  if (block.groups > 1) {
    told.note += fmt::format("{}{} groups at once{}", told.note.empty() ? "" : "; ", block.groups,
                             cell.params.count("group") > 0 ? "" : ", the slowest of all");
  }
  set_bytes(cell.bytes, record);
  cell.kind = pairs != nullptr ? CellKind::kBandwidth
              : half           ? CellKind::kLatency
                               : kind_by_size(cell.bytes);
  return add_record(file, std::move(record), out);
}

Status read_imb(const ImportFile& file, ImportResult& out) {
  Block block;
  return each_line(file.text, [&](size_t number, std::string_view line) -> Status {
    if (line.empty() || (line.front() == '#' && take_comment(line, block))) return {};
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return {};
    const std::string_view first = words[0] == "Group" && words.size() > 1 ? words[1] : words[0];
    const bool header = first == "#bytes" || first == "t_min[usec]" || first == "#repetitions";
    if (header) {
      block.columns.assign(words.begin(), words.end());
      return {};
    }
    if (block.columns.empty() || block.name.empty() || !table_number(words[0])) return {};
    if (why_not(words).empty() &&
        !has_all_columns(file, number, words, block.columns.size(), out)) {
      return {};
    }
    return take_row(file, number, block, words, out);
  });
}

}  // namespace

ImportRow imb_import() { return {{"imb", "tables of the Intel MPI Benchmarks"}, is_imb, read_imb}; }

}  // namespace plumbline
