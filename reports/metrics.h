// What a rule of `expect` can ask of a result: the one table of metrics, each with its unit, the
// kinds of cells for which it means something, and how its value is got. From it come the names
// that scenarios are checked with, `plumbline list metrics`, the table in docs/rules.md, and the
// evaluation (rules.h). One more metric is one row and its test. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/param.h"
#include "core/record/expect.h"
#include "reports/view.h"

namespace plumbline {

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

}  // namespace plumbline
