#include "transport/tcp/tcp_upgrade.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumbline {
namespace {

bool one_realm(const TcpEndpoint& a, const TcpEndpoint& b) {
  return a.realm && b.realm && equal_digest(*a.realm, *b.realm);
}

}  // namespace

std::vector<bool> upgraded_peers(const TcpUpgrade& upgrade,
                                 const std::vector<TcpEndpoint>& endpoints, int self,
                                 const std::vector<bool>& apart) {
  std::vector<bool> upgraded(endpoints.size(), false);
  const TcpEndpoint& mine = endpoints[static_cast<size_t>(self)];
  for (const TcpEndpoint& peer : endpoints) {
    if (!upgrade.make || peer.rank == self || is_apart(apart, peer.rank)) continue;
    upgraded[static_cast<size_t>(peer.rank)] = one_realm(mine, peer);
  }
  return upgraded;
}

Status check_every_pair(const TcpUpgrade& upgrade, const std::vector<TcpEndpoint>& endpoints,
                        const std::vector<RankPair>& apart) {
  if (!upgrade.make || !upgrade.of_every_pair) return {};
  const auto never_meet = [&apart](int a, int b) {
    return std::any_of(apart.begin(), apart.end(), [a, b](const RankPair& pair) {
      return pair == RankPair(a, b) || pair == RankPair(b, a);
    });
  };
  for (size_t a = 0; a < endpoints.size(); ++a) {
    for (size_t b = a + 1; b < endpoints.size(); ++b) {
      const TcpEndpoint &one = endpoints[a], &other = endpoints[b];
      if (one_realm(one, other) || never_meet(one.rank, other.rank)) continue;
      return fail_about(
          {one.rank, other.rank}, ErrorCode::kUnsupported,
          fmt::format("transport {}: rank {} on {} and rank {} on {} are on different "
                      "machines, or in different namespaces of one",
                      upgrade.name, one.rank, one.host, other.rank, other.host),
          "--transport auto uses it where it can and TCP elsewhere; --transport tcp does "
          "not use it");
    }
  }
  return {};
}

}  // namespace plumbline
