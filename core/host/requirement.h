// What something needs before it can start, and what this machine has: a feature is a word ("root",
// "linux", "gnuplot", "netns") with a detector. A requirement that is not met gives the sentence
// that is printed as the reason of a skip. Thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace plumbline
