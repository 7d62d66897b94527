// The probe `link`: which interfaces are there, are they up, is there a signal, how fast and with
// which MTU; and does the one that carries a data address work? Pure rules over the inventory.
#pragma once

#include "probes/probe.h"

namespace plumbline {

// The interface that has this address, or nullptr. Every address of a loopback interface's subnet
// (127/8) counts as there.
const Nic* carrier_of(const NicAddress& address, const std::vector<Nic>& nics);
// "eth0: ethernet, up, 10 Gbit/s, MTU 1500, 10.10.0.1/24".
std::string describe_nic(const Nic& nic);

ProbeResult judge_links(const ProbeHost& host, const std::vector<Nic>& nics);

ProbeResult probe_link(const ProbeContext& context);

}  // namespace plumbline
