// A rule of `expect`: which results it is about, and how good they must be ("allreduce from 16 MiB
// on reaches 70 % of the roof"); and what became of it. Scenarios read and check rules
// (scenarios/read_expect.h), reports evaluate them (reports/rules.h), so the value and the spelling
// of its bounds stand here. What can be asked for is the table of reports/rules.h. Plain values,
// pure functions, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/record/cell_filter.h"

namespace plumbline {

// What kind of number (or word) a metric is; decides how its bounds are written and shown.
enum class MetricUnit {
  kTime,       // ns; written "10us"
  kRate,       // bytes per second; written "5GB/s" or "40Gbit/s"
  kShare,      // 1 = the whole; written 0.7 or "70%"
  kCount,      // written as a whole number
  kPerSecond,  // written 5000 or "5000/s"
  kSize,       // bytes; written "64Mi"
  kWord,       // one of some words
};

struct MetricUnitRow {
  MetricUnit unit;
  const char* name;     // "time"
  const char* example;  // "\"<=10us\""
};
std::span<const MetricUnitRow> metric_unit_table();
const char* to_string(MetricUnit unit);
std::optional<MetricUnit> metric_unit_from(const std::string& name);

// "9.1 us", "5.63 GB/s", "72 %", "3": three significant digits.
std::string metric_text(MetricUnit unit, double value);

// One condition of a rule: `metric` relation value.
struct RuleBound {
  std::string metric;  // name in the table of metrics, "busbw_of_roof"
  Relation relation = Relation::kEqual;
  double value = 0, upper = 0;     // SI base units; upper: of kWithin, both ends included
  std::vector<std::string> words;  // of kEqual and kNotEqual on a word
  std::string text;                // as it was written: ">=0.7"

  bool holds(double number) const;
  bool holds(const std::string& word) const;
  // True when a larger value is further on the wrong side; for picking the worst of many.
  bool wants_small() const { return relation == Relation::kAtMost || relation == Relation::kBelow; }
};

// Reads ">=0.7", "<=10us", "0", "0.9..1.1", "clean". Of a metric whose unit is not known (nullopt)
// the text decides. The metric's name is not looked at.
Expected<RuleBound> parse_bound(const std::string& metric, std::optional<MetricUnit> unit,
                                const std::string& text);

struct Rule {
  std::string name;               // short, by the user; may be empty
  std::string message;            // what to say when it is broken; may be empty
  std::vector<FilterTerm> where;  // all must hold; empty = every timed cell
  std::vector<RuleBound> bounds;  // all must hold; at least one
  std::string baseline;           // records.jsonl or its folder; empty = that of --baseline
  bool optional = false;          // results that are not there, or were skipped, do not break it
  std::string place;              // file and place in it: "mine/quickstart.json $.expect[0]"
  // Where it was written first, without folders: "quickstart.json $.expect[0]". The same in every
  // run and in every report of it, so that names of tests and series can be made of it.
  std::string origin;
  std::string json;  // the rule as an object, to be kept beside the records; without its origin

  bool needs_baseline() const;
};

// Ending of metrics that are taken relative to the same cell of a baseline.
inline constexpr const char* kOfBaseline = "_of_baseline";

// Is this cell one that the rule is about? Roofs only where `where` names their kind or operation.
bool covers(const Rule& rule, const Cell& cell);
// "op=allreduce, bytes>=16Mi: busbw_of_roof >=0.7", after the rule's own name where it has one.
std::string rule_text(const Rule& rule);

// What became of one rule of `expect` (docs/scenario_format.md): which results it looked at and
// whether they were good enough. Evaluated from finished records, shown in every report; any rule
// that is not passed makes the exit code 4.

struct RuleVerdict {
  std::string rule;     // in words: "allreduce from 16 MiB on: bus bandwidth >= 70 % of the roof"
  std::string where;    // the file and the place in it, without folders, so that it is the same in
                        // every run: "quickstart.json $.expect[0]"
  bool passed = false;  // a rule for which there is no result at all is not passed
  std::string message;  // in words: "2 of 12 results are below; worst: allreduce ring ... 61 %"
  std::vector<std::string> cells;   // ids of the cells it looked at
  std::vector<std::string> failed;  // of those, the ones below; both empty when none was there
  // Whose they are, in words, where a report has records of others too; else empty.
  std::string records = {};
};

}  // namespace plumbline
