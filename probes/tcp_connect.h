// The probe `tcp.connect`: listens on every port of the job (and on any that is asked for in
// addition) on one host's data address, and connects to it from the other's (probes/dial.h); the
// rules of probes/tcp_rules.h judge what came out.
#pragma once

#include "probes/probe.h"

namespace plumbline {

ProbeResult probe_tcp_connect(const ProbeContext& context);

}  // namespace plumbline
