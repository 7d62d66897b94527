// Notes about packet filters that several sources share: one entry for each tool, however many
// commands tell about it. Not thread-safe for one HostEvidence.
#pragma once

#include "probes/evidence.h"

namespace plumbline {

// Adds what one command found out about a tool to what others did: present when any says so,
// readable when all that see it could be read. A state that is not empty replaces the old one.
void note_filter(HostEvidence& host, const FilterSource& source);

}  // namespace plumbline
