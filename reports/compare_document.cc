#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/units.h"
#include "reports/compare_output.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// What tells cells apart. Where all rows agree the value stands once, above the table.
struct Variable {
  Column column;
  std::string (*text)(const CompareRow& row);
};

std::string variant_of(const CompareRow& row) {
  const Cell& cell = row.cell;
  std::vector<std::string> parts;
  if (cell.sync != "barrier") parts.push_back("sync " + cell.sync);
  if (cell.outstanding != 1) parts.push_back(fmt::format("{} outstanding", cell.outstanding));
  if (!cell.hosts.empty()) parts.push_back("on " + cell.hosts);
  if (!cell.distribution.empty()) parts.push_back(cell.distribution);
  for (const auto& [name, value] : cell.params) parts.push_back(name + "=" + value);
  return clean(join(parts, ", "));
}

const std::vector<Variable>& variables() {
  static const std::vector<Variable> kVariables = {
      {{"", "kind", "", true, 9, true}, [](const CompareRow& r) { return clean(r.cell.kind); }},
      {{"", "operation", "", true, 0, true},
       [](const CompareRow& r) {
         return clean(r.cell.measure.empty() ? r.cell.op : r.cell.measure);
       }},
      {{"", "algorithm", "", true, 4, true},
       [](const CompareRow& r) { return r.cell.kind == "roof" ? "" : clean(r.cell.algorithm); }},
      {{"", "ranks", "", false, 3, true},
       [](const CompareRow& r) { return fmt::format("{}", r.cell.ranks); }},
      {{"", "transport", "", true, 8, true},
       [](const CompareRow& r) { return clean(r.cell.transport); }},
      {{"", "size", "", false, 0, true},
       [](const CompareRow& r) {
         return r.cell.bytes > 0 ? format_bytes(r.cell.bytes) : std::string();
       }},
      {{"", "type", "", true, 5, true},
       [](const CompareRow& r) { return r.cell.kind == "roof" ? "" : clean(r.cell.dtype); }},
      {{"", "redop", "", true, 7, true},
       [](const CompareRow& r) { return r.cell.redop == "none" ? "" : clean(r.cell.redop); }},
      {{"", "place", "", true, 6, true},
       [](const CompareRow& r) { return clean(r.cell.placement); }},
      {{"", "variant", "", true, 2, true}, variant_of},
      {{"", "between", "", true, 1, true}, [](const CompareRow& r) { return clean(r.part); }},
  };
  return kVariables;
}

std::string value_text(const CompareRow& row, const CompareSample& sample) {
  const std::optional<double> middle = sample.middle();
  if (!middle) return "";
  switch (row.unit) {
    case CompareUnit::kTime:
      return format_duration(*middle);
    case CompareUnit::kOperations:
      return fmt::format("{:.4g} op/s", 1e9 / *middle);
    case CompareUnit::kBytes:
      break;
  }
  return format_rate(1e9 / *middle);
}

std::string percent(double ratio) { return fmt::format("{:+.1f}", 100 * (ratio - 1)); }

std::string launches_text(const CompareRow& row) {
  const size_t a = row.a.launches.size(), b = row.b.launches.size();
  return a == b ? fmt::format("{}", a) : fmt::format("{}/{}", a, b);
}

Tone tone_of(Change change) {
  switch (change) {
    case Change::kBroken:
    case Change::kRegress:
      return Tone::kBad;
    case Change::kInconclusive:
      return Tone::kWarn;
    case Change::kImprove:
      return Tone::kGood;
    case Change::kSame:
      break;
  }
  return Tone::kPlain;
}

using Rows = std::vector<const CompareRow*>;

// The variables in which these rows differ; what they all share goes to `shared`.
std::vector<const Variable*> differing(const Rows& rows, std::vector<std::string>& shared) {
  std::vector<const Variable*> out;
  for (const Variable& variable : variables()) {
    const std::string first = variable.text(*rows.front());
    const bool same = std::all_of(rows.begin(), rows.end(), [&](const CompareRow* row) {
      return variable.text(*row) == first;
    });
    if (!same || &variable == &variables()[1]) {
      out.push_back(&variable);
    } else if (!first.empty()) {
      shared.push_back(variable.column.name + " " + first);
    }
  }
  return out;
}

Table table_of(const Rows& rows, const std::vector<const Variable*>& shown) {
  Table table;
  for (const Variable* variable : shown) table.columns.push_back(variable->column);
  const std::vector<Column> numbers = {
      {"", "a", "", false, 1, false},       {"", "b", "", false, 1, false},
      {"", "time", "%", false, 0, false},   {"", "95% CI", "%", false, 1, true},
      {"", "p", "", false, 3, true},        {"", "noise", "%", false, 6, true},
      {"", "launches", "", false, 5, true}, {"", "verdict", "", true, 0, false},
      {"", "because", "", true, 8, true},
  };
  table.columns.insert(table.columns.end(), numbers.begin(), numbers.end());
  for (const CompareRow* row : rows) {
    TableRow out;
    for (const Variable* variable : shown) out.cells.push_back(variable->text(*row));
    const bool has = row->shift.has_value();
    const auto ci = has ? row->shift->ci95 : std::nullopt;
    out.cells.insert(
        out.cells.end(),
        {value_text(*row, row->a), value_text(*row, row->b), has ? percent(row->shift->ratio) : "",
         ci ? percent(ci->first) + ".." + percent(ci->second) : "",
         has ? fmt::format("{:.2g}", row->p_corrected) : "",
         row->floor ? fmt::format("{:.1f}", 100 * std::expm1(*row->floor)) : "",
         launches_text(*row),
         std::string(to_string(row->change)) + (row->series > 1 ? ", measured again" : ""),
         clean(row->why)});
    out.tone = tone_of(row->change);
    table.rows.push_back(std::move(out));
  }
  return table;
}

