// The probe `name`: what does the host's own name mean to it? Many stacks publish the address of
// that name to their peers; where it is a loopback address, the peers talk to themselves.
#pragma once

#include <string>
#include <vector>

#include "probes/probe.h"

namespace plumbline {

struct Resolution {
  bool answered = false;               // false: the resolver did not answer in time
  std::string error;                   // of the resolver, empty when it found something
  std::vector<std::string> addresses;  // numeric, each once
};
// Asks the system's resolver; gives up waiting at the deadline.
Resolution resolve_name(const std::string& name, Deadline deadline);

ProbeResult judge_own_name(const ProbeHost& host, const std::string& name,
                           const Resolution& resolution);

ProbeResult probe_name(const ProbeContext& context);

}  // namespace plumbline
