// Google Benchmark's JSON. Every entry of run_type iteration is a record: its time is the mean over
// the iterations of that repetition. Where there are only aggregates of a benchmark
// (--benchmark_report_aggregates_only) they are one record: the median over its repetitions, else
// the mean.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "reports/import/foreign.h"
#include "reports/import/gbench_name.h"
#include "reports/text.h"
#include "reports/utc.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_gbench(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return start.find('{') != std::string_view::npos && has("\"context\"") &&
         (has("\"benchmarks\"") || has("\"library_build_type\"") || has("\"caches\""));
}

double unit_ns(const std::string& unit) {
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 1;
}

std::string utc_of(const std::string& date) {
  const std::optional<int64_t> ms = epoch_ms(date);
  return ms && *ms >= 0 ? utc_text(*ms / 1000) : std::string();
}

std::string name_of(const json& entry) {
  std::string name = foreign_text(entry, "run_name");
  return name.empty() ? foreign_text(entry, "name") : name;
}

bool is_aggregate(const json& entry) {
  const std::string type = foreign_text(entry, "run_type");
  return !type.empty() && type != "iteration";
}

Record record_named(const json& context, const std::string& name) {
  Record record = imported_record("google-benchmark", foreign_text(context, "library_version"));
  take_benchmark_name(name, record);
  record.time = utc_of(foreign_text(context, "date"));
  const std::string program = foreign_text(context, "executable");
  if (!program.empty()) record.environment.command = {program};
  return record;
}

// Time and rates of an entry, whatever they are of. Without a time the record is an error.
void take_numbers(const json& entry, Record& record) {
  Measurement& m = record.measurement;
  const std::optional<double> time = foreign_number(entry, "real_time");
  if (!time || *time < 0 || *time > 1e18) {
    m.outcome = Outcome::kError;
    m.reason = "no real_time that is a number";
    return;
  }
  Reported& told = *m.reported;
  const double unit = unit_ns(foreign_text(entry, "time_unit"));
  told.time_ns = *time * unit;
  const auto rate = foreign_number(entry, "bytes_per_second");
  if (rate && *rate >= 0) told.algbw_Bps = rate;
  const auto bus = foreign_number(entry, "busbw_bytes_per_second");
  if (bus && *bus >= 0) told.busbw_Bps = bus;
  if (const auto items = foreign_number(entry, "items_per_second")) m.extra["items_per_s"] = *items;
  if (const auto cpu = foreign_number(entry, "cpu_time")) m.extra["cpu_time_ns"] = *cpu * unit;
}

Status take_entry(const ImportFile& file, const json& context, const json& entry,
                  ImportResult& out) {
  Record record = record_named(context, name_of(entry));
  Measurement& m = record.measurement;
  m.iterations = foreign_count(entry, "iterations").value_or(0);
  const json* failed = foreign_field(entry, "error_occurred");
  if (failed == nullptr) failed = foreign_field(entry, "skipped");
  if (failed != nullptr && (!failed->is_boolean() || failed->get<bool>())) {
    m.outcome = Outcome::kError;
    m.reason = foreign_text(entry, "error_message") + foreign_text(entry, "skip_message");
    return add_record(file, std::move(record), out);
  }
  take_numbers(entry, record);
  Reported& told = *m.reported;
  told.statistic = foreign_text(entry, "plumbline_time");  // of our own export: a median, mostly
  if (told.statistic.empty()) told.statistic = "mean";
  return add_record(file, std::move(record), out);
}

// What was made of the repetitions of one benchmark.
using Aggregates = std::map<std::string, const json*>;  // "mean", "stddev" ... -> entry

