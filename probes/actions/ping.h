// ICMP echo (RFC 792, RFC 4443), by the first way that this process may go: an unprivileged ICMP
// socket, a raw one, or the system's `ping` program. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "core/diagnosis/host_agent.h"
#include "probes/actions/ends.h"
#include "probes/evidence.h"

namespace plumbline {

struct PingSettings {
  int count = 5;
  int64_t interval_ms = 50;
  int64_t timeout_ms = 1000;  // for the last answer, after it was sent
  int bytes = 56;             // behind the ICMP header
};
PingEvidence ping(const PairEnds& ends, const PingSettings& settings, const AgentCall& call);

// What `ping` of iputils, busybox, BSD or macOS prints, also with lines missing or foreign ones.
PingEvidence parse_ping(const std::string& text);
// The last of these ways.
PingEvidence ping_by_program(const PairEnds& ends, const PingSettings& settings,
                             const AgentCall& call);

}  // namespace plumbline
