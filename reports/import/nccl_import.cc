// nccl-tests -J. The times of single iterations (-I) become samples, because they are what our own
// samples are: the slowest process. Where the file is one of ours (report nccl-json), kind,
// algorithm and transport come back with it.
#include "reports/import/nccl_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/op.h"
#include "reports/import/foreign.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_nccl_json(std::string_view start) {
  return has_all(start, {"{", "\"start_time\"", "\"args\"", "\"version\""});
}

// nccl-tests lists one device a process, whatever a process drives.
int ranks_of(const json& config) {
  const json& devices = foreign_list(config, "devices");
  constexpr uint64_t kMost = 1 << 20;
  const uint64_t per_process = std::min(kMost, foreign_count(config, "nthreads").value_or(1)) *
                               std::min(kMost, foreign_count(config, "ngpus").value_or(1));
  if (devices.empty()) return 0;
  if (devices.size() == 1) return static_cast<int>(std::min(kMost, per_process));
  const uint64_t last = foreign_count(devices.back(), "rank").value_or(devices.size() - 1);
  const uint64_t before =
      foreign_count(devices[devices.size() - 2], "rank").value_or(devices.size() - 2);
  const uint64_t step = last > before ? last - before : 1;
  return static_cast<int>(std::min(kMost, last + step));
}

std::vector<std::string> texts_of(const json& list) {
  std::vector<std::string> out;
  for (const json& one : list) {
    if (one.is_string() && out.size() < 1000) out.push_back(one.get<std::string>().substr(0, 4096));
  }
  return out;
}

// "     0", " -1" or a number.
int root_of(const json& result) {
  const json* value = foreign_field(result, "root");
  if (value == nullptr) return -1;
  std::optional<double> number = foreign_number(result, "root");
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    const auto words = table_words(text);
    if (!words.empty()) number = table_number(words.front());
  }
  return number && *number >= 0 && *number <= (1 << 20) ? static_cast<int>(*number) : -1;
}

std::vector<double> times_of(const json* per_iteration) {
  std::vector<double> out;
  if (per_iteration == nullptr) return out;
  for (const json& one : foreign_list(*per_iteration, "times_us")) {
    if (one.is_number()) out.push_back(one.get<double>());
  }
  return out;
}

// What all rows of the file share.
NcclImportRow common_of(const json& root) {
  NcclImportRow row;
  if (const json* config = foreign_field(root, "config")) row.ranks = ranks_of(*config);
  if (const auto code = foreign_count(root, "nccl_version"); code && *code > 0) {
    row.version = fmt::format("with nccl {}", *code);
  }
  row.command = texts_of(foreign_list(root, "args"));
  if (const json* ours = foreign_field(root, "plumbline")) {
    row.op = foreign_text(*ours, "op");
    row.kind = foreign_text(*ours, "kind");
    row.algorithm = foreign_text(*ours, "algorithm");
    row.transport = foreign_text(*ours, "transport");
    row.version = "as written by plumbline " + foreign_text(*ours, "version");
    row.statistic = foreign_text(*ours, "time");
    if (row.statistic.empty()) row.statistic = "mean";
    if (row.statistic.rfind("median", 0) == 0) row.statistic = "median";
  }
  return row;
}

// The operation: the name of the experiment, or of the program.
std::string op_of(const NcclImportRow& row, const json& result, const ImportFile& file) {
  if (!row.op.empty()) return row.op;
  const std::string name = foreign_text(result, "experiment_name");
  if (!name.empty()) return name;
  if (!row.command.empty()) {
    const std::string& program = row.command.front();
    return program.substr(program.rfind('/') + 1);
  }
  return file.assume.op;
}

