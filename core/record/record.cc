#include "core/record/record.h"

#include <fmt/format.h>

#include "core/field_json.h"
#include "core/op.h"
#include "core/printable.h"
#include "core/record/record_json.h"
#include "core/record/record_tables.h"
#include "core/sha256.h"

namespace plumbline {
namespace {

using nlohmann::json;

// Keys are sorted; text that is no UTF-8 or would do something in a terminal is made harmless.
std::string line_text(const json& value) {
  return printable_json(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

// All of a record but its environment.
json record_json(const Record& record) {
  json object;
  write_fields(record, object);
  write_fields(record.measurement, object);
  return object;
}

}  // namespace

std::string cold_op_key(int number) { return fmt::format("cold_op_{}_ns", number); }

std::string cell_id(const Record& record) { return cell_id(record.cell); }

// Bandwidths of what another tool printed without samples: as it printed them, or from its time.
static Rates rates_reported(const Cell& cell, const Reported& told) {
  Rates rates;
  rates.algbw_Bps = told.algbw_Bps;
  rates.busbw_Bps = told.busbw_Bps;
  const std::optional<Op> op = op_from(cell.op);
  if (!op) return rates;
  rates.ideal_wire_bytes = ideal_wire_bytes(*op, cell.ranks, cell.bytes);
  if (cell.bytes == 0) return rates;
  if (!rates.algbw_Bps && told.time_ns.value_or(0) > 0) {
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, *told.time_ns);
  }
  if (!rates.busbw_Bps && rates.algbw_Bps && cell.ranks > 0) {
    rates.busbw_Bps = *rates.algbw_Bps * row(*op).bus_factor(cell.ranks);
  }
  return rates;
}

TimeSummary time_of(const Measurement& m) {
  TimeSummary time =
      m.hist.n() == m.samples_ns.size() ? summarize(m.samples_ns) : summarize(m.hist);
  time.stop_reason = m.stop_reason;
  return time;
}

Rates rates_of(const Cell& cell, const Measurement& m, const TimeSummary& time) {
  if (m.reported && !time.p50 && !m.ops_per_s) return rates_reported(cell, *m.reported);
  Rates rates;
  if (row(cell.kind).timing == CellTiming::kBarePath && time.p50.value_or(0) > 0) {
    // A round trip moves its bytes twice.
    const double moved = static_cast<double>(cell.bytes) * (cell.op == "raw_pingpong" ? 2 : 1);
    rates.algbw_Bps = moved / *time.p50 * 1e9;
    rates.busbw_Bps = rates.algbw_Bps;
    return rates;
  }
  const std::optional<Op> op = op_from(cell.op);
  if (!op) return rates;
  rates.ideal_wire_bytes = ideal_wire_bytes(*op, cell.ranks, cell.bytes);
  if (cell.bytes == 0) return rates;
  if (m.ops_per_s && *m.ops_per_s > 0) {
    const double ns_per_op = 1e9 / *m.ops_per_s;
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, ns_per_op);
    rates.busbw_Bps = busbw_Bps(*op, cell.ranks, cell.bytes, ns_per_op);
  } else if (time.p50 && *time.p50 > 0) {
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, *time.p50);
    rates.busbw_Bps = busbw_Bps(*op, cell.ranks, cell.bytes, *time.p50);
  }
  return rates;
}

void recompute(Record& record) {
  record.time_ns = time_of(record.measurement);
  const Rates rates = rates_of(record.cell, record.measurement, record.time_ns);
  record.algbw_Bps = rates.algbw_Bps;
  record.busbw_Bps = rates.busbw_Bps;
  record.ideal_wire_bytes = rates.ideal_wire_bytes;
}

std::string to_line(const Record& record) {
  json object = record_json(record);
  FieldValue<Environment>::write(record.environment, object["environment"]);
  return line_text(object);
}

std::string hash_of_environment(const json& environment) {
  return to_hex(sha256(line_text(environment))).substr(0, 16);
}

std::string environment_hash(const Environment& environment) {
  json object;
  FieldValue<Environment>::write(environment, object);
  return hash_of_environment(object);
}

RecordLines::Lines RecordLines::of(const Record& record) {
  EnvironmentLine line{kRecordSchema, environment_hash(record.environment), record.environment};
  Lines lines;
  json object = record_json(record);
  object["environment"] = line.hash;
  lines.record = line_text(object) + "\n";
  if (line.hash == last_) return lines;
  FieldValue<EnvironmentLine>::write(line, object);
  lines.environment = line_text(object) + "\n";
  last_ = line.hash;
  return lines;
}

std::string RecordLines::text_of(const Record& record) {
  Lines lines = of(record);
  return lines.environment + lines.record;
}

}  // namespace plumbline
