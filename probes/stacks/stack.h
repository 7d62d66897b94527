// Models of the communication libraries that people run their own jobs with: given the environment
// of the ranks and what the hosts say about themselves, which address and ports would each rank
// take? One row and one file for each library. A model follows the library's own source, which it
// names with its version, step by step; where the source leaves it to chance, the plan says so. A
// library that is not installed can be modelled just as well. Pure functions, thread-safe; nothing
// here opens a socket or reads a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "probes/evidence.h"
#include "probes/stacks/plan.h"

namespace plumbline {

using StackEnvironment = std::map<std::string, std::string>;

struct StackQuestion {
  const EvidenceSet* evidence = nullptr;  // the hosts of the job, and what each says about itself
  std::vector<std::string> hosts;         // name of each rank's host
  std::vector<StackEnvironment> environment;  // of each rank
  // Variables of the shell from which the job would be started: they do not travel by themselves.
  StackEnvironment shell = {};
  std::map<std::string, std::string> files = {};  // texts of files that variables name, by path
};

struct StackRow {
  const char* name;       // "torch-gloo"
  const char* help;       // one line
  const char* read_from;  // sources and versions
  const char* version;    // that the model is of, "4.1.4"; empty = a commit between two
  const char* interface_variable;
  const char* port_variable;
  std::vector<StackVariable> variables;      // that the model heeds, and what each changes
  std::vector<std::string> same;             // of these, those that all ranks must share
  std::vector<std::string> size;             // that hold the number of ranks
  std::vector<std::string> version_command;  // prints the installed version; changes nothing
  // Fills ranks (one for each of question.hosts, with their place in already) and what else it
  // knows.
  void (*plan)(const StackQuestion& question, StackPlan& plan);
};

// Ascending by name.
const std::vector<StackRow>& stack_table();
const StackRow* find_stack(const std::string& name);

// Asks the model, and adds what goes wrong with every library: ranks that differ in what they must
// share, a world of one rank, an address that two hosts have, variables that do not travel.
StackPlan make_stack_plan(const StackRow& row, const StackQuestion& question);

// Says which hosts have another version than the model's, as remarks of the plan.
void note_versions(const StackRow& row, StackPlan& plan);

// The first thing that looks like a version in what the version command printed: "4.1.4".
std::string version_in(const std::string& text);

}  // namespace plumbline
