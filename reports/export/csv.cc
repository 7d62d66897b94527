// One row per record: first every independent variable, then every dependent one, each with its
// unit in the header's name. Quoted as RFC 4180 says (fields with comma, quote, CR or LF), lines
// end in LF, and control characters inside a field become spaces. An empty field means: not
// measured, or too few samples for it. Text that a spreadsheet would take for a formula gets an
// apostrophe in front; numbers stay as they are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "core/field_json.h"
#include "core/number.h"
#include "core/record/record.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

struct CsvColumn {
  std::string name;
  std::function<std::string(const Item&)> cell;
};

const Record& record_of(const Item& item) { return *item.record; }
const Cell& cell_of(const Item& item) { return item.record->cell; }
const Measurement& measured(const Item& item) { return item.record->measurement; }
const Resolved& resolved_of(const Item& item) { return measured(item).resolved; }
const Noise& noise_of(const Item& item) { return item.record->noise; }
const TimeSummary& time_of_item(const Item& item) { return item.time; }

// The column that a table of fields tells.
template <typename Owner>
CsvColumn told(const Field<Owner>& field, const Owner& (*owner)(const Item&)) {
  return {field.column, [&field, owner](const Item& i) { return field_text(field, owner(i)); }};
}

template <typename Owner>
CsvColumn told(const char* column, const Owner& (*owner)(const Item&)) {
  return told(*find_column<Owner>(column), owner);
}

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

// What a link cell measures is a parameter like any other.
std::string all_params(const Item& item) {
  const Cell& cell = cell_of(item);
  std::map<std::string, std::string> params = cell.params;
  if (!cell.measure.empty()) params["measure"] = cell.measure;
  if (cell.rate_bps > 0) params["rate_bps"] = number(cell.rate_bps);
  std::vector<std::string> parts;
  parts.reserve(params.size());
  for (const auto& [name, value] : params) parts.push_back(name + "=" + value);
  return join(parts, ";");
}

template <typename Number>
std::string over_ranks(const Item& item, Number PerRank::*field) {
  if (measured(item).per_rank.empty()) return {};
  Number sum = 0;
  for (const PerRank& rank : measured(item).per_rank) sum += rank.*field;
  return number(sum);
}

std::string part(const Item& item, double TimeSplit::*which) {
  const std::optional<TimeSplit> split = mean_split(measured(item));
  return split ? number(std::optional(*split.*which)) : std::string();
}

std::string ci_bound(const Item& item, bool high) {
  if (!item.time.p50_ci95) return {};
  return number(std::optional(high ? item.time.p50_ci95->second : item.time.p50_ci95->first));
}

std::string of_verified(const Item& item, uint64_t VerifiedCount::*count) {
  const auto all = verified_count(measured(item));
  return all ? number((*all).*count) : "";
}

