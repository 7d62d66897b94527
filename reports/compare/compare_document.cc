#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/units.h"
#include "reports/compare/compare.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// What tells cells apart.
struct Variable {
  Column column;
  std::string (*text)(const CompareRow& row);
};

bool is_roof(const CompareRow& row) { return row.cell.kind == CellKind::kRoof; }

// Where all rows agree the value stands once, above the table.
const std::vector<Variable>& variables() {
  constexpr auto kLifted = Lift::kWhenSame;
  static const std::vector<Variable> kVariables = {
      {{"", "kind", "", true, 9, true, kLifted},
       [](const CompareRow& r) { return std::string(to_string(r.cell.kind)); }},
      {{"", "operation", "", true, 0, true},
       [](const CompareRow& r) { return r.cell.measure.empty() ? r.cell.op : r.cell.measure; }},
      {{"", "algorithm", "", true, 4, true, kLifted},
       [](const CompareRow& r) { return is_roof(r) ? std::string() : r.cell.algorithm; }},
      {{"", "ranks", "", false, 3, true, kLifted},
       [](const CompareRow& r) { return fmt::format("{}", r.cell.ranks); }},
      {{"", "transport", "", true, 8, true, kLifted},
       [](const CompareRow& r) { return r.cell.transport; }},
      {{"", "size", "", false, 0, true},
       [](const CompareRow& r) {
         return r.cell.bytes > 0 ? format_bytes(r.cell.bytes) : std::string();
       }},
      {{"", "type", "", true, 5, true, kLifted},
       [](const CompareRow& r) { return is_roof(r) ? std::string() : r.cell.dtype; }},
      // Operations that do not reduce have none, and may stand between others.
      {{"", "redop", "", true, 7, true, Lift::kWhenSameOrEmpty},
       [](const CompareRow& r) { return r.cell.redop == "none" ? std::string() : r.cell.redop; }},
      {{"", "place", "", true, 6, true, kLifted},
       [](const CompareRow& r) { return is_roof(r) ? std::string() : r.cell.placement; }},
      {{"", "variant", "", true, 2, true, kLifted},
       [](const CompareRow& r) { return join(variant_words(r.cell), ", "); }},
      {{"", "between", "", true, 1, true, kLifted}, [](const CompareRow& r) { return r.part; }},
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

Tone change_tone(Change change) {
  constexpr Tone kTones[] = {Tone::kBad, Tone::kBad, Tone::kWarn, Tone::kGood, Tone::kPlain};
  return kTones[static_cast<size_t>(change)];
}

using Rows = std::vector<const CompareRow*>;

// Of these a list below the table says why.
bool is_open(const CompareRow& row) {
  return row.change == Change::kInconclusive || row.change == Change::kBroken;
}

// How often each reason stands among the open rows.
std::map<std::string, size_t> open_reasons(const Rows& rows) {
  std::map<std::string, size_t> reasons;
  for (const CompareRow* row : rows) {
    if (is_open(*row)) ++reasons[std::string(to_string(row->change)) + ": " + clean(row->why)];
  }
  return reasons;
}

Table table_of(const Rows& rows) {
  Table table;
  for (const Variable& variable : variables()) {
    table.columns.push_back(key_column(variable.column));
  }
  const std::vector<Column> numbers = {
      {"", "a", "", false, 1},
      {"", "b", "", false, 1},
      {"", "time", "%"},
      {"", "95% CI", "%", false, 1, true},
      {"", "p", "", false, 3, true},
      {"", "noise", "%", false, 6, true},
      {"", "launches", "", false, 5, true, Lift::kWhenSame},
      {"", "verdict", "", true},
      {"", "because", "", true, 8, true},
  };
  table.columns.insert(table.columns.end(), numbers.begin(), numbers.end());
  // One reason of all open rows is told below them.
  const bool by_row = open_reasons(rows).size() > 1;
  for (const CompareRow* row : rows) {
    TableRow out;
    for (const Variable& variable : variables()) out.cells.push_back(variable.text(*row));
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
         is_open(*row) && !by_row ? std::string() : row->why});
    out.tone = change_tone(row->change);
    table.rows.push_back(std::move(out));
  }
  return without_empty_columns(table);
}

// Why rows are not decided or broken.
std::vector<std::string> open_questions(const Rows& rows) {
  constexpr size_t kMost = 5;
  const std::map<std::string, size_t> reasons = open_reasons(rows);
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    if (lines.size() == kMost) {
      lines.push_back(fmt::format("... and {} more reasons", reasons.size() - kMost));
      break;
    }
    lines.push_back(plural(count, "row") + " " + reason);
  }
  return lines;
}

void add_rows(Rows rows, const std::string& title, Document& document) {
  if (rows.empty()) return;
  std::stable_sort(rows.begin(), rows.end(), [](const CompareRow* x, const CompareRow* y) {
    const auto key = [](const Cell& cell) {
      return std::tuple(std::string_view(to_string(cell.kind)), std::string_view(cell.op),
                        cell.ranks, cell.bytes);
    };
    return key(x->cell) < key(y->cell);
  });
  Table table = table_of(rows);
  std::vector<std::string> shared;
  for (const auto& [name, value] : lift_constants(table)) shared.push_back(name + " " + value);
  document.heading(1, title);
  if (!shared.empty()) document.paragraph("All rows: " + join(shared, ", "));
  document.table(std::move(table));
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
  constexpr const char* kTexts[] = {
      "b is broken where a is not", "b is slower",
      "nothing got slower as far as these launches can tell; not all cells are decided",
      "b is faster, and nowhere slower", "no change"};
  return kTexts[static_cast<size_t>(comparison.verdict())];
}

// What the columns mean that are there.
std::string legend_of(const Rows& judged, const CompareRule& rule) {
  const auto any = [&judged](auto has) {
    return std::any_of(judged.begin(), judged.end(), [&](const CompareRow* r) { return has(*r); });
  };
  const bool paired = any([](const CompareRow& row) { return row.paired; });
  std::string text = fmt::format(
      "time = how much longer b takes, typically, over {} (not the ratio of the two medians shown)",
      paired ? "pairs of launches" : "the medians of the launches");
  if (any([](const CompareRow& row) { return row.shift.has_value(); })) {
    text += fmt::format("; p = chance of such a difference without a change, corrected for {} rows",
                        judged.size());
  }
  if (any([](const CompareRow& row) { return row.floor.has_value(); })) {
    text += fmt::format(
        "; noise = how far a side differs from itself; a change counts from {:.3g} % and {:g} "
        "times the noise on.",
        100 * rule.least_effect, kFloorFactor);
  } else {
    text += fmt::format("; a change counts from {:.3g} % on.", 100 * rule.least_effect);
  }
  return text;
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
  document.paragraph(legend_of(judged, comparison.rule));
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
                     change_tone(verdict));
  return document;
}

}  // namespace plumbline
