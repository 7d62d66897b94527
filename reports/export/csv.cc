// One row per record: first every independent variable, then every dependent one, each with its
// unit in the header's name. Quoted as RFC 4180 says (fields with comma, quote, CR or LF), lines
// end in LF, and control characters inside a field become spaces. An empty field means: not
// measured, or too few samples for it. Text that a spreadsheet would take for a formula gets an
// apostrophe in front; numbers stay as they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/number.h"
#include "core/record/verified.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

struct CsvColumn {
  const char* name;
  std::string (*cell)(const Item& item);
};

const Cell& cell_of(const Item& item) { return item.record->cell; }
const Measurement& measured(const Item& item) { return item.record->measurement; }

template <typename Integer>
std::string number(Integer value) {
  return fmt::format("{}", value);
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.10g}", *value) : std::string();
}

std::string extra(const Item& item, const char* key) {
  const auto& all = measured(item).extra;
  const auto it = all.find(key);
  return it == all.end() ? std::string() : number(std::optional<double>(it->second));
}

std::string params_text(const std::map<std::string, std::string>& params) {
  std::vector<std::string> parts;
  parts.reserve(params.size());
  for (const auto& [name, value] : params) parts.push_back(name + "=" + value);
  return join(parts, ";");
}

// What a link cell measures is a parameter like any other.
std::string all_params(const Cell& cell) {
  std::map<std::string, std::string> params = cell.params;
  if (!cell.measure.empty()) params["measure"] = cell.measure;
  if (cell.rate_bps > 0) params["rate_bps"] = number(cell.rate_bps);
  return params_text(params);
}

template <typename Field>
std::string over_ranks(const Item& item, Field PerRank::*field) {
  if (measured(item).per_rank.empty()) return {};
  Field sum = 0;
  for (const PerRank& rank : measured(item).per_rank) sum += rank.*field;
  return number(sum);
}

std::string ci_bound(const Item& item, bool high) {
  if (!item.time.p50_ci95) return {};
  return number(std::optional(high ? item.time.p50_ci95->second : item.time.p50_ci95->first));
}

const std::vector<CsvColumn>& columns() {
  static const std::vector<CsvColumn> kColumns = {
      // independent variables
      {"run_id", [](const Item& i) { return i.record->run_id; }},
      {"cell_id",
       [](const Item& i) {
         thread_local CellIds ids;
         return ids.of(cell_of(i));
       }},
      {"scenario", [](const Item& i) { return i.record->scenario; }},
      {"kind", [](const Item& i) { return cell_of(i).kind; }},
      {"op", [](const Item& i) { return cell_of(i).op; }},
      {"engine", [](const Item& i) { return cell_of(i).engine; }},
      {"transport", [](const Item& i) { return cell_of(i).transport; }},
      {"algorithm", [](const Item& i) { return cell_of(i).algorithm; }},
      {"dtype", [](const Item& i) { return cell_of(i).dtype; }},
      {"redop", [](const Item& i) { return cell_of(i).redop; }},
      {"root", [](const Item& i) { return number(cell_of(i).root); }},
      {"ranks", [](const Item& i) { return number(cell_of(i).ranks); }},
      {"size_bytes", [](const Item& i) { return number(cell_of(i).bytes); }},
      {"count_elements", [](const Item& i) { return number(cell_of(i).count); }},
      {"placement", [](const Item& i) { return cell_of(i).placement; }},
      {"sync", [](const Item& i) { return cell_of(i).sync; }},
      {"cache", [](const Item& i) { return cell_of(i).cache; }},
      {"outstanding_operations", [](const Item& i) { return number(cell_of(i).outstanding); }},
      {"repetition", [](const Item& i) { return number(cell_of(i).repeat); }},
      {"params", [](const Item& i) { return all_params(cell_of(i)); }},
      {"hosts", [](const Item& i) { return cell_of(i).hosts; }},
      {"distribution", [](const Item& i) { return cell_of(i).distribution; }},
      {"seed", [](const Item& i) { return number(i.record->seed); }},
      // dependent ones
      {"finished", [](const Item& i) { return i.record->time; }},
      {"outcome", [](const Item& i) { return std::string(to_string(measured(i).outcome)); }},
      {"reason", [](const Item& i) { return measured(i).reason; }},
      {"cause", [](const Item& i) { return measured(i).cause; }},
      {"verdict", [](const Item& i) { return verdict_word(i); }},
      {"noise_causes", [](const Item& i) { return join(i.record->noise.causes, ";"); }},
      {"verified", [](const Item& i) { return std::string(measured(i).verified ? "yes" : "no"); }},
      {"verified_operations",
       [](const Item& i) {
         const auto count = verified_count(measured(i));
         return count ? number(count->verified) : "";
       }},
      {"operations",
       [](const Item& i) {
         const auto count = verified_count(measured(i));
         return count ? number(count->operations) : "";
       }},
      {"wrong_elements",
       [](const Item& i) { return measured(i).wrong ? number(*measured(i).wrong) : ""; }},
      {"transport_used", [](const Item& i) { return measured(i).resolved.transport; }},
      {"algorithm_used", [](const Item& i) { return measured(i).resolved.algorithm; }},
      {"congestion_control", [](const Item& i) { return measured(i).resolved.congestion_control; }},
      {"kernel", [](const Item& i) { return measured(i).resolved.kernel; }},
      {"samples", [](const Item& i) { return number(i.time.n); }},
      {"reported_statistic",
       [](const Item& i) { return i.imported() ? measured(i).reported->statistic : ""; }},
      {"reported_time_ns",
       [](const Item& i) { return i.imported() ? number(measured(i).reported->time_ns) : ""; }},
      {"iterations", [](const Item& i) { return number(measured(i).iterations); }},
      {"warmup_iterations", [](const Item& i) { return number(measured(i).warmup_iterations); }},
      {"time_min_ns", [](const Item& i) { return number(i.time.min); }},
      {"time_p50_ns", [](const Item& i) { return number(i.time.p50); }},
      {"time_p50_ci95_low_ns", [](const Item& i) { return ci_bound(i, false); }},
      {"time_p50_ci95_high_ns", [](const Item& i) { return ci_bound(i, true); }},
      {"time_p90_ns", [](const Item& i) { return number(i.time.p90); }},
      {"time_p95_ns", [](const Item& i) { return number(i.time.p95); }},
      {"time_p99_ns", [](const Item& i) { return number(i.time.p99); }},
      {"time_p999_ns", [](const Item& i) { return number(i.time.p999); }},
      {"time_max_ns", [](const Item& i) { return number(i.time.max); }},
      {"time_mad_ns", [](const Item& i) { return number(i.time.mad); }},
      {"time_cv_ratio", [](const Item& i) { return number(i.time.cv); }},
      {"stop_reason", [](const Item& i) { return measured(i).stop_reason; }},
      {"first_operation_ns", [](const Item& i) { return number(measured(i).first_op_ns); }},
      {"elapsed_ns", [](const Item& i) { return number(measured(i).elapsed_ns); }},
      {"rate_operations_per_s", [](const Item& i) { return number(measured(i).ops_per_s); }},
      {"data_bytes_per_s", [](const Item& i) { return number(measured(i).bytes_per_s); }},
      {"algbw_bytes_per_s", [](const Item& i) { return number(i.algbw_Bps); }},
      {"busbw_bytes_per_s", [](const Item& i) { return number(i.busbw_Bps); }},
      {"of_latency_roof_ratio", [](const Item& i) { return number(i.of_latency); }},
      {"of_bandwidth_roof_ratio", [](const Item& i) { return number(i.of_bandwidth); }},
      {"wire_bytes", [](const Item& i) { return number(measured(i).wire_bytes); }},
      {"cpu_all_ranks_ns", [](const Item& i) { return over_ranks(i, &PerRank::cpu_ns); }},
      {"context_switches", [](const Item& i) { return over_ranks(i, &PerRank::context_switches); }},
      {"retransmits_segments", [](const Item& i) { return over_ranks(i, &PerRank::retransmits); }},
      {"clock_error_ns", [](const Item& i) { return extra(i, kClockError); }},
      {"late_samples", [](const Item& i) { return extra(i, kLateSamples); }},
  };
  return kColumns;
}

