#include "core/record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/op.h"

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
template <typename T>
void get_optional(const json& object, const char* key, std::optional<T>& value) {
  const json& field = object.at(key);
  if (field.is_null()) {
    value.reset();
  } else {
    value = field.get<T>();
  }
}

constexpr std::array kOutcomes = {
    std::pair{Outcome::kPassed, "passed"}, std::pair{Outcome::kFailed, "failed"},
    std::pair{Outcome::kSkipped, "skipped"}, std::pair{Outcome::kError, "error"}};

Outcome outcome_from(const std::string& word) {
  for (const auto& [outcome, name] : kOutcomes) {
    if (word == name) return outcome;
  }
  throw json::other_error::create(501, "unknown outcome '" + word + "'", nullptr);
}

json resolved_json(const Resolved& resolved) {
  return {{"transport", resolved.transport},
          {"algorithm", resolved.algorithm},
          {"congestion_control", resolved.congestion_control},
          {"kernel", resolved.kernel},
          {"chunk_bytes", resolved.chunk_bytes},
          {"streams", resolved.streams},
          {"address_pairs", resolved.address_pairs}};
}

Resolved resolved_from(const json& object) {
  Resolved resolved;
  object.at("transport").get_to(resolved.transport);
  object.at("algorithm").get_to(resolved.algorithm);
  object.at("congestion_control").get_to(resolved.congestion_control);
  object.at("kernel").get_to(resolved.kernel);
  object.at("chunk_bytes").get_to(resolved.chunk_bytes);
  object.at("streams").get_to(resolved.streams);
  object.at("address_pairs").get_to(resolved.address_pairs);
  return resolved;
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

PerRank per_rank_from(const json& object) {
  PerRank rank;
  object.at("rank").get_to(rank.rank);
  object.at("host").get_to(rank.host);
  get_optional(object, "p50", rank.p50);
  get_optional(object, "p99", rank.p99);
  get_optional(object, "mean", rank.mean);
  object.at("wire_bytes").get_to(rank.wire_bytes);
  object.at("cpu_ns").get_to(rank.cpu_ns);
  object.at("context_switches").get_to(rank.context_switches);
  object.at("retransmits").get_to(rank.retransmits);
  object.at("cpu").get_to(rank.cpu);
  rank.affinity = object.value("affinity", std::string());
  rank.numa_node = object.value("numa_node", -1);
  get_optional(object, "clock_offset_ns", rank.clock_offset_ns);
  get_optional(object, "clock_error_ns", rank.clock_error_ns);
  if (object.contains("memory_bytes")) get_optional(object, "memory_bytes", rank.memory_bytes);
  return rank;
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

Environment environment_from(const json& object) {
  Environment environment;
  object.at("hosts").get_to(environment.hosts);
  for (const auto& [name, option] : object.at("options").items()) {
    environment.options[name] = {option.at("value").get<std::string>(),
                                 option.at("origin").get<std::string>()};
  }
  object.at("command").get_to(environment.command);
  object.at("control").get_to(environment.control);
  object.at("auth").get_to(environment.auth);
  return environment;
}

json soak_json(const SoakMark& mark) {
  return {{"round", mark.round},
          {"at_ns", mark.at_ns},
          {"idle_ns", mark.idle_ns},
          {"memory_bytes", optional_json(mark.memory_bytes)}};
}

SoakMark soak_from(const json& object) {
  SoakMark mark;
  object.at("round").get_to(mark.round);
  object.at("at_ns").get_to(mark.at_ns);
  object.at("idle_ns").get_to(mark.idle_ns);
  get_optional(object, "memory_bytes", mark.memory_bytes);
  if (mark.round < 1 || mark.at_ns < 0 || mark.idle_ns < 0) {
    throw json::other_error::create(501, "soak: rounds begin at 1, times are not negative",
                                    nullptr);
  }
  return mark;
}

json launch_json(const LaunchMark& mark) {
  return {{"number", mark.number}, {"series", mark.series}, {"side", mark.side}};
}

LaunchMark launch_from(const json& object) {
  LaunchMark mark;
  object.at("number").get_to(mark.number);
  object.at("series").get_to(mark.series);
  object.at("side").get_to(mark.side);
  if (mark.number < 1 || mark.series < 1) {
    throw json::other_error::create(501, "launch: numbers begin at 1", nullptr);
  }
  return mark;
}

// Compares a stored derived value with its recomputation; "" when they agree within 0.1 %.
std::string difference(const char* name, const json& stored, std::optional<double> computed) {
  if (stored.is_null() && !computed) return "";
  if (stored.is_number() && computed) {
    const auto value = stored.get<double>();
    if (std::abs(value - *computed) <= 1e-3 * std::max(std::abs(value), std::abs(*computed))) {
      return "";
    }
  }
  return fmt::format("{} is {} in the file but {} by its samples", name, stored.dump(),
                     computed ? fmt::format("{:.6g}", *computed) : "null");
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
}

void from_json(const json& object, Measurement& m) {
  m.outcome = outcome_from(object.at("outcome").get<std::string>());
  object.at("reason").get_to(m.reason);
  object.at("cause").get_to(m.cause);
  object.at("verified").get_to(m.verified);
  get_optional(object, "wrong", m.wrong);
  object.at("hist").get_to(m.hist);
  object.at("samples_ns").get_to(m.samples_ns);
  object.at("stop_reason").get_to(m.stop_reason);
  object.at("iterations").get_to(m.iterations);
  object.at("first_op_ns").get_to(m.first_op_ns);
  object.at("elapsed_ns").get_to(m.elapsed_ns);
  get_optional(object, "ops_per_s", m.ops_per_s);
  get_optional(object, "bytes_per_s", m.bytes_per_s);
  object.at("warmup_iterations").get_to(m.warmup_iterations);
  object.at("warmup_converged").get_to(m.warmup_converged);
  object.at("wire_bytes").get_to(m.wire_bytes);
  m.per_rank.clear();
  for (const json& rank : object.at("per_rank")) m.per_rank.push_back(per_rank_from(rank));
  m.resolved = resolved_from(object.at("resolved"));
  object.at("extra").get_to(m.extra);
  m.links.clear();
  if (object.contains("links")) object.at("links").get_to(m.links);
}

// Every link must lie within the cell's world, and each ordered pair may be there once.
static void check_links(const Record& record) {
  std::set<std::pair<int, int>> seen;
  for (const LinkResult& link : record.measurement.links) {
    if (std::max(link.from, link.to) >= record.cell.ranks) {
      throw json::other_error::create(501, "link of a rank beyond cell.ranks", nullptr);
    }
    if (!seen.insert({link.from, link.to}).second) {
      throw json::other_error::create(501, "the same link twice", nullptr);
    }
  }
}

void recompute(Record& record) {
  const Measurement& m = record.measurement;
  record.time_ns = m.hist.n() == m.samples_ns.size() ? summarize(m.samples_ns) : summarize(m.hist);
  record.time_ns.stop_reason = m.stop_reason;
  record.algbw_Bps.reset();
  record.busbw_Bps.reset();
  record.ideal_wire_bytes = 0;
  if (record.cell.kind == "roof" && record.time_ns.p50.value_or(0) > 0) {
    // A round trip moves its bytes twice.
    const double moved =
        static_cast<double>(record.cell.bytes) * (record.cell.op == "raw_pingpong" ? 2 : 1);
    record.algbw_Bps = moved / *record.time_ns.p50 * 1e9;
    record.busbw_Bps = record.algbw_Bps;
    return;
  }
  const std::optional<Op> op = op_from(record.cell.op);
  if (!op) return;
  record.ideal_wire_bytes = ideal_wire_bytes(*op, record.cell.ranks, record.cell.bytes);
  if (record.cell.bytes == 0) return;
  if (m.ops_per_s && *m.ops_per_s > 0) {
    const double ns_per_op = 1e9 / *m.ops_per_s;
    record.algbw_Bps = algbw_Bps(*op, record.cell.bytes, ns_per_op);
    record.busbw_Bps = busbw_Bps(*op, record.cell.ranks, record.cell.bytes, ns_per_op);
  } else if (record.time_ns.p50 && *record.time_ns.p50 > 0) {
    record.algbw_Bps = algbw_Bps(*op, record.cell.bytes, *record.time_ns.p50);
    record.busbw_Bps = busbw_Bps(*op, record.cell.ranks, record.cell.bytes, *record.time_ns.p50);
  }
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
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<Record> record_from_line(std::string_view line, std::vector<std::string>* warnings) {
  try {
    const json object = json::parse(line);
    Record record;
    object.at("schema").get_to(record.schema);
    if (record.schema != kRecordSchema) {
      return fail(
          ErrorCode::kConfig,
          fmt::format("record has schema {}, this program reads {}", record.schema, kRecordSchema),
          "use the version of plumbline that wrote it");
    }
    object.at("suite_version").get_to(record.suite_version);
    object.at("run_id").get_to(record.run_id);
    object.at("time").get_to(record.time);
    object.at("scenario").get_to(record.scenario);
    object.at("question").get_to(record.question);
    object.at("plan_hash").get_to(record.plan_hash);
    object.at("seed").get_to(record.seed);
    object.at("cell").get_to(record.cell);
    object.get_to(record.measurement);
    check_links(record);
    object.at("noise").at("verdict").get_to(record.noise.verdict);
    object.at("noise").at("causes").get_to(record.noise.causes);
    record.environment = environment_from(object.at("environment"));
    if (object.contains("soak")) record.soak = soak_from(object.at("soak"));
    if (object.contains("launch")) record.launch = launch_from(object.at("launch"));
    recompute(record);
    if (warnings != nullptr) {
      const json& time = object.at("time_ns");
      for (const std::string& text :
           {difference("time_ns.p50", time.at("p50"), record.time_ns.p50),
            difference("time_ns.p99", time.at("p99"), record.time_ns.p99),
            difference("algbw_Bps", object.at("algbw_Bps"), record.algbw_Bps),
            difference("busbw_Bps", object.at("busbw_Bps"), record.busbw_Bps)}) {
        if (!text.empty()) warnings->push_back(fmt::format("cell {}: {}", cell_id(record), text));
      }
    }
    return record;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kConfig, fmt::format("not a record: {}", error.what()));
  }
}

}  // namespace plumbline
