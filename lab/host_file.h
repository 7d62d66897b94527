// The host file of a lab and the files of names of its hosts, as texts. Pure functions,
// thread-safe.
#pragma once

#include <string>
#include <vector>

#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {

// {"hosts": [{"name", "netns", "data", "interface"?, "speed"?, "user"?}]}, with the patches of the
// faults that are in.
std::string host_file_text(const Lab& lab, const std::vector<HostFilePatch>& patches = {});
// /etc/hosts of one host: every host of the lab by its first data address, and this machine's own
// name as its own. `own` replaces the address of its own names (faults use it); "none" leaves them
// out.
std::string names_text(const Lab& lab, const LabHost& host, const std::string& own = "");
std::string machine_name();
// Folder where `ip netns exec` finds the files that stand for /etc/... in a namespace.
std::string names_folder(const LabHost& host);

}  // namespace plumbline
