#include "scenarios/placement.h"

#include <algorithm>
#include <set>

#include "scenarios/talk.h"

namespace plumbline {
namespace {

// Places of each host that takes part; when crowded, ranks are spread evenly instead: host h ends
// at rank (h + 1) n / hosts.
std::vector<size_t> rooms(const std::vector<ScenarioHost>& hosts, const std::vector<size_t>& chosen,
                          size_t ranks) {
  std::vector<size_t> rooms;
  size_t all = 0;
  for (const size_t host : chosen) {
    rooms.push_back(static_cast<size_t>(hosts[host].ranks));
    all += rooms.back();
  }
  for (size_t i = 0; all < ranks && i < rooms.size(); ++i) {
    rooms[i] = ranks * (i + 1) / rooms.size() - ranks * i / rooms.size();
  }
  return rooms;
}

}  // namespace

std::vector<size_t> hosts_of(const std::vector<ScenarioHost>& hosts, const std::string& named) {
  const std::string list = kHostJoint + named + kHostJoint;
  std::vector<size_t> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool meant = list.find(kHostJoint + hosts[i].name + kHostJoint) != std::string::npos;
    if (named.empty() || meant) out.push_back(i);
  }
  return out;
}

int places_in(const std::vector<ScenarioHost>& hosts, const std::string& named) {
  int all = 0;
  for (const size_t host : hosts_of(hosts, named)) all += hosts[host].ranks;
  return all;
}

std::vector<size_t> place_ranks(const std::vector<ScenarioHost>& hosts, const WorldShape& world) {
  const std::vector<size_t> chosen = hosts_of(hosts, world.hosts);
  const auto ranks = static_cast<size_t>(world.ranks);
  std::vector<size_t> left = rooms(hosts, chosen, ranks);
  std::vector<size_t> placement;
  const size_t at_once = world.distribution == "cyclic" ? 1 : ranks;
  while (placement.size() < ranks && !chosen.empty()) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      const size_t here = std::min({left[i], at_once, ranks - placement.size()});
      placement.insert(placement.end(), here, chosen[i]);
      left[i] -= here;
    }
  }
  return placement;
}

std::string apart_reason(const std::vector<ScenarioHost>& hosts, const WorldShape& world) {
  const std::vector<size_t> placement = place_ranks(hosts, world);
  const std::set<size_t> used(placement.begin(), placement.end());
  for (const size_t a : used) {
    for (const size_t b : used) {
      if (a >= b) continue;
      const std::string reason = talk_reason(hosts, a, b);
      if (!reason.empty()) return reason;
    }
  }
  return "";
}

}  // namespace plumbline
