// Which variables of a process's environment may be looked at, kept and sent: the one list. They
// tell a stack who its rank is, where all meet and which interfaces it takes; none of them is meant
// to hold a secret, and a value that does not look like what its name promises is left out. And
// what they say: which rank of how many, and which job. Pure functions, thread-safe.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

using JobVariables = std::map<std::string, std::string>;

struct JobVariableRow {
  const char* name;
  const char* stack;  // who reads or sets it: "torch", "nccl", "openmpi" ...
  // What a value may be: "number"; "words" of the stack's own, "interfaces" by name, an "address"
  // (a name or number of a host, with a port or without): letters, digits and "._:,=^*/@[]+-", 256
  // characters at most; "path", where "~ " may stand as well.
  const char* value;
  // Tells a launch, a user or a folder apart: left out of what is sent to others (--bundle).
  bool is_private;
};
std::span<const JobVariableRow> job_variable_table();
const JobVariableRow* find_job_variable(std::string_view name);

// Of these those that are in the table, with values that fit it.
JobVariables allowed_variables(const JobVariables& all);
// The same of the text that a system gives: NAME=VALUE, each ended by a zero.
JobVariables allowed_variables(std::string_view environment);
// Those that are not private.
JobVariables public_variables(const JobVariables& all);

// ---- what they say ----

struct JobPlace {
  int rank = 0;
  std::optional<int> size, local_rank, local_size;
  std::string rank_name, size_name;  // the variables that said so
};
// The rank that a launcher, or whoever started it, gave to a process: the innermost launcher's.
std::optional<JobPlace> place_of(const JobVariables& variables);

// What tells this process's job from others, "MASTER=10.0.0.1:29500": two processes that have one
// in common, and are ranks, are of one job.
std::vector<std::string> identities_of(const JobVariables& variables);
// Of one of these, "PMIX_NAMESPACE=77", or its name with "=": a launcher chose it, so that two jobs
// have two of them. The others a user wrote.
bool is_given_by_launcher(std::string_view identity);
// Ranks that a rank started later (MPI_Comm_spawn) have another name, in which the launch can be
// seen: "PMIX_NAMESPACE=prterun-node1-77@2" beside "...@1", or numbers of Open MPI 4, whose upper
// part is the launch's. A daemon that stays, and starts one job after the other, gives names of the
// first kind that begin with "prte-".
bool is_one_launch(std::string_view identity, std::string_view other);

}  // namespace plumbline
