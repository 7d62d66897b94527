#include "probes/stacks/job_plan.h"

#include <algorithm>

#include "core/ranges.h"
#include "probes/rules/job_facts.h"
#include "probes/stacks/stack.h"

namespace plumbline {

std::optional<StackPlan> plan_of_job(const EvidenceSet& evidence) {
  const auto facts = job_facts(evidence);
  if (!facts || !is_apart(*facts)) return std::nullopt;
  StackQuestion question;
  question.evidence = &evidence;
  std::string library;
  for (const JobMember& member : facts->members) {  // by rank
    if (!member.place || member.outside) continue;
    const JobProcess& process = member.process();
    if (process.mpi.empty() || (!library.empty() && process.mpi != library)) return std::nullopt;
    library = process.mpi;
    question.hosts.push_back(member.host->host);
    question.environment.push_back(process.environment);
  }
  const StackRow* row = find_stack(library);
  if (row == nullptr) return std::nullopt;
  return make_stack_plan(*row, question);
}

}  // namespace plumbline
