// What something needs before it can start, and what this machine has: a feature is a word ("root",
// "linux", "gnuplot", "netns") with a detector. A requirement that is not met gives the sentence
// that is printed as the reason of a skip. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plumbline {

struct FeatureRow {
  const char* name;
  const char* help;
  // Empty string = present; otherwise the reason why it is missing.
  std::string (*missing)();
};

std::span<const FeatureRow> feature_table();
// First unmet requirement as a sentence, or nullopt when all are met. An unknown word is unmet.
std::optional<std::string> unmet(std::span<const char* const> requirements);

// A descriptor row's common part: everything that stands in a table (probe, transport, algorithm,
// report, command) has a name, one line of help, and what it requires. Scenarios check names
// against vectors of these, which cli hands in, so that scenarios need not know the tables
// themselves; `plumbline list` prints them.

struct ParamRow {
  std::string name, type, default_value, unit, help;
};

struct Descriptor {
  std::string name;
  std::string help;
  std::vector<std::string> requires_ = {};  // feature names
  std::vector<ParamRow> params = {};
  std::string group = {};  // for algorithms: the operation's name
};

}  // namespace plumbline
