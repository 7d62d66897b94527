// Results as Google Benchmark writes them with --benchmark_format=json, so that its compare.py can
// test two files against each other: one entry per record, and records that repeat a cell
// (repetitions, launches of other runs) are repetitions of one benchmark, which is what the U test
// compares. real_time is the median of the record's samples; cpu_time is the CPU time of one rank
// and operation, timed or not, verification left out, 0 where the record does not know it.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "core/json.h"
#include "core/record/record.h"
#include "core/text.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A part of a benchmark's name: "/" separates parts and ":" a name from its value.
std::string part(const char* name, const std::string& value) {
  std::string out = fmt::format("/{}:", name);
  for (const char c : value) {
    if (c == '/' || c == ':' || c == '%') {
      out += fmt::format("%{:02X}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out;
}

// All independent variables but the repetition, those that are at rest left out.
std::string benchmark_name(const Record& record) {
  const Cell& cell = record.cell;
  std::string name = part("", cell.op).substr(2);
  name += part("kind", to_string(cell.kind));
  if (cell.engine != kNativeEngine) name += part("engine", cell.engine);
  name += part("algorithm", cell.algorithm) + part("transport", transport_of(record));
  name += part("type", cell.dtype);
  if (cell.redop != "none") name += part("redop", cell.redop);
  if (cell.root >= 0) name += part("root", fmt::format("{}", cell.root));
  name += part("ranks", fmt::format("{}", cell.ranks));
  name += part("bytes", fmt::format("{}", cell.bytes)) + part("place", cell.placement);
  if (cell.sync != "barrier") name += part("sync", cell.sync);
  if (cell.cache != "cold") name += part("cache", cell.cache);
  if (!cell.split.empty()) name += part("split", cell.split);
  if (cell.arrays != 1) name += part("arrays", fmt::format("{}", cell.arrays));
  if (cell.outstanding != 1) name += part("outstanding", fmt::format("{}", cell.outstanding));
  if (!cell.url.empty()) {
    name += part("url", cell.url) + part("api", cell.api) + part("answer", cell.answer);
    name += part("max_tokens", fmt::format("{}", cell.max_tokens));
  }
  if (!cell.model.empty()) name += part("model", cell.model);
  if (!cell.hosts.empty()) name += part("hosts", cell.hosts);
  if (!cell.distribution.empty()) name += part("distribution", cell.distribution);
  for (const auto& [key, value] : cell.params) name += part("set", key + "=" + value);
  return name;
}

double cpu_ns_per_operation(const Measurement& m) {
  const auto operations = static_cast<double>(measured_operations(m));
  if (m.per_rank.empty() || operations == 0) return 0;
  double sum = 0;
  for (const PerRank& rank : m.per_rank) sum += static_cast<double>(rank.cpu_ns);
  return sum / static_cast<double>(m.per_rank.size()) / operations;
}

bool has_time(const Item& item) {
  return item.valid() && item.typical_ns && std::isfinite(*item.typical_ns) &&
         row(item.record->cell.kind).has_times();
}

OrderedJson context_json(const View& view) {
  OrderedJson context = OrderedJson::object();
  if (!view.items.empty()) {
    const Record& record = *view.items.front().record;
    if (const auto ms = epoch_ms(record.time)) {
      std::string date = utc_text(*ms / 1000);
      if (!date.empty()) date.replace(date.size() - 1, 1, "+00:00");
      context["date"] = date;
    }
    const Environment& environment = record.environment;
    if (!environment.hosts.empty()) {
      const HostFacts& host = environment.hosts.front();
      context["host_name"] = host.hostname;
      if (host.cores_online > 0) context["num_cpus"] = host.cores_online;
      if (host.governor) context["cpu_scaling_enabled"] = *host.governor != "performance";
      if (host.load1) context["load_avg"] = {*host.load1};
    }
    if (!environment.command.empty()) context["executable"] = environment.command.front();
    context["plumbline_version"] = record.suite_version;
  }
  context["caches"] = OrderedJson::array();
  context["json_schema_version"] = 1;
  return context;
}

struct GbenchFamily {
  std::string name;
  std::vector<const Item*> launches;
};

void add_entries(const GbenchFamily& family, size_t index, OrderedJson& entries) {
  int64_t repetition = 0;
  for (const Item* item : family.launches) {
    const Measurement& m = item->record->measurement;
    OrderedJson entry = {{"name", family.name},
                         {"family_index", index},
                         {"per_family_instance_index", 0},
                         {"run_name", family.name},
                         {"run_type", "iteration"},
                         {"repetitions", family.launches.size()},
                         {"repetition_index", repetition++},
                         {"threads", 1},
                         {"iterations", m.iterations},
                         {"real_time", *item->typical_ns},
                         {"cpu_time", cpu_ns_per_operation(m)},
                         {"time_unit", "ns"}};
    if (item->algbw_Bps) entry["bytes_per_second"] = *item->algbw_Bps;
    if (item->busbw_Bps) entry["busbw_bytes_per_second"] = *item->busbw_Bps;
    if (m.ops_per_s) entry["items_per_second"] = *m.ops_per_s;
    entry["label"] = "run " + item->record->run_id;
    entry["plumbline_time"] = item->statistic == "p50" ? "median" : item->statistic;
    entries.push_back(std::move(entry));
  }
}

// Cells without a number stand beside the benchmarks: an entry of time 0 would be compared.
OrderedJson failed_json(const std::vector<const Item*>& items) {
  OrderedJson failed = OrderedJson::array();
  for (const Item* item : items) {
    failed.push_back({{"name", benchmark_name(*item->record)},
                      {"error_message", fmt::format("{}: {}", to_string(item->verdict),
                                                    item->record->measurement.reason)}});
  }
  return failed;
}

Expected<std::vector<std::string>> write_gbench_json(const ReportInput& input,
                                                     const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the gbench-json report needs an output stream");
  const View view = make_view(input.records);
  std::vector<GbenchFamily> families;
  std::map<std::string, size_t> place;
  std::vector<const Item*> failed;
  for (const Item& item : view.items) {
    const bool timed = row(item.record->cell.kind).timing != CellTiming::kNothing;
    if (!item.valid() && timed) failed.push_back(&item);
    if (!has_time(item)) continue;
    const std::string name = benchmark_name(*item.record);
    const auto [found, is_new] = place.try_emplace(name, families.size());
    if (is_new) families.push_back({name, {}});
    families[found->second].launches.push_back(&item);
  }
  OrderedJson entries = OrderedJson::array();
  for (size_t i = 0; i < families.size(); ++i) add_entries(families[i], i, entries);
  OrderedJson context = context_json(view);
  if (!failed.empty()) context["plumbline_failed"] = failed_json(failed);
  const OrderedJson document = {{"context", std::move(context)},
                                {"benchmarks", std::move(entries)}};
  *target.out << printable_json(json_text(document, 2));
  return std::vector<std::string>{};
}

}  // namespace

ReportRow gbench_json_report() {
  return {{"gbench-json", "one Google Benchmark entry per launch of a cell, for its compare.py"},
          "gbench.json",
          write_gbench_json};
}

}  // namespace plumbline
