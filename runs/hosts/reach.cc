#include "runs/hosts/reach.h"

#include <pwd.h>

#include <algorithm>
#include <cstdlib>

#include "launch/lease.h"
#include "launch/leftovers.h"
#include "launch/process.h"
#include "runs/hosts/push.h"

namespace plumbline {
namespace {

// The number of a user's own group, which need not be named like the user ("nogroup" of "nobody").
std::string group_of(const std::string& user) {
  const passwd* entry = getpwnam(user.c_str());
  return entry != nullptr ? std::to_string(entry->pw_gid) : user;
}

std::string home_expanded(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.rfind("~/", 0) == 0 && home != nullptr ? home + path.substr(1) : path;
}

}  // namespace

Expected<Reach> make_reach(const std::string& program, const OptionSet& options,
                           const std::vector<ScenarioHost>& hosts, Caller& caller) {
  Reach reach{program, options.text("ssh_config"), {}, "", {}, {}};
  if (!any_by_ssh(hosts)) return reach;
  Expected<SshControl> control = ssh_control();
  if (!control) return fail(control.error());
  reach.control = std::move(*control);
  push_programs(reach, options, hosts, caller);
  return reach;
}

Expected<Reach> make_reach(const OptionSet& options, const std::vector<ScenarioHost>& hosts,
                           Caller& caller) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  return make_reach(*program, options, hosts, caller);
}

SshTarget ssh_target(const ScenarioHost& host, const Reach& reach) {
  return {host.ssh,         host.user,         host.port, home_expanded(host.key),
          reach.ssh_config, reach.control.path};
}

std::vector<std::string> command_line_on(const ScenarioHost& host, const Reach& reach,
                                         const std::vector<std::string>& words) {
  std::vector<std::string> argv;
  if (!host.ssh.empty()) {
    // Nothing of our own environment goes there.
    if (!reach.run_id.empty()) argv = {"env", std::string(kRunIdVariable) + "=" + reach.run_id};
  } else if (!host.netns.empty()) {
    argv = {"ip", "netns", "exec", host.netns};
  }
  if (host.ssh.empty() && !host.user.empty()) {
    const std::vector<std::string> become = {
        "setpriv",           "--reuid",        host.user,        "--regid",
        group_of(host.user), "--clear-groups", "--inh-caps=-all"};
    argv.insert(argv.end(), become.begin(), become.end());
  }
  const auto pushed = reach.pushed.find(host.name);
  const std::string& own = host.binary.empty() ? reach.program : host.binary;
  argv.push_back(pushed != reach.pushed.end() ? pushed->second : own);
  argv.insert(argv.end(), words.begin(), words.end());
  return host.ssh.empty() ? argv : ssh_command(ssh_target(host, reach), argv);
}

ServingCommand command_on(const ScenarioHost& host, const Reach& reach,
                          const std::string& command) {
  const bool remote = !host.ssh.empty();
  std::vector<std::string> words = {command};
  if (remote) words.insert(words.end(), {"--lease", std::to_string(kLeaseS)});
  return {host.name, command_line_on(host, reach, words), remote};
}

bool any_by_ssh(const std::vector<ScenarioHost>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(),
                     [](const ScenarioHost& host) { return !host.ssh.empty(); });
}

bool wants_data_addresses(const std::vector<ScenarioHost>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [](const ScenarioHost& host) {
    return host.ring || (host.data.empty() && !host.data_interfaces.empty());
  });
}

}  // namespace plumbline
