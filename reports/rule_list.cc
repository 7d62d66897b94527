// The rules of `expect` in a report: each with its verdict in words.
#include "reports/content.h"
#include "reports/text.h"

namespace plumbline {

void add_rules(const ReportInput& input, Document& document) {
  if (input.rules.empty()) return;
  document.heading(1, "Rules");
  document.list(input.rule_sources);
  for (const RuleVerdict& rule : input.rules) {
    const std::string of = rule.records.empty() ? "" : "records of " + rule.records + ": ";
    document.paragraph((rule.passed ? "[ ok ] " : "[FAIL] ") + of + rule.rule + ": " + rule.message,
                       rule.passed ? Tone::kGood : Tone::kBad);
  }
}

}  // namespace plumbline
