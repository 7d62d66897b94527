// From launches to verdicts, row by row.
#include "reports/compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/stats/stats.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr size_t kMostNamed = 6;  // of things that differ between the sides

// Significant, large enough, and in which direction.
void judge(CompareRow& row, const CompareRule& rule, size_t family) {
  const Shift& shift = *row.shift;
  const size_t needed = launches_needed(family, row.paired, rule.alpha);
  const double change = std::abs(std::log(shift.ratio)), threshold = std::log1p(row.threshold);
  const size_t launches = std::min(row.a.launches.size(), row.b.launches.size());
  if (row.p_corrected <= rule.alpha && change >= threshold) {
    row.change = shift.ratio > 1 ? Change::kRegress : Change::kImprove;
    row.why = fmt::format("p {:.2g} after correction, at least {:.1f} %", row.p_corrected,
                          100 * row.threshold);
    return;
  }
  const double most = std::log1p(std::min(row.threshold, kMostSame));
  if (shift.ci95 && std::log(shift.ci95->second) <= most && std::log(shift.ci95->first) >= -most) {
    row.change = Change::kSame;
    row.why = fmt::format("within +-{:.1f} %", 100 * std::expm1(most));
    return;
  }
  row.change = Change::kInconclusive;
  if (launches < needed) {
    row.why = fmt::format("{} launch{} a side cannot tell among so many cells: {} could", launches,
                          launches == 1 ? "" : "es", needed);
  } else if (row.p_corrected <= rule.alpha) {
    row.why = fmt::format(
        "smaller than {:.1f} %, which {}", 100 * row.threshold,
        row.threshold > rule.least_effect ? "a side differs from itself" : "counts as a change");
  } else {
    row.why = "the launches differ too much among themselves";
  }
}

// Rows that have nothing to compare: judged by their outcomes.
void judge_outcomes(CompareRow& row) {
  if (row.b.unusable > 0 || row.b.wrong > 0) {
    row.change = row.a.unusable > 0 && row.b.wrong == 0 ? Change::kInconclusive : Change::kBroken;
    row.why = (row.a.unusable > 0 ? "no valid result on either side: " : "no valid result in b: ") +
              row.b.reason;
  } else if (row.a.unusable > 0) {
    row.change = row.b.records > 0 ? Change::kImprove : Change::kInconclusive;
    row.why = "no valid result in a: " + row.a.reason;
  } else if (row.a.records == 0 || row.b.records == 0) {
    row.change = Change::kInconclusive;
    row.why = row.a.records == 0 ? "measured in b only" : "measured in a only";
  } else {
    row.change = Change::kSame;  // checks that passed
    row.why = "passed on both sides";
  }
}

std::optional<double> larger(std::optional<double> x, std::optional<double> y) {
  if (!x || !y) return x ? x : y;
  return std::max(*x, *y);
}

// The launches of the sides took turns, but for a few that failed.
template <typename Values>
bool mostly_pairs(const Values& a, const Values& b, int64_t series) {
  size_t of_a = 0, of_b = 0, both = 0;
  for (const auto& [key, values] : a) {
    of_a += key.first == series ? 1 : 0;
    both += key.first == series && b.count(key) > 0 ? 1 : 0;
  }
  for (const auto& [key, values] : b) of_b += key.first == series ? 1 : 0;
  return both > 0 && 2 * both >= std::max(of_a, of_b);
}

void compute(CompareRow& row, const CompareRule& rule) {
  const std::vector<double>&a = row.a.launches, &b = row.b.launches;
  row.shift = row.paired ? shift_of_pairs(a, b) : shift_of(a, b);
  row.floor =
      row.paired ? self_distance_of_pairs(a, b) : larger(self_distance(a), self_distance(b));
  row.threshold = std::max(rule.least_effect, kFloorFactor * std::expm1(row.floor.value_or(0)));
}

// All rows of one series are one family of questions.
void judge_series(Comparison& comparison, int64_t series) {
  std::vector<CompareRow*> family;
  std::vector<double> p;
  for (CompareRow& row : comparison.rows) {
    if (row.series != series || !row.shift || !row.judged) continue;
    family.push_back(&row);
    p.push_back(row.shift->p);
  }
  for (CompareRow& row : comparison.rows) {
    if (row.series != series || !row.shift || row.judged) continue;
    row.p_corrected = row.shift->p;  // told beside the others, and counted nowhere
    judge(row, comparison.rule, 1);
  }
  const std::vector<double> corrected = holm(p);
  for (size_t i = 0; i < family.size(); ++i) {
    family[i]->p_corrected = corrected[i];
    judge(*family[i], comparison.rule, family.size());
  }
}

// A side on which launches fail now and then is not the same as one on which none does, however
// long the others took.
void mind_failures(CompareRow& row) {
  if (!row.shift || row.a.unusable + row.b.unusable == 0) return;
  if (row.b.unusable > row.a.unusable &&
      (row.change == Change::kSame || row.change == Change::kImprove)) {
    row.change = Change::kInconclusive;
  }
  row.why += fmt::format("; without a valid result: {} of {} in a, {} of {} in b", row.a.unusable,
                         row.a.records, row.b.unusable, row.b.records);
  const std::string& reason = row.b.unusable > 0 ? row.b.reason : row.a.reason;
  if (!reason.empty()) row.why += " (" + reason + ")";
}

std::string list_of(const std::set<std::string>& values) {
  std::vector<std::string> shown;
  for (const std::string& value : values) {
    shown.push_back(value.empty() ? "none" : clean(value));
    if (shown.size() == 3 && values.size() > 3) return join(shown, ", ") + " ...";
  }
  return join(shown, ", ");
}

}  // namespace

