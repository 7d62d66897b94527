// Results as the nccl-tests programs write them with -J (version 3): one file per run, operation,
// algorithm, number of ranks and transport, because such a file is one run of one program. Units
// are theirs: microseconds and 10^9 bytes per second; flags are the texts "true" and "false"; what
// we do not know is null. `time` is our median where nccl-tests has a mean (the object "plumbline"
// says so); the numbers of the per-iteration objects are defined as nccl-tests defines them and
// made from the samples that the record keeps.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "core/file.h"
#include "core/json.h"
#include "core/op.h"
#include "core/text.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

std::string flag(bool value) { return value ? "true" : "false"; }

OrderedJson number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

OrderedJson scaled(std::optional<double> value, double unit) {
  if (!value) return nullptr;
  return number(*value / unit);
}

// "2026-11-20 20:42:23" from "2026-11-20T20:42:23.433Z".
std::string moment(const std::string& time) {
  const std::optional<int64_t> ms = epoch_ms(time);
  if (!ms) return {};
  std::string text = utc_text(*ms / 1000);
  if (text.empty()) return {};
  text[10] = ' ';
  text.pop_back();
  return text;
}

// nccl-tests' name of the operation ("AllReduce"), ours where it has none.
std::string experiment_name(const std::string& op) {
  static const std::map<std::string, std::string> kNames = {
      {"allreduce", "AllReduce"}, {"reduce_scatter", "ReduceScatter"},
      {"allgather", "AllGather"}, {"broadcast", "Broadcast"},
      {"reduce", "Reduce"},       {"gather", "Gather"},
      {"scatter", "Scatter"},     {"alltoall", "AlltoAll"},
      {"sendrecv", "SendRecv"}};
  const auto found = kNames.find(op);
  return found == kNames.end() ? op : found->second;
}

std::string type_name(const std::string& dtype) {
  const std::optional<DType> known = dtype_from(dtype);
  return known ? row(*known).nccl_name : dtype;
}

std::string redop_name(const std::string& redop) {
  const std::optional<RedOp> known = redop_from(redop);
  return known ? row(*known).nccl_name : redop;
}

OrderedJson placement_json(const Item* item) {
  if (!item || !item->valid() || !item->typical_ns) return nullptr;
  const Measurement& m = item->record->measurement;
  return {{"time", scaled(item->typical_ns, 1e3)},
          {"alg_bw", scaled(item->algbw_Bps.value_or(0), 1e9)},
          {"bus_bw", scaled(item->busbw_Bps.value_or(0), 1e9)},
          {"nwrong", m.wrong ? OrderedJson(static_cast<double>(*m.wrong)) : OrderedJson(nullptr)}};
}

// Percentiles by nccl-tests' ranks: element ceil(n p / 100) for p95 and p99, element n / 2 (from 0
// on) for the median.
OrderedJson per_iteration_json(const Item& item) {
  const std::vector<int64_t>& samples = item.record->measurement.samples_ns;
  std::vector<double> us;
  us.reserve(samples.size());
  for (const int64_t ns : samples) us.push_back(static_cast<double>(ns) / 1e3);
  std::vector<double> sorted = us;
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size();
  const auto at_percent = [&](size_t percent) {
    return sorted[std::min(n - 1, (n * percent + 99) / 100 - 1)];
  };
  const auto count = static_cast<double>(n);
  const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / count);
  return {{"skipped_iterations", 0},
          {"min_us", sorted.front()},
          {"max_us", sorted.back()},
          {"avg_us", mean},
          {"p50_us", sorted[n / 2]},
          {"p95_us", at_percent(95)},
          {"p99_us", at_percent(99)},
          {"stdev_us", deviation},
          {"cv_pct", mean > 0 ? deviation / mean * 100 : 0},
          {"times_us", std::move(us)}};
}

