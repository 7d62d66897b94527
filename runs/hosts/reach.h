// How commands are started on the hosts of a scenario: on this machine as they are, in a namespace
// through ip(8), on other machines through ssh. One value for agents and ranks alike. With the
// option `push`, before anything is started, the hosts that are reached through ssh are asked
// whether they have plumbline, and get the static one of their architecture where they should
// (launch/push.h, docs/clusters.md).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/options/options.h"
#include "launch/process.h"
#include "launch/ssh.h"
#include "runs/caller.h"
#include "scenarios/scenario.h"

namespace plumbline {

struct Reach {
  std::string program;     // path of plumbline, here and wherever a host does not name its own
  std::string ssh_config;  // the option of that name
  SshControl control;      // of shared ssh connections; empty path = a connection each
  std::string run_id;      // what is started carries it, for plumbline stop; empty = nothing
  // By host name, with the option `push`: the path of the plumbline that lies in its cache, and why
  // there is none to start.
  std::map<std::string, std::string> pushed;
  std::map<std::string, Error> not_pushed;
};

// With the option `push` it also copies plumbline to hosts that need it, and says so. An
// Error: ssh is needed and its sockets have no place.
Expected<Reach> make_reach(const std::string& program, const OptionSet& options,
                           const std::vector<ScenarioHost>& hosts, Caller& caller);

// The same with this very program.
Expected<Reach> make_reach(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                           Caller& caller);

SshTarget ssh_target(const ScenarioHost& host, const Reach& reach);

// What starts `plumbline WORDS...` on this host: as its user, with its own binary or the one that
// was copied there.
std::vector<std::string> command_line_on(const ScenarioHost& host, const Reach& reach,
                                         const std::vector<std::string>& words);
// The same for a command that serves us (agent, rank, guard): as its user, with its own binary.
// Over ssh it ends when it has heard nothing for a while, because a network that died tells nobody.
ServingCommand command_on(const ScenarioHost& host, const Reach& reach, const std::string& command);

bool any_by_ssh(const std::vector<ScenarioHost>& hosts);
// The file leaves it to the hosts which of their addresses are under test.
bool wants_data_addresses(const std::vector<ScenarioHost>& hosts);

// Fills in reach.pushed and reach.not_pushed by host name, all hosts side by side; says what
// is sent. With push = never it does nothing. Takes a session per host over the connection
// that later commands share, and a second one where something is sent; each has a deadline.
void push_programs(Reach& reach, const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                   Caller& caller);

}  // namespace plumbline
