// Makes a bundle's content out of the records of one run and the submitter's statement. It copies
// what the table of bundle fields allows, field by field, and drops everything else: names,
// addresses, command lines, variables, questions, paths. Texts go through a Redactor. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/record/record.h"
#include "reports/publish/redact.h"

namespace plumbline {

// What the machine cannot know.
struct BundleStatement {
  std::string link_kind;  // row of link_kind_table()
  std::optional<uint64_t> link_speed_bps;
  int links_per_host = 1;
  std::string cable;
  std::vector<std::string> hardware;  // one for all hosts, or one for each
  std::string submitter, notes;
  std::vector<std::string> kept;  // names in these texts that are meant as words, and stay
};

struct BuiltBundle {
  std::shared_ptr<const nlohmann::json> document;  // sealed, not signed
  std::vector<std::string> notes;  // for the submitter: what was left out or replaced
};

// Whether build_bundle would find a row: before anybody is asked for anything.
Status judge_rows(const std::vector<Record>& records);

// `shipped`: names of the scenarios that ship with plumbline, any other is `own`. `redactor` may
// know more names already (the user's own). Refused: records of several runs or machines that
// cannot be told apart, wrong data, and a run without a single clean row of kind latency or
// bandwidth.
Expected<BuiltBundle> build_bundle(const std::vector<Record>& records,
                                   const BundleStatement& statement,
                                   const std::vector<std::string>& shipped, Redactor& redactor);

}  // namespace plumbline
