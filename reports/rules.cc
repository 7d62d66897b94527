#include "reports/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/json.h"
#include "core/stats/stats.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kNamedCells = 5;  // in a message; the verdict has the ids of all

// How one result stands with one bound. Millions may be judged, so only what is said is put into
// words.
struct Compared {
  const RuleBound* bound = nullptr;
  std::optional<double> number;
  std::string said;     // the word, or why there is no value
  double distance = 0;  // from the bound, as a share of it; larger = worse
  bool holds = false;
  bool missing = false;  // there is no value to compare
};

bool worse(const Compared& a, const Compared& b) {
  return a.missing != b.missing ? b.missing : a.distance > b.distance;
}

// "busbw_of_roof 61 %".
std::string in_words(const Compared& one) {
  if (!one.number) return one.said;
  const std::optional<Metric> metric = find_metric(one.bound->metric);
  return fmt::format("{} {}", one.bound->metric, metric_text(metric->unit(), *one.number));
}

// How one result stands with the rule: by the bound that it is furthest beyond, or nearest to.
struct Judged {
  const Cell* cell = nullptr;
  const Item* item = nullptr;   // null: the cell was not measured
  Compared worst;               // of those that do not hold; where all do, the nearest
  std::vector<Compared> other;  // further bounds that do not hold
  bool forgivable = false;      // it is not there, in a way that an optional rule allows
};

bool worse_result(const Judged& a, const Judged& b) { return worse(a.worst, b.worst); }

// Why this result has no number that counts; empty = it has.
std::string invalid_reason(const Item& item) {
  if (item.valid()) return "";
  const std::string& reason = item.record->measurement.reason;
  const std::string word = item.verdict == Verdict::kInvalid
                               ? "invalid (" + join(item.record->noise.causes, ", ") + ")"
                               : to_string(item.record->measurement.outcome);
  return reason.empty() ? word : word + ": " + reason;
}

// How far beyond the bound, as a share of it; below 0 = within.
double distance_from(const RuleBound& bound, double value) {
  const double over = bound.relation == Relation::kWithin
                          ? std::max(bound.value - value, value - bound.upper)
                          : value - bound.value;
  const double scale = bound.value == 0 ? 1.0 : std::abs(bound.value);
  if (bound.relation == Relation::kEqual) return std::abs(over) / scale;
  const bool up = bound.wants_small() || bound.relation == Relation::kWithin;
  return (up ? over : -over) / scale;
}

class RuleJudge {
 public:
  RuleJudge(const RuleRequest& request, const View& view, const Rule& rule)
      : request_(request), view_(view), rule_(rule) {
    std::set<std::string> runs, sides;
    for (const Item& item : view.items) {
      runs.insert(item.record->run_id);
      if (item.record->launch) sides.insert(item.record->launch->side);
    }
    several_runs_ = runs.size() > 1;
    several_sides_ = sides.size() > 1;
  }

