// Where a command line takes one of a few words, which ones: made from the same tables that check
// them, for shell completion. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace plumbline {

struct OptionRow;

struct ClosedSet {
  const char* command;
  // The flag, as its table writes it last ("--sync"), "" for the command's first argument, or the
  // word behind which the value stands ("inject").
  const char* word;
  std::vector<std::string> (*values)();
};

std::span<const ClosedSet> closed_set_table();
// The words that stand where the command's first argument does; empty = anything.
std::vector<std::string> first_words(const std::string& command);
// The values of an option of the data path; empty = anything.
std::vector<std::string> option_values(const OptionRow& option);

}  // namespace plumbline
