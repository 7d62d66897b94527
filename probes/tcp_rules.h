// What trying to connect says: the outcome of one port, and the rules that turn the outcomes of a
// pair of hosts into checks and findings. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/ports.h"
#include "probes/probe.h"

namespace plumbline {

enum class AttemptOutcome {
  kOpen,          // connected, and our own listener got our bytes
  kHeld,          // somebody else holds the port, so that nothing could be tried
  kNoListener,    // listening failed for another reason
  kRefused,       // refused although our listener was there, not by ICMP as far as is known
  kTimeout,       // no answer
  kUnreachable,   // an ICMP error, or no route
  kReset,         // connected, then ended
  kNoTime,        // the deadline of the whole run cut the attempt short
  kWrongService,  // connected, but our listener never saw it
};

struct PortAttempt {
  int port = 0;
  bool of_job = true;  // of the job's window or its master port, not asked for in addition
  AttemptOutcome outcome = AttemptOutcome::kTimeout;
  Error error;          // of the failing call
  std::string owner;    // of a held port
  int64_t time_ns = 0;  // until the outcome was known
};

struct PairAttempt {
  std::string from, to;        // host names
  std::string machine;         // first host of the list that is one machine with `to`
  std::string from_ip, to_ip;  // the addresses that were used
  std::vector<PortAttempt> ports;
};

// `suggestion` names free ports, for held ones.
ProbeResult judge_pair(const PairAttempt& pair, const std::string& suggestion);

}  // namespace plumbline
