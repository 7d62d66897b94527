// The greeting of connected agents, whoever connected them (agent_link.cc, agent_socket.cc).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launch/agent_connection.h"
#include "launch/agent_link.h"

namespace plumbline {

// hello, the version, the clock; side by side, at the latest at the deadline. A connection that is
// an Error becomes an AgentStart with that error and its cause; one that fails is ended.
std::vector<AgentStart> greet_agents(
    std::vector<Expected<std::unique_ptr<AgentConnection>>> connections,
    const std::map<std::string, std::string>& config, Deadline deadline);

}  // namespace plumbline