  RuleVerdict verdict() {
    for (const Item& item : view_.items) {
      if (covers(rule_, item.record->cell)) judge(item);
    }
    add_missing();
    for (std::vector<std::string>* ids : {&out_.cells, &out_.failed}) {
      std::sort(ids->begin(), ids->end());
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    std::stable_sort(bad_.begin(), bad_.end(), worse_result);
    out_.rule = rule_text(rule_);
    out_.where = rule_.origin.empty() ? rule_.place : rule_.origin;
    const bool something = nearest_ || (bads_ > 0 && !all_forgivable_);
    out_.passed = out_.failed.empty() && (something || rule_.optional);
    out_.message = something ? text() : nothing_text();
    if (!out_.passed && !rule_.message.empty()) {
      out_.message = rule_.message + " - " + out_.message;
    }
    return std::move(out_);
  }

 private:
  void judge(const Item& item) {
    ++covered_;
    const std::string reason = invalid_reason(item);
    Judged one;
    one.cell = &item.record->cell;
    one.item = &item;
    std::string id;
    bool good = true;
    for (const RuleBound& bound : rule_.bounds) {
      const std::optional<Metric> metric = find_metric(bound.metric);
      if (metric && !metric->means_something_for(item.record->cell)) continue;
      const bool first = id.empty();
      if (first) id = cell_id(item.record->cell);
      Compared compared;
      compared.bound = &bound;
      compared.missing = !metric || !reason.empty();
      if (!metric) {
        compared.said = bound.metric + " is not known to this version";
      } else if (compared.missing) {
        if (!first) continue;  // said once for all bounds
        one.forgivable = item.verdict == Verdict::kSkipped;
        const uint64_t wrong = item.record->measurement.wrong.value_or(0);
        compared.said = wrong > 0 ? fmt::format("wrong {}; {}", wrong, reason) : reason;
      } else {
        compare(bound, *metric, item, id, compared);
      }
      add(std::move(compared), first, good, one);
    }
    if (!id.empty()) take(std::move(one), good, id);
  }

  static void add(Compared compared, bool first, bool& good, Judged& one) {
    if (first) {
      good = compared.holds;
      one.worst = std::move(compared);
    } else if (good && !compared.holds) {
      good = false;
      one.worst = std::move(compared);
    } else if (compared.holds == good) {
      if (worse(compared, one.worst)) std::swap(compared, one.worst);
      if (!good) one.other.push_back(std::move(compared));
    }
  }

  void take(Judged one, bool good, const std::string& id) {
    const bool forgiven = one.forgivable && rule_.optional;
    out_.cells.push_back(id);
    forgiven_ += forgiven ? 1 : 0;
    ++results_;
    if (good) {
      if (!nearest_ || worse_result(one, *nearest_)) nearest_ = std::move(one);
      return;
    }
    if (!forgiven) out_.failed.push_back(id);
    all_forgivable_ = all_forgivable_ && one.forgivable;
    if (first_missing_.empty()) first_missing_ = one.worst.said;
    if (forgiven) return;
    ++bads_;
    bad_.push_back(std::move(one));
    if (bad_.size() < 10 * kNamedCells) return;
    std::stable_sort(bad_.begin(), bad_.end(), worse_result);
    bad_.resize(kNamedCells);
  }

  void compare(const RuleBound& bound, const Metric& metric, const Item& item,
               const std::string& id, Compared& one) const {
    MetricValue value = metric.row->value(view_, item);
    if (metric.of_baseline && value.number) value = relative(metric, id, *value.number);
    if (value.number && !std::isfinite(*value.number)) value = {{}, "", "beyond all numbers"};
    if (!value.missing.empty()) {
      one.missing = true;
      one.said = fmt::format("{}: {}", bound.metric, value.missing);
    } else if (value.number) {
      one.number = value.number;
      one.holds = bound.holds(*value.number);
      one.distance = distance_from(bound, *value.number);
    } else {
      one.said = fmt::format("{} {}", bound.metric, value.word);
      one.holds = bound.holds(value.word);
    }
    // Where one value is asked for, what holds is not nearer or farther.
    const bool exact = !value.number || bound.relation == Relation::kEqual ||
                       bound.relation == Relation::kNotEqual;
    if (one.holds && exact) one.distance = -std::numeric_limits<double>::infinity();
  }

  MetricValue relative(const Metric& metric, const std::string& id, double value) const {
    const auto baseline = request_.baselines.find(rule_.baseline);
    if (baseline == request_.baselines.end()) {
      return {std::nullopt, "", "no baseline was given; add --baseline DIR"};
    }
    const auto cell = baseline->second.values.find(id);
    const std::string where = " in the baseline " + baseline->second.path;
    if (cell == baseline->second.values.end()) {
      return {std::nullopt, "", "there is no valid result of this cell" + where};
    }
    const auto found = cell->second.find(metric.row->name);
    if (found == cell->second.end() || found->second <= 0) {
      return {std::nullopt, "", fmt::format("there is no {}{}", metric.row->name, where)};
    }
    return {value / found->second, "", ""};
  }

  // Cells of the plan for which no record came.
  void add_missing() {
    if (request_.planned.empty()) return;
    std::set<std::string> there;
    for (const Item& item : view_.items) there.insert(cell_id(item.record->cell));
    for (const Cell& cell : request_.planned) {
      if (!covers(rule_, cell) || !asked_of(cell)) continue;
      const std::string id = cell_id(cell);
      if (there.count(id) > 0) continue;
      Judged one;
      one.cell = &cell;
      one.forgivable = true;
      one.worst.missing = true;
      one.worst.said = "was not measured";
      ++covered_;
      take(std::move(one), false, id);
    }
  }

  bool asked_of(const Cell& cell) const {
    return std::any_of(rule_.bounds.begin(), rule_.bounds.end(), [&](const RuleBound& bound) {
      const std::optional<Metric> metric = find_metric(bound.metric);
      return metric && metric->means_something_for(cell);
    });
  }

  std::string nothing_text() const {
    std::string why = "no result that it is about";
    if (!out_.cells.empty()) {
      why = fmt::format("no result: {} skipped or not measured ({})", plural(results_, "result"),
                        first_missing_);
    } else if (covered_ > 0) {
      std::vector<std::string> metrics;
      for (const RuleBound& bound : rule_.bounds) metrics.push_back(bound.metric);
      why = fmt::format(
          "{} mean{} nothing for {} that it is about", join(metrics, ", "),
          metrics.size() == 1 ? "s" : "",
          covered_ == 1 ? "the 1 result" : fmt::format("any of the {} results", covered_));
    }
    return rule_.optional ? why + "; the rule is optional" : why;
  }

  // "busbw_of_roof 61 % (allreduce ring, 2 ranks, tcp, 16 MiB f32 sum, out of place)".
  std::string result_text(const Judged& one) const {
    std::string said = in_words(one.worst);
    for (const Compared& other : one.other) said += ", " + in_words(other);
    if (one.item == nullptr) {
      Record planned;
      planned.cell = *one.cell;
      return fmt::format("{} ({})", said, describe(planned));
    }
    const Record& record = *one.item->record;
    std::string which = describe(record);
    if (several_runs_) which += ", run " + record.run_id;
    if (several_sides_ && record.launch) which += ", side " + record.launch->side;
    return fmt::format("{} ({})", said, which);
  }

  std::string text() const {
    const size_t counted = results_ - forgiven_;
    std::string said;
    if (out_.passed) {
      said = fmt::format("{} hold{}", plural(counted, "result"), counted == 1 ? "s" : "");
      if (std::isfinite(nearest_->worst.distance))
        said += "; nearest to the bound: " + result_text(*nearest_);
    } else {
      std::vector<std::string> named;
      for (size_t i = 0; i < std::min(bad_.size(), kNamedCells); ++i) {
        named.push_back(result_text(bad_[i]));
      }
      said = fmt::format("{} of {} not good enough: {}", bads_, plural(counted, "result"),
                         join(named, "; "));
      if (bads_ > named.size()) said += fmt::format("; and {} more", bads_ - named.size());
    }
    if (forgiven_ > 0) {
      said += fmt::format("; {} skipped or not measured, left out", forgiven_);
    }
    return said;
  }

  const RuleRequest& request_;
  const View& view_;
  const Rule& rule_;
  RuleVerdict out_;
  bool several_runs_ = false, several_sides_ = false;  // in the view
  std::optional<Judged> nearest_;                      // of those that hold
  std::vector<Judged> bad_;                            // the worst ones, more than are named
  size_t bads_ = 0;                                    // how many there were
  size_t results_ = 0;   // that were asked: one cell has several where several runs measured it
  size_t forgiven_ = 0;  // of those, left out because the rule is optional
  std::string first_missing_;
  bool all_forgivable_ = true;  // of those that do not hold
  size_t covered_ = 0;          // results, whether a metric means something for them or not
};

}  // namespace

