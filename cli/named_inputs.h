// Short names for what a command line takes a path for: a scenario that came with the program
// ("quickstart"), a run of this machine ("last", the first letters of its id). A file or folder of
// that path always comes first. The tables say which arguments take such names; the dispatcher puts
// the path in their place.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "runs/history.h"

namespace plumbline {

inline constexpr const char* kLastRun = "last";

struct NamedScenario {
  std::string name, path, question;
};
// What lies in scenarios/ of the source tree whose build folder the program `program` stands in,
// else in share/plumbline/scenarios of where it is installed; by name. Files that are no scenario,
// or whose name is more than letters, digits, '_', '-' and '.', are left out.
std::vector<NamedScenario> scenarios_beside(const std::string& program);
// Beside this program.
std::vector<NamedScenario> named_scenarios();

// The run whose id begins like this, or the newest for kLastRun; nullptr = none. kUsage: several
// begin like this.
Expected<const HistoryEntry*> find_run(const std::vector<HistoryEntry>& entries,
                                       const std::string& word);
// The folder of that run, "" = none is called like this. An Error: several are, its folder is gone,
// or the list cannot be read.
Expected<std::string> folder_of_run(const std::string& word);

// The path that a word means where such names are taken; a word with a slash, and "-", mean
// themselves, and so does one that no scenario is called by: a rank's node need not have it. kUsage
// for a run that is not there.
Expected<std::string> named_input(InputNames names, const std::string& word);
// kUsage, with the nearest name, for a word that is neither a file nor a scenario's name.
Status check_scenario_word(const std::string& word);
// The words that can stand there now, for completion: each is plain text for any shell.
std::vector<std::string> input_words(InputNames names);

}  // namespace plumbline