Status take_aggregates(const ImportFile& file, size_t line, const json& context,
                       const std::string& name, const Aggregates& all, ImportResult& out) {
  const auto found = [&](const char* statistic) {
    const auto it = all.find(statistic);
    return it == all.end() ? nullptr : it->second;
  };
  const char* statistic = found("median") != nullptr ? "median" : "mean";
  const json* chosen = found(statistic);
  if (chosen == nullptr) {
    out.notes.push_back(
        at_line(file, line) +
        fmt::format("of {} there is neither a mean nor a median; it is left out", clean(name)));
    return {};
  }
  Record record = record_named(context, name);
  take_numbers(*chosen, record);
  Measurement& m = record.measurement;
  m.reported->statistic = fmt::format("{} over repetitions", statistic);
  const auto put = [&](const char* aggregate, const char* field) {
    const json* entry = found(aggregate);
    const auto value = entry == nullptr ? std::nullopt : foreign_number(*entry, "real_time");
    if (!value) return;
    const bool share = foreign_text(*entry, "aggregate_unit") == "percentage";
    m.extra[field] = *value * (share ? 1 : unit_ns(foreign_text(*entry, "time_unit")));
  };
  if (chosen != found("mean")) put("mean", "mean_ns");
  put("stddev", "stddev_ns");
  put("cv", "cv");
  if (const auto count = foreign_count(*chosen, "repetitions")) {
    m.extra["repetitions"] = static_cast<double>(*count);
  }
  return add_record(file, std::move(record), out);
}

// The entries of one document, parted.
struct Entries {
  std::vector<const json*> repetitions;
  std::vector<std::string> summed_up;  // benchmarks of which there are only aggregates, in order
  std::map<std::string, Aggregates> aggregates;
  size_t beside = 0;             // aggregates whose repetitions are here too
  std::set<std::string> others;  // aggregates that are no time of an operation
};

Entries part(const json& list) {
  Entries entries;
  std::set<std::string> repeated;
  for (const json& entry : list) {
    if (is_aggregate(entry)) continue;
    entries.repetitions.push_back(&entry);
    repeated.insert(name_of(entry));
  }
  for (const json& entry : list) {
    if (!is_aggregate(entry)) continue;
    const std::string name = name_of(entry);
    const std::string statistic = foreign_text(entry, "aggregate_name");
    const bool known =
        statistic == "mean" || statistic == "median" || statistic == "stddev" || statistic == "cv";
    if (!known) {
      entries.others.insert(clean(statistic.substr(0, 64)));
    } else if (repeated.count(name) > 0) {
      ++entries.beside;
    } else {
      if (entries.aggregates.count(name) == 0) entries.summed_up.push_back(name);
      entries.aggregates[name].emplace(statistic, &entry);
    }
  }
  return entries;
}

void say_left_out(const ImportFile& file, size_t line, const Entries& entries, ImportResult& out) {
  if (entries.beside > 0) {
    out.notes.push_back(at_line(file, line) +
                        fmt::format("{} aggregates are left out: the repetitions that they were "
                                    "made from are here",
                                    entries.beside));
  }
  if (!entries.others.empty()) {
    const std::vector<std::string> names(entries.others.begin(), entries.others.end());
    out.notes.push_back(at_line(file, line) +
                        fmt::format("aggregates that are no mean, median, stddev or cv are left "
                                    "out: {}",
                                    join(names, ", ")));
  }
}

Status read_gbench(const ImportFile& file, ImportResult& out) {
  return each_json(file, out, [&](const json& root, size_t line) -> Status {
    const json* list = foreign_field(root, "benchmarks");
    if (list == nullptr || !list->is_array()) {
      out.notes.push_back(at_line(file, line) + "no list `benchmarks`");
      return {};
    }
    const json* given = foreign_field(root, "context");
    const json none;
    const json& context = given != nullptr ? *given : none;
    const Entries entries = part(*list);
    for (const json* entry : entries.repetitions) {
      if (const Status taken = take_entry(file, context, *entry, out); !taken) return taken;
    }
    for (const std::string& name : entries.summed_up) {
      const Aggregates& all = entries.aggregates.at(name);
      if (const Status taken = take_aggregates(file, line, context, name, all, out); !taken) {
        return taken;
      }
    }
    say_left_out(file, line, entries, out);
    return {};
  });
}

}  // namespace

ImportRow gbench_import() {
  return {{"google-benchmark", "Google Benchmark's JSON", {}, {}, ""}, is_gbench, read_gbench};
}

}  // namespace plumbline
