// A command inside of mpirun, srun or torchrun: every rank runs the same command line, rank 0
// coordinates, and the others serve it over the connection of the rendezvous until it dismisses
// them. The launcher decided who runs where; a scenario's own hosts do not count then.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/encode.h"
#include "core/log.h"
#include "core/options/options.h"
#include "launch/launcher_env.h"
#include "launch/rank_set.h"
#include "runs/caller.h"
#include "runs/hosts/agent_set.h"
#include "scenarios/scenario.h"
#include "transport/address.h"

namespace plumbline {

// What all ranks know of their common command before they meet.
struct LaunchCall {
  const OptionSet* options = nullptr;
  std::string master;                         // where they meet, by the flag; empty = found out
  std::vector<std::string> exclude;           // hosts that take no part
  std::map<std::string, std::string> config;  // what all ranks must have alike
  std::map<std::string, std::string> words;   // the command line beside these, alike too
  Caller* caller = nullptr;
  bool quiet = false;               // says only what went wrong
  std::function<void()> over = {};  // as in RankLine, of a rank that follows
};

// One rank that takes part, numbered anew from 0 without those of excluded hosts.
struct LaunchedRank {
  size_t host = 0;     // in Launched::hosts
  bool remote = true;  // over a connection; rank 0's own is a child process
  std::vector<RankAddress> addresses;
};

// The world as rank 0 holds it. Destroying it dismisses all ranks.
struct Launched {
  Launched() = default;
  ~Launched();
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  std::string program;              // "mpirun (Open MPI)"
  std::vector<ScenarioHost> hosts;  // the nodes that take part, in the order of their first rank
  std::vector<LaunchedRank> ranks;
  std::unique_ptr<RankSet> wires;
  std::vector<std::unique_ptr<RankWire>> idle;  // of excluded hosts
  std::vector<RankWire*> remotes;               // all of them, for the dismissal
  std::vector<std::pair<size_t, Fd>> agents;    // hosts but our own, and the way to their agents
  Digest secret{};
  std::string auth;    // "token" or "rendezvous"
  std::string broken;  // why no group can be made any more; empty = it can
};

// Rank 0: waits for all, compares, chooses the data addresses, starts its own rank's process
// (`program`). kUsage for what the user must correct; rank.missing, config.mismatch ...
Expected<std::unique_ptr<Launched>> lead_launch(const LauncherPlace& place, const LaunchCall& call,
                                                const std::string& program, const Logger& log);
// Any other rank: serves until dismissed; returns the exit code.
int follow_launch(const LauncherPlace& place, const LaunchCall& call);

// As the rank at `place` says it: with its number.
std::string rank_error(const LauncherPlace& place, const Error& error);

// The agents of a launched world's hosts: this host's is started, the others came with the
// roll-call. They end with it, or with their rank.
void reach_agents(Launched& launched, const Reach& reach, const OptionSet& options,
                  std::optional<AgentSet>& agents);

// The exit code of an error of lead_launch().
int launch_exit_code(const Error& error);

// Removes the hosts of these names (--exclude); an Error for one that is not there.
Status exclude_hosts(const std::vector<std::string>& names, std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
