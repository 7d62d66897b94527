// The host file of a lab and the files of names of its hosts, as texts. Pure functions,
// thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {

// {"hosts": [{"name", "netns", "data", "interface"?, "speed"?, "user"?}]}, with the patches of the
// faults that are in.
std::string host_file_text(const Lab& lab, const std::vector<HostFilePatch>& patches = {});
// /etc/hosts of one host: every host of the lab by its first data address, and this machine's own
// name as its own. `addresses` says otherwise for the hosts in it (faults use it); an empty address
// leaves the host out.
std::string names_text(const Lab& lab, const LabHost& host,
                       const std::map<std::string, std::string>& addresses = {});
std::string machine_name();
// Folder where `ip netns exec` finds the files that stand for /etc/... in a namespace.
std::string names_folder(const LabHost& host);

}  // namespace plumbline
