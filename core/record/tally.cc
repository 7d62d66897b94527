#include "core/record/tally.h"

#include <fmt/format.h>

#include <numeric>

#include "core/diagnosis/health.h"
#include "core/record/record.h"
#include "core/record/rule.h"

namespace plumbline {

Tally::Word Tally::word_of(Standing standing) {
  switch (standing) {
    case Standing::kPass:
      return kPass;
    case Standing::kNote:
      return kNote;
    case Standing::kWarn:
      return kWarn;
    case Standing::kFail:
      return kFail;
    case Standing::kSkipped:
      return kSkipped;
    case Standing::kUnknown:
      break;
  }
  return kUnknown;
}

void Tally::add(Standing standing, size_t count) { counts_[word_of(standing)] += count; }

void Tally::add(Outcome outcome, size_t count) {
  switch (outcome) {
    case Outcome::kPassed:
      counts_[kPass] += count;
      break;
    case Outcome::kFailed:
      counts_[kFail] += count;
      break;
    case Outcome::kSkipped:
      counts_[kSkipped] += count;
      break;
    case Outcome::kError:
      counts_[kError] += count;
      break;
  }
}

void Tally::add_rule(bool passed) { ++counts_[passed ? kPass : kFail]; }

void Tally::add(const Tally& more) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
}

size_t Tally::total() const { return std::accumulate(counts_.begin(), counts_.end(), size_t{0}); }

size_t Tally::of(Standing standing) const { return counts_[word_of(standing)]; }

Tally Tally::without(Standing standing) const {
  Tally others = *this;
  others.counts_[word_of(standing)] = 0;
  return others;
}

std::string Tally::text() const {
  constexpr std::array<const char*, kWords> kNames = {"pass",  "note",    "warn",   "fail",
                                                      "error", "skipped", "unknown"};
  std::string text;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (counts_[i] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts_[i], kNames[i]);
  }
  return text.empty() ? "none" : text;
}

std::string Tally::text(const std::string& noun) const {
  const size_t all = total();
  const std::string head = fmt::format("{} {}{}", all, noun, all == 1 ? "" : "s");
  return all == 0 ? head : head + ": " + text();
}

Tally tally_of(const std::vector<Check>& checks, const std::vector<Finding>& findings) {
  const Standings standings(findings);
  Tally tally;
  for (const Check& check : checks) tally.add(standings.of(check));
  return tally;
}

Tally tally_of(const std::vector<RuleVerdict>& rules) {
  Tally tally;
  for (const RuleVerdict& rule : rules) tally.add_rule(rule.passed);
  return tally;
}

}  // namespace plumbline