std::vector<CsvColumn> make_columns() {
  // independent variables
  std::vector<CsvColumn> columns = {told("run_id", record_of),
                                    {"cell_id",
                                     [](const Item& i) {
                                       thread_local CellIds ids;
                                       return ids.of(cell_of(i));
                                     }},
                                    told("scenario", record_of)};
  for (const Field<Cell>& axis : FieldsOf<Cell>::all()) {
    if (axis.column != nullptr) columns.push_back(told(axis, cell_of));
    if (columns.back().name == "params") columns.back().cell = all_params;
  }
  const std::vector<CsvColumn> rest = {
      told("seed", record_of),
      // dependent ones
      told("finished", record_of),
      told("outcome", measured),
      told("reason", measured),
      told("cause", measured),
      {"verdict", [](const Item& i) { return verdict_word(i); }},
      told("noise_causes", noise_of),
      told("verified", measured),
      {"verified_operations",
       [](const Item& i) { return of_verified(i, &VerifiedCount::verified); }},
      {"operations", [](const Item& i) { return of_verified(i, &VerifiedCount::operations); }},
      told("wrong_elements", measured),
      told("transport_used", resolved_of),
      told("algorithm_used", resolved_of),
      told("congestion_control", resolved_of),
      told("kernel", resolved_of),
      told("library", resolved_of),
      told("group_ranks", resolved_of),
      told("samples", time_of_item),
      {"reported_statistic",
       [](const Item& i) { return i.imported() ? measured(i).reported->statistic : ""; }},
      {"reported_time_ns",
       [](const Item& i) { return i.imported() ? number(measured(i).reported->time_ns) : ""; }},
      told("iterations", measured),
      told("warmup_iterations", measured),
      told("time_min_ns", time_of_item),
      told("time_p50_ns", time_of_item),
      {"time_p50_ci95_low_ns", [](const Item& i) { return ci_bound(i, false); }},
      {"time_p50_ci95_high_ns", [](const Item& i) { return ci_bound(i, true); }},
      told("time_p90_ns", time_of_item),
      told("time_p95_ns", time_of_item),
      told("time_p99_ns", time_of_item),
      told("time_p999_ns", time_of_item),
      told("time_max_ns", time_of_item),
      told("time_mad_ns", time_of_item),
      told("time_cv_ratio", time_of_item),
      told("stop_reason", measured),
      told("first_operation_ns", measured),
      told("elapsed_ns", measured),
      told("rate_operations_per_s", measured),
      told("data_bytes_per_s", measured),
      {"algbw_bytes_per_s", [](const Item& i) { return number(i.algbw_Bps); }},
      {"busbw_bytes_per_s", [](const Item& i) { return number(i.busbw_Bps); }},
      {"of_latency_roof_ratio", [](const Item& i) { return number(i.of_latency); }},
      {"of_bandwidth_roof_ratio", [](const Item& i) { return number(i.of_bandwidth); }},
      {"predicted_ns", [](const Item& i) { return number(i.predicted_ns); }},
      {"limit", [](const Item& i) { return i.limit ? to_string(*i.limit) : ""; }},
      {"time_mean_ns", [](const Item& i) { return number(mean_ns(i)); }},
      {"peak_bytes_per_s", [](const Item& i) { return number(peak_Bps(i)); }},
      {"errors", [](const Item& i) { return number(errors_of(measured(i))); }},
      {"queue_ns", [](const Item& i) { return part(i, &TimeSplit::queue); }},
      {"sync_ns", [](const Item& i) { return part(i, &TimeSplit::sync); }},
      {"network_ns", [](const Item& i) { return part(i, &TimeSplit::network); }},
      {"reduce_ns", [](const Item& i) { return part(i, &TimeSplit::reduce); }},
      told("wire_bytes", measured),
      {"cpu_ns_per_byte", [](const Item& i) { return number(cpu_ns_per_byte(measured(i))); }},
      {"cpu_all_ranks_ns", [](const Item& i) { return over_ranks(i, &PerRank::cpu_ns); }},
      {"context_switches", [](const Item& i) { return over_ranks(i, &PerRank::context_switches); }},
      {"retransmits_segments", [](const Item& i) { return over_ranks(i, &PerRank::retransmits); }},
      {"clock_error_ns", [](const Item& i) { return extra(i, kClockError); }},
      {"late_samples", [](const Item& i) { return extra(i, kLateSamples); }},
  };
  columns.insert(columns.end(), rest.begin(), rest.end());
  for (const Field<RankCounters>& counter : FieldsOf<RankCounters>::all()) {
    columns.push_back({fmt::format("{}_all_ranks", counter.words.name), [&counter](const Item& i) {
                         const auto sum = sum_counters(measured(i));
                         return sum ? field_text(counter, *sum) : std::string();
                       }});
  }
  return columns;
}

const std::vector<CsvColumn>& columns() {
  static const std::vector<CsvColumn> kColumns = make_columns();
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
      foresee(view, item);
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
  return {{"csv", "one row per record: independent variables, then dependent ones"},
          "records.csv",
          write_csv};
}

}  // namespace plumbline
