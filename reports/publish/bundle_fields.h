// The fields of a bundle as one table: what may be published, and nothing else. From it come
// docs/bundle.schema.json, the reference in docs/submitting.md, the reader's checks (unknown keys
// are refused) and the list of what submit copies out of a record, which the tables of records say
// themselves: what has no row here is dropped. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/field_rows.h"
#include "reports/publish/bundle.h"

namespace plumbline {

std::span<const FieldRow> bundle_fields();
// Facts about a host that are copied from the record's `environment.hosts[]` under the same name.
std::vector<std::string> published_host_facts();
// Options whose values may be published: numbers and closed lists of words, never names, addresses
// or paths.
const std::vector<std::string>& published_options();

// JSON Schema (draft-07) with the names of operations, types and link kinds filled in.
std::string bundle_schema_json();
std::string bundle_reference_markdown();

// Where the document differs from the schema, by path; empty = it fits. The text rules that a
// schema cannot say (no invisible characters, no links) are checked too.
std::vector<BundleIssue> schema_issues(const nlohmann::json& document);

}  // namespace plumbline
