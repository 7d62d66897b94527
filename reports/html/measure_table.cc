#include "reports/html/measure_table.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace plumbline {
namespace {

// The first columns, in this order; of two placements the first one's time and bus bandwidth come
// before those of the second. All others follow as they were, but for the last one.
constexpr const char* kFirst[] = {"size", "outstanding", "rate", "time", "busbw"};
constexpr const char* kVerdict = "verdict";
constexpr const char* kLast = "count";  // follows from size and type

struct Shared {
  const char* column;
  const char* before;   // what its value is called in the caption
  const char* nothing;  // the value that says nothing
};
constexpr Shared kShared[] = {{"type", "", ""},
                              {"redop", "", "none"},
                              {"root", "root ", "-1"},
                              {"chosen", "chosen: ", ""},
                              {"placement", "placement: ", "out"},
                              {"variant", "", ""}};

const Shared* shared_of(const Table& table, size_t column) {
  const auto* found = std::find_if(std::begin(kShared), std::end(kShared), [&](const Shared& row) {
    return table.columns[column].name == row.column;
  });
  if (found == std::end(kShared)) return nullptr;
  const bool same = std::all_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
    return row.cells[column] == table.rows.front().cells[column];
  });
  return same ? found : nullptr;
}

// Smaller stands further left.
size_t place_of(const Table& table, size_t column) {
  const Column& one = table.columns[column];
  constexpr size_t kNames = std::size(kFirst);
  constexpr size_t kAfterAll = 100, kAtVerdict = 50;
  if (one.name == kVerdict) return kAtVerdict;
  if (one.name == kLast) return kAfterAll + 1;
  const auto* name = std::find(std::begin(kFirst), std::end(kFirst), one.name);
  if (name == std::end(kFirst)) return kAfterAll;
  const auto first_group = std::find_if(table.columns.begin(), table.columns.end(),
                                        [](const Column& each) { return !each.group.empty(); });
  const bool second = !one.group.empty() && one.group != first_group->group;
  return static_cast<size_t>(name - std::begin(kFirst)) + (second ? kNames : 0);
}

}  // namespace

Table page_table(const Table& table, std::string& caption) {
  if (table.rows.empty()) return table;
  std::vector<size_t> kept;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    const Shared* shared = shared_of(table, column);
    if (shared == nullptr) {
      kept.push_back(column);
      continue;
    }
    const std::string& value = table.rows.front().cells[column];
    if (value != shared->nothing) caption += ", " + (shared->before + value);
  }
  std::stable_sort(kept.begin(), kept.end(),
                   [&](size_t a, size_t b) { return place_of(table, a) < place_of(table, b); });
  Table out;
  for (const size_t column : kept) out.columns.push_back(table.columns[column]);
  for (const TableRow& row : table.rows) {
    TableRow& copy = out.rows.emplace_back();
    copy.tone = row.tone;
    for (const size_t column : kept) copy.cells.push_back(row.cells[column]);
  }
  return out;
}

}  // namespace plumbline
