// Google Benchmark's JSON. Every entry of run_type iteration is a record: its time is the mean over
// the iterations of that repetition. Where there are only aggregates of a benchmark
// (--benchmark_report_aggregates_only) they are one record: the median over its repetitions, else
// the mean.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "core/op.h"
#include "reports/import/foreign.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_gbench(std::string_view start) {
  return has_all(start, {"{", "\"context\""}) &&
         has_any(start, {"\"benchmarks\"", "\"library_build_type\"", "\"caches\""});
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

// "%2F" back to "/".
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      const size_t found = std::string_view("0123456789ABCDEF").find(text[at]);
      return found == std::string_view::npos ? -1 : static_cast<int>(found);
    };
    if (text[i] == '%' && i + 2 < text.size() && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

int small_number(const std::string& value, int otherwise) {
  const std::optional<uint64_t> number = table_count(value);
  return number && *number <= (1 << 20) ? static_cast<int>(*number) : otherwise;
}

// One part NAME:VALUE of a benchmark's name; false when it is none that we know.
bool take_part(const std::string& name, const std::string& value, Record& record) {
  Cell& cell = record.cell;
  const std::map<std::string, std::string*> texts = {
      {"algorithm", &cell.algorithm}, {"transport", &cell.transport},
      {"type", &cell.dtype},          {"redop", &cell.redop},
      {"place", &cell.placement},     {"sync", &cell.sync},
      {"cache", &cell.cache},         {"hosts", &cell.hosts},
      {"split", &cell.split},         {"distribution", &cell.distribution}};
  if (const auto found = texts.find(name); found != texts.end()) {
    *found->second = value;
  } else if (const auto kind = cell_kind_from(value);
             name == "kind" && kind && plumbline::row(*kind).has_times()) {
    cell.kind = *kind;
  } else if (name == "bytes" && table_count(value)) {
    cell.bytes = *table_count(value);
  } else if (name == "ranks" || name == "threads") {
    cell.ranks = small_number(value, cell.ranks);
  } else if (name == "root") {
    cell.root = small_number(value, cell.root);
  } else if (name == "arrays") {
    cell.arrays = std::max(1, small_number(value, 1));
  } else if (name == "outstanding") {
    cell.outstanding = std::max(1, small_number(value, 1));
  } else if (name == "set" && value.find('=') != std::string::npos) {
    cell.params[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  } else {
    return false;
  }
  return true;
}

// Parts that say how long or by which clock it was measured, not what.
bool is_setting(const std::string& part) {
  constexpr std::string_view kSettings[] = {"real_time",       "process_time", "manual_time",
                                            "min_time:",       "iterations:",  "repeats:",
                                            "min_warmup_time:"};
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [&](std::string_view start) { return part.rfind(start, 0) == 0; });
}

// The name of a benchmark: "copy/bytes:4096/ranks:2" says operation, size and ranks; other parts
// become parameters, so that different arguments stay different cells.
void take_benchmark_name(const std::string& full, Record& record) {
  Cell& cell = record.cell;
  cell.kind = CellKind::kLatency;
  cell.transport = "none";
  cell.ranks = 1;
  std::string arguments;
  bool first = true;
  // Names of template instances hold "/" only between arguments.
  for (size_t begin = 0; begin <= full.size();) {
    const size_t end = std::min(full.find('/', begin), full.size());
    const std::string part = full.substr(begin, end - begin);
    begin = end + 1;
    if (std::exchange(first, false)) {
      cell.op = percent_decoded(part);
      continue;
    }
    const size_t colon = part.find(':');
    const bool known =
        colon != std::string::npos && take_part(percent_decoded(part.substr(0, colon)),
                                                percent_decoded(part.substr(colon + 1)), record);
    if (known || is_setting(part)) continue;
    arguments += (arguments.empty() ? "" : "/") + part;
  }
  if (!arguments.empty()) cell.params["arguments"] = arguments;
  if (cell.op.empty()) cell.op = "unnamed";
  // Without quotes and brackets it may be an operation of ours.
  if (const std::optional<Op> op = op_from(cell.op)) {
    if (const std::optional<DType> type = dtype_from(cell.dtype)) {
      cell.count = shape_of(*op, *type, cell.ranks, cell.bytes).count;
    }
  }
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
  // A counter of the benchmark's own, as those of kernels_bench have it.
  if (const auto share = foreign_number(entry, "of_roof"); share && *share > 0) {
    m.extra["of_roof"] = *share;
    told.note = "the roof is the benchmark's own (its counter of_roof)";
  }
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
    add_note(file, line,
             fmt::format("of {} there is neither a mean nor a median; it is left out", clean(name)),
             out);
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
    add_note(file, line,
             fmt::format("{} aggregates are left out: the repetitions that they were made from are "
                         "here",
                         entries.beside),
             out);
  }
  if (!entries.others.empty()) {
    const std::vector<std::string> names(entries.others.begin(), entries.others.end());
    add_note(file, line,
             "aggregates that are no mean, median, stddev or cv are left out: " + join(names, ", "),
             out);
  }
}

Status read_gbench(const ImportFile& file, ImportResult& out) {
  return each_json(file, out, [&](const json& root, size_t line) -> Status {
    const json* list = foreign_field(root, "benchmarks");
    if (list == nullptr || !list->is_array()) {
      add_note(file, line, "no list `benchmarks`", out);
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
  return {{"google-benchmark", "Google Benchmark's JSON"}, is_gbench, read_gbench};
}

}  // namespace plumbline
