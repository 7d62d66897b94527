// What is started on a host on our behalf, and spoken to over its standard streams: an agent, a
// rank, a guard.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct ServingCommand {
  std::string host;               // its name, for messages
  std::vector<std::string> argv;  // "plumbline rank", "ip netns exec NAME plumbline agent", ssh ...
  bool remote = false;            // argv is an ssh command: it ends when it hears nothing (lease.h)
};

}  // namespace plumbline