const char* to_string(Change change) {
  constexpr const char* kWords[] = {"broken", "regress", "inconclusive", "improve", "same"};
  return kWords[static_cast<size_t>(change)];
}

size_t launches_needed(size_t cells, bool pairs, double alpha) {
  size_t launches = 1;
  const auto smallest = [&] {
    return pairs ? smallest_p_of_pairs(launches) : smallest_p(launches, launches);
  };
  while (launches < 100 && smallest() * static_cast<double>(cells) > alpha) ++launches;
  return launches;
}

std::optional<double> CompareSample::middle() const {
  return launches.empty() ? std::nullopt : std::optional(median(launches));
}

CompareRow CompareCollector::row_of(const Entry& entry, const Part& part) const {
  CompareRow row;
  row.what = entry.what;
  row.part = part.name;
  row.cell = entry.cell;
  row.id_a = entry.ids[0];
  row.id_b = entry.ids[1];
  row.unit = part.unit;
  row.judged = plumbline::row(entry.cell.kind).asked_for;
  // The last series that both sides have decides alone: it was measured because of the one before.
  const auto last_series = [&](size_t side) {
    const auto& values = part.values[side];
    return values.empty() ? int64_t{0} : values.rbegin()->first.first;
  };
  row.series = std::max<int64_t>(1, std::min(last_series(0), last_series(1)));
  CompareSample* samples[2] = {&row.a, &row.b};
  row.paired = mostly_pairs(part.values[0], part.values[1], row.series);
  for (size_t side = 0; side < 2; ++side) {
    for (const auto& [key, values] : part.values[side]) {
      const bool used = !row.paired || part.values[1 - side].count(key) > 0;
      if (key.first == row.series && used) samples[side]->launches.push_back(median(values));
    }
    for (const auto& [series, tally] : part.tallies[side]) {
      // Wrong data counts whenever it was seen.
      samples[side]->wrong += tally.wrong;
      if (tally.wrong > 0) samples[side]->reason = tally.reason;
      if (series != row.series) continue;
      samples[side]->records = tally.records;
      samples[side]->noisy = tally.noisy;
      samples[side]->unusable = tally.unusable;
      if (!tally.reason.empty()) samples[side]->reason = tally.reason;
    }
  }
  if (row.a.launches.empty() || row.b.launches.empty() || row.b.wrong > 0) {
    judge_outcomes(row);
  } else {
    compute(row, rule_);
  }
  return row;
}

void CompareCollector::add_notes(Comparison& comparison) const {
  std::vector<std::string> differing;
  std::set<std::string> names;
  for (const Side& side : sides_) {
    for (const auto& [name, values] : side.facts) names.insert(name);
  }
  for (const std::string& name : names) {
    const auto a = sides_[0].facts.find(name), b = sides_[1].facts.find(name);
    if (a == sides_[0].facts.end() || b == sides_[1].facts.end() || a->second == b->second)
      continue;
    differing.push_back(
        fmt::format("{}: {} in a, {} in b", name, list_of(a->second), list_of(b->second)));
  }
  const size_t more = differing.size() > kMostNamed ? differing.size() - kMostNamed : 0;
  differing.resize(differing.size() - more);
  for (const std::string& text : differing) comparison.notes.push_back("differs: " + text);
  if (more > 0) comparison.notes.push_back(fmt::format("differs: {} more things", more));

  if (sides_[0].last < sides_[1].first || sides_[1].last < sides_[0].first) {
    comparison.notes.emplace_back(
        "the sides were measured one after the other: whatever else changed meanwhile is part of "
        "the difference; plumbline run --interleave A B measures them in turns");
  }
}

Comparison CompareCollector::finish() const {
  Comparison comparison;
  comparison.rule = rule_;
  for (const Entry& entry : entries_) {
    for (const Part& part : entry.parts) comparison.rows.push_back(row_of(entry, part));
  }
  std::set<int64_t> series;
  for (const CompareRow& row : comparison.rows) series.insert(row.series);
  for (const int64_t one : series) judge_series(comparison, one);
  for (CompareRow& row : comparison.rows) mind_failures(row);
  add_notes(comparison);
  return comparison;
}

size_t Comparison::count(Change change) const {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.end(), [&](const CompareRow& row) {
    return row.judged && row.change == change;
  }));
}

Change Comparison::verdict() const {
  for (const Change change :
       {Change::kBroken, Change::kRegress, Change::kInconclusive, Change::kImprove}) {
    if (count(change) > 0) return change;
  }
  return rows.empty() ? Change::kInconclusive : Change::kSame;
}

bool Comparison::anything_common() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CompareRow& row) { return row.a.records > 0 && row.b.records > 0; });
}

bool Comparison::undecided() const {
  const auto judged =
      std::count_if(rows.begin(), rows.end(), [](const CompareRow& row) { return row.judged; });
  return judged > 0 && count(Change::kInconclusive) == static_cast<size_t>(judged);
}

bool Comparison::wrong_data() const {
  return std::any_of(rows.begin(), rows.end(),
                     [](const CompareRow& row) { return row.b.wrong > 0; });
}

size_t Comparison::launches_needed() const {
  size_t judged = 0;
  bool paired = false;
  for (const CompareRow& row : rows) {
    if (!row.judged || !row.shift || row.series != 1) continue;
    ++judged;
    paired = paired || row.paired;
  }
  return plumbline::launches_needed(judged, paired, rule.alpha);
}

std::set<std::string> suspects(const Comparison& comparison, size_t side) {
  std::set<std::string> cells;
  for (const CompareRow& row : comparison.rows) {
    if (row.judged && row.change == Change::kRegress) cells.insert(side == 0 ? row.id_a : row.id_b);
  }
  return cells;
}

}  // namespace plumbline