// A name from a record must not become a formula when the file is opened in a spreadsheet. The
// wide forms are read as the narrow ones by East Asian versions.
std::string defused(std::string field) {
  constexpr std::string_view kWide[] = {"\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};  // = + - @
  const bool starts_wide = std::any_of(std::begin(kWide), std::end(kWide), [&](std::string_view s) {
    return field.compare(0, s.size(), s) == 0;
  });
  const bool starts =
      !field.empty() && std::string_view("=+-@\t\r\n").find(field[0]) != std::string_view::npos;
  if (!starts && !starts_wide) return field;
  // "-1", the root of an operation that has none, is a number.
  if (parse_decimal(field)) return field;
  return "'" + field;
}

std::string quoted(const std::string& text) {
  // Whether it would be a formula is asked before cleaning, which may take the first character.
  const std::string field = clean(defused(text));
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

void write_row(const Item& item, std::ostream& out) {
  std::string line;
  for (const CsvColumn& column : columns()) line += quoted(column.cell(item)) + ',';
  line.back() = '\n';
  out << line;
}

// Too many records to be held were merged for the roofs only; the rows are those of the files.
Status write_rows(const ReportInput& input, const View& view, std::ostream& out) {
  if (input.merged_files.empty()) {
    for (const Item& item : view.items) write_row(item, out);
    return {};
  }
  for (const std::string& path : input.merged_files) {
    if (path == "-") {
      return fail(ErrorCode::kUsage,
                  "a csv of so many records reads them twice, which the standard input cannot",
                  "give a file");
    }
    const Status read = for_each_record(path, nullptr, [&](const Record& record) {
      Item item = make_item(record);
      attain(view, item);
      write_row(item, out);
    });
    if (!read) return read;
  }
  return {};
}

Expected<std::vector<std::string>> write_csv(const ReportInput& input, const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the csv report needs an output stream");
  const View view = make_view(input.records);
  const char* comma = "";
  for (const CsvColumn& column : columns()) {
    *target.out << comma << column.name;
    comma = ",";
  }
  *target.out << "\n";
  if (const Status done = write_rows(input, view, *target.out); !done) return fail(done.error());
  return std::vector<std::string>{};
}

}  // namespace

ReportRow csv_report() {
  return {{"csv", "one row per record: independent variables, then dependent ones", {}, {}, ""},
          "records.csv",
          write_csv};
}

}  // namespace plumbline
