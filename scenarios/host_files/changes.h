// Two host files of the same hosts compared: what was plugged in elsewhere, and what else is not as
// it was. Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/host_files/host_file.h"

namespace plumbline {

// What is different in the new file: cables, devices, addresses, hosts; each line names the host.
std::vector<std::string> changes_since(const HostFile& before_it, const HostFile& fresh);

}  // namespace plumbline
