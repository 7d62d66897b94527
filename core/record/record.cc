#include "core/record/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "core/encode.h"
#include "core/field_json.h"
#include "core/op.h"
#include "core/record/record_parser.h"
#include "core/text.h"

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

constexpr uint64_t RankCounters::*kAllCounters[] = {
    &RankCounters::received_bytes,   &RankCounters::write_calls,
    &RankCounters::read_calls,       &RankCounters::poll_calls,
    &RankCounters::yield_calls,      &RankCounters::in_place_bytes,
    &RankCounters::copied_bytes,     &RankCounters::peer_late_stalls,
    &RankCounters::receiving_stalls, &RankCounters::send_full_stalls,
    &RankCounters::park_full_stalls};
static_assert(sizeof(RankCounters) == std::size(kAllCounters) * sizeof(uint64_t), "all of them");

constexpr double kLargestCount = 9007199254740992.0;  // 2^53: doubles count up to here

std::optional<uint64_t> count_at(const Measurement& measurement, const char* key) {
  const double value = extra_of(measurement, key).value_or(-1);
  if (!(value >= 0 && value <= kLargestCount) || value != std::floor(value)) return std::nullopt;
  return static_cast<uint64_t>(value);
}

constexpr Field<TimeSummary> kTimeFields[] = {
    field<&TimeSummary::n>({"n", "samples", "samples"}).in_csv("samples"),
    sparse_field<&TimeSummary::min>({"min", "ns", "fastest"}).in_csv("time_min_ns"),
    sparse_field<&TimeSummary::p50>({"p50", "ns", "median"}).in_csv("time_p50_ns"),
    sparse_field<&TimeSummary::p50_ci95>(
        {"p50_ci95", "ns", "nonparametric 95 % confidence interval of the median", "low, high"}),
    sparse_field<&TimeSummary::p90>({"p90", "ns", "null below 100 samples"}).in_csv("time_p90_ns"),
    sparse_field<&TimeSummary::p95>({"p95", "ns", "null below 200 samples"}).in_csv("time_p95_ns"),
    sparse_field<&TimeSummary::p99>({"p99", "ns", "null below 1000 samples"}).in_csv("time_p99_ns"),
    sparse_field<&TimeSummary::p999>({"p999", "ns", "null below 10000 samples"})
        .in_csv("time_p999_ns"),
    sparse_field<&TimeSummary::max>({"max", "ns", "slowest"}).in_csv("time_max_ns"),
    sparse_field<&TimeSummary::mad>({"mad", "ns", "median absolute deviation from the median"})
        .in_csv("time_mad_ns"),
    sparse_field<&TimeSummary::cv>({"cv", "", "standard deviation over mean"})
        .in_csv("time_cv_ratio"),
    sparse_field<&TimeSummary::stop_reason>({"stop_reason", "", "`ci`, `time`, `count` or empty"}),
};

constexpr Field<Noise> kNoiseFields[] = {
    field<&Noise::verdict>(
        {"verdict", "", "`clean`, `noisy` or `invalid`; `unknown` in imported records"}),
    sparse_field<&Noise::causes>({"causes", "", "why", "cause"}).in_csv("noise_causes"),
};

constexpr Field<OptionValue> kOptionFields[] = {
    field<&OptionValue::value>({"value", "", "value"}),
    field<&OptionValue::origin>(
        {"origin", "", "where it came from: flag, scenario, variable, profile or default"}),
};

constexpr Field<Environment> kEnvironmentFields[] = {
    field<&Environment::hosts>(
        {"hosts", "", "facts of every host that took part", "one host; what is unknown is null"}),
    field<&Environment::options>({"options", "", "every option with its origin", "one option"}),
    field<&Environment::command>({"command", "", "command line of the coordinator", "argument"}),
    field<&Environment::control>(
        {"control", "", "what control messages used: `pipes`, or `data-network` under a launcher"}),
    field<&Environment::auth>(
        {"auth", "",
         "how ranks proved who they are: `token`, or `rendezvous` (a secret that was agreed "
         "there)"}),
};

