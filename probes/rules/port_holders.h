// Who holds the ports of the job on a host: a stranger, a plumbline that an earlier run left
// behind, a process of a run that is alive, an agent of this very question, one that a person
// started with `agent --listen` and that waits for its coordinator, or one of another diagnosis
// that goes on at the same time. Judged once here, for the checks and for the rules alike. Pure
// functions, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/evidence.h"

namespace plumbline {

enum class HolderKind {
  kStranger,
  kLeftover,
  kOwnAgent,
  kWaitingAgent,
  kBusyAgent,
  kBusyRun,
  kAnyPort,  // whoever it is: the port was tried for a range of which the job takes any free one
};

struct PortHolder {
  std::string text;  // "PID 4711 (python3)"; empty when it cannot be seen
  int64_t pid = 0;   // 0 = cannot be seen
  std::string run;   // id of the run that it belongs to; empty = none is known
  HolderKind kind = HolderKind::kStranger;
  std::vector<int> ports;
  std::string words() const;  // "held by PID 4711 (python3)", and what is known of it
  // Plumbline's own doing, which ends by itself, or in nobody's way: nothing fails for it.
  bool harmless() const { return kind != HolderKind::kStranger && kind != HolderKind::kLeftover; }
};

// Who has the port of an attempt on which the agent of `host` could not listen ("in_use").
PortHolder holder_of(const EvidenceSet& evidence, const HostEvidence& host, const PortTry& attempt);
// Everybody who holds a port that the job needs on this host, each once.
std::vector<PortHolder> holders_of(const EvidenceSet& evidence, const HostEvidence& host);

// A process of a run that is alive has a socket on this host.
bool has_living_run(const HostEvidence& host);

// `other` is `host`, or stands for the same machine and addresses later in the file.
bool same_host(const EvidenceSet& evidence, const std::string& other, const std::string& host);
// This check of a connection met a port that the holder has.
bool meets_holder(const EvidenceSet& evidence, const Check& check, const PortHolder& holder);

}  // namespace plumbline
