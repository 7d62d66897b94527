// RESULTS.md and its chart out of bundles, and nothing else: the same bundles give the same bytes,
// in whatever order they are handed in and on whatever machine. Rows are grouped by link and kind
// of measurement, sorted, and shown once for each class and owner (the newest): who signed, or
// typed the same name. Rows compare only within a class: same link, operation, size, ranks, hosts
// and way of measuring. The page and its chart are two writings of the same rows. Pure, whole
// numbers only.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/publish/bundle_verify.h"

namespace plumbline {

// What is known about a bundle's signature, by id. "signed by X" | "unsigned" | "unknown signer".
using SignatureTexts = std::map<std::string, std::string>;

struct PageOptions {
  std::string folder = "reports/community";  // as links on the page name it
  std::string chart = "RESULTS.svg";         // as the page names it
  SignatureTexts signatures;
  // Whose key it was, by id: "ann", or the fingerprint of an unknown key; none = not signed.
  std::map<std::string, std::string> signers;
};

// A row's percentile is shown when its class has at least so many rows.
inline constexpr size_t kClassRows = 10;

// Only sound bundles with rows may be handed in.
std::string results_page(const std::vector<BundleReport>& bundles, const PageOptions& options);

// The page's picture, SVG: the best row of each link as dots, light or dark as the reader's screen
// is. Nothing in it is a text that somebody typed.
std::string results_chart(const std::vector<BundleReport>& bundles, const PageOptions& options);

// What must be equal for two rows to be compared.
std::string class_of(const BundleReport& bundle, const BundleRow& row);

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
