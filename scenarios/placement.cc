#include "scenarios/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/host/ip.h"
#include "scenarios/json_text.h"

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

bool share_group(const ScenarioHost& a, const ScenarioHost& b) {
  return std::any_of(a.group.begin(), a.group.end(),
                     [&b](const std::string& group) { return contains(b.group, group); });
}

bool share_subnet(const ScenarioHost& a, const ScenarioHost& b) {
  for (const std::string& mine : a.data) {
    for (const std::string& theirs : b.data) {
      const Cidr left = parse_cidr(mine), right = parse_cidr(theirs);
      const int prefix = std::max(left.prefix, right.prefix);
      if (prefix > 0 && same_subnet(left.ip, right.ip, prefix)) return true;
    }
  }
  return false;
}

bool neighbours(size_t i, size_t j, size_t n) { return (i + 1) % n == j || (j + 1) % n == i; }

bool whole_matrix(const std::vector<ScenarioHost>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&hosts](const ScenarioHost& host) {
    return host.rdma.size() == hosts.size();
  });
}

// Every two neighbours of the list share a subnet: then the subnets tell who is cabled to whom.
// Otherwise they are not known (no prefix lengths), or there is a router.
bool all_neighbours_share_a_subnet(const std::vector<ScenarioHost>& hosts) {
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!share_subnet(hosts[i], hosts[(i + 1) % hosts.size()])) return false;
  }
  return true;
}

bool apart_in_a_ring(const std::vector<ScenarioHost>& hosts, size_t i, size_t j) {
  return hosts[i].ring && hosts[j].ring && !neighbours(i, j, hosts.size()) &&
         !share_subnet(hosts[i], hosts[j]) && all_neighbours_share_a_subnet(hosts);
}

// Sets of hosts as one flag per host.
using Members = std::vector<char>;

class Cliques {
 public:
  explicit Cliques(std::vector<Members> edges) : edges_(std::move(edges)) {}

  std::vector<std::vector<size_t>> find() {
    const Members none(edges_.size(), 0);
    if (!edges_.empty()) extend(Members(edges_.size(), 1), none);
    return std::move(found_);
  }

 private:
  // Bron and Kerbosch: `chosen_` all know one another and everybody in `candidates` and `done`; a
  // clique with somebody of `done` was found before. Depth: at most the number of hosts.
  void extend(Members candidates, Members done) {
    if (found_.size() >= kMostGroups) return;
    const size_t pivot = best_pivot(candidates, done);
    if (pivot == edges_.size()) {
      found_.push_back(chosen_);
      std::sort(found_.back().begin(), found_.back().end());
      return;
    }
    for (size_t v = 0; v < edges_.size(); ++v) {
      if (candidates[v] == 0 || edges_[pivot][v] != 0) continue;
      chosen_.push_back(v);
      extend(both(candidates, edges_[v]), both(done, edges_[v]));
      chosen_.pop_back();
      candidates[v] = 0;
      done[v] = 1;
    }
  }

  // Of those left, who knows most candidates; the number of hosts when nobody is left.
  size_t best_pivot(const Members& candidates, const Members& done) const {
    size_t best = edges_.size();
    std::ptrdiff_t most = -1;
    for (size_t v = 0; v < edges_.size(); ++v) {
      if (candidates[v] == 0 && done[v] == 0) continue;
      const Members known = both(candidates, edges_[v]);
      const std::ptrdiff_t count = std::count(known.begin(), known.end(), 1);
      if (count <= most) continue;
      most = count;
      best = v;
    }
    return best;
  }

  static Members both(const Members& a, const Members& b) {
    Members out(a.size());
    for (size_t i = 0; i < a.size(); ++i) out[i] = static_cast<char>(a[i] & b[i]);
    return out;
  }

  std::vector<Members> edges_;
  std::vector<size_t> chosen_;
  std::vector<std::vector<size_t>> found_;
};

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

RankPairs apart_ranks(const std::vector<ScenarioHost>& hosts,
                      const std::vector<size_t>& placement) {
  const std::set<size_t> used(placement.begin(), placement.end());
  std::set<std::pair<size_t, size_t>> silent;
  for (const size_t a : used) {
    for (const size_t b : used) {
      if (a < b && !talk_reason(hosts, a, b).empty()) silent.insert({a, b});
    }
  }
  RankPairs apart;
  if (silent.empty()) return apart;
  for (size_t a = 0; a < placement.size(); ++a) {
    for (size_t b = a + 1; b < placement.size(); ++b) {
      if (silent.count(std::minmax(placement[a], placement[b])) == 0) continue;
      apart.emplace_back(static_cast<int>(a), static_cast<int>(b));
    }
  }
  return apart;
}

bool have_own_cables(const std::vector<ScenarioHost>& hosts, const std::vector<size_t>& placement) {
  const std::set<size_t> used(placement.begin(), placement.end());
  if (used.size() < placement.size() || used.size() < 2) return false;
  for (const size_t a : used) {
    std::set<std::string> taken;  // of a's addresses: each faces one host, and each host is faced
    for (const size_t b : used) {
      if (a == b) continue;
      std::set<std::string> towards;
      for (const std::string& own : hosts[a].data) {
        if (faces(own, hosts[b])) towards.insert(own);
      }
      if (towards.empty()) return false;
      for (const std::string& own : towards) {
        if (!taken.insert(own).second) return false;
      }
    }
  }
  return true;
}

bool faces(const std::string& own, const ScenarioHost& other) {
  const Cidr mine = parse_cidr(own);
  return mine.prefix > 0 &&
         std::any_of(other.data.begin(), other.data.end(), [&mine](const std::string& theirs) {
           return same_subnet(mine.ip, parse_cidr(theirs).ip, mine.prefix);
         });
}

std::string talk_reason(const std::vector<ScenarioHost>& hosts, size_t i, size_t j) {
  const ScenarioHost &a = hosts[i], &b = hosts[j];
  if (i == j) return {};
  if (!a.group.empty() && !b.group.empty() && !share_group(a, b)) {
    return fmt::format("{} and {} share no group of the host file", a.name, b.name);
  }
  if (apart_in_a_ring(hosts, i, j)) {
    return fmt::format("{} and {} are not neighbours in the ring, and share no subnet", a.name,
                       b.name);
  }
  if (whole_matrix(hosts) && a.rdma[j].empty() && b.rdma[i].empty() && !share_subnet(a, b)) {
    return fmt::format("the device matrix has no link between {} and {}", a.name, b.name);
  }
  return {};
}

std::vector<std::vector<size_t>> reachable_groups(const std::vector<ScenarioHost>& hosts) {
  const size_t n = hosts.size();
  std::vector<Members> edges(n, Members(n, 0));
  bool mesh = true;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      edges[i][j] = edges[j][i] = talk_reason(hosts, i, j).empty() ? 1 : 0;
      mesh = mesh && edges[i][j] != 0;
    }
  }
  if (n > 0 && mesh) {
    std::vector<size_t> all(n);
    for (size_t i = 0; i < n; ++i) all[i] = i;
    return {all};
  }
  auto groups = Cliques(std::move(edges)).find();
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  return groups;
}

}  // namespace plumbline
