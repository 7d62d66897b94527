// A bundle is what somebody publishes of a run: one JSON file with what was measured (histograms of
// whole numbers), where (an allow-listed environment, names replaced by ordinals), what the
// submitter states (link, cable, hardware), and the values derived from it. docs/bundle.schema.json
// and docs/submitting.md describe it. This header is the table of what may be published, and
// the envelope around the content:
//   {"plumbline_bundle":1, "id", "sha256", "locator", "content", "signature"}
// sha256 is over the canonical content (keys sorted, no spaces), id its first 16 hex digits and the
// name of the file. The locator is two sums over the hashes of all values: when exactly one value
// was changed afterwards, they tell which. A bundle has one form only, byte for byte.
// Pure functions, thread-safe; nothing here touches a file.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/field.h"

namespace plumbline {

inline constexpr int kBundleFormat = 1;
inline constexpr size_t kBundleMaxBytes = 8 << 20;

// Something wrong with a bundle, or (as a flag) something odd about it.
struct BundleIssue {
  std::string kind;  // "derived", "altered" ...: docs/submitting.md lists them
  std::string path;  // "content.rows[3].derived.p50_ns"; empty = the whole file
  std::string text;  // in words, both values where there are two
};

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

// The fields as one table: what may be published, and nothing else. From it come
// docs/bundle.schema.json, the reference in docs/bundle_format.md, the reader's checks (unknown
// keys are refused) and the list of what submit copies out of a record, which the tables of records
// say themselves: what has no row here is dropped.
std::span<const FieldRow> bundle_fields();
// Options whose values may be published: numbers and closed lists of words, never names, addresses
// or paths.
const std::vector<std::string>& published_options();

// JSON Schema (draft-07) with the names of operations, types and link kinds filled in.
std::string bundle_schema_json();

// Where the document differs from the schema, by path; empty = it fits. The text rules that a
// schema cannot say (no invisible characters, no links) are checked too.
std::vector<BundleIssue> schema_issues(const nlohmann::json& document);

}  // namespace plumbline