constexpr Field<EnvironmentLine> kLineFields[] = {
    field<&EnvironmentLine::environment>({"environment", "", "where and how it was measured"}),
    field<&EnvironmentLine::hash>({"hash", "",
                                   "first 16 hex digits of SHA-256 over `environment` (keys "
                                   "sorted, no spaces); records below "
                                   "name it"}),
    field<&EnvironmentLine::schema>({"schema", "", "version of this format: 2"}),
};

constexpr Field<SoakMark> kSoakFields[] = {
    field<&SoakMark::round>({"round", "", "the round, from 1 on"}),
    field<&SoakMark::at_ns>({"at_ns", "ns", "end of the cell, since the start of the soak"}),
    field<&SoakMark::idle_ns>(
        {"idle_ns", "ns",
         "nothing was measured for so long before the cell; 0 = it belongs to a round"}),
    sparse_field<&SoakMark::memory_bytes>(
        {"memory_bytes", "bytes", "resident memory of the coordinator"}),
};

constexpr Field<LaunchMark> kLaunchFields[] = {
    field<&LaunchMark::number>({"number", "", "the launch, from 1 on"}),
    field<&LaunchMark::series>(
        {"series", "", "1; 2 = measured again because the first series looked suspicious"}),
    sparse_field<&LaunchMark::side>({"side", "", "`a` or `b` of `run --interleave`; else empty"}),
};

// Whoever reads a line looks at its version first; what is written is of this one.
constexpr Field<Record> schema_field() {
  Field<Record> row = field<&Record::schema>({"schema", "", "version of this format: 2"});
  row.write = [](const Record&, json& out) { out = kRecordSchema; };
  return row.derived();
}

constexpr Field<Record> cell_id_field() {
  Field<Record> row = field<&Record::run_id>(
      {"cell_id", "", "first 16 hex digits of SHA-256 over `cell` (keys sorted, no spaces)"});
  row.write = [](const Record& record, json& out) { out = cell_id(record); };
  return row.derived();
}

// Whoever writes or reads a line knows whether it stands below that of its environment.
constexpr Field<Record> environment_field() {
  Field<Record> row = field<&Record::environment>(
      {"environment", "",
       "hash of the environment's line, which stands above; in a record that goes alone, and in "
       "version 1, the environment itself",
       "", R"({"type":["string","object"]})"});
  row.type = "string";
  row.rows_below = [](const std::string&, const FieldWords&, FieldRows&) {};
  row.write = [](const Record&, json&) {};
  return row.derived();
}

constexpr Field<Record> kRecordFields[] = {
    schema_field(),
    field<&Record::suite_version>(
        {"suite_version", "", "version of the program that wrote the record"}),
    field<&Record::run_id>({"run_id", "", "random name of the run, same in all its records"})
        .in_csv("run_id"),
    cell_id_field(),
    field<&Record::time>({"time", "", "end of the cell, RFC 3339 UTC"}).in_csv("finished"),
    field<&Record::scenario>({"scenario", "", "name of the scenario; `coll` for that command"})
        .in_csv("scenario"),
    sparse_field<&Record::question>({"question", "", "the scenario's question, may be empty"}),
    field<&Record::plan_hash>(
        {"plan_hash", "",
         "SHA-256 over all that decides what is measured; `--resume` compares it"}),
    field<&Record::seed>({"seed", "", "seed of the shuffled order"}).in_csv("seed"),
    field<&Record::cell>(
        {"cell", "", "the independent variables, as asked for (`auto` stays `auto`)"}),
    field<&Record::time_ns>({"time_ns", "", "slowest rank per operation; derived from the samples"})
        .derived(),
    field<&Record::algbw_Bps>({"algbw_Bps", "bytes/s", "S over the median time; derived"})
        .derived(),
    field<&Record::busbw_Bps>(
        {"busbw_Bps", "bytes/s", "algbw times the operation's factor; derived"})
        .derived(),
    field<&Record::ideal_wire_bytes>(
        {"ideal_wire_bytes", "bytes", "the least that any algorithm must send; derived"})
        .derived(),
    field<&Record::noise>({"noise", "", "how far the numbers may be trusted"}),
    environment_field(),
    sparse_field<&Record::soak>(
        {"soak", "", "only in records of `run --for`: where it stands in the soak"}),
    sparse_field<&Record::launch>(
        {"launch", "", "only in records of `run --repeat`: which launch of processes measured it"}),
};

}  // namespace

