// Rules that `plumbline report` finds beside its records (rules.json, which a run keeps there). A
// run's rules are about that run: in a report over several folders each is judged on the records of
// the folders that keep it. Nobody named them on the command line, so what cannot be used is a
// remark, the report still comes, and it says where its rules were taken from.
#pragma once

#include <string>
#include <vector>

#include "reports/import/importer.h"
#include "runs/rule_source.h"

namespace plumbline {

// Rules that the same folders keep.
struct KeptRules {
  RuleRequest request;
  std::vector<std::string> files;  // the record files that they are about
  std::string records;             // which, in words; empty = all of the report
};
// Those beside these record files. Left out are rules that were `given` by hand too, and, with a
// remark in `input.notes`, those that cannot be applied. `input.rule_sources` says what was taken.
std::vector<KeptRules> kept_rules(const std::vector<std::string>& record_paths,
                                  const RuleRequest& given, const std::string& baseline,
                                  ReportInput& input);

// Judges them into `input.rules`, as apply_rules() does. The files are read again where they are
// not all of the report; `assume` is as it was for those of other tools.
bool apply_kept_rules(const std::vector<KeptRules>& kept, const Assumptions& assume,
                      ReportInput& input, Caller& caller);

}  // namespace plumbline
