#include "core/record/record_parser.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "core/json.h"
#include "core/json_trouble.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMostCells = 4096;  // remembered by their text

[[noreturn]] void refuse(const std::string& what) {
  throw json::other_error::create(501, what, nullptr);
}

// The library counts columns in what was cut out for it.
std::string short_reason(const std::exception& error) {
  std::string text = json_trouble(error);
  if (text.starts_with("no JSON at ")) text = "no JSON";
  return text;
}

template <typename T>
void get_optional(const json& object, const char* key, std::optional<T>& value) {
  value.reset();
  if (!object.at(key).is_null()) get_field(object, key, value.emplace());
}

const json& list_at(const json& object, const char* key) {
  const json& list = object.at(key);
  if (!list.is_array()) refuse(std::string(key) + " is no list");
  return list;
}

Outcome outcome_of(const std::string& word) {
  for (const Outcome outcome :
       {Outcome::kPassed, Outcome::kFailed, Outcome::kSkipped, Outcome::kError}) {
    if (word == to_string(outcome)) return outcome;
  }
  refuse("unknown outcome");
}

Resolved resolved_from(const json& object) {
  Resolved resolved;
  get_field(object, "transport", resolved.transport);
  get_field(object, "algorithm", resolved.algorithm);
  get_field(object, "congestion_control", resolved.congestion_control);
  get_field(object, "kernel", resolved.kernel);
  get_field(object, "chunk_bytes", resolved.chunk_bytes);
  get_field(object, "streams", resolved.streams);
  get_field(object, "address_pairs", resolved.address_pairs);
  return resolved;
}

Reported reported_from(const json& object) {
  Reported told;
  get_field(object, "tool", told.tool);
  get_field(object, "version", told.version);
  get_field(object, "statistic", told.statistic);
  get_optional(object, "time_ns", told.time_ns);
  get_optional(object, "algbw_Bps", told.algbw_Bps);
  get_optional(object, "busbw_Bps", told.busbw_Bps);
  get_field(object, "note", told.note);
  for (const std::optional<double>& value : {told.time_ns, told.algbw_Bps, told.busbw_Bps}) {
    if (value && *value < 0) refuse("reported: a negative time or rate");
  }
  return told;
}

PerRank per_rank_from(const json& object) {
  PerRank rank;
  get_field(object, "rank", rank.rank);
  get_field(object, "host", rank.host);
  get_optional(object, "p50", rank.p50);
  get_optional(object, "p99", rank.p99);
  get_optional(object, "mean", rank.mean);
  get_field(object, "wire_bytes", rank.wire_bytes);
  get_field(object, "cpu_ns", rank.cpu_ns);
  get_field(object, "context_switches", rank.context_switches);
  get_field(object, "retransmits", rank.retransmits);
  get_field(object, "cpu", rank.cpu);
  get_field_or(object, "affinity", rank.affinity, std::string());
  get_field_or(object, "numa_node", rank.numa_node, -1);
  get_optional(object, "clock_offset_ns", rank.clock_offset_ns);
  get_optional(object, "clock_error_ns", rank.clock_error_ns);
  if (object.contains("memory_bytes")) get_optional(object, "memory_bytes", rank.memory_bytes);
  return rank;
}

// All of a measurement but its samples and histogram.
void read_measurement(const json& object, Measurement& m) {
  m.outcome = outcome_of(object.at("outcome").get<std::string>());
  get_field(object, "reason", m.reason);
  get_field(object, "cause", m.cause);
  get_field(object, "verified", m.verified);
  get_optional(object, "wrong", m.wrong);
  get_field(object, "stop_reason", m.stop_reason);
  get_field(object, "iterations", m.iterations);
  get_field(object, "first_op_ns", m.first_op_ns);
  get_field(object, "elapsed_ns", m.elapsed_ns);
  get_optional(object, "ops_per_s", m.ops_per_s);
  get_optional(object, "bytes_per_s", m.bytes_per_s);
  get_field(object, "warmup_iterations", m.warmup_iterations);
  get_field(object, "warmup_converged", m.warmup_converged);
  get_field(object, "wire_bytes", m.wire_bytes);
  m.per_rank.clear();
  for (const json& rank : list_at(object, "per_rank")) m.per_rank.push_back(per_rank_from(rank));
  m.resolved = resolved_from(object.at("resolved"));
  m.extra.clear();
  for (const auto& [key, value] : object.at("extra").items()) {
    if (!value.is_null()) get_field(object.at("extra"), key.c_str(), m.extra[key]);
  }
  m.links.clear();
  if (object.contains("links")) get_field(object, "links", m.links);
  m.reported.reset();
  if (object.contains("reported")) m.reported = reported_from(object.at("reported"));
}

