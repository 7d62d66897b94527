#include "core/record/record_fields.h"

#include "core/field_json.h"
#include "core/record/record_tables.h"

namespace plumbline {
namespace {

using nlohmann::json;

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

const FieldRows& rows_of_record() {
  static const FieldRows kRows = [] {
    FieldRows rows;
    add_rows<Record>("", rows);
    add_rows<Measurement>("", rows);
    return rows;
  }();
  return kRows;
}

const FieldRows& rows_of_environment_line() {
  static const FieldRows kRows = [] {
    FieldRows rows;
    add_rows<EnvironmentLine>("", rows);
    return rows;
  }();
  return kRows;
}

}  // namespace

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

std::span<const FieldRow> record_fields() { return rows_of_record().all(); }

std::span<const FieldRow> environment_line_fields() { return rows_of_environment_line().all(); }

std::string record_schema_json() {
  json record = json::parse(schema_json(record_fields(), "a record"));
  json line =
      json::parse(schema_json(environment_line_fields(), "the environment of records below"));
  for (json* kind : {&record, &line}) kind->erase("$schema");
  const json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"},
      {"title", "plumbline record, schema 2: one line of records.jsonl"},
      // By what it must have: then what is wrong with a line is told of the right kind.
      {"if", {{"required", {"hash"}}}},
      {"then", std::move(line)},
      {"else", std::move(record)}};
  return json_text(schema);
}

std::string record_reference_markdown() {
  return fields_markdown(record_fields()) + "\nThe line of an environment:\n\n" +
         fields_markdown(environment_line_fields());
}

}  // namespace plumbline