OrderedJson result_json(const Pair& pair) {
  const Record& record = *pair.any().record;
  const Cell& cell = record.cell;
  OrderedJson result = {{"size", cell.bytes},
                        {"count", cell.count},
                        {"type", type_name(cell.dtype)},
                        {"redop", redop_name(cell.redop)},
                        {"root", fmt::format("{:6}", cell.root)}};
  for (const auto& [key, item] : {std::pair{"out_of_place", pair.out}, {"in_place", pair.in}}) {
    result[key] = placement_json(item);
    const bool shown = !result[key].is_null();
    if (shown && !item->record->measurement.samples_ns.empty()) {
      result[std::string(key) + "_per_iter"] = per_iteration_json(*item);
    }
  }
  result["actual_iterations"] = record.measurement.iterations;
  result["experiment_name"] = experiment_name(cell.op);
  return result;
}

OrderedJson devices_json(const Record& record, int ranks) {
  OrderedJson devices = OrderedJson::array();
  const std::vector<PerRank>& seen = record.measurement.per_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto found = std::find_if(seen.begin(), seen.end(),
                                    [&](const PerRank& one) { return one.rank == rank; });
    const bool known = found != seen.end() && !found->host.empty();
    OrderedJson device = {{"rank", rank}, {"group", 0}, {"pid", nullptr}};
    if (known) device["hostname"] = found->host;
    device["device"] = nullptr;
    device["device_hex"] = nullptr;
    device["device_info"] = transport_of(record);
    devices.push_back(std::move(device));
  }
  return devices;
}

// step_factor or step_bytes, where the sizes have either.
void add_steps(const std::set<uint64_t>& sizes, OrderedJson& config) {
  std::set<uint64_t> factors, differences;
  uint64_t before = 0;
  for (const uint64_t size : sizes) {
    if (before > 0) {
      factors.insert(size % before == 0 ? size / before : 0);
      differences.insert(size - before);
    }
    before = size;
  }
  if (factors.size() == 1 && *factors.begin() > 1) {
    config["step_factor"] = *factors.begin();
  } else if (differences.size() == 1) {
    config["step_bytes"] = *differences.begin();
  }
}

OrderedJson config_json(const ViewGroup& group) {
  std::set<uint64_t> sizes;
  bool checked = false, samples = false;
  for (const Pair& pair : group.rows) {
    sizes.insert(pair.any().record->cell.bytes);
    const Measurement& m = pair.any().record->measurement;
    checked = checked || m.wrong.has_value();
    samples = samples || !m.samples_ns.empty();
  }
  const Record& first = *group.rows.front().any().record;
  OrderedJson config = {{"nthreads", 1},
                        {"ngpus", 1},
                        {"minimum_bytes", *sizes.begin()},
                        {"maximum_bytes", *sizes.rbegin()}};
  add_steps(sizes, config);
  config["warmup_iters"] = first.measurement.warmup_iterations;
  config["iterations"] = first.measurement.iterations;
  config["aggregated_iterations"] = 1;
  config["validation"] = checked ? 1 : 0;
  config["graph"] = 0;
  config["blocking_collectives"] = flag(true);
  config["per_iter_timing"] = flag(samples);
  config["per_iter_skip"] = 0;
  config["parallel_init"] = flag(true);
  config["devices"] = devices_json(first, std::clamp(group.ranks, 0, 1 << 16));
  return config;
}

// What the rows add up to: the footer, and the reasons of rows without numbers.
void add_summary(const ViewGroup& group, OrderedJson& document) {
  int wrong = 0;
  double busbw = 0;
  uint64_t placements = 0;
  OrderedJson errors = OrderedJson::array();
  for (const Pair& pair : group.rows) {
    for (const Item* item : {pair.out, pair.in}) {
      if (!item) continue;
      const Measurement& m = item->record->measurement;
      if (m.wrong.value_or(0) > 0) ++wrong;
      if (!item->valid()) {
        errors.push_back(describe(*item->record) + ": " + to_string(item->verdict) + ": " +
                         m.reason);
        continue;
      }
      busbw += item->busbw_Bps.value_or(0) / 1e9;
      ++placements;
    }
  }
  document["out_of_bounds"] = {{"count", wrong}, {"okay", flag(wrong == 0)}};
  document["average_bus_bandwidth"] = {
      {"bandwidth", placements ? busbw / static_cast<double>(placements) : 0},
      {"okay", "unchecked"}};
  document["errors"] = std::move(errors);
}

