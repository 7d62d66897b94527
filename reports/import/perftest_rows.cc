#include "reports/import/perftest_rows.h"

#include <algorithm>
#include <cctype>

#include "core/lower_case.h"
#include "reports/import/foreign.h"

namespace plumbline {

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

}  // namespace plumbline
