#include "reports/charts/view_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/file.h"
#include "core/units.h"
#include "reports/charts/chart.h"
#include "reports/charts/picture.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr ChartPlan kChartPlans[] = {tail_charts, rank_charts, strip_charts, roof_charts};

struct LabelPart {
  std::string text;
  LabelColumn column;
};

// What may tell items apart, the most wanted first; the size is always said, and so is a tool.
std::vector<LabelPart> parts_of(const Item& item, const std::string& run, bool foreign) {
  using When = LabelColumn::When;
  const Cell& cell = item.record->cell;
  const LabelColumn varies{When::kVaries};
  std::string params;
  for (const auto& [name, value] : cell.params) {
    params += (params.empty() ? "" : " ") + name + "=" + value;
  }
  const bool own_choice = item.imported() && cell.algorithm == "auto";
  return {{cell.op, varies},
          {own_choice ? "" : cell.algorithm, varies},
          {cell.engine, {foreign ? When::kAlways : When::kVaries}},
          {transport_of(*item.record), {foreign ? When::kNeeded : When::kVaries}},
          {cell.dtype, varies},
          {cell.redop, varies},
          {cell.root < 0 ? "" : fmt::format("root {}", cell.root), varies},
          {cell.placement == "in" ? "in place" : "out of place", varies},
          {"sync " + cell.sync, {foreign ? When::kNeeded : When::kVaries}},
          {cell.hosts, varies},
          {cell.distribution, varies},
          {fmt::format("{} outstanding", cell.outstanding), varies},
          {join(other_words(cell), " "), varies},
          {fmt::format("repetition {}", cell.repeat), varies},
          {params, varies},
          {format_bytes(cell.bytes), {When::kAlways}},
          {run, {When::kNeeded}}};
}

constexpr size_t kLeastId = 11;  // "import-0123", or the first third of a run's id

using Words = std::vector<std::string>;

Words only(const Words& row, const std::vector<size_t>& columns) {
  Words words;
  words.reserve(columns.size());
  for (const size_t column : columns) words.push_back(row[column]);
  return words;
}

size_t values_in(const std::set<Words>& rows, size_t column) {
  std::set<std::string> seen;
  for (const Words& row : rows) seen.insert(row[column]);
  return seen.size();
}

// As much of a longer text as fits so many columns.
std::string head_of(const std::string& text, size_t count) {
  const std::string cut = fit(text, count + 1, true);  // ends in "~", and perhaps in a space
  return cut.substr(0, cut.rfind('~'));
}

}  // namespace

std::vector<Chart> plot_charts(const View& view) {
  constexpr size_t kMostOfAKind = 8;
  std::vector<Chart> charts;
  for (const Picture& picture : plan_pictures(view)) charts.push_back(chart_of(picture));
  for (const ChartPlan plan : kChartPlans) {
    for (Chart& chart : plan(view, kMostOfAKind)) charts.push_back(std::move(chart));
  }
  FileNames names;
  for (Chart& chart : charts) chart.name = names.take(chart.name);
  return charts;
}

std::vector<std::string> telling_labels(const std::vector<const Item*>& items) {
  const bool foreign =
      std::any_of(items.begin(), items.end(), [](const Item* item) { return item->imported(); });
  std::vector<std::string> runs;
  for (const Item* item : items) runs.push_back(item->record->run_id);
  runs = short_ids(runs);
  std::vector<LabelColumn> columns;
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < items.size(); ++i) {
    std::vector<std::string>& row = rows.emplace_back();
    for (LabelPart& part : parts_of(*items[i], runs[i], foreign)) {
      if (i == 0) columns.push_back(part.column);
      row.push_back(std::move(part.text));
    }
  }
  return series_labels(columns, rows);
}

std::string chart_file_word(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || c == '-') {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  return out.substr(0, kLongest);
}

std::vector<std::string> series_labels(const std::vector<LabelColumn>& columns,
                                       const std::vector<Words>& rows) {
  using When = LabelColumn::When;
  const std::set<Words> different(rows.begin(), rows.end());
  std::vector<size_t> always, needed;
  for (size_t c = 0; c < columns.size(); ++c) {
    const bool varies = values_in(different, c) > 1;
    if (columns[c].when == When::kNeeded) {
      if (varies) needed.push_back(c);
    } else if (varies || columns[c].when == When::kAlways) {
      always.push_back(c);
    }
  }
  std::map<Words, std::set<Words>> alike;  // rows that the usual words do not tell apart
  for (const Words& row : different) alike[only(row, always)].insert(row);
  std::map<Words, std::vector<size_t>> used;
  for (const auto& [words, others] : alike) {
    std::vector<size_t>& list = used[words] = always;
    for (const size_t c : needed) {
      if (values_in(others, c) > 1) list.push_back(c);
    }
    std::sort(list.begin(), list.end());
  }
  std::vector<std::string> labels;
  labels.reserve(rows.size());
  for (const Words& row : rows) {
    Words words;
    for (const size_t c : used[only(row, always)]) {
      if (!row[c].empty()) words.push_back(clean(row[c]));
    }
    for (size_t c = 0; words.empty() && c < row.size(); ++c) {
      if (!row[c].empty()) words.push_back(clean(row[c]));
    }
    labels.push_back(join(words, ", "));
  }
  return labels;
}

std::vector<std::string> short_ids(const std::vector<std::string>& ids) {
  const std::set<std::string> different(ids.begin(), ids.end());
  size_t longest = 0;
  for (const std::string& id : different) longest = std::max(longest, id.size());
  size_t length = kLeastId;
  for (; length < longest; ++length) {
    std::set<std::string> seen;
    for (const std::string& id : different) seen.insert(id.substr(0, length));
    if (seen.size() == different.size()) break;
  }
  std::vector<std::string> out;
  out.reserve(ids.size());
  for (const std::string& id : ids) out.push_back(id.substr(0, length));
  return out;
}

std::string fit_label(const std::string& text, size_t columns) {
  const std::string safe = clean(text);
  constexpr size_t kLeast = 8;
  if (display_width(safe) <= columns) return safe;
  if (columns < kLeast) return fit(safe, columns, true);
  const std::string head = head_of(safe, columns * 3 / 5);
  // From the end, a character at a time: never into the middle of one.
  size_t from = safe.size();
  const size_t room = columns - display_width(head) - 2;
  for (size_t at = safe.size(); at-- > 0;) {
    const bool begins = (static_cast<unsigned char>(safe[at]) & 0xC0U) != 0x80U;
    if (!begins) continue;
    if (display_width(safe.substr(at)) > room) break;
    from = at;
  }
  return head + ".." + safe.substr(from);
}

}  // namespace plumbline