RuleBaseline make_baseline(const std::string& path, const View& view) {
  std::map<std::string, std::map<std::string, std::vector<double>>> all;
  for (const Item& item : view.items) {
    if (!item.valid()) continue;
    const Cell& cell = item.record->cell;
    for (const MetricRow& row : metric_table()) {
      const std::string name = std::string(row.name) + kOfBaseline;
      if (!find_metric(name) || !Metric{&row, true}.means_something_for(cell)) continue;
      const MetricValue value = row.value(view, item);
      if (value.number) all[cell_id(cell)][row.name].push_back(*value.number);
    }
  }
  RuleBaseline baseline;
  baseline.path = path;
  for (auto& [id, metrics] : all) {
    for (auto& [name, values] : metrics) baseline.values[id][name] = median(std::move(values));
  }
  return baseline;
}

std::vector<RuleVerdict> judge_rules(const RuleRequest& request, const View& view) {
  std::vector<RuleVerdict> verdicts;
  verdicts.reserve(request.rules.size());
  for (const Rule& rule : request.rules) {
    verdicts.push_back(RuleJudge(request, view, rule).verdict());
  }
  return verdicts;
}

bool all_hold(const std::vector<RuleVerdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const RuleVerdict& verdict) { return verdict.passed; });
}

std::string rules_file_text(const std::vector<Rule>& rules) {
  std::string text = "{\n \"plumbline_rules\": 1,\n \"expect\": [";
  for (size_t i = 0; i < rules.size(); ++i) {
    const Rule& rule = rules[i];
    const std::string from = nlohmann::json(rule.origin.empty() ? rule.place : rule.origin)
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    // As its first key; a rule asks for something, so that others follow.
    text += fmt::format("{}{{\"from\":{},{}", i == 0 ? "\n  " : ",\n  ", from, rule.json.substr(1));
  }
  return text + "\n ]\n}\n";
}

}  // namespace plumbline
