// The tables of all folders, gathered for what may only see names and descriptors: the scenario
// checker, `list`, completion. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/host/requirement.h"
#include "scenarios/scenario.h"

namespace plumbline {

// `ranks_in_process`: ranks will be threads of one process, so that other transports are usable.
Vocabulary make_vocabulary(bool ranks_in_process = false);

// One table as `plumbline list` shows it.
struct NamedTable {
  std::string name;   // "algorithms"
  std::string title;  // one line
  std::vector<Descriptor> rows;
};
// Every table of the program, commands and options included.
std::vector<NamedTable> all_tables();

}  // namespace plumbline
