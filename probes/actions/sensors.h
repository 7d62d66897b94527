// What a host says about heat, clock rates and cables that were pulled, as far as its system tells:
// temperatures, how often its CPU was throttled, the rate that it may run at, how often each
// interface lost its signal. Read-only, no privilege, well below a millisecond. Platform code:
// sensors_linux.cc (sysfs: Documentation/ABI/testing/sysfs-class-thermal, -hwmon, -net;
// cpufreq.txt), sensors_macos.cc (nothing without privileges). Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/host/host.h"
#include "probes/gather/host_watch.h"

namespace plumbline {

// Fills in temperatures, throttled, cpu and carrier_changes. `root`: for tests, else "/sys".
void read_sensors(const std::vector<Nic>& nics, WatchState& state, const std::string& root);

}  // namespace plumbline
