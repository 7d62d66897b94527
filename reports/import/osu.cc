// Tables of the OSU micro-benchmarks (OMB). Each begins with "# OSU MPI ... Test vN" and a line of
// column names. Times are means over iterations and ranks. osu_latency prints half a round trip and
// osu_bibw the sum of both directions: they are brought to what our pingpong and bidirectional
// count, and the note says so. OSU counts the bytes of one rank; where S spans all ranks it is
// multiplied, so the number of ranks must be known.

#include <utility>

#include "reports/import/foreign.h"
#include "reports/text.h"

namespace plumbline {
namespace {

bool is_osu(std::string_view start) {
  return start.rfind("# OSU ", 0) == 0 || start.find("\n# OSU ") != std::string_view::npos;
}

struct OsuBlock {
  std::string title;    // "Allreduce Latency"
  std::string version;  // "7.1"
  std::string type;     // "MPI_FLOAT"
  std::vector<std::string> columns;
  bool said = false;  // which columns are left out
};

// "# OSU MPI-CUDA Allreduce Latency Test v7.1" -> "Allreduce Latency", "7.1".
OsuBlock block_of(std::string_view line) {
  OsuBlock block;
  std::string text = text_behind(line, "# OSU ");
  const size_t test = text.rfind(" Test");
  if (test != std::string::npos) {
    const size_t v = text.find(" v", test);
    if (v != std::string::npos) block.version = text.substr(v + 2, 20);
    text.resize(test);
  }
  const size_t space = text.find(' ');  // behind "MPI", "MPI-CUDA", "OpenSHMEM"
  block.title = space == std::string::npos ? text : text.substr(space + 1);
  return block;
}

// Column names may hold single blanks: "Avg Latency(us)". Two blanks or a tab part them.
std::vector<std::string> columns_of(std::string_view line) {
  std::vector<std::string> columns;
  std::string name;
  line.remove_prefix(1);
  for (size_t i = 0; i <= line.size(); ++i) {
    const bool blank = i == line.size() || line[i] == ' ' || line[i] == '\t';
    const bool one = blank && i + 1 < line.size() && line[i] == ' ' && line[i + 1] != ' ';
    if (!blank) {
      name += line[i];
    } else if (one && !name.empty()) {
      name += ' ';
    } else if (!name.empty()) {
      columns.push_back(name);
      name.clear();
    }
  }
  return columns;
}

struct Meaning {
  const char* title;
  const char* op;
  double time_factor, rate_factor;
  const char* note;
};
constexpr Meaning kPointToPoint[] = {
    {"Latency", "pingpong", 2, 1, "printed as half a round trip, doubled here"},
    {"Bandwidth", "stream", 1, 1, "a window of messages in flight"},
    {"Bi-Directional Bandwidth", "bidirectional", 1, 0.5,
     "printed as the sum of both directions, halved here"},
};

// Versions that do not print the type reduce floats and move bytes.
std::string osu_type(const std::string& name, bool reduces) {
  if (name == "MPI_FLOAT" || (name.empty() && reduces)) return "f32";
  if (name == "MPI_DOUBLE") return "f64";
  if (name == "MPI_INT") return "i32";
  return name.empty() || name == "MPI_CHAR" ? "u8" : name;
}

// Sets operation and ranks; what the number of ranks is needed for and missing is an error.
Status set_meaning(const ImportFile& file, size_t line, const OsuBlock& block, Record& record,
                   double& time_factor, double& rate_factor) {
  for (const Meaning& row : kPointToPoint) {
    if (block.title != row.title) continue;
    set_op(row.op, record);
    record.cell.ranks = 2;
    time_factor = row.time_factor;
    rate_factor = row.rate_factor;
    record.measurement.reported->note = row.note;
    return {};
  }
  std::string name = block.title;
  // osu_alltoall: "All-to-All Personalized Exchange Latency".
  for (const std::string_view end : {" Latency", " Personalized Exchange"}) {
    const size_t at = name.rfind(end);
    if (at != std::string::npos && at + end.size() == name.size()) name.resize(at);
  }
  set_op(name, record);
  record.cell.ranks = file.assume.ranks.value_or(0);
  if (record.cell.ranks == 0 && op_from(record.cell.op)) {
    return fail(ErrorCode::kConfig,
                at_line(file, line) + "OSU's table does not say how many ranks took part",
                "say --assume ranks=N");
  }
  return {};
}

// False when nothing is made of this column.
bool take_value(const std::string& column, double value, double time_factor, double rate_factor,
                Record& record) {
  Measurement& m = record.measurement;
  Reported& told = *m.reported;
  if (column == "Avg Latency(us)" || column == "Latency (us)" || column == "Latency(us)" ||
      column == "Overall(us)") {
    told.time_ns = value * 1e3 * time_factor;
    told.statistic = column.front() == 'A' ? "mean over ranks" : "mean";
  } else if (column == "Bandwidth (MB/s)" || column == "MB/s") {
    told.algbw_Bps = value * 1e6 * rate_factor;
    if (told.statistic.empty()) told.statistic = "mean";
  } else if (column == "Min Latency(us)") {
    m.extra["fastest_rank_mean_ns"] = value * 1e3;
  } else if (column == "Max Latency(us)") {
    m.extra["slowest_rank_mean_ns"] = value * 1e3;
  } else if (column == "Messages/s") {
    m.extra["messages_per_s"] = value;
  } else if (column == "Overlap(%)") {
    m.extra["overlap_percent"] = value;
  } else if (column == "Iterations") {
    if (value < 1e15) m.iterations = static_cast<uint64_t>(value);
  } else {
    return false;
  }
  return true;
}

// Said at the first row of each block.
void say_unread(const ImportFile& file, size_t line, const std::vector<std::string>& unread,
                OsuBlock& block, ImportResult& out) {
  if (std::exchange(block.said, true) || unread.empty()) return;
  add_note(file, line,
           "columns without a place in a record are left out: " + clean(join(unread, ", ")), out);
}

Status take_osu_row(const ImportFile& file, size_t line, OsuBlock& block,
                    const std::vector<std::string_view>& words, ImportResult& out) {
  Record record = imported_record("osu", block.version);
  double time_factor = 1, rate_factor = 1;
  if (Status status = set_meaning(file, line, block, record, time_factor, rate_factor); !status) {
    return status;
  }
  Cell& cell = record.cell;
  cell.transport = "mpi";
  if (const std::optional<Op> op = op_from(cell.op)) {
    cell.dtype = osu_type(block.type, plumbline::row(*op).reduces);
  }
  Measurement& m = record.measurement;
  std::vector<std::string> unread;
  for (size_t i = 0; i < block.columns.size(); ++i) {
    const std::string& column = block.columns[i];
    const std::optional<double> value = table_number(words[i]);
    if (column == "Size") {
      if (table_count(words[i])) cell.bytes = whole_bytes(cell, *table_count(words[i]));
    } else if (column == "Validation") {
      m.verified = words[i] == "Pass";
      if (words[i] == "Fail") {
        m.outcome = Outcome::kFailed;
        m.reason = "its validation failed";
      }
    } else if (value && *value >= 0) {
      if (!take_value(column, *value, time_factor, rate_factor, record)) unread.push_back(column);
    }
  }
  say_unread(file, line, unread, block, out);
  set_bytes(cell.bytes, record);
  const bool rate = m.reported->algbw_Bps.has_value();
  cell.kind = rate                    ? CellKind::kBandwidth
              : cell.op == "pingpong" ? CellKind::kLatency
                                      : kind_by_size(cell.bytes);
  if (!m.reported->time_ns && !rate) {
    add_note(file, line, "no time and no bandwidth in this row", out);
    return {};
  }
  return add_record(file, std::move(record), out);
}

Status read_osu(const ImportFile& file, ImportResult& out) {
  OsuBlock block;
  return each_line(file.text, [&](size_t number, std::string_view line) -> Status {
    if (line.empty()) return {};
    if (line.rfind("# OSU ", 0) == 0) {
      block = block_of(line);
    } else if (line.rfind("# Datatype:", 0) == 0) {
      block.type = text_behind(line, ":");
      while (!block.type.empty() && block.type.back() == '.') block.type.pop_back();
    } else if (line.front() == '#') {
      if (has_any(line, {"(us)", "MB/s", "Messages/s"})) block.columns = columns_of(line);
    } else {
      const std::vector<std::string_view> words = table_words(line);
      if (words.empty() || block.columns.empty() || !table_number(words[0])) return {};
      if (!has_all_columns(file, number, words, block.columns.size(), out)) return {};
      return take_osu_row(file, number, block, words, out);
    }
    return {};
  });
}

}  // namespace

ImportRow osu_import() { return {{"osu", "tables of the OSU micro-benchmarks"}, is_osu, read_osu}; }

}  // namespace plumbline
