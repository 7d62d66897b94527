// The rules of `expect` in a report: each with its verdict in words.
#include "reports/content.h"
#include "reports/text.h"

namespace plumbline {

void add_rules(const std::vector<RuleVerdict>& rules, Document& document) {
  if (rules.empty()) return;
  document.heading(1, "Rules");
  for (const RuleVerdict& rule : rules) {
    document.paragraph((rule.passed ? "[ ok ] " : "[FAIL] ") + rule.rule + ": " + rule.message,
                       rule.passed ? Tone::kGood : Tone::kBad);
  }
}

}  // namespace plumbline
