// RESULTS.md and its chart out of bundles, and nothing else: the same bundles give the same bytes,
// in whatever order they are handed in and on whatever machine. Rows are grouped by link and kind
// of measurement, sorted, and shown once for each class and owner (the newest): who signed, or
// typed the same name. Rows compare only within a class: same link, operation, size, ranks, hosts
// and way of measuring. Pure.
#pragma once

#include <map>
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

}  // namespace plumbline
