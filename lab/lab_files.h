// The files of labs. State files: /run/plumbline/<name>/state.json, replaced whole, so that a
// reader or a crash never meets half of one. Locks are flock(2) on files beside it: the kernel lets
// go of them when their process dies. And, as texts, the host file of a lab and the files of names
// of its hosts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"
#include "lab/fault.h"
#include "lab/lab.h"

namespace plumbline {

std::string labs_folder();  // "/run/plumbline"
std::string lab_folder(const std::string& name);

// Everything that is remembered of a lab.
struct LabState {
  Lab lab;
  bool complete = false;           // `up` came to its end
  std::vector<Injected> injected;  // in the order of injection
};
Status write_state(const LabState& state);
Expected<LabState> read_state(const std::string& name);

std::string state_text(const LabState& state);
Expected<LabState> parse_state(const std::string& text, const std::string& file);

// Waits for the lock at most `within_ms`; held until the Fd is closed. Children do not inherit it.
Expected<Fd> take_lock(const std::string& file, int64_t within_ms);
// The lock of all labs (choosing names), and that of one lab.
Expected<Fd> lock_labs();
Expected<Fd> lock_lab(const std::string& name);

Status write_file(const std::string& path, const std::string& text);  // replaced in one step
Expected<std::string> read_text(const std::string& path);

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
