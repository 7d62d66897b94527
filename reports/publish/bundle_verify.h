// Is a bundle what it says? Everything that can be recomputed is, exactly: hash, id, derived
// values, the verdict on noise, and whether the stated link could have done it. What it cannot show
// is that the samples were measured at all, or that the statement is true; docs/submitting.md says
// so. Pure functions; signatures are checked elsewhere, because that takes another program.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/cell.h"
#include "core/stats/stats.h"
#include "reports/publish/bundle.h"

namespace plumbline {

// One row of a bundle whose shape is right.
struct BundleRow {
  std::string path;  // "content.rows[3]"
  Cell cell;
  Histogram hist;
  std::vector<std::string> rank_hosts;
  std::vector<std::string> marks;  // kinds of the flags about it
};

struct BundleReport {
  std::string file;                                // as it was named
  std::string id;                                  // as the document says; empty when unreadable
  std::shared_ptr<const nlohmann::json> document;  // null when unreadable
  std::map<std::string, std::string> machines;     // of the hosts, both as ordinals
  std::vector<BundleRow> rows;                     // empty unless the shape is right
  std::vector<BundleIssue> problems;               // any of them: not accepted
  std::vector<BundleIssue> flags;                  // shown, and marked in the row

  bool sound() const { return problems.empty(); }
};

// Its part that is published; the document must have one.
const nlohmann::json& content_of(const BundleReport& report);

// `file` names the file for the check that it is called as its id; empty = no such check.
BundleReport verify_bundle(std::string_view text, const std::string& file);

// Looks across bundles: the same samples twice are a problem of both, samples that are another's
// times a constant a flag of both.
void compare_bundles(std::vector<BundleReport>& bundles);

// The checks that verify_bundle makes of a document whose shape is right; they add to the report.
void check_rows(BundleReport& report);      // histograms, derived values, what the operation gives
void check_trust(BundleReport& report);     // outcome, oversubscription, noise
void check_private(BundleReport& report);   // addresses and paths, values of options
void check_possible(BundleReport& report);  // against the stated link
void check_regularity(BundleReport& report);  // repeated, scaled, too regular

// Rate of one host's links in one direction as stated, in bits per second; 0 = not known.
uint64_t stated_rate_bps(const nlohmann::json& statement);

}  // namespace plumbline
