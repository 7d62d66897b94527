// A bundle is what somebody publishes of a run: one JSON file with what was measured (histograms of
// whole numbers), where (an allow-listed environment, names replaced by ordinals), what the
// submitter states (link, cable, hardware), and the values derived from it. docs/bundle.schema.json
// and docs/submitting.md describe it. This header is the envelope around the content:
//   {"plumbline_bundle":1, "id", "sha256", "locator", "content", "signature"}
// sha256 is over the canonical content (keys sorted, no spaces), id its first 16 hex digits and the
// name of the file. The locator is two sums over the hashes of all values: when exactly one value
// was changed afterwards, they tell which. A bundle has one form only, byte for byte.
// Pure functions, thread-safe; nothing here touches a file.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

inline constexpr int kBundleFormat = 1;
inline constexpr size_t kBundleMaxBytes = 8 << 20;

// Something wrong with a bundle, or (as a flag) something odd about it.
struct BundleIssue {
  std::string kind;  // of issue_kinds()
  std::string path;  // "content.rows[3].derived.p50_ns"; empty = the whole file
  std::string text;  // in words, both values where there are two
};
struct IssueKind {
  const char *name, *help;
};
const std::vector<IssueKind>& issue_kinds();

// What is hashed and signed.
std::string canonical_text(const nlohmann::json& content);
// The whole document around a content, without a signature.
nlohmann::json seal_bundle(nlohmann::json content);
// The file's bytes. With `fold`, buckets of histograms are only counted: for people to read.
std::string bundle_text(const nlohmann::json& document, bool fold = false);

// Reads bytes from anywhere. Refused with a reason: what is too large or too deep, not UTF-8, has a
// key twice (one reader would show the first value, another the second), holds numbers that do not
// exist, or is no JSON.
Expected<nlohmann::json> parse_bundle(std::string_view text);

// Does the content still fit the hash, the id and the locator? Names the value that was changed
// where it was one. Accepts any document that parse_bundle gave.
std::vector<BundleIssue> seal_issues(const nlohmann::json& document);

}  // namespace plumbline
