#include "transport/tcp/tcp_upgrade.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

bool one_realm(const TcpUpgrade& upgrade, const TcpEndpoint& a, const TcpEndpoint& b) {
  const PairAbility* const one = a.ability(upgrade.name);
  const PairAbility* const other = b.ability(upgrade.name);
  return one != nullptr && other != nullptr && one->realm && other->realm &&
         equal_digest(*one->realm, *other->realm);
}

}  // namespace

std::vector<PairAbility> abilities_of(const std::vector<TcpUpgrade>& upgrades) {
  std::vector<PairAbility> abilities;
  for (const TcpUpgrade& upgrade : upgrades) {
    abilities.push_back({upgrade.name, upgrade.realm, upgrade.why_not});
  }
  return abilities;
}

std::vector<const TcpUpgrade*> upgrades_of_peers(const std::vector<TcpUpgrade>& upgrades,
                                                 const std::vector<TcpEndpoint>& endpoints,
                                                 int self, const std::vector<bool>& apart) {
  std::vector<const TcpUpgrade*> by_peer(endpoints.size(), nullptr);
  const TcpEndpoint& mine = endpoints[static_cast<size_t>(self)];
  for (const TcpEndpoint& peer : endpoints) {
    if (peer.rank == self || is_apart(apart, peer.rank)) continue;
    const auto first = std::find_if(upgrades.begin(), upgrades.end(), [&](const TcpUpgrade& one) {
      return one.make && one_realm(one, mine, peer);
    });
    if (first != upgrades.end()) by_peer[static_cast<size_t>(peer.rank)] = &*first;
  }
  return by_peer;
}

std::string why_not(const TcpUpgrade& upgrade, const TcpEndpoint& a, const TcpEndpoint& b) {
  for (const TcpEndpoint* rank : {&a, &b}) {
    const PairAbility* const ability = rank->ability(upgrade.name);
    if (ability == nullptr || ability->why_not.empty()) continue;
    return fmt::format("rank {} on {}: {}", rank->rank, rank->host, ability->why_not);
  }
  return {};
}

Status check_every_pair(const std::vector<TcpUpgrade>& upgrades,
                        const std::vector<TcpEndpoint>& endpoints,
                        const std::vector<RankPair>& apart) {
  const auto must = std::find_if(upgrades.begin(), upgrades.end(),
                                 [](const TcpUpgrade& one) { return one.of_every_pair; });
  if (must == upgrades.end()) return {};
  const auto never_meet = [&apart](int a, int b) {
    return std::any_of(apart.begin(), apart.end(), [a, b](const RankPair& pair) {
      return pair == RankPair(a, b) || pair == RankPair(b, a);
    });
  };
  for (size_t a = 0; a < endpoints.size(); ++a) {
    for (size_t b = a + 1; b < endpoints.size(); ++b) {
      const TcpEndpoint &one = endpoints[a], &other = endpoints[b];
      if (one_realm(*must, one, other) || never_meet(one.rank, other.rank)) continue;
      const std::string reason = why_not(*must, one, other);
      return fail_about(
          {one.rank, other.rank}, ErrorCode::kUnsupported,
          fmt::format("transport {}: rank {} on {} and rank {} on {} {}", must->name, one.rank,
                      one.host, other.rank, other.host,
                      reason.empty()
                          ? "are on different machines, or in different namespaces of one"
                          : "cannot use it: " + reason),
          "--transport auto uses it where it can and TCP elsewhere; --transport tcp does "
          "not use it");
    }
  }
  return {};
}

}  // namespace plumbline