Environment environment_from(const json& object) {
  Environment environment;
  get_field(object, "hosts", environment.hosts);
  for (const auto& [name, option] : object.at("options").items()) {
    OptionValue& value = environment.options[name];
    get_field(option, "value", value.value);
    get_field(option, "origin", value.origin);
  }
  get_field(object, "command", environment.command);
  get_field(object, "control", environment.control);
  get_field(object, "auth", environment.auth);
  return environment;
}

SoakMark soak_from(const json& object) {
  SoakMark mark;
  get_field(object, "round", mark.round);
  get_field(object, "at_ns", mark.at_ns);
  get_field(object, "idle_ns", mark.idle_ns);
  get_optional(object, "memory_bytes", mark.memory_bytes);
  if (mark.round < 1 || mark.at_ns < 0 || mark.idle_ns < 0) {
    refuse("soak: rounds begin at 1, times are not negative");
  }
  return mark;
}

LaunchMark launch_from(const json& object) {
  LaunchMark mark;
  get_field(object, "number", mark.number);
  get_field(object, "series", mark.series);
  get_field(object, "side", mark.side);
  if (mark.number < 1 || mark.series < 1) refuse("launch: numbers begin at 1");
  return mark;
}

// Every link must lie within the cell's world, and each ordered pair may be there once.
void check_links(const Record& record) {
  std::set<std::pair<int, int>> seen;
  for (const LinkResult& link : record.measurement.links) {
    if (std::max(link.from, link.to) >= record.cell.ranks) {
      refuse("link of a rank beyond cell.ranks");
    }
    if (!seen.insert({link.from, link.to}).second) refuse("the same link twice");
  }
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
  const bool plain = stored.is_number() || stored.is_null();
  return fmt::format("{} is {} in the file but {} by its samples", name,
                     plain ? stored.dump() : "no number",
                     computed ? fmt::format("{:.6g}", *computed) : "null");
}

void read_common(const json& object, Record& record) {
  get_field(object, "suite_version", record.suite_version);
  get_field(object, "run_id", record.run_id);
  get_field(object, "time", record.time);
  get_field(object, "scenario", record.scenario);
  get_field(object, "question", record.question);
  get_field(object, "plan_hash", record.plan_hash);
  get_field(object, "seed", record.seed);
  const json& noise = object.at("noise");
  get_field(noise, "verdict", record.noise.verdict);
  get_field(noise, "causes", record.noise.causes);
  record.soak.reset();
  if (object.contains("soak")) record.soak = soak_from(object.at("soak"));
  record.launch.reset();
  if (object.contains("launch")) record.launch = launch_from(object.at("launch"));
}

void compare_derived(const json& object, const Record& record, std::vector<std::string>& warnings) {
  const json& time = object.at("time_ns");
  for (const std::string& text :
       {difference("time_ns.p50", time.at("p50"), record.time_ns.p50),
        difference("time_ns.p99", time.at("p99"), record.time_ns.p99),
        difference("algbw_Bps", object.at("algbw_Bps"), record.algbw_Bps),
        difference("busbw_Bps", object.at("busbw_Bps"), record.busbw_Bps)}) {
    if (!text.empty()) warnings.push_back(fmt::format("cell {}: {}", cell_id(record), text));
  }
}

// The usual case without a tree of JSON; false when something is unusual.
bool read_histogram(std::string_view text, Histogram& histogram, Histogram::Buckets& buckets) {
  std::vector<JsonMember> members;
  if (!split_object(text, members)) return false;
  int64_t min = 0, max = 0;
  uint64_t n = 0, sum = 0;
  int found = 0;
  for (const auto& [key, value] : members) {
    const bool read =
        (key == "buckets" && read_integer_pairs(value, buckets)) ||
        (key == "min" && read_integer(value, min)) || (key == "max" && read_integer(value, max)) ||
        (key == "sum" && read_integer(value, sum)) || (key == "n" && read_integer(value, n));
    if (!read) return false;
    ++found;
  }
  std::optional<Histogram> read = Histogram::from_foreign(buckets, min, max, sum);
  if (found != 5 || !read) return false;
  histogram = std::move(*read);
  return true;
}

}  // namespace

