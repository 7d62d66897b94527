// The ssh client's configuration for the hosts of a file: a block for each, to be put into
// ~/.ssh/config, and above them the commands that make a key and bring it there. See ssh_config(5).
// Pure.
#pragma once

#include <string>

#include "scenarios/host_files/host_file.h"

namespace plumbline {

// The key that is named where the file names none.
inline constexpr const char* kClusterKey = "~/.ssh/plumbline_cluster";

// An Error: a host's destination holds what a line of that file cannot say, or no host is reached
// by ssh.
Expected<std::string> ssh_config_of(const HostFile& file);

}  // namespace plumbline
