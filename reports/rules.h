// Evaluates rules of `expect` from finished records: a live run and last month's file take the same
// path. A rule holds when every cell that it covers has a result, that result is valid, and all its
// bounds hold; a rule for which there is nothing does not hold. The results of a soak are those of
// its last round, which the tables show. docs/rules.md tells it to users. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/host/requirement.h"
#include "core/record/expect.h"
#include "reports/report.h"
#include "reports/view.h"

namespace plumbline {

// What a rule of `expect` can ask of a result: the one table of metrics, each with its unit, the
// kinds of cells for which it means something, and how its value is got. From it come the names
// that scenarios are checked with, `plumbline list metrics`, the table in docs/rules.md, and the
// evaluation below. One more metric is one row and its test.

// A value in SI base units or a word; where both are absent, `missing` says why.
struct MetricValue {
  std::optional<double> number;
  std::string word;
  std::string missing;
};

// What a cell must move for a metric to mean something: nothing, any message (a barrier's are
// empty), or bytes (which a barrier and arrays that round down to nothing do not).
enum class Moves { kNothing, kMessages, kBytes };

struct MetricRow {
  const char* name;
  MetricUnit unit;
  bool (*of)(const CellKindRow& kind);  // kinds of cells that have such a value
  const char* measures;                 // of cells of links; "" = any
  Moves needs;                          // else it means nothing for the cell
  MetricValue (*value)(const View& view, const Item& item);
  const char* help;
};

// Absolute ones and those relative to roof or link. Each of them with a number is also there with
// the ending `_of_baseline`, relative to the same cell of another run: metric_names() has those.
const std::vector<MetricRow>& metric_table();

// A metric by the name that a rule uses for it.
struct Metric {
  const MetricRow* row = nullptr;
  bool of_baseline = false;

  MetricUnit unit() const { return of_baseline ? MetricUnit::kShare : row->unit; }
  bool means_something_for(const Cell& cell) const;
};
std::optional<Metric> find_metric(const std::string& name);

// For those who may only see names (scenarios, list, docs): group = the unit's name.
std::vector<Descriptor> metric_descriptors();
// The table of docs/rules.md.
std::string metric_reference_markdown();

// The numbers of another run that rules are relative to: by cell id and metric; the median where
// that run measured a cell several times. Only valid results count.
struct RuleBaseline {
  std::string path;  // for messages
  std::map<std::string, std::map<std::string, double>> values;
};
RuleBaseline make_baseline(const std::string& path, const View& view);

struct RuleRequest {
  std::vector<Rule> rules;
  // By Rule::baseline. A rule whose baseline is not here is not judged, and does not hold.
  std::map<std::string, RuleBaseline> baselines;
  // Cells that were to be measured: those without a record are missing. Empty = not known, then
  // what is there is all there is.
  std::vector<Cell> planned;
};

// One verdict per rule, in their order.
std::vector<RuleVerdict> judge_rules(const RuleRequest& request, const View& view);
bool all_hold(const std::vector<RuleVerdict>& verdicts);
// The same rules as a file that load_rules() (scenarios/read_expect.h) reads.
std::string rules_file_text(const std::vector<Rule>& rules);

}  // namespace plumbline