void from_json(const json& object, Measurement& m) {
  read_measurement(object, m);
  get_field(object, "hist", m.hist);
  get_field(object, "samples_ns", m.samples_ns);
}

void RecordParser::read_cell(std::string_view text) {
  const auto known = cells_.find(text);
  if (known != cells_.end()) {
    record_.cell = known->second;
    return;
  }
  json::parse(text).get_to(record_.cell);
  if (cells_.size() >= kMostCells) cells_.clear();
  cells_.emplace(text, record_.cell);
}

void RecordParser::read_environment(std::string_view text) {
  if (text == environment_text_) return;
  environment_text_.clear();
  record_.environment = environment_from(json::parse(text));
  environment_text_ = text;
}

void RecordParser::read(std::string_view line, std::vector<std::string>* warnings) {
  if (!split_object(line, members_)) {
    const json other = json::parse(line);  // mostly it says best what is wrong
    refuse(std::string("no JSON object but ") + other.type_name() + ", or nested too deep");
  }
  std::string_view cell, environment, hist, samples;
  record_.schema = 0;
  rest_ = "{";
  for (const JsonMember& member : members_) {
    if (member.key == "cell") {
      cell = member.value;
    } else if (member.key == "environment") {
      environment = member.value;
    } else if (member.key == "hist") {
      hist = member.value;
    } else if (member.key == "samples_ns") {
      samples = member.value;
    } else {
      if (rest_.size() > 1) rest_ += ',';
      rest_.append("\"").append(member.key).append("\":").append(member.value);
      if (member.key == "schema") json::parse(member.value).get_to(record_.schema);
    }
  }
  rest_ += '}';
  if (record_.schema < 1) refuse("it has no schema");
  if (record_.schema > kRecordSchema && !newer_) {
    refuse(
        fmt::format("record has schema {}, this program reads {}", record_.schema, kRecordSchema));
  }
  for (const auto& [key, text] : {std::pair("cell", cell), std::pair("environment", environment),
                                  std::pair("hist", hist), std::pair("samples_ns", samples)}) {
    if (text.empty()) refuse(fmt::format("key '{}' not found", key));
  }
  const json object = json::parse(rest_);
  read_common(object, record_);
  read_measurement(object, record_.measurement);
  read_cell(cell);
  if (!read_histogram(hist, record_.measurement.hist, buckets_)) {
    json::parse(hist).get_to(record_.measurement.hist);
  }
  if (!read_integers(samples, record_.measurement.samples_ns)) {
    json::parse(samples).get_to(record_.measurement.samples_ns);
  }
  check_links(record_);
  read_environment(environment);
  recompute(record_);
  if (warnings != nullptr) compare_derived(object, record_, *warnings);
}

Expected<const Record*> RecordParser::parse_json(std::string_view line,
                                                 std::vector<std::string>* warnings) {
  try {
    read(line, warnings);
    return &record_;
  } catch (const json::exception& error) {
    return fail(ErrorCode::kConfig, "not a record: " + short_reason(error),
                record_.schema > kRecordSchema ? "use the version of plumbline that wrote it" : "");
  }
}

Expected<const Record*> RecordParser::parse(std::string_view line,
                                            std::vector<std::string>* warnings) {
  Expected<const Record*> record = parse_json(line, warnings);
  if (record) return record;
  const std::optional<std::string> repaired = without_nonfinite(line);
  if (!repaired) return record;
  Expected<const Record*> second = parse_json(*repaired, warnings);
  if (second && warnings != nullptr) {
    warnings->push_back("NaN or infinity, which are not JSON, are read as 'not known'");
  }
  return second;
}

Expected<Record> record_from_line(std::string_view line, std::vector<std::string>* warnings) {
  RecordParser parser;
  const Expected<const Record*> record = parser.parse(line, warnings);
  if (!record) return fail(record.error());
  return parser.release();
}

}  // namespace plumbline
