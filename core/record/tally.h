// How many checks, cells and rules stand how: counted, and said in one form, by everybody who says
// it: doctor, a run, its reports and page, the list of runs. Plain values; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace plumbline {

struct Check;
struct Finding;
struct RuleVerdict;
enum class Outcome;
enum class Standing;

class Tally {
 public:
  void add(Standing standing, size_t count = 1);  // of a check
  void add(Outcome outcome, size_t count = 1);    // of a cell
  void add_rule(bool passed);
  void add(const Tally& more);

  size_t total() const;
  size_t of(Standing standing) const;
  // Without those that stand so: "the others".
  Tally without(Standing standing) const;

  // "15 pass, 1 warn, 30 skipped", in a fixed order; what there is none of is left out. "none" when
  // nothing was counted.
  std::string text() const;
  // With how many there are: "46 checks: 15 pass, 1 warn, 30 skipped", "1 cell: 1 pass", "0 cells".
  std::string text(const std::string& noun) const;

 private:
  // In the order in which they are said.
  enum Word { kPass, kNote, kWarn, kFail, kError, kSkipped, kUnknown, kWords };
  static Word word_of(Standing standing);
  std::array<size_t, kWords> counts_{};
};

// As checks stand beside the findings that explain them (core/diagnosis/finding.h).
Tally tally_of(const std::vector<Check>& checks, const std::vector<Finding>& findings);
Tally tally_of(const std::vector<RuleVerdict>& rules);

}  // namespace plumbline