Status take_result(const ImportFile& file, const NcclImportRow& common, const json& result,
                   ImportResult& out) {
  NcclImportRow row = common;
  row.op = op_of(common, result, file);
  row.size = foreign_count(result, "size").value_or(0);
  row.count = foreign_count(result, "count").value_or(0);
  row.type = foreign_text(result, "type");
  row.redop = foreign_text(result, "redop");
  row.root = root_of(result);
  row.iterations = foreign_count(result, "actual_iterations").value_or(0);
  for (const char* key : {"out_of_place", "in_place"}) {
    const json* side = foreign_field(result, key);
    if (side == nullptr || !side->is_object()) continue;
    row.in_place = std::string_view(key) == "in_place";
    row.time_us = foreign_number(*side, "time");
    if (!row.time_us && foreign_field(*side, "cpu_time") != nullptr) {
      row.time_us = foreign_number(*side, "cpu_time");
      row.statistic = "mean CPU time";
    }
    row.algbw = foreign_number(*side, "alg_bw");
    row.busbw = foreign_number(*side, "bus_bw");
    row.wrong = foreign_number(*side, "nwrong");
    row.times_us = times_of(foreign_field(result, (std::string(key) + "_per_iter").c_str()));
    if (!row.time_us && row.times_us.empty()) continue;
    if (const Status added = add_nccl_row(file, row, out); !added) return added;
  }
  return {};
}

Status read_nccl_json(const ImportFile& file, ImportResult& out) {
  return each_json(file, out, [&](const json& root, size_t line) -> Status {
    const json* results = foreign_field(root, "results");
    if (results == nullptr || !results->is_array()) {
      add_note(file, line, "no list `results`", out);
      return {};
    }
    NcclImportRow common = common_of(root);
    if (common.ranks == 0) common.ranks = file.assume.ranks.value_or(0);
    if (common.ranks == 0) {
      add_note(file, line, "does not say how many ranks took part; say --assume ranks=N", out);
    }
    for (const json& result : *results) {
      if (const Status taken = take_result(file, common, result, out); !taken) return taken;
    }
    return {};
  });
}

constexpr double kMaxUs = 1e12;         // eleven days: beyond it a number is no time
constexpr size_t kKeptSamples = 10000;  // as in our own records

std::string our_type(const std::string& name) {
  const std::optional<DType> known = dtype_from(name);
  return known ? to_string(*known) : name;
}

std::string our_redop(const std::string& name) {
  const std::optional<RedOp> known = redop_from(name);
  return known ? to_string(*known) : name.empty() ? "none" : name;
}

void take_samples(const std::vector<double>& times_us, Measurement& m) {
  for (const double us : times_us) {
    if (!(us >= 0) || us > kMaxUs) continue;
    const int64_t ns = std::llround(us * 1e3);
    m.hist.add(ns);
    if (m.samples_ns.size() < kKeptSamples) m.samples_ns.push_back(ns);
  }
}

}  // namespace

ImportRow nccl_json_import() {
  return {{"nccl-tests-json", "nccl-tests -J"}, is_nccl_json, read_nccl_json};
}

Status add_nccl_row(const ImportFile& file, const NcclImportRow& row, ImportResult& out) {
  Record record = imported_record("nccl-tests", row.version);
  Cell& cell = record.cell;
  set_op(row.op, record);
  cell.kind = cell_kind_from(row.kind).value_or(kind_by_size(row.size));
  if (!row.algorithm.empty()) cell.algorithm = row.algorithm;
  cell.compression = row.compression;
  cell.arrays = row.arrays;
  cell.split = row.split;
  cell.transport = row.transport.empty() ? "nccl" : row.transport;
  cell.ranks = row.ranks;
  cell.bytes = row.size;
  cell.count = row.count;
  cell.dtype = our_type(row.type);
  cell.redop = our_redop(row.redop);
  cell.root = row.root;
  cell.placement = row.in_place ? "in" : "out";
  record.time = row.time;
  record.environment.command = row.command;

  Measurement& m = record.measurement;
  m.iterations = row.iterations;
  take_samples(row.times_us, m);
  Reported& told = *m.reported;
  if (row.time_us && *row.time_us >= 0 && *row.time_us < kMaxUs) {
    told.time_ns = *row.time_us * 1e3;
    told.statistic = row.statistic;
  }
  if (row.algbw && *row.algbw >= 0) told.algbw_Bps = *row.algbw * 1e9;
  if (row.busbw && *row.busbw >= 0) told.busbw_Bps = *row.busbw * 1e9;
  if (row.wrong && *row.wrong >= 0 && *row.wrong < 1e18) {
    m.wrong = static_cast<uint64_t>(*row.wrong);
    m.verified = *m.wrong == 0;
    if (*m.wrong > 0) {
      m.outcome = Outcome::kFailed;
      m.reason = "nccl-tests counted wrong elements";
    }
  }
  return add_record(file, std::move(record), out);
}

}  // namespace plumbline
