// Where the ranks of a launched world meet, and with which secret: from the command line, the
// environment, or the launcher's process manager.
#pragma once

#include <string>
#include <vector>

#include "core/encode.h"
#include "core/host/host.h"
#include "core/options/options.h"
#include "launch/launcher_env.h"

namespace plumbline {

struct Meeting {
  Master master;
  int port = 0;
  Digest secret{};
  std::string auth;
};

// `master` is the flag of that name, or empty. Under Hydra this may be collective (PMI).
Expected<Meeting> meeting_of(const LauncherPlace& place, const std::string& master,
                             const OptionSet& options);

// What rank 0 listens on: loopback when all are to meet there, otherwise everything.
std::vector<std::string> listening_addresses(const Master& master, const std::vector<Nic>& nics);

}  // namespace plumbline