// Why rows are not decided, each reason once: the table's last column has no room on a narrow
// terminal.
std::vector<std::string> open_questions(const Rows& rows) {
  constexpr size_t kMost = 5;
  std::map<std::string, size_t> reasons;
  for (const CompareRow* row : rows) {
    if (row->change == Change::kInconclusive || row->change == Change::kBroken) {
      ++reasons[std::string(to_string(row->change)) + ": " + clean(row->why)];
    }
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    if (lines.size() == kMost) {
      lines.push_back(fmt::format("... and {} more reasons", reasons.size() - kMost));
      break;
    }
    lines.push_back(fmt::format("{} row{} {}", count, count == 1 ? "" : "s", reason));
  }
  return lines;
}

void add_rows(Rows rows, const std::string& title, Document& document) {
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const CompareRow* x, const CompareRow* y) {
    return std::tie(x->cell.kind, x->cell.op, x->cell.ranks, x->cell.bytes) <
           std::tie(y->cell.kind, y->cell.op, y->cell.ranks, y->cell.bytes);
  });
  std::vector<std::string> shared;
  const std::vector<const Variable*> shown = differing(rows, shared);
  document.heading(1, title);
  if (!shared.empty()) document.paragraph("All rows: " + join(shared, ", "));
  document.table(table_of(rows, shown));
  document.list(open_questions(rows));
}

std::string counts_text(const Comparison& comparison) {
  std::vector<std::string> parts;
  for (const Change change : {Change::kBroken, Change::kRegress, Change::kImprove, Change::kSame,
                              Change::kInconclusive}) {
    const size_t count = comparison.count(change);
    if (count > 0) parts.push_back(fmt::format("{} {}", count, to_string(change)));
  }
  return join(parts, ", ");
}

// Nothing is known, and nobody may read that as "nothing got slower".
std::string undecided_text(const Comparison& comparison) {
  const size_t rows = comparison.count(Change::kInconclusive);
  std::string text = rows == 1 ? "undecided: the one row could not be decided"
                               : fmt::format("undecided: none of {} rows could be decided", rows);
  size_t launches = SIZE_MAX;
  for (const CompareRow& row : comparison.rows) {
    if (!row.judged || !row.shift) continue;
    launches = std::min({launches, row.a.launches.size(), row.b.launches.size()});
  }
  const size_t needed = comparison.launches_needed();
  if (launches < needed) {
    text += fmt::format(", with {} launch{} a side; {} is the least that could find a difference",
                        launches, launches == 1 ? "" : "es", needed);
  }
  return text;
}

std::string verdict_text(const Comparison& comparison) {
  if (comparison.undecided()) return undecided_text(comparison);
  switch (comparison.verdict()) {
    case Change::kBroken:
      return "b is broken where a is not";
    case Change::kRegress:
      return "b is slower";
    case Change::kInconclusive:
      return "nothing got slower as far as these launches can tell; not all cells are decided";
    case Change::kImprove:
      return "b is faster, and nowhere slower";
    case Change::kSame:
      break;
  }
  return "no change";
}

}  // namespace

Document compare_document(const Comparison& comparison) {
  Document document;
  document.heading(1,
                   comparison.undecided() ? "plumbline compare: undecided" : "plumbline compare");
  document.paragraph(fmt::format("a: {}", clean(comparison.name_a)));
  document.paragraph(fmt::format("b: {}", clean(comparison.name_b)));
  document.list(comparison.notes);
  Rows judged, others;
  for (const CompareRow& row : comparison.rows) (row.judged ? judged : others).push_back(&row);
  const bool paired =
      std::any_of(judged.begin(), judged.end(), [](const CompareRow* row) { return row->paired; });
  document.paragraph(fmt::format(
      "time = how much longer b takes, typically, over {} (not the ratio of the two medians "
      "shown); "
      "p = chance of such a difference without a change, "
      "corrected for {} rows; noise = how far a side differs from itself; a change counts from "
      "{:.3g} % and {:g} times the noise on.",
      paired ? "pairs of launches" : "the medians of the launches", judged.size(),
      100 * comparison.rule.least_effect, kFloorFactor));
  add_rows(judged, "Cells", document);
  add_rows(others, "The path itself (roofs, not judged)", document);
  document.heading(1, "Verdict");
  const Change verdict = comparison.verdict();
  if (comparison.rows.empty()) {
    document.paragraph("inconclusive: there is no cell that both sides measured", Tone::kWarn);
    return document;
  }
  document.paragraph(fmt::format("{}: {} ({})", to_string(verdict), verdict_text(comparison),
                                 counts_text(comparison)),
                     tone_of(verdict));
  return document;
}

}  // namespace plumbline
