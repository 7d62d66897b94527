#include "core/record/tally.h"

#include <fmt/format.h>

#include <numeric>

#include "core/diagnosis/finding.h"
#include "core/record/expect.h"
#include "core/record/record.h"

namespace plumbline {

// Both in the order of their enums.
Tally::Word Tally::word_of(Standing standing) {
  constexpr std::array kWordOf = {kPass, kNote, kWarn, kFail, kSkipped, kUnknown};
  return kWordOf[static_cast<size_t>(standing)];
}

void Tally::add(Standing standing, size_t count) { counts_[word_of(standing)] += count; }

void Tally::add(Outcome outcome, size_t count) {
  constexpr std::array kWordOf = {kPass, kFail, kSkipped, kError};
  counts_[kWordOf[static_cast<size_t>(outcome)]] += count;
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
