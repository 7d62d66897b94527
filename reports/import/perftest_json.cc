// perftest --out_json. The file does not say in which unit its bandwidths are (--report_gbits
// decides), so they are only read when the user says so: --assume unit=MiB/s or unit=Gb/s.
#include "core/json.h"
#include "reports/import/foreign.h"
#include "reports/import/perftest_rows.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_perftest_json(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return start.find('{') != std::string_view::npos && has("test_info") &&
         (has("Transport_type") || has("MsgSize") || has("Link_type"));
}

std::optional<double> first_of(const json& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const std::optional<double> value = foreign_number(object, key);
    if (value && *value >= 0) return value;
  }
  return std::nullopt;
}

void take_info(const json& info, PerftestRow& row) {
  row.test = foreign_text(info, "test");
  constexpr std::pair<const char*, const char*> kParams[] = {
      {"Device", "device"}, {"Connection_type", "connection"}, {"Link_type", "link"}};
  for (const auto& [key, name] : kParams) {
    const std::string value = foreign_text(info, key);
    if (!value.empty()) row.params.emplace_back(name, value);
  }
  const uint64_t queues = foreign_count(info, "Number_of_qps").value_or(1);
  if (queues != 1) row.params.emplace_back("queue_pairs", std::to_string(queues));
}

Status take(const ImportFile& file, const json& root, size_t line, ImportResult& out) {
  const json* results = foreign_field(root, "results");
  if (results == nullptr || !results->is_object()) {
    out.notes.push_back(at_line(file, line) + "no object `results`");
    return {};
  }
  PerftestRow row;
  if (const json* info = foreign_field(root, "test_info")) take_info(*info, row);
  row.bytes = foreign_count(*results, "MsgSize").value_or(0);
  row.iterations = foreign_count(*results, "n_iterations").value_or(0);
  row.average_Bps = first_of(*results, {"BW_average", "bw_avg"});
  row.peak_Bps = first_of(*results, {"BW_peak"});
  row.message_rate = first_of(*results, {"MsgRate", "msgRate_avg"});
  row.typical_us = first_of(*results, {"t_typical"});
  row.mean_us = first_of(*results, {"t_avg", "avg_lat"});
  row.min_us = first_of(*results, {"t_min"});
  row.max_us = first_of(*results, {"t_max"});
  row.p99_us = first_of(*results, {"percentile_99"});
  row.p999_us = first_of(*results, {"percentile_99.9"});
  if (row.average_Bps) {
    const std::optional<double> unit = perftest_unit(file.assume.unit);
    if (!unit) {
      return fail(ErrorCode::kConfig,
                  at_line(file, line) + "perftest's JSON does not say the unit of its bandwidths",
                  "say --assume unit=MiB/s, or unit=Gb/s when it ran with --report_gbits");
    }
    *row.average_Bps *= *unit;
    if (row.peak_Bps) *row.peak_Bps *= *unit;
  }
  return add_perftest_row(file, row, out);
}

Status read_perftest_json(const ImportFile& file, ImportResult& out) {
  return each_json(file, out,
                   [&](const json& root, size_t line) { return take(file, root, line, out); });
}

}  // namespace

ImportRow perftest_json_import() {
  return {
      {"perftest-json", "perftest --out_json", {}, {}, ""}, is_perftest_json, read_perftest_json};
}

}  // namespace plumbline
