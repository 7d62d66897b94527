// The agents of a scenario's hosts, as commands use them: started together, ended together. With
// what is asked of them: how many places for ranks a machine has where a host file leaves that to
// it ("as many as it has cores"), and which hosts are looked at again and again.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/options/options.h"
#include "launch/agent_link.h"
#include "probes/evidence.h"
#include "probes/gather/host_watcher.h"
#include "runs/caller.h"
#include "runs/hosts/memory_check.h"
#include "runs/hosts/reach.h"
#include "scenarios/scenario.h"

namespace plumbline {

class AgentSet {
 public:
  // One agent per host that can be reached (all but the peer of `doctor --peer`); what failed is
  // told by the evidence. Over ssh they open the connections that later ranks share.
  AgentSet(const std::vector<ScenarioHost>& hosts, const Reach& reach, const OptionSet& options);
  // Ends all at the same time, and the shared connections.
  ~AgentSet();
  AgentSet(const AgentSet&) = delete;
  AgentSet& operator=(const AgentSet&) = delete;
  // Another agent in the place of one that was lost; the caller's, and it must not outlive the
  // calling thread. Thread-safe.
  AgentStart start_again(size_t host, Deadline deadline) const;
  // An agent that was reached in another way.
  void put(size_t host, AgentStart start);
  // The same over a connection that stands already.
  void attach(size_t host, Fd connection);
  // agents()[i] is null where there is none.
  std::vector<HostAgent*> agents() const;
  // One entry per host with what the greeting told, or why there is no agent.
  std::vector<HostEvidence> greetings() const;
  // Fills in the data addresses that a host file leaves to be found: behind the devices of a JACCL
  // matrix, towards the next host of an MLX ring. Each Error names one host.
  tl::expected<std::vector<ScenarioHost>, std::vector<Error>> find_data_addresses() const;
  // What each host's agent says of its memory; of who does not tell, or tells nonsense, nothing is
  // known.
  HostMemory memory() const;
  // The first host that could not be reached, in words; nothing when all were.
  std::optional<Error> first_failure() const;

 private:
  // The same question to all agents, side by side; nullopt where there is none.
  template <typename Request>
  std::vector<std::optional<Expected<typename Request::Reply>>> ask_all() const;

  Reach reach_;
  std::vector<ScenarioHost> hosts_;
  std::map<std::string, std::string> options_;  // that agents are told
  std::vector<AgentStart> started_;
};

// Asks the hosts that are meant, side by side; the others stay as they are. An Error: one could not
// be asked, or pushing failed.
Status count_core_places(std::vector<ScenarioHost>& hosts, const OptionSet& options,
                         Caller& caller);

// For whoever asks nobody: says which hosts are planned with one rank.
void tell_uncounted_places(const std::vector<ScenarioHost>& hosts, Caller& caller);

struct WatchedPlace {
  size_t index = 0;  // in the job and the agents
  WatchedHost host;
};
// Several hosts that are this very machine see the same: the first one stands for them.
std::vector<WatchedPlace> watched_hosts(const AgentSet& agents, const Job& job);

}  // namespace plumbline
