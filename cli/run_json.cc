#include "cli/run_json.h"

#include "core/json.h"

namespace plumbline {

std::string run_json(const RunOutcome& outcome) {
  nlohmann::json rules = nlohmann::json::array();
  for (const RuleVerdict& rule : outcome.rules) {
    rules.push_back({{"rule", rule.rule},
                     {"where", rule.where},
                     {"passed", rule.passed},
                     {"message", rule.message},
                     {"cells", rule.cells},
                     {"failed", rule.failed}});
  }
  const nlohmann::json object = {{"schema", 1},
                                 {"run_id", outcome.run_id},
                                 {"scenario", outcome.scenario},
                                 {"state", outcome.state.state},
                                 {"reason", outcome.state.reason},
                                 {"exit_code", outcome.exit_code},
                                 {"planned", outcome.state.planned},
                                 {"measured", outcome.state.measured},
                                 {"passed", outcome.counts.passed},
                                 {"failed", outcome.counts.failed},
                                 {"skipped", outcome.counts.skipped},
                                 {"errors", outcome.counts.errors},
                                 {"wrong", outcome.counts.wrong},
                                 {"rules", std::move(rules)},
                                 {"folder", outcome.folder},
                                 {"records", outcome.records},
                                 {"reports", outcome.reports}};
  return json_text(object);
}

}  // namespace plumbline
