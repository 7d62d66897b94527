// Takes out of the evidence of somebody's own job what is nobody else's business: which launch,
// user and folder it was. What a diagnosis needs stays. Names of hosts, interfaces and processes
// are replaced with those of all evidence (anonymise.h, process_names.h).
#pragma once

#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

void hide_job(EvidenceSet& evidence);
// Names in it that are to be replaced: of hosts, as the job's variables spell them, and of
// interfaces.
std::vector<std::string> host_names_in_job(const EvidenceSet& evidence);
std::vector<std::string> interfaces_in_job(const EvidenceSet& evidence);

}  // namespace plumbline
