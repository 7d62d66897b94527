// Echo by the system's own program. Used by ping.cc alone. Platform code of the options that
// differ: ping_program_linux.cc, ping_program_macos.cc. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/actions/ping.h"

namespace plumbline {

PingEvidence ping_by_program(const PairEnds& ends, const PingSettings& settings,
                             const AgentCall& call);
// Words that make ping use the source address of `ends`.
void add_source_option(std::vector<std::string>& argv, const PairEnds& ends);
// Words that end the waiting for answers so many milliseconds after the last echo.
void add_linger_option(std::vector<std::string>& argv, bool v6, int64_t ms);

}  // namespace plumbline
