#include "cli/reach.h"

#include <pwd.h>

#include <algorithm>
#include <cstdlib>

namespace plumbline {
namespace {

// Longer than ssh itself takes to notice a dead network (launch/ssh.cc), so that its words come
// first.
constexpr const char* kLeaseSeconds = "10";

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
                           const std::vector<ScenarioHost>& hosts) {
  Reach reach{program, options.text("ssh_config"), ""};
  if (!any_by_ssh(hosts)) return reach;
  Expected<std::string> path = ssh_control_path();
  if (!path) return fail(path.error());
  reach.control_path = std::move(*path);
  return reach;
}

SshTarget ssh_target(const ScenarioHost& host, const Reach& reach) {
  return {host.ssh,         host.user,         host.port, home_expanded(host.key),
          reach.ssh_config, reach.control_path};
}

std::vector<std::string> command_on(const ScenarioHost& host, const Reach& reach,
                                    const std::string& command) {
  const std::string program = host.binary.empty() ? reach.program : host.binary;
  if (!host.ssh.empty()) {
    return ssh_command(ssh_target(host, reach), {program, command, "--lease", kLeaseSeconds});
  }
  std::vector<std::string> argv;
  if (!host.netns.empty()) argv = {"ip", "netns", "exec", host.netns};
  if (!host.user.empty()) {
    const std::vector<std::string> become = {
        "setpriv",           "--reuid",        host.user,        "--regid",
        group_of(host.user), "--clear-groups", "--inh-caps=-all"};
    argv.insert(argv.end(), become.begin(), become.end());
  }
  argv.push_back(program);
  argv.push_back(command);
  return argv;
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
