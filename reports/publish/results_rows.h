// The rows of RESULTS.md as values: what bundles give, sorted, one for each class and owner, and
// the best of each link. The page and its chart are two writings of them. Pure, whole numbers only,
// so that every machine writes the same.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/publish/results_page.h"

namespace plumbline {

struct ResultRow {
  const BundleReport* bundle = nullptr;
  const BundleRow* row = nullptr;
  const nlohmann::json* data = nullptr;       // the row
  const nlohmann::json* statement = nullptr;  // of its bundle
  std::string group, class_key, owner, date;
  uint64_t twice_p50 = 0;  // ns
  uint64_t busbw_Bps = 0;  // 0 = none
  std::string percentile;  // filled in when the class is large enough

  bool latency() const { return row->cell.kind == CellKind::kLatency; }
};

// In the page's order: links as in their table, then latency, bandwidth, operations, sizes, and
// within a class the fastest first.
std::vector<ResultRow> result_rows(const std::vector<BundleReport>& bundles,
                                   const PageOptions& options);

struct BestRow {
  const ResultRow* best = nullptr;
  size_t bundles = 0;  // that have such a row
};
// Of each link, kind of measurement and operation the row with the least time (latency) or the most
// bus bandwidth, in the order of `rows`, into which it points. Rows with a flag are not compared:
// nobody shall come first by numbers that verify finds odd.
std::vector<BestRow> best_rows(const std::vector<ResultRow>& rows);

// "thunderbolt4", "other, 12.000 Gbit/s", "thunderbolt5, 2 links per host"
std::string link_text(const nlohmann::json& statement);
// "2", "2 on 1 machine"
std::string hosts_text(const ResultRow& row);
// Options and parameters that were not the defaults: "spin_us=7".
std::string options_text(const ResultRow& row);
// What an operation moved: "1 MiB"; empty for a barrier.
std::string size_text(const ResultRow& row);

}  // namespace plumbline
