// nccl-tests -J. The times of single iterations (-I) become samples, because they are what our own
// samples are: the slowest process. Where the file is one of ours (report nccl-json), kind,
// algorithm and transport come back with it.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "reports/import/foreign.h"
#include "reports/import/nccl_rows.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_nccl_json(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return start.find('{') != std::string_view::npos && has("\"start_time\"") && has("\"args\"") &&
         has("\"version\"");
}

// nccl-tests lists one device a process, whatever a process drives.
int ranks_of(const json& config) {
  const json* devices = foreign_field(config, "devices");
  constexpr uint64_t kMost = 1 << 20;
  const uint64_t per_process = std::min(kMost, foreign_count(config, "nthreads").value_or(1)) *
                               std::min(kMost, foreign_count(config, "ngpus").value_or(1));
  if (devices == nullptr || !devices->is_array() || devices->empty()) return 0;
  if (devices->size() == 1) return static_cast<int>(std::min(kMost, per_process));
  const uint64_t last = foreign_count(devices->back(), "rank").value_or(devices->size() - 1);
  const uint64_t before =
      foreign_count((*devices)[devices->size() - 2], "rank").value_or(devices->size() - 2);
  const uint64_t step = last > before ? last - before : 1;
  return static_cast<int>(std::min(kMost, last + step));
}

std::vector<std::string> texts_of(const json* list) {
  std::vector<std::string> out;
  if (list == nullptr || !list->is_array()) return out;
  for (const json& one : *list) {
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
  const json* times = foreign_field(*per_iteration, "times_us");
  if (times == nullptr || !times->is_array()) return out;
  for (const json& one : *times) {
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
  row.command = texts_of(foreign_field(root, "args"));
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
      out.notes.push_back(at_line(file, line) + "no list `results`");
      return {};
    }
    NcclImportRow common = common_of(root);
    if (common.ranks == 0) common.ranks = file.assume.ranks.value_or(0);
    if (common.ranks == 0) {
      out.notes.push_back(at_line(file, line) +
                          "does not say how many ranks took part; say --assume ranks=N");
    }
    for (const json& result : *results) {
      if (const Status taken = take_result(file, common, result, out); !taken) return taken;
    }
    return {};
  });
}

}  // namespace

ImportRow nccl_json_import() {
  return {{"nccl-tests-json", "nccl-tests -J", {}, {}, ""}, is_nccl_json, read_nccl_json};
}

}  // namespace plumbline
