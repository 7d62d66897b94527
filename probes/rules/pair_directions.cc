
#include <algorithm>
#include <vector>

#include "probes/rules/pair_facts.h"

namespace plumbline {
namespace {

using Links = std::set<std::pair<std::string, std::string>>;  // unordered pairs, sorted inside

std::pair<std::string, std::string> link_of(const std::string& a, const std::string& b) {
  return {std::min(a, b), std::max(a, b)};
}

size_t links_at(const Links& links, const std::string& host) {
  return static_cast<size_t>(std::count_if(links.begin(), links.end(), [&](const auto& link) {
    return link.first == host || link.second == host;
  }));
}

}  // namespace

PathOwners owners_of_directions(const EvidenceSet& evidence,
                                const std::set<HostDirection>& directions) {
  Links all, lost;
  for (const PairView& view : pair_views(evidence)) {
    all.insert(link_of(view.pair->from, view.pair->to));
  }
  for (const auto& [from, to] : directions) lost.insert(link_of(from, to));
  // Hosts that suffer with all their peers; when everybody does, the first stands for all.
  std::vector<std::string> whole;
  const bool everybody = lost.size() == all.size() && lost.size() > kPattern;
  for (const JobHost& host : evidence.job.hosts) {
    const size_t count = links_at(lost, host.name);
    if (count >= kPattern && count == links_at(all, host.name)) whole.push_back(host.name);
    if (everybody && !whole.empty()) break;
  }
  PathOwners out;
  for (const HostDirection& direction : directions) {
    const std::string &from = direction.first, &to = direction.second;
    HostDirection& owner = out[direction];
    const auto host = std::find_if(whole.begin(), whole.end(), [&](const std::string& name) {
      return everybody || name == from || name == to;
    });
    if (host != whole.end()) {
      owner = {*host, ""};
      continue;
    }
    owner = direction;
    if (directions.count({to, from}) == 0) continue;
    for (const JobHost& entry : evidence.job.hosts) {
      if (entry.name != from && entry.name != to) continue;
      owner = entry.name == from ? HostDirection{from, to} : HostDirection{to, from};
      break;
    }
  }
  return out;
}

}  // namespace plumbline
