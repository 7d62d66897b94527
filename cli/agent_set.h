// The agents of a scenario's hosts, as commands use them: started together, ended together.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/host_agent.h"
#include "core/options.h"
#include "launch/agent_link.h"
#include "probes/evidence.h"
#include "scenarios/scenario.h"

namespace plumbline {

// What starts `plumbline COMMAND` on this host: as it is, or inside its namespace, as its user,
// with its own binary.
std::vector<std::string> command_on(const ScenarioHost& host, const std::string& program,
                                    const std::string& command);

class AgentSet {
 public:
  // One agent per host that can be reached (this machine, namespaces); what failed is told by the
  // evidence. `program` = path of plumbline.
  AgentSet(const std::vector<ScenarioHost>& hosts, const std::string& program,
           const OptionSet& options);
  ~AgentSet() { end_agents(started_); }  // all at the same time
  AgentSet(const AgentSet&) = delete;
  AgentSet& operator=(const AgentSet&) = delete;
  // An agent that was reached in another way.
  void put(size_t host, AgentStart start);
  // agents()[i] is null where there is none.
  std::vector<HostAgent*> agents() const;
  // One entry per host with what the greeting told, or why there is no agent.
  std::vector<HostEvidence> greetings() const;

 private:
  std::vector<std::string> names_;
  std::vector<AgentStart> started_;
};

}  // namespace plumbline
