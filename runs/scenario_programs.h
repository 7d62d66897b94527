// What a scenario and its host file have started on hosts, commands of the probe `command` and each
// host's own plumbline, and what of it the user permits.
#pragma once

#include <vector>

#include "core/error.h"
#include "probes/probe.h"
#include "scenarios/scenario.h"

namespace plumbline {

struct Permitted {
  bool commands = false, binaries = false;
};
// An error where hosts of a stranger's choice name a program of theirs (`binary`).
Status check_binaries(const std::vector<ScenarioHost>& hosts, const Permitted& permitted);

// The scenario's calls, for the probes; `permitted`: whether its commands may run.
ProbeCallSpec probe_call(const ProbeCall& call, bool permitted);

}  // namespace plumbline
