// Finding somebody's own job and looking at it on all hosts: first where it was named, then
// wherever what tells it apart (its master port, its launcher's words, the other ends of its
// connections) leads. Agents are asked side by side; nothing of the job is touched. One thread at a
// time.
#pragma once

#include <string>

#include "core/error.h"
#include "probes/gather/gather.h"
#include "probes/job_evidence.h"

namespace plumbline {

struct JobQuestion {
  std::string text;        // as the user wrote it
  std::string host;        // where it is to be looked for; empty: everywhere
  JobSelection selection;  // of one kind
};
// "4711", ":29500", "python3", each with "@HOST" behind it; anything else is the id of a run, or a
// name. kUsage where it makes no sense; `hosts` are those that may be named.
Expected<JobQuestion> parse_job_question(const std::string& text,
                                         const std::vector<std::string>& hosts);

// Captures packets of these connections (at most 64) on the hosts that have an end of them, some
// seconds, or until some have left an end: fills in JobHostEvidence::captured where both may.
// Behind gather_job.
void capture_job(ProbeContext& context, const std::vector<JobSelection::End>& connections);

// Fills in context.evidence.job_seen. `alone`: hosts that belong to the job may not be among those
// that are asked. kUsage, with what there is, when nothing was found or several jobs were.
Status gather_job(ProbeContext& context, const JobQuestion& question, bool alone);

}  // namespace plumbline
