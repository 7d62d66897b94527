// perftest (ib_write_bw, ib_send_lat ...): its JSON and the table that it prints. Write and send
// latencies are half a round trip and doubled; bidirectional bandwidths are the sum of both
// directions and halved; a read is its own operation. The file of --out_json does not say in which
// unit its bandwidths are (--report_gbits decides), so they are only read when the user says so:
// --assume unit=MiB/s or unit=Gb/s. Column names of the table hold blanks, so they are found by
// their beginning, and the unit of bandwidths stands behind in brackets.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "reports/import/foreign.h"

namespace plumbline {
namespace {

using nlohmann::json;

// One row, from its JSON or its table.
struct PerftestRow {
  std::string test;  // "RDMA_Write BW Test", with blanks or underscores
  std::vector<std::pair<std::string, std::string>> params;  // "device", "mlx5_0"
  uint64_t bytes = 0, iterations = 0;
  std::optional<double> average_Bps, peak_Bps, message_rate;  // message_rate: millions a second
  std::optional<double> typical_us, mean_us, min_us, max_us, p99_us, p999_us;
};

// Bytes per second of "MiB/s", "MiB/sec", "MB/sec" (2^20) or "Gb/s", "Gb/sec" (10^9 bits).
std::optional<double> perftest_unit(const std::string& unit) {
  if (unit == "MiB/s" || unit == "MiB/sec" || unit == "MB/sec") return 1048576.0;
  if (unit == "Gb/s" || unit == "Gb/sec") return 1e9 / 8;
  return std::nullopt;
}

Status add_perftest_row(const ImportFile& file, const PerftestRow& row, ImportResult& out) {
  std::string test;  // "rdma_write_bw_test"
  for (const char c : row.test) {
    test += c == ' ' ? '_' : lower_case(c);
  }
  const auto is = [&](const char* part) { return test.find(part) != std::string::npos; };
  const std::string verb = is("read")     ? "read"
                           : is("atomic") ? "atomic"
                           : is("send")   ? "send"
                           : is("write")  ? "write"
                                          : "";
  const bool rate = row.average_Bps.has_value();
  const bool both_ways = is("bidirectional");
  const bool round_trip = verb == "read" || verb == "atomic";  // the initiator alone measures it

  Record record = imported_record("perftest", "");
  Reported& told = *record.measurement.reported;
  Cell& cell = record.cell;
  if (rate) {
    set_op(both_ways ? "bidirectional" : "stream", record);
  } else {
    set_op(round_trip ? "rdma " + verb : std::string("pingpong"), record);
  }
  cell.kind = rate ? CellKind::kBandwidth : CellKind::kLatency;
  cell.transport = "rdma";
  cell.ranks = 2;
  set_bytes(row.bytes, record);
  if (!verb.empty()) cell.params["verb"] = verb;
  for (const auto& [name, value] : row.params) cell.params[name] = value;
  Measurement& m = record.measurement;
  m.iterations = row.iterations;
  if (rate) {
    told.algbw_Bps = *row.average_Bps / (both_ways ? 2 : 1);
    told.statistic = "mean";  // its column is called "average"
    if (both_ways) told.note = "printed as the sum of both directions, halved here";
    if (row.peak_Bps) m.extra["peak_Bps"] = *row.peak_Bps / (both_ways ? 2 : 1);
    if (row.message_rate) m.extra["messages_per_s"] = *row.message_rate * 1e6;
    return add_record(file, std::move(record), out);
  }
  const std::optional<double> time = row.typical_us ? row.typical_us : row.mean_us;
  if (!time) return {};
  const double ns = round_trip ? 1e3 : 2e3;
  told.time_ns = *time * ns;
  told.statistic = row.typical_us ? "median" : "mean";
  if (!round_trip) told.note = "printed as half a round trip, doubled here";
  const auto extra = [&](const char* name, const std::optional<double>& us) {
    if (us) m.extra[name] = *us * ns;
  };
  extra("min_ns", row.min_us);
  extra("mean_ns", row.mean_us);
  extra("second_largest_ns", row.max_us);  // what perftest prints as t_max
  extra("p99_ns", row.p99_us);
  extra("p999_ns", row.p999_us);
  return add_record(file, std::move(record), out);
}

bool is_perftest_json(std::string_view start) {
  return has_all(start, {"{", "test_info"}) &&
         has_any(start, {"Transport_type", "MsgSize", "Link_type"});
}

std::optional<double> first_number(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const std::optional<double> value = foreign_number(object, key);
    if (value && *value >= 0) return value;
  }
  return std::nullopt;
}

void take_info(const json& info, PerftestRow& row) {
  row.test = foreign_text(info, "test");
  constexpr std::pair<const char*, const char*> kParams[] = {
      {"Device", "device"}, {"Connection_type", "connection"}, {"Link_type", "link"}};
  for (const auto& [key, name] : kParams) {
    const std::string value = foreign_text(info, key);
    if (!value.empty()) row.params.emplace_back(name, value);
  }
  const uint64_t queues = foreign_count(info, "Number_of_qps").value_or(1);
  if (queues != 1) row.params.emplace_back("queue_pairs", std::to_string(queues));
}

Status take(const ImportFile& file, const json& root, size_t line, ImportResult& out) {
  const json* results = foreign_field(root, "results");
  if (results == nullptr || !results->is_object()) {
    add_note(file, line, "no object `results`", out);
    return {};
  }
  PerftestRow row;
  if (const json* info = foreign_field(root, "test_info")) take_info(*info, row);
  row.bytes = foreign_count(*results, "MsgSize").value_or(0);
  row.iterations = foreign_count(*results, "n_iterations").value_or(0);
  row.average_Bps = first_number(*results, {"BW_average", "bw_avg"});
  row.peak_Bps = first_number(*results, {"BW_peak"});
  row.message_rate = first_number(*results, {"MsgRate", "msgRate_avg"});
  row.typical_us = first_number(*results, {"t_typical"});
  row.mean_us = first_number(*results, {"t_avg", "avg_lat"});
  row.min_us = first_number(*results, {"t_min"});
  row.max_us = first_number(*results, {"t_max"});
  row.p99_us = first_number(*results, {"percentile_99"});
  row.p999_us = first_number(*results, {"percentile_99.9"});
  if (row.average_Bps) {
    const std::optional<double> unit = perftest_unit(file.assume.unit);
    if (!unit) {
      return fail(ErrorCode::kConfig,
                  at_line(file, line) + "perftest's JSON does not say the unit of its bandwidths",
                  "say --assume unit=MiB/s, or unit=Gb/s when it ran with --report_gbits");
    }
    *row.average_Bps *= *unit;
    if (row.peak_Bps) *row.peak_Bps *= *unit;
  }
  return add_perftest_row(file, row, out);
}

Status read_perftest_json(const ImportFile& file, ImportResult& out) {
  return each_json(file, out,
                   [&](const json& root, size_t line) { return take(file, root, line, out); });
}

bool is_perftest_text(std::string_view start) {
  return has_all(start, {"#bytes", "#iterations"}) &&
         has_any(start, {"BW average[", "t_typical[", "t_avg["});
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
  if (!has_all_columns(file, number, words, table.columns.size() + 2, out)) return {};
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
  return each_line(file.text, [&](size_t number, std::string_view line) -> Status {
    if (has_all(line, {"#bytes"})) {
      if (take_header(line, table)) return {};
      return fail(ErrorCode::kConfig, at_line(file, number) + "unknown unit of bandwidth",
                  "perftest prints MB/sec, MiB/sec or Gb/sec");
    }
    const std::vector<std::string_view> words = table_words(line);
    if (words.empty()) return {};
    if (!table.columns.empty() && table_count(words[0])) {
      return take_perftest_row(file, number, table, words, out);
    }
    take_preamble(line, table);
    return {};
  });
}

}  // namespace

ImportRow perftest_json_import() {
  return {{"perftest-json", "perftest --out_json"}, is_perftest_json, read_perftest_json};
}

ImportRow perftest_text_import() {
  return {{"perftest", "the table of perftest (ib_write_bw, ib_send_lat ...)"},
          is_perftest_text,
          read_perftest_text};
}

}  // namespace plumbline
