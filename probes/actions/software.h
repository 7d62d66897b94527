// What is installed on this host, asked without importing any of it, and which variables ranks
// find. Launchers start ranks through ssh without a terminal, and an agent that ssh started is in
// such a session; any other (this machine's own) asks the user's shell what it would find there,
// because what somebody has typed or put into ~/.zshrc does not go along. Read-only; thread-safe.
#pragma once

#include "core/diagnosis/host_agent.h"
#include "probes/agent_requests.h"

namespace plumbline {

// A path of an interpreter that is none is an Error.
Expected<SoftwareEvidence> read_software(const AskSoftware& asked, const AgentCall& call);

// `path` with "~/" in front replaced by this user's home; an Error for one that is not absolute
// then, and for control characters.
Expected<std::string> path_here(const std::string& path);

}  // namespace plumbline