std::string endpoint_count_key(std::string_view end) {
  return fmt::format("endpoint_{}_count", end);
}

std::string cold_op_key(int number) { return fmt::format("cold_op_{}_ns", number); }

std::string cell_id(const Record& record) { return cell_id(record.cell); }

// Of all groups together, as what is really sent is counted.
static uint64_t ideal_bytes(Op op, const Cell& cell) {
  return static_cast<uint64_t>(groups_of(cell)) *
         ideal_wire_bytes(op, group_ranks(cell), cell.bytes);
}

// Bandwidths of what another tool printed without samples: as it printed them, or from its time.
static Rates rates_reported(const Cell& cell, const Reported& told) {
  Rates rates;
  rates.algbw_Bps = told.algbw_Bps;
  rates.busbw_Bps = told.busbw_Bps;
  const std::optional<Op> op = op_from(cell.op);
  if (!op) return rates;
  rates.ideal_wire_bytes = ideal_bytes(*op, cell);
  if (cell.bytes == 0) return rates;
  if (!rates.algbw_Bps && told.time_ns.value_or(0) > 0) {
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, *told.time_ns);
  }
  if (!rates.busbw_Bps && rates.algbw_Bps && cell.ranks > 0) {
    rates.busbw_Bps = *rates.algbw_Bps * row(*op).bus_factor(group_ranks(cell));
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
  rates.ideal_wire_bytes = ideal_bytes(*op, cell);
  if (cell.bytes == 0) return rates;
  if (m.ops_per_s && *m.ops_per_s > 0) {
    const double ns_per_op = 1e9 / *m.ops_per_s;
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, ns_per_op);
    rates.busbw_Bps = busbw_Bps(*op, group_ranks(cell), cell.bytes, ns_per_op);
  } else if (time.p50 && *time.p50 > 0) {
    rates.algbw_Bps = algbw_Bps(*op, cell.bytes, *time.p50);
    rates.busbw_Bps = busbw_Bps(*op, group_ranks(cell), cell.bytes, *time.p50);
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

std::optional<double> extra_of(const Measurement& measurement, const char* key) {
  const auto found = measurement.extra.find(key);
  return found == measurement.extra.end() ? std::nullopt : std::optional(found->second);
}

RankCounters& RankCounters::operator+=(const RankCounters& other) {
  for (uint64_t RankCounters::*const counter : kAllCounters) this->*counter += other.*counter;
  return *this;
}

RankCounters RankCounters::operator-(const RankCounters& before) const {
  RankCounters grown = *this;
  for (uint64_t RankCounters::*const counter : kAllCounters) grown.*counter -= before.*counter;
  return grown;
}

std::optional<OperationCost> cost_in(const Measurement& measurement) {
  const auto depth = count_at(measurement, kCostDepth), wire = count_at(measurement, kCostWire),
             reduced = count_at(measurement, kCostReduce),
             copied = count_at(measurement, kCostCopy);
  if (!depth || !wire || !reduced || !copied) return std::nullopt;
  const auto real = [](uint64_t count) { return static_cast<double>(count); };
  return OperationCost{real(*depth), real(*wire), real(*reduced), real(*copied)};
}

uint64_t errors_of(const Measurement& measurement) {
  if (measurement.outcome == Outcome::kError) return 1;
  return count_at(measurement, kWrongOperations).value_or(0);
}

std::optional<VerifiedCount> verified_count(const Measurement& measurement) {
  const auto verified = count_at(measurement, kVerifiedOperations);
  const auto operations = count_at(measurement, kOperations);
  if (!verified || !operations || *verified > *operations) return std::nullopt;
  return VerifiedCount{*verified, *operations};
}

uint64_t measured_operations(const Measurement& measurement) {
  return std::max(measurement.iterations,
                  count_at(measurement, kMeasuredOperations).value_or(measurement.iterations));
}

void Resolved::add(const ConnectionSettings& more) {
  const auto alike = std::find_if(
      connections.begin(), connections.end(), [&more](const ConnectionSettings& entry) {
        return entry.congestion_control == more.congestion_control && entry.mss == more.mss;
      });
  if (alike == connections.end()) {
    connections.push_back(more);
    return;
  }
  alike->send_buffer = std::min(alike->send_buffer, more.send_buffer);
  alike->recv_buffer = std::min(alike->recv_buffer, more.recv_buffer);
  alike->ends += more.ends;
}

void Resolved::add(const FellBack& more) {
  const auto alike = std::find_if(fell_back.begin(), fell_back.end(), [&more](const FellBack& one) {
    return one.reason == more.reason;
  });
  if (alike == fell_back.end()) {
    fell_back.push_back(more);
  } else {
    alike->pairs += more.pairs;
  }
}

void Resolved::add_transport(const std::string& more) {
  std::set<std::string> names;
  for (const std::string& all : {transport, more}) {
    for (std::string& name : split_at(all, '+')) names.insert(std::move(name));
  }
  names.erase("");
  transport = fmt::format("{}", fmt::join(names, "+"));
}

std::string fell_back_text(const FellBack& pairs) {
  const size_t dash = pairs.pair.find('-');
  std::string text =
      dash == std::string::npos
          ? "ranks " + pairs.pair
          : fmt::format("ranks {} and {}", pairs.pair.substr(0, dash), pairs.pair.substr(dash + 1));
  if (pairs.pairs > 1) {
    text += fmt::format(" (and {} more pair{})", pairs.pairs - 1, pairs.pairs == 2 ? "" : "s");
  }
  return fmt::format("{} of one machine stay on TCP: {}", text, pairs.reason);
}

std::string verified_text(const Measurement& measurement) {
  if (const auto count = verified_count(measurement)) {
    if (count->verified == 0) return "not verified";
    return fmt::format("verified {} of {} operations", count->verified, count->operations);
  }
  return measurement.wrong ? "verified, count unknown" : "not verified";
}

Status ran_as_asked(const Cell& cell, const Measurement& measurement, const std::string& option) {
  const bool ran =
      measurement.outcome == Outcome::kPassed || measurement.outcome == Outcome::kFailed;
  const std::string& over = measurement.resolved.transport;
  // The option is about our own group; what another engine runs over is its own affair.
  const bool by_option = cell.transport == "auto" && cell.engine == kNativeEngine;
  const std::string& asked = by_option ? option : cell.transport;
  // Links and servers are measured over connections of their own, whatever the ranks use among
  // themselves.
  const bool own_connections = row(cell.kind).own_connections();
  if (!ran || asked == "auto" || asked == over || own_connections) return {};
  return fail(Error{ErrorCode::kMismatch,
                    "transport " + asked + " was asked for, but the ranks used " +
                        (over.empty() ? "one that they do not name" : over),
                    0, "use the same build of plumbline on every host", "config.mismatch"});
}

std::span<const Field<TimeSummary>> FieldsOf<TimeSummary>::all() { return kTimeFields; }
std::span<const Field<Noise>> FieldsOf<Noise>::all() { return kNoiseFields; }
std::span<const Field<OptionValue>> FieldsOf<OptionValue>::all() { return kOptionFields; }
std::span<const Field<Environment>> FieldsOf<Environment>::all() { return kEnvironmentFields; }
std::span<const Field<EnvironmentLine>> FieldsOf<EnvironmentLine>::all() { return kLineFields; }
std::span<const Field<SoakMark>> FieldsOf<SoakMark>::all() { return kSoakFields; }
std::span<const Field<LaunchMark>> FieldsOf<LaunchMark>::all() { return kLaunchFields; }
std::span<const Field<Record>> FieldsOf<Record>::all() { return kRecordFields; }

void FieldsOf<SoakMark>::check(const SoakMark& mark) {
  if (mark.round < 1 || mark.at_ns < 0 || mark.idle_ns < 0) {
    refuse_field("rounds begin at 1, times are not negative");
  }
}

void FieldsOf<LaunchMark>::check(const LaunchMark& mark) {
  if (mark.number < 1 || mark.series < 1) refuse_field("numbers begin at 1");
}

}  // namespace plumbline
