#include "runs/ranks/link_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/number.h"
#include "core/units.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

std::string reason_for(const std::vector<ScenarioHost>& hosts, size_t from, size_t to) {
  if (from != to) return talk_reason(hosts, from, to);
  return fmt::format("both ranks are on {}: there is no link between them", hosts[from].name);
}

std::optional<double> speed_at(const std::string& host, const std::string& address,
                               const std::vector<ScenarioHost>& hosts,
                               const std::map<std::string, HostFacts>& facts) {
  const auto entry = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const ScenarioHost& each) { return each.name == host; });
  if (entry != hosts.end() && !entry->speed.empty()) {
    const Expected<double> stated = parse_bit_rate(entry->speed);
    if (stated) return *stated;
  }
  const auto known = facts.find(host);
  if (known == facts.end()) return std::nullopt;
  const std::string plain = address.substr(0, address.find('%'));
  for (const Nic& nic : known->second.nics) {
    const bool here = std::any_of(nic.addresses.begin(), nic.addresses.end(),
                                  [&plain](const NicAddress& each) { return each.ip == plain; });
    if (here && nic.speed_bps) return static_cast<double>(*nic.speed_bps);
  }
  return std::nullopt;
}

// "0-1 10.0.0.1:4000>[fe80::2%en1]:29601" in its parts.
struct UsedPair {
  size_t from = 0, to = 0;
  std::string local, remote;
};

std::string without_port(const std::string& address) {
  if (!address.empty() && address.front() == '[') {
    return address.substr(1, std::min(address.find(']'), address.size()) - 1);
  }
  return address.substr(0, address.rfind(':'));
}

std::optional<UsedPair> parse_pair(const std::string& text) {
  UsedPair pair;
  const size_t space = text.find(' '), arrow = text.find('>');
  if (space == std::string::npos || arrow == std::string::npos || arrow < space)
    return std::nullopt;
  const size_t dash = std::min(text.find('-'), space);
  const std::string_view words = text;
  const auto from = parse_whole<size_t>(words.substr(0, dash));
  const auto to = parse_whole<size_t>(words.substr(0, space).substr(std::min(dash + 1, space)));
  if (!from || !to) return std::nullopt;
  pair.from = *from;
  pair.to = *to;
  pair.local = without_port(text.substr(space + 1, arrow - space - 1));
  pair.remote = without_port(text.substr(arrow + 1));
  return pair;
}

}  // namespace

std::optional<double> slowest_link_bps(const std::vector<ScenarioHost>& hosts,
                                       const std::vector<size_t>& placement,
                                       const std::map<std::string, HostFacts>& facts,
                                       const std::vector<std::string>& address_pairs) {
  // Bits per second by pair of ranks and cable: streams on the same addresses share one.
  std::map<std::pair<size_t, size_t>, std::map<std::pair<std::string, std::string>, double>> cables;
  for (const std::string& text : address_pairs) {
    const std::optional<UsedPair> pair = parse_pair(text);
    if (!pair || pair->from >= placement.size() || pair->to >= placement.size()) {
      return std::nullopt;
    }
    const size_t from = placement[pair->from], to = placement[pair->to];
    if (from == to) continue;  // no link between them
    const auto here = speed_at(hosts[from].name, pair->local, hosts, facts);
    const auto there = speed_at(hosts[to].name, pair->remote, hosts, facts);
    if (!here && !there) return std::nullopt;
    cables[{pair->from, pair->to}][{pair->local, pair->remote}] = here && there
                                                                      ? std::min(*here, *there)
                                                                  : here ? *here
                                                                         : *there;
  }
  std::optional<double> slowest;
  for (const auto& [ranks, speeds] : cables) {
    double sum = 0;
    for (const auto& [addresses, speed] : speeds) sum += speed;
    slowest = std::min(slowest.value_or(sum), sum);
  }
  return slowest;
}

std::vector<std::string> pair_reasons(const std::vector<ScenarioHost>& hosts,
                                      const std::vector<size_t>& placement) {
  const size_t ranks = placement.size();
  std::vector<std::string> reasons(ranks * ranks);
  for (size_t from = 0; from < ranks; ++from) {
    for (size_t to = 0; to < ranks; ++to) {
      if (from == to) continue;
      reasons[from * ranks + to] = reason_for(hosts, placement[from], placement[to]);
    }
  }
  return reasons;
}

size_t add_link_speeds(const std::vector<ScenarioHost>& hosts,
                       const std::map<std::string, HostFacts>& facts,
                       std::vector<LinkResult>& links) {
  const auto states = [&hosts](const std::string& name) {
    return std::any_of(hosts.begin(), hosts.end(), [&name](const ScenarioHost& each) {
      return each.name == name && !each.speed.empty();
    });
  };
  size_t stated = 0;
  for (LinkResult& link : links) {
    if (states(link.from_host) && states(link.to_host)) ++stated;
    const auto from = speed_at(link.from_host, link.local, hosts, facts);
    const auto to = speed_at(link.to_host, link.remote, hosts, facts);
    if (from && to) {
      link.speed_bps = std::min(*from, *to);
    } else {
      link.speed_bps = from ? from : to;
    }
  }
  return stated;
}

}  // namespace plumbline
