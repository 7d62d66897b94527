// The format that iptables-save and ebtables-save share: "*table", ":CHAIN POLICY [counters]",
// "-A CHAIN ..." and "COMMIT", one per line; and what their targets do to a packet, by name. Only
// for the readers in this folder. Pure functions, thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "probes/filters/filter_rule.h"

namespace plumbline {

// Words of one line; quotes and backslashes as the tools write them.
std::vector<std::string> save_words(const std::string& line);

// The words of one rule, read from the left.
class SaveWords {
 public:
  explicit SaveWords(std::vector<std::string> words, size_t at)
      : words_(std::move(words)), at_(at) {}
  bool done() const { return at_ >= words_.size(); }
  // The next word, empty when there is none.
  std::string next() { return done() ? std::string() : words_[at_++]; }
  // The next word is a value, not another option or a negation.
  bool value_follows() const;
  // All values up to the next option, with blanks between.
  std::string values();

 private:
  std::vector<std::string> words_;
  size_t at_;
};

struct SaveFormat {
  std::string tool;  // for errors and FilterRule::tool
  bool commits;      // every table ends with COMMIT; else something is missing
  // Hook, priority and type of a base chain of this table; leaves the hook empty for the user's.
  void (*place)(FilterRule& chain);
  // Reads the conditions and the action behind "-A CHAIN"; may give several rules.
  std::vector<FilterRule> (*read)(const FilterRule& where, SaveWords& words);
};

Status parse_save_text(const std::string& text, const SaveFormat& format, const std::string& family,
                       std::vector<FilterRule>& rules);

// One table for iptables and ebtables: iptables-extensions(8), ebtables(8).
// Sets action and effects; a name that is in no table is taken for a chain of the user: "jump" with
// this target.
void apply_iptables_target(const std::string& name, FilterRule& rule);

}  // namespace plumbline
