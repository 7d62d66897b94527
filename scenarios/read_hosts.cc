// The key `hosts`: places on this machine, or a list of hosts with their data addresses.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/units.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/read.h"
#include "scenarios/read_matrix.h"
#include "scenarios/shape.h"

namespace plumbline {
namespace {

// Exactly one way to reach the host, and only what belongs to it.
void check_reach(const ScenarioHost& host, const Json& entry, const std::string& where,
                 Problems& problems) {
  std::vector<std::string> ways;
  for (const char* key : {"local", "netns", "ssh"}) {
    if (problems.has(where + "." + key)) return;  // reported already
    const bool off = entry.contains(key) && entry[key] == false;
    if (entry.contains(key) && !off) ways.emplace_back(key);
  }
  if (ways.size() != 1) {
    problems.add(
        where,
        ways.empty() ? "does not say how to reach it"
                     : fmt::format("has both '{}' and '{}'", ways[0], ways[1]),
        "give exactly one of \"ssh\": \"user@name\", \"netns\": \"NAME\" and \"local\": true");
  }
  if (!host.user.empty() && host.netns.empty() && host.ssh.empty()) {
    problems.add(where + ".user", "needs ssh or a namespace",
                 "leave it out for this machine itself");
  }
  for (const char* key : {"port", "key"}) {
    if (entry.contains(key) && host.ssh.empty()) {
      problems.add(where + "." + key, "belongs to 'ssh'", "leave it out, or reach the host by ssh");
    }
  }
  if (!entry.contains("ssh")) return;
  if (const std::string problem = destination_problem(host.ssh); !problem.empty()) {
    problems.add(where + ".ssh", problem, "write it as user@name, or a name of ~/.ssh/config");
  }
}

ScenarioHost read_host(const Json& entry, const std::string& where, int ranks, Problems& problems) {
  ScenarioHost host;
  host.name = entry.value("name", "");
  host.local = entry.value("local", false);
  host.netns = entry.value("netns", "");
  host.ssh = entry.value("ssh", "");
  host.port = entry.contains("port") ? static_cast<int>(whole_number(entry["port"])) : 0;
  host.key = entry.value("key", "");
  host.user = entry.value("user", "");
  host.binary = entry.value("binary", "");
  host.interface = entry.value("interface", "");
  host.speed = entry.value("speed", "");
  host.ranks_of_cores = entry.contains("ranks") && entry["ranks"].is_string();
  const bool counted = entry.contains("ranks") && !host.ranks_of_cores;
  host.ranks = counted ? static_cast<int>(whole_number(entry["ranks"])) : ranks;
  if (host.ranks_of_cores) host.ranks = 1;
  if (entry.contains("data")) host.data = texts(entry["data"]);
  if (entry.contains("group")) host.group = texts(entry["group"]);
  if (entry.contains("rdma")) {
    host.rdma = read_matrix_row(entry["rdma"], where + ".rdma", problems);
    if (host.data.empty()) host.data_interfaces = matrix_interfaces(host);
  }

  // A name that is missing or no text is reported already.
  const bool named = entry.contains("name") && entry["name"].is_string();
  if (const std::string wrong = host_name_problem(host.name); named && !wrong.empty()) {
    problems.add(where + ".name", wrong, kHostNameHint);
  }
  check_reach(host, entry, where, problems);
  if (!host.speed.empty() && !parse_bit_rate(host.speed)) {
    problems.add(where + ".speed", fmt::format("{} is not a speed", in_quotes(host.speed)),
                 "write a number with Tbit, Gbit, Mbit or Kbit, such as 40Gbit");
  }
  for (size_t i = 0; i < host.data.size(); ++i) {
    const std::string problem = address_problem(host.data[i]);
    if (problem.empty()) continue;
    problems.add(json_path(where + ".data", i), problem, "write it as 10.10.0.1/24 or fd00::1/64");
  }
  return host;
}

// A name or an address that two hosts claim.
void check_unique(const std::vector<ScenarioHost>& hosts, Problems& problems) {
  std::map<std::string, size_t> names, addresses;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string where = json_path("$.hosts", i);
    if (const auto [it, fresh] = names.emplace(hosts[i].name, i);
        !fresh && !hosts[i].name.empty()) {
      problems.add(
          where + ".name",
          fmt::format("{} is the name of $.hosts[{}] too", in_quotes(hosts[i].name), it->second),
          "names tell hosts apart in messages and records");
    }
    // Hosts that are this machine itself share its addresses.
    if (hosts[i].local) continue;
    for (const std::string& address : hosts[i].data) {
      const std::string ip = address.substr(0, address.find('/'));
      const auto [it, fresh] = addresses.emplace(ip, i);
      if (fresh || it->second == i) continue;
      problems.add(where + ".data",
                   fmt::format("{} belongs to $.hosts[{}] too", in_quotes(ip), it->second),
                   "each host has its own addresses");
    }
  }
}

}  // namespace

std::vector<ScenarioHost> local_hosts(int count) {
  std::vector<ScenarioHost> hosts;
  for (int i = 0; i < count; ++i) {
    ScenarioHost host;
    host.name = fmt::format("local{}", i);
    host.local = true;
    host.data = {"127.0.0.1/8"};
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<std::string> matrix_interfaces(const ScenarioHost& host) {
  std::vector<std::string> out;
  for (const std::vector<std::string>& cell : host.rdma) {
    for (const std::string& device : cell) {
      const std::string interface = interface_of_device(device);
      const bool known = std::find(out.begin(), out.end(), interface) != out.end();
      if (!interface.empty() && !known) out.push_back(interface);
    }
  }
  return out;
}

std::vector<ScenarioHost> read_hosts(const Json& hosts, int ranks_per_host, Problems& problems) {
  if (hosts.is_object()) {
    const bool local = hosts.contains("local"), file = hosts.contains("hostfile");
    if (local == file) {
      // What was wrong in itself is reported and gone.
      if (local || !problems.has("$.hosts")) {
        problems.add("$.hosts", local ? "has both 'local' and 'hostfile'" : "says not which hosts",
                     "give \"local\": N for places on this machine, or \"hostfile\": FILE");
      }
      return {};
    }
    if (file) return hosts_of_file(hosts["hostfile"].get<std::string>(), ranks_per_host, problems);
    auto out = local_hosts(static_cast<int>(whole_number(hosts["local"])));
    for (ScenarioHost& host : out) host.ranks = std::max(1, ranks_per_host);
    return out;
  }
  std::vector<ScenarioHost> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!hosts[i].is_object()) continue;
    out.push_back(
        read_host(hosts[i], json_path("$.hosts", i), std::max(1, ranks_per_host), problems));
  }
  check_unique(out, problems);
  return out;
}

int places(const std::vector<ScenarioHost>& hosts) {
  int sum = 0;
  for (const ScenarioHost& host : hosts) sum += host.ranks;
  return sum;
}

bool may_oversubscribe(const std::vector<ScenarioHost>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const ScenarioHost& host) { return host.local; });
}

}  // namespace plumbline
