// A probe is a question to a host, or to a pair of hosts: one file, one row of probes.cc. It
// returns Checks (what was asked and what came out) and, where the cause is plain, Findings with
// evidence and the exact remedy. Probes never change the system, never need more privilege than
// they have (they say which they lack), and have a deadline.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/finding.h"
#include "core/host.h"
#include "core/options.h"
#include "core/param.h"

namespace plumbline {

// One host as the probes see it. For now every host is this machine (`{"local": N}`); agents come
// later.
struct ProbeHost {
  std::string name;              // "local0"
  std::vector<NicAddress> data;  // its addresses under test
};

struct ProbeContext {
  std::vector<ProbeHost> hosts;
  int ranks = 2;  // ranks that the job will start, in all
  int port_base = 29600;
  int master_port = 29500;
  const OptionSet* options = nullptr;
  HostFacts facts;                            // of this machine, read once
  std::map<std::string, std::string> params;  // of this probe call, checked against its row
  Deadline deadline = Deadline::never();
};

struct ProbeResult {
  std::vector<Check> checks;
  std::vector<Finding> findings;
};

struct ProbeRow {
  Descriptor descriptor;  // name "tcp.connect", help, requirements, parameters
  int rung;               // place on the ladder; findings are sorted by it
  ProbeResult (*run)(const ProbeContext& context);
};

const std::vector<ProbeRow>& probe_table();
const ProbeRow* find_probe(const std::string& name);

// Runs the named probes (all when empty) in ladder order; a requirement that is not met gives a
// skipped check with the reason.
ProbeResult run_probes(const ProbeContext& context, const std::vector<std::string>& names);

}  // namespace plumbline
