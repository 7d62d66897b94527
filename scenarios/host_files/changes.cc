#include "scenarios/host_files/changes.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/evidence_query.h"

namespace plumbline {
namespace {

const ScenarioHost* host_called(const HostFile& file, const std::string& name) {
  return find_where(file.hosts, [&](const ScenarioHost& host) { return host.name == name; });
}

// MLX's forms have no names: there a host is called after what stands behind ssh.
HostFile called_alike(HostFile old, const HostFile& fresh) {
  for (ScenarioHost& host : old.hosts) {
    const std::string machine = machine_of(host);
    for (const ScenarioHost& now : fresh.hosts) {
      if (!machine.empty() && machine_of(now) == machine) host.name = now.name;
    }
  }
  return old;
}

std::string words_or_none(const std::vector<std::string>& words) {
  return words.empty() ? "none" : join_words(words);
}

std::set<std::string> ips_of(const std::vector<std::string>& addresses) {
  std::set<std::string> out;
  for (const std::string& address : addresses) out.insert(parse_cidr(address).ip);
  return out;
}

// "mini2" -> the devices that face it.
std::map<std::string, std::vector<std::string>> faces_of(const HostFile& file,
                                                         const ScenarioHost& host) {
  std::map<std::string, std::vector<std::string>> out;
  for (size_t j = 0; j < host.rdma.size() && j < file.hosts.size(); ++j) {
    if (!host.rdma[j].empty()) out[file.hosts[j].name] = host.rdma[j];
  }
  return out;
}

// Two hosts with an address each in one network that is theirs alone: a cable's. "10.7.0.0/30".
std::map<std::string, std::vector<std::string>> cable_networks(const HostFile& file) {
  constexpr int kLeastPrefix = 30;
  std::map<std::string, std::vector<std::string>> out;
  for (const ScenarioHost& host : file.hosts) {
    for (const std::string& address : host.data) {
      const Cidr cidr = parse_cidr(address);
      if (is_v6(cidr.ip) || cidr.prefix < kLeastPrefix) continue;
      out[network_of(cidr.ip, cidr.prefix)].push_back(host.name + " " + address);
    }
  }
  std::erase_if(out, [](const auto& each) { return each.second.size() != 2; });
  return out;
}

void compare_cables(const HostFile& old, const HostFile& fresh, std::vector<std::string>& out) {
  const auto then = cable_networks(old), now = cable_networks(fresh);
  if (then.empty()) return;  // forms other than our own have no such addresses
  for (const auto& [network, ends] : then) {
    if (now.count(network) == 0) {
      out.push_back(fmt::format("the cable {} is not there, or has lost its addresses",
                                join_words(ends, " - ")));
    }
  }
  for (const auto& [network, ends] : now) {
    if (then.count(network) == 0) out.push_back("new: the cable " + join_words(ends, " - "));
  }
}

}  // namespace

std::vector<std::string> changes_since(const HostFile& before_it, const HostFile& fresh) {
  const HostFile old = called_alike(before_it, fresh);
  std::vector<std::string> out;
  for (const ScenarioHost& host : old.hosts) {
    if (host_called(fresh, host.name) == nullptr) out.push_back(host.name + ": was not asked");
  }
  compare_cables(old, fresh, out);
  for (const ScenarioHost& host : fresh.hosts) {
    const ScenarioHost* const before = host_called(old, host.name);
    if (before == nullptr) {
      out.push_back(host.name + ": is new");
      continue;
    }
    const auto then = faces_of(old, *before), now = faces_of(fresh, host);
    std::set<std::string> peers;
    for (const auto& [peer, devices] : then) peers.insert(peer);
    for (const auto& [peer, devices] : now) peers.insert(peer);
    for (const std::string& peer : peers) {
      const auto was = then.count(peer) ? then.at(peer) : std::vector<std::string>();
      const auto is = now.count(peer) ? now.at(peer) : std::vector<std::string>();
      if (was == is) continue;
      out.push_back(fmt::format("{}: towards {} {} instead of {}", host.name, peer,
                                words_or_none(is), words_or_none(was)));
    }
    // Without prefix lengths, which other forms than our own do not have; and JACCL's no addresses.
    if (!before->data.empty() && ips_of(before->data) != ips_of(host.data)) {
      out.push_back(fmt::format("{}: addresses {} instead of {}", host.name,
                                words_or_none(host.data), words_or_none(before->data)));
    }
  }
  const auto names = [](const HostFile& file) {
    std::vector<std::string> list;
    for (const ScenarioHost& host : file.hosts) list.push_back(host.name);
    return list;
  };
  const std::vector<std::string> then = names(old), now = names(fresh);
  if (then != now && std::set(then.begin(), then.end()) == std::set(now.begin(), now.end())) {
    out.push_back(fmt::format("the order of the ranks is {} instead of {}", join_words(now),
                              join_words(then)));
  }
  if (old.backend != fresh.backend) {
    out.push_back(fmt::format("backend {} instead of {}",
                              fresh.backend.empty() ? "none" : fresh.backend,
                              old.backend.empty() ? "none" : old.backend));
  }
  return out;
}

}  // namespace plumbline
