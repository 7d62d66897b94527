// Questions to the models of stacks, about the healthy star of evidence_builder.h.
#pragma once

#include <string>
#include <vector>

#include "evidence_builder.h"
#include "probes/stacks/stack.h"

namespace plumbline::test {

// One rank on each host of the evidence, all with these variables.
inline StackQuestion ask_stack(const EvidenceSet& set, const StackEnvironment& environment = {}) {
  StackQuestion question;
  question.evidence = &set;
  for (const JobHost& host : set.job.hosts) {
    question.hosts.push_back(host.name);
    question.environment.push_back(environment);
  }
  return question;
}

inline StackPlan plan_stack(const std::string& name, const StackQuestion& question) {
  const StackRow* row = find_stack(name);
  EXPECT_NE(row, nullptr) << name;
  return make_stack_plan(*row, question);
}

// docker0 as every machine has it, with the same address.
inline void add_docker(EvidenceSet& set, int index = 1) {
  for (HostEvidence& host : set.hosts) {
    host.interfaces.push_back(
        make_nic("docker0", "02:42:00:00:00:01", {"172.17.0.1/16"}, "bridge"));
    host.interfaces.back().index = index;
  }
}

// "name.loopback fail mini2".
inline std::vector<std::string> trap_words(const StackPlan& plan) {
  std::vector<std::string> out;
  for (const StackTrap& trap : plan.traps) {
    out.push_back(trap.cause + " " + trap.severity + " " + trap.host);
  }
  return out;
}

}  // namespace plumbline::test
