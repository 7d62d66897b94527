// The probe `ip`: is every data address of the host file on its host, with the same prefix length,
// and does no second interface claim the same subnet? Pure rules over the inventory.
#pragma once

#include "probes/probe.h"

namespace plumbline {

ProbeResult judge_addresses(const ProbeHost& host, const std::vector<Nic>& nics);

ProbeResult probe_ip(const ProbeContext& context);

}  // namespace plumbline
