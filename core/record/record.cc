#include "core/record/record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/json.h"
#include "core/op.h"
#include "core/printable.h"

namespace plumbline {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
template <typename T>
json optional_json(const std::optional<T>& value) {
  if (!value) return nullptr;
  return *value;
}
json optional_json(const std::optional<double>& value) {
  return value ? number(*value) : json(nullptr);
}
constexpr std::array kOutcomes = {
    std::pair{Outcome::kPassed, "passed"}, std::pair{Outcome::kFailed, "failed"},
    std::pair{Outcome::kSkipped, "skipped"}, std::pair{Outcome::kError, "error"}};

json resolved_json(const Resolved& resolved) {
  return {{"transport", resolved.transport},
          {"algorithm", resolved.algorithm},
          {"congestion_control", resolved.congestion_control},
          {"kernel", resolved.kernel},
          {"chunk_bytes", resolved.chunk_bytes},
          {"streams", resolved.streams},
          {"address_pairs", resolved.address_pairs}};
}

json reported_json(const Reported& told) {
  return {{"tool", told.tool},
          {"version", told.version},
          {"statistic", told.statistic},
          {"time_ns", optional_json(told.time_ns)},
          {"algbw_Bps", optional_json(told.algbw_Bps)},
          {"busbw_Bps", optional_json(told.busbw_Bps)},
          {"note", told.note}};
}

json per_rank_json(const PerRank& rank) {
  json object = {{"rank", rank.rank},
                 {"host", rank.host},
                 {"p50", optional_json(rank.p50)},
                 {"p99", optional_json(rank.p99)},
                 {"mean", optional_json(rank.mean)},
                 {"wire_bytes", rank.wire_bytes},
                 {"cpu_ns", rank.cpu_ns},
                 {"context_switches", rank.context_switches},
                 {"retransmits", rank.retransmits},
                 {"cpu", rank.cpu},
                 {"affinity", rank.affinity},
                 {"numa_node", rank.numa_node},
                 {"clock_offset_ns", optional_json(rank.clock_offset_ns)},
                 {"clock_error_ns", optional_json(rank.clock_error_ns)}};
  if (rank.memory_bytes) object["memory_bytes"] = *rank.memory_bytes;
  return object;
}

json summary_json(const TimeSummary& time) {
  json ci = nullptr;
  if (time.p50_ci95) ci = {number(time.p50_ci95->first), number(time.p50_ci95->second)};
  return {{"n", time.n},
          {"min", optional_json(time.min)},
          {"p50", optional_json(time.p50)},
          {"p50_ci95", std::move(ci)},
          {"p90", optional_json(time.p90)},
          {"p95", optional_json(time.p95)},
          {"p99", optional_json(time.p99)},
          {"p999", optional_json(time.p999)},
          {"max", optional_json(time.max)},
          {"mad", optional_json(time.mad)},
          {"cv", optional_json(time.cv)},
          {"stop_reason", time.stop_reason}};
}

json environment_json(const Environment& environment) {
  json options = json::object();
  for (const auto& [name, option] : environment.options) {
    options[name] = {{"value", option.value}, {"origin", option.origin}};
  }
  return {{"hosts", environment.hosts},
          {"options", std::move(options)},
          {"command", environment.command},
          {"control", environment.control},
          {"auth", environment.auth}};
}

json soak_json(const SoakMark& mark) {
  return {{"round", mark.round},
          {"at_ns", mark.at_ns},
          {"idle_ns", mark.idle_ns},
          {"memory_bytes", optional_json(mark.memory_bytes)}};
}

json launch_json(const LaunchMark& mark) {
  return {{"number", mark.number}, {"series", mark.series}, {"side", mark.side}};
}

}  // namespace

const char* to_string(Outcome outcome) {
  for (const auto& [value, name] : kOutcomes) {
    if (value == outcome) return name;
  }
  return "error";
}

std::string cold_op_key(int number) { return fmt::format("cold_op_{}_ns", number); }

std::string cell_id(const Record& record) { return cell_id(record.cell); }

void to_json(json& object, const Measurement& m) {
  json per_rank = json::array();
  for (const PerRank& rank : m.per_rank) per_rank.push_back(per_rank_json(rank));
  object = {{"outcome", to_string(m.outcome)},
            {"reason", m.reason},
            {"cause", m.cause},
            {"verified", m.verified},
            {"wrong", optional_json(m.wrong)},
            {"hist", m.hist},
            {"samples_ns", m.samples_ns},
            {"stop_reason", m.stop_reason},
            {"iterations", m.iterations},
            {"first_op_ns", m.first_op_ns},
            {"elapsed_ns", m.elapsed_ns},
            {"ops_per_s", optional_json(m.ops_per_s)},
            {"bytes_per_s", optional_json(m.bytes_per_s)},
            {"warmup_iterations", m.warmup_iterations},
            {"warmup_converged", m.warmup_converged},
            {"wire_bytes", m.wire_bytes},
            {"per_rank", std::move(per_rank)},
            {"resolved", resolved_json(m.resolved)},
            {"extra", m.extra}};
  if (!m.links.empty()) object["links"] = m.links;
  if (m.reported) object["reported"] = reported_json(*m.reported);
}

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
  if (cell.kind == "roof" && time.p50.value_or(0) > 0) {
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
  json object = record.measurement;
  object["schema"] = record.schema;
  object["suite_version"] = record.suite_version;
  object["run_id"] = record.run_id;
  object["cell_id"] = cell_id(record);
  object["time"] = record.time;
  object["scenario"] = record.scenario;
  object["question"] = record.question;
  object["plan_hash"] = record.plan_hash;
  object["seed"] = record.seed;
  object["cell"] = record.cell;
  object["time_ns"] = summary_json(record.time_ns);
  object["algbw_Bps"] = optional_json(record.algbw_Bps);
  object["busbw_Bps"] = optional_json(record.busbw_Bps);
  object["ideal_wire_bytes"] = record.ideal_wire_bytes;
  object["noise"] = {{"verdict", record.noise.verdict}, {"causes", record.noise.causes}};
  object["environment"] = environment_json(record.environment);
  if (record.soak) object["soak"] = soak_json(*record.soak);
  if (record.launch) object["launch"] = launch_json(*record.launch);
  return printable_json(object.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace plumbline
