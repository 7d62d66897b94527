// Echo by the system's own program. Used by ping.cc alone. Platform code of the one option that
// differs: ping_program_linux.cc, ping_program_macos.cc. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/actions/ping.h"

namespace plumbline {

PingEvidence ping_by_program(const PairEnds& ends, const PingSettings& settings,
                             const AgentCall& call);
// Words that make ping use the source address of `ends`.
void add_source_option(std::vector<std::string>& argv, const PairEnds& ends);

}  // namespace plumbline
