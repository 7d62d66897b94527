// The little of PMI-1 that a rendezvous needs: rank 0 leaves one short text with the process
// manager (Hydra, over the descriptor in PMI_FD), the others fetch it. PMI-1 is lines of
// "key=value" words; source: MPICH's src/pmi/src/pmi_v1.c and the paper of Balaji et al., "PMI: A
// Scalable Parallel Process-Management Interface for Extreme-Scale Systems" (EuroMPI 2010). One
// thread.
#pragma once

#include <string>

#include "core/clock.h"
#include "core/error.h"

namespace plumbline {

// Collective over all ranks of the launch. `text` counts on rank 0 only: at most 1000 printable
// characters without spaces; returns it on every rank. The descriptor stays open, as the manager
// wants it. kProtocol for an answer that is not PMI-1's, kTimeout when not all ranks come.
Expected<std::string> share_over_pmi(int fd, int rank, const std::string& text, Deadline deadline);

}  // namespace plumbline
