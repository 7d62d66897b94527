// A descriptor row's common part: everything that stands in a table (probe, transport, algorithm,
// report, command) has a name, one line of help, and what it requires. Scenarios check names
// against vectors of these, which cli hands in, so that scenarios need not know the tables
// themselves; `plumbline list` prints them.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct ParamRow {
  std::string name, type, default_value, unit, help;
};

struct Descriptor {
  std::string name;
  std::string help;
  std::vector<std::string> requires_;  // feature names, see core/host/requirement.h
  std::vector<ParamRow> params;
  std::string group;  // for algorithms: the operation's name
};

}  // namespace plumbline
