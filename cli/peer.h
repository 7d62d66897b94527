// `doctor --peer ADDRESS`: this machine and one other that has no agent under our control (then the
// ladder is climbed one-sided), or one that runs `plumbline agent --listen` (ADDRESS:PORT and its
// token).
#pragma once

#include <optional>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "core/options/options.h"
#include "launch/agent_link.h"
#include "scenarios/scenario.h"

namespace plumbline {

struct Peer {
  std::vector<ScenarioHost> hosts;  // "here" with the address that leads to the peer, and "peer"
  std::optional<AgentStart> agent;  // of the peer
};

Expected<Peer> find_peer(const Args& args, const OptionSet& options);

}  // namespace plumbline