// What `time` is in this file: our median, or what another tool printed.
std::string time_is(const ViewGroup& group) {
  for (const Pair& pair : group.rows) {
    const std::string& statistic = pair.any().statistic;
    if (!statistic.empty() && statistic != "p50") return statistic;
  }
  return "median over operations of the slowest rank";
}

OrderedJson nccl_document(const ViewGroup& group) {
  std::string first, last;
  for (const Pair& pair : group.rows) {
    for (const Item* item : {pair.out, pair.in}) {
      if (!item) continue;
      const std::string& time = item->record->time;
      if (first.empty() || time < first) first = time;
      if (time > last) last = time;
    }
  }
  const Record& record = *group.rows.front().any().record;
  OrderedJson environment = OrderedJson::array();
  if (!record.environment.hosts.empty()) {
    for (const auto& [name, value] : record.environment.hosts.front().environment) {
      environment.push_back(name + "=" + value);  // allow-listed when the record was written
    }
  }
  OrderedJson document = {{"version", 3},
                          {"start_time", moment(first)},
                          {"args", record.environment.command},
                          {"env", std::move(environment)},
                          {"nccl_version", 0},
                          {"plumbline",
                           {{"version", record.suite_version},
                            {"run", record.run_id},
                            {"kind", to_string(group.kind)},
                            {"op", group.op},
                            {"engine", group.engine},
                            {"algorithm", group.algorithm},
                            {"transport", group.transport},
                            {"time", time_is(group)}}},
                          {"config", config_json(group)}};
  OrderedJson results = OrderedJson::array();
  for (const Pair& pair : group.rows) results.push_back(result_json(pair));
  document["results"] = std::move(results);
  add_summary(group, document);
  document["end_time"] = moment(last);
  return document;
}

// The group once for each run in it, in the order of their first rows.
std::vector<ViewGroup> by_run(const ViewGroup& group) {
  std::vector<ViewGroup> parts;
  std::map<std::string, size_t> place;
  for (const Pair& pair : group.rows) {
    const auto [found, is_new] = place.try_emplace(pair.any().record->run_id, parts.size());
    if (is_new) {
      parts.push_back(group);
      parts.back().rows.clear();
    }
    parts[found->second].rows.push_back(pair);
  }
  return parts;
}

Status write_file(const std::string& path, const OrderedJson& document) {
  std::ofstream file(path);
  file << printable_json(json_text(document));
  if (file.flush()) return {};
  return fail_errno(ErrorCode::kSystem, "write " + path, errno, "choose another --out");
}

std::string short_word(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  return out.substr(0, 60);
}

// "latency_allreduce_ring_4r_tcp.json", with a number where that is taken.
std::string file_name(const ViewGroup& group, FileNames& names) {
  const std::string name =
      fmt::format("{}_{}_{}_{}r_{}", short_word(to_string(group.kind)), short_word(group.op),
                  short_word(group.algorithm), group.ranks, short_word(group.transport));
  return names.take(name) + ".json";
}

Expected<std::vector<std::string>> write_nccl_json(const ReportInput& input,
                                                   const ReportTarget& target) {
  if (target.directory.empty()) {
    return fail(ErrorCode::kUsage, "the nccl-json report needs a folder", "give --out");
  }
  const View view = make_view(input.records);
  std::vector<std::string> paths;
  FileNames names;
  for (const ViewGroup& group : view.groups) {
    if (row(group.kind).timing != CellTiming::kEach) continue;
    std::error_code code;
    fs::create_directories(target.directory, code);
    for (const ViewGroup& part : by_run(group)) {
      const std::string path = (fs::path(target.directory) / file_name(part, names)).string();
      if (Status done = write_file(path, nccl_document(part)); !done) return fail(done.error());
      paths.push_back(path);
    }
  }
  if (paths.empty()) {
    return fail(ErrorCode::kConfig,
                fmt::format("none of the {} records is of kind latency or bandwidth: there is "
                            "nothing to write as nccl-tests does",
                            input.records.size()));
  }
  return paths;
}

}  // namespace

ReportRow nccl_json_report() {
  return {{"nccl-json",
           "latency and bandwidth as nccl-tests -J writes them, a file for each operation and "
           "number of ranks"},
          "nccl/",
          write_nccl_json};
}

}  // namespace plumbline
