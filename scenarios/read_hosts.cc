// The key `hosts`: places on this machine, or a list of hosts with their data addresses.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "scenarios/read.h"
#include "scenarios/read_matrix.h"
#include "scenarios/shape.h"

namespace plumbline {
namespace {

// Empty, or what is wrong with "10.10.0.1/24", "fd00::1/64", "10.10.0.1".
std::string address_problem(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string ip = text.substr(0, slash);
  unsigned char bytes[sizeof(in6_addr)];
  const bool v4 = inet_pton(AF_INET, ip.c_str(), bytes) == 1;
  const bool v6 = !v4 && inet_pton(AF_INET6, ip.c_str(), bytes) == 1;
  if (!v4 && !v6) return fmt::format("{} is not an IP address", in_quotes(text));
  if (slash == std::string::npos) return {};
  const std::string prefix = text.substr(slash + 1);
  int length = -1;
  const auto [end, status] = std::from_chars(prefix.data(), prefix.data() + prefix.size(), length);
  const int longest = v4 ? 32 : 128;
  if (status == std::errc() && end == prefix.data() + prefix.size() && length >= 0 &&
      length <= longest) {
    return {};
  }
  return fmt::format("{} has no prefix length from 0 to {}", in_quotes(text), longest);
}

ScenarioHost read_host(const Json& entry, const std::string& where, int ranks, Problems& problems) {
  ScenarioHost host;
  host.name = entry.value("name", "");
  host.local = entry.value("local", false);
  host.netns = entry.value("netns", "");
  host.user = entry.value("user", "");
  host.binary = entry.value("binary", "");
  host.interface = entry.value("interface", "");
  host.speed = entry.value("speed", "");
  host.ranks = entry.contains("ranks") ? static_cast<int>(whole_number(entry["ranks"])) : ranks;
  if (entry.contains("data")) host.data = texts(entry["data"]);

  if (entry.contains("name") && host.name.empty()) {
    problems.add(where + ".name", "is empty", "give the host a name");
  }
  const bool unsure = problems.has(where + ".local") || problems.has(where + ".netns");
  if (host.local == !host.netns.empty() && !unsure) {
    problems.add(where, host.local ? "has both 'local' and 'netns'" : "says not how to reach it",
                 "give either \"local\": true or \"netns\": \"NAME\"");
  }
  if (!host.user.empty() && host.netns.empty() && !unsure) {
    problems.add(where + ".user", "needs a namespace", "leave it out for this machine itself");
  }
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

std::vector<ScenarioHost> read_hosts(const Json& hosts, int ranks_per_host, Problems& problems) {
  if (hosts.is_object()) {
    const bool given = hosts.contains("local");
    auto out = local_hosts(given ? static_cast<int>(whole_number(hosts["local"])) : 0);
    for (ScenarioHost& host : out) host.ranks = ranks_per_host;
    return out;
  }
  std::vector<ScenarioHost> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!hosts[i].is_object()) continue;
    out.push_back(read_host(hosts[i], json_path("$.hosts", i), ranks_per_host, problems));
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
