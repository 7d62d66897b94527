// OpenMetrics text 1.0 (https://openmetrics.io): one family of gauges per quantity, with its unit
// in the name, in SI base units (seconds, bytes per second). Only gauges and no timestamps, so that
// the older Prometheus text parsers (the textfile collector of node_exporter) read it too. A series
// is told apart by run and cell; the other labels are for people.
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

using Labels = std::vector<std::pair<const char*, std::string>>;

// Backslash, quote and newline escaped; `clean` has made it UTF-8 of one line before.
std::string label_text(const std::string& raw) {
  std::string out;
  for (const char c : clean(raw)) {
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  return out;
}

// Writes the series of one family; one that would be there twice is left out, and so is a value
// that is no number.
class FamilyWriter {
 public:
  FamilyWriter(std::ostream& out, const char* name) : out_(out), name_(name) {}

  void add(const Labels& labels, std::optional<double> value) {
    if (!value || !std::isfinite(*value)) return;
    std::string series = std::string(name_) + "{";
    for (size_t i = 0; i < labels.size(); ++i) {
      series += (i ? "," : "") + std::string(labels[i].first) + "=\"" +
                label_text(labels[i].second) + "\"";
    }
    series += "}";
    if (seen_.insert(series).second) out_ << series << " " << fmt::format("{}", *value) << "\n";
  }

 private:
  std::ostream& out_;
  const char* name_;
  std::set<std::string> seen_;
};

struct Source {
  const ReportInput& input;
  const View& view;
};

struct Family {
  const char* name;
  const char* unit;  // the name's ending; "" = a plain number
  const char* help;
  void (*write)(const Source& source, FamilyWriter& out);
};

Labels labels_of(const Record& record) {
  const Cell& cell = record.cell;
  Labels labels = {{"run", record.run_id},
                   {"cell", cell_id(record)},
                   {"scenario", record.scenario},
                   {"kind", to_string(cell.kind)},
                   {"op", cell.op},
                   {"engine", cell.engine},
                   {"transport", transport_of(record)},
                   {"algorithm", cell.algorithm},
                   {"type", cell.dtype},
                   {"redop", cell.redop},
                   {"ranks", fmt::format("{}", cell.ranks)},
                   {"size_bytes", fmt::format("{}", cell.bytes)},
                   {"placement", cell.placement},
                   {"outstanding", fmt::format("{}", cell.outstanding)},
                   {"repetition", fmt::format("{}", cell.repeat)}};
  // Only where a cell has them: to add a label to a series would make another one of it.
  if (cell.arrays > 1) labels.emplace_back("arrays", fmt::format("{}", cell.arrays));
  if (!cell.split.empty()) labels.emplace_back("split", cell.split);
  return labels;
}

Labels with(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

std::optional<double> seconds(std::optional<double> ns) {
  if (!ns) return std::nullopt;
  return *ns / 1e9;
}

void each_item(const Source& source, const std::function<void(const Item&, const Labels&)>& take) {
  for (const Item& item : source.view.items) take(item, labels_of(*item.record));
}

void outcomes(const Source& source, FamilyWriter& out) {
  each_item(source, [&](const Item& item, const Labels& labels) {
    out.add(with(labels, "verdict", verdict_word(item)),
            item.record->measurement.outcome == Outcome::kPassed ? 1 : 0);
  });
}

void times(const Source& source, FamilyWriter& out) {
  each_item(source, [&](const Item& item, const Labels& labels) {
    const TimeSummary& time = item.time;
    const auto add = [&](const std::string& statistic, std::optional<double> ns) {
      out.add(with(labels, "statistic", statistic), seconds(ns));
    };
    if (item.imported() && item.statistic != "p50") add(item.statistic, item.typical_ns);
    add("min", time.min);
    add("p50", time.p50);
    if (time.p50_ci95) add("p50_ci95_low", time.p50_ci95->first);
    if (time.p50_ci95) add("p50_ci95_high", time.p50_ci95->second);
    add("p90", time.p90);
    add("p95", time.p95);
    add("p99", time.p99);
    add("p999", time.p999);
    add("max", time.max);
  });
}

void link_times(const Source& source, FamilyWriter& out) {
  each_item(source, [&](const Item& item, const Labels& labels) {
    for (const LinkResult& link : item.record->measurement.links) {
      const Labels of_link = with(with(labels, "from", fmt::format("{}", link.from)), "to",
                                  fmt::format("{}", link.to));
      for (const auto& [load, rtt] : {std::pair{"idle", &link.rtt}, {"loaded", &link.loaded_rtt}}) {
        if (!*rtt) continue;
        const Labels one = with(with(of_link, "measure", item.record->cell.measure), "load", load);
        out.add(with(one, "statistic", "min"), seconds((*rtt)->min));
        out.add(with(one, "statistic", "p50"), seconds((*rtt)->p50));
        out.add(with(one, "statistic", "p99"), seconds((*rtt)->p99));
        out.add(with(one, "statistic", "max"), seconds((*rtt)->max));
      }
    }
  });
}

template <typename Value>
void each_link(const Source& source, FamilyWriter& out, const Value& value) {
  each_item(source, [&](const Item& item, const Labels& labels) {
    for (const LinkResult& link : item.record->measurement.links) {
      Labels one = with(labels, "measure", item.record->cell.measure);
      one = with(with(one, "from", fmt::format("{}", link.from)), "to", fmt::format("{}", link.to));
      one = with(with(one, "from_host", link.from_host), "to_host", link.to_host);
      out.add(one, value(link));
    }
  });
}

void rules(const Source& source, FamilyWriter& out) {
  for (const RuleVerdict& rule : source.input.rules) {
    out.add({{"rule", rule.rule}, {"where", rule.where}}, rule.passed ? 1 : 0);
  }
}

void checks(const Source& source, FamilyWriter& out) {
  for (const Check& check : source.input.checks) {
    out.add({{"key", check.key},
             {"probe", check.id},
             {"host", check.host},
             {"peer", check.peer},
             {"outcome", to_string(check.outcome)}},
            check.outcome == CheckOutcome::kPass ? 1 : 0);
  }
}

void findings(const Source& source, FamilyWriter& out) {
  for (const Finding& finding : source.input.findings) {
    out.add({{"cause", finding.cause},
             {"severity", to_string(finding.outcome)},
             {"host", finding.host},
             {"peer", finding.peer},
             {"port", finding.port ? fmt::format("{}", *finding.port) : std::string()}},
            finding.confidence);
  }
}

// A number of each cell that a record may have.
template <std::optional<double> (*Value)(const Item&)>
void each_cell(const Source& source, FamilyWriter& out) {
  each_item(source, [&](const Item& item, const Labels& labels) { out.add(labels, Value(item)); });
}

std::optional<double> finished(const Item& item) {
  const std::optional<int64_t> ms = epoch_ms(item.record->time);
  if (!ms) return std::nullopt;
  return static_cast<double>(*ms) / 1e3;
}
std::optional<double> sample_count(const Item& item) { return static_cast<double>(item.time.n); }
std::optional<double> algbw(const Item& item) { return item.algbw_Bps; }
std::optional<double> busbw(const Item& item) { return item.busbw_Bps; }
std::optional<double> of_latency(const Item& item) { return item.of_latency; }
std::optional<double> of_bandwidth(const Item& item) { return item.of_bandwidth; }
std::optional<double> data_rate(const Item& item) { return item.record->measurement.bytes_per_s; }
std::optional<double> op_rate(const Item& item) { return item.record->measurement.ops_per_s; }
std::optional<double> wrong(const Item& item) {
  const std::optional<uint64_t>& value = item.record->measurement.wrong;
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

constexpr Family kFamilies[] = {
    {"plumbline_cell_passed", "", "1 when the cell was measured and its data were right, else 0",
     outcomes},
    {"plumbline_cell_finished_timestamp_seconds", "seconds", "When the cell ended, since 1970",
     each_cell<finished>},
    {"plumbline_operation_time_seconds", "seconds",
     "Time of one operation, slowest rank; the label statistic says which", times},
    {"plumbline_operation_time_samples", "samples", "Samples behind the times",
     each_cell<sample_count>},
    {"plumbline_algorithm_bandwidth_bytes_per_second", "bytes_per_second",
     "Size over time of one operation", each_cell<algbw>},
    {"plumbline_bus_bandwidth_bytes_per_second", "bytes_per_second",
     "Algorithm bandwidth times the factor of the operation", each_cell<busbw>},
    {"plumbline_latency_of_roof_ratio", "ratio",
     "What the bare socket takes for the same messages, over the time", each_cell<of_latency>},
    {"plumbline_bandwidth_of_roof_ratio", "ratio", "Bus bandwidth over the bare rate of the socket",
     each_cell<of_bandwidth>},
    {"plumbline_operation_rate_operations_per_second", "operations_per_second",
     "Sustained rate of a throughput cell", each_cell<op_rate>},
    {"plumbline_data_rate_bytes_per_second", "bytes_per_second",
     "Sustained data rate of a throughput cell", each_cell<data_rate>},
    {"plumbline_wrong_elements", "elements", "Wrong elements over all ranks, where checked",
     each_cell<wrong>},
    {"plumbline_link_round_trip_seconds", "seconds",
     "Round trips between two ranks, without other load and while a stream ran", link_times},
    {"plumbline_link_rate_bytes_per_second", "bytes_per_second",
     "Payload from one rank to another, as the receiver counted",
     [](const Source& source, FamilyWriter& out) {
       each_link(source, out, [](const LinkResult& link) { return link.rate_Bps; });
     }},
    {"plumbline_link_lost_datagrams", "datagrams", "Datagrams that were lost on the way",
     [](const Source& source, FamilyWriter& out) {
       each_link(source, out, [](const LinkResult& link) -> std::optional<double> {
         if (!link.udp) return std::nullopt;
         return static_cast<double>(link.udp->lost());
       });
     }},
    {"plumbline_rule_passed", "", "1 when the rule holds, else 0", rules},
    {"plumbline_check_passed", "", "1 when the check of a probe saw it to be right, else 0",
     checks},
    {"plumbline_finding_confidence_ratio", "ratio", "How sure a root cause is", findings},
};

Expected<std::vector<std::string>> write_openmetrics(const ReportInput& input,
                                                     const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the openmetrics report needs an output stream");
  const View view = make_view(input.records);
  const Source source{input, view};
  std::ostream& out = *target.out;
  for (const Family& family : kFamilies) {
    out << "# TYPE " << family.name << " gauge\n";
    if (*family.unit != '\0') out << "# UNIT " << family.name << " " << family.unit << "\n";
    out << "# HELP " << family.name << " " << family.help << "\n";
    FamilyWriter writer(out, family.name);
    family.write(source, writer);
  }
  out << "# EOF\n";
  return std::vector<std::string>{};
}

}  // namespace

ReportRow openmetrics_report() {
  return {{"openmetrics", "OpenMetrics text 1.0, for Prometheus and its kin"},
          "metrics.txt",
          write_openmetrics};
}

}  // namespace plumbline
