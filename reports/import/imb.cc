// Tables of the Intel MPI Benchmarks: blocks "# Benchmarking X", "# #processes = N" and a line of
// column names. The time taken is t_max, the mean over repetitions of the slowest rank, or the only
// one there is. PingPong's is half a round trip and is doubled. "Mbytes/sec" is not read: it is
// 2^20 bytes in old versions, 10^6 in new ones, and does not say which.
#include <fmt/format.h>

#include <algorithm>

#include "reports/import/foreign.h"

namespace plumbline {
namespace {

bool recognise(std::string_view start) {
  return start.find("# Benchmarking ") != std::string_view::npos &&
         start.find("# #processes") != std::string_view::npos;
}

struct Block {
  std::string name, version;
  int ranks = 0;
  std::vector<std::string> columns;
};

bool take_comment(std::string_view line, Block& block) {
  const std::string name = text_behind(line, "# Benchmarking ");
  if (!name.empty()) {
    block.name = name;
    block.columns.clear();
    block.ranks = 0;
    return true;
  }
  const std::string processes = text_behind(line, "#processes =");
  if (!processes.empty()) {
    const auto ranks = table_count(processes.substr(0, processes.find(' ')));
    block.ranks = ranks && *ranks <= (1 << 20) ? static_cast<int>(*ranks) : 0;
    return true;
  }
  const std::string version = text_behind(line, "MPI Benchmarks ");
  if (!version.empty()) block.version = version.substr(0, version.find(','));
  return line.front() == '#' && line.find("t_max[usec]") == std::string_view::npos &&
         line.find("t[usec]") == std::string_view::npos;
}

Status take_row(const ImportFile& file, const Block& block,
                const std::vector<std::string_view>& words, ImportResult& out) {
  Record record = imported_record("imb", block.version);
  Cell& cell = record.cell;
  Measurement& m = record.measurement;
  set_op(block.name, record);
  cell.transport = "mpi";
  cell.ranks = block.ranks;
  if (const auto op = op_from(cell.op); op && row(*op).reduces) cell.dtype = "f32";
  const bool half = cell.op == "pingpong";
  std::optional<double> only, slowest;
  for (size_t i = 0; i < block.columns.size(); ++i) {
    const std::string& column = block.columns[i];
    const std::optional<double> value = table_number(words[i]);
    if (!value || *value < 0) continue;
    if (column == "#bytes") cell.bytes = whole_bytes(cell, table_count(words[i]).value_or(0));
    if (column == "#repetitions") m.iterations = table_count(words[i]).value_or(0);
    if (column == "t[usec]") only = value;
    if (column == "t_max[usec]") slowest = value;
    if (column == "t_min[usec]") m.extra["fastest_rank_mean_ns"] = *value * 1e3;
    if (column == "t_avg[usec]") m.extra["mean_over_ranks_ns"] = *value * 1e3;
  }
  Reported& told = *m.reported;
  if (slowest || only) told.time_ns = (slowest ? *slowest : *only) * 1e3 * (half ? 2 : 1);
  if (!told.time_ns) return {};
  told.statistic = slowest ? "mean of the slowest rank" : "mean";
  if (half) told.note = "printed as half a round trip, doubled here";
  set_bytes(cell.bytes, record);
  cell.kind = half ? "latency" : kind_by_size(cell.bytes);
  return add_record(file, std::move(record), out);
}

Status read(const ImportFile& file, ImportResult& out) {
  Block block;
  Status status;
  each_line(file.text, [&](size_t number, std::string_view line) {
    if (!status || line.empty()) return;
    if (line.front() == '#' && take_comment(line, block)) return;
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return;
    const bool header =
        words[0] == "#bytes" || words[0] == "t_min[usec]" || words[0] == "#repetitions";
    if (header) {
      block.columns.assign(words.begin(), words.end());
      return;
    }
    if (block.columns.empty() || block.name.empty() || !table_number(words[0])) return;
    if (words.size() < block.columns.size()) {
      out.notes.push_back(at_line(file, number) +
                          fmt::format("a row with {} of {} columns is left out", words.size(),
                                      block.columns.size()));
      return;
    }
    status = take_row(file, block, words, out);
  });
  return status;
}

}  // namespace

ImportRow imb_import() {
  return {{"imb", "tables of the Intel MPI Benchmarks", {}, {}, ""}, recognise, read};
}

}  // namespace plumbline
