// Diagnosing somebody's own job (`doctor --job`): it is found and looked at on all hosts, and
// between hosts where it does not get on the ladder is climbed, over a free port of our own: no
// port on which the job listens is ever connected to.
#pragma once

#include "core/error.h"
#include "probes/gather/gather_job.h"
#include "runs/doctor_run.h"

namespace plumbline {

// `alone`: this machine is all that was named; the job may be on others, too. Agents already
// started. kUsage, with what there is, where no such job was found.
Expected<ProbeResult> diagnose_job(const DiagnoseRequest& request, const JobQuestion& question,
                                   bool alone, const AgentSet& agents);

// The probes that judged this job: where hosts were not tried against one another, only that they
// could be asked. For evidence that was saved.
std::vector<ProbeCallSpec> job_calls(const EvidenceSet& evidence);

// For people and scripts; nothing where the evidence is of no such job.
std::optional<DoctorJob> shown_job(const EvidenceSet& evidence);

}  // namespace plumbline
