// Diagnosing for commands: turns a scenario's hosts and options into a job, starts the agents, and
// runs the probes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "probes/probe.h"
#include "probes/stacks/stack.h"
#include "reports/doctor.h"
#include "runs/hosts/agent_set.h"
#include "scenarios/host_files/host_file.h"
#include "scenarios/scenario.h"

namespace plumbline {

// A job that is started with a library of the user's own.
struct StackRequest {
  const StackRow* row = nullptr;
  struct Variable {
    std::string host, name, value;  // host empty = all
  };
  std::vector<Variable> variables;
  std::vector<EnvironmentList> rank_variables;  // of each rank, below those; may be empty
  StackEnvironment shell;                       // of the caller
  std::map<std::string, std::string> files;     // texts, by the path that a variable names
  std::vector<std::string> problems;            // of the host file, for this library
};

struct DiagnoseRequest {
  const Scenario* scenario = nullptr;
  const OptionSet* options = nullptr;
  int ranks = 2;
  std::vector<int> ports;            // of the window; empty = port_base and one per rank
  std::vector<ProbeCallSpec> calls;  // empty = the whole ladder
  bool deep = false;
  int64_t idle_s = 0;         // connections lie idle for so long and are used again; 0 = none
  bool over_tcp_too = false;  // what is judged goes on over TCP where RDMA does not work
  int64_t limit_ms = 120'000;
  std::string trace_folder;
  std::string keep_traces = "never";
  std::function<void(const std::string&)> progress;
  std::function<bool()> interrupted;       // empty = never
  std::optional<StackRequest> stack = {};  // a job of the user's own, instead of plumbline's
};

// "10.10.0.1/24" as an address; without a slash the prefix is 0 (unknown).
NicAddress data_address(const std::string& text);
std::vector<std::string> host_names(const Scenario& scenario);
// What the job needs, from its files and options alone.
Job job_of(const DiagnoseRequest& request);
// What probes start from; agents already started.
ProbeContext probe_context(const DiagnoseRequest& request, const AgentSet& agents);
ProbeResult diagnose(const DiagnoseRequest& request, const AgentSet& agents);
DoctorReport report_of(const ProbeResult& result);
// Findings, failed checks that none explains, and how many checks passed, as a few lines.
std::vector<std::string> finding_lines(const ProbeResult& result);
// Something is broken, by the one definition (core/diagnosis/finding.h): a run is not started, and
// ends with 2.
bool has_failure(const ProbeResult& result);

}  // namespace plumbline
