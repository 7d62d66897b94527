#include "collectives/links/link_rounds.h"

#include <algorithm>

namespace plumbline {
namespace {

// Rounds of disjoint unordered pairs; each pair as (smaller seat, larger seat) of the circle.
std::vector<LinkRound> tournament(int ranks) {
  std::vector<LinkRound> rounds;
  const int seats = ranks + ranks % 2;  // an even number; the last one may be empty
  for (int round = 0; round < seats - 1; ++round) {
    LinkRound& pairs = rounds.emplace_back();
    // The last seat stays, the others move around the circle.
    const int circle = seats - 1;
    if (seats == ranks) pairs.push_back({round, seats - 1});
    for (int k = 1; k < seats / 2; ++k) {
      pairs.push_back({(round + k) % circle, (round - k + circle) % circle});
    }
  }
  return rounds;
}

LinkRound reversed(const LinkRound& round) {
  LinkRound out;
  out.reserve(round.size());
  for (const LinkPair& pair : round) out.push_back({pair.to, pair.from});
  return out;
}

std::vector<LinkRound> all_rounds(LinkRounds kind, int ranks) {
  std::vector<LinkRound> rounds;
  switch (kind) {
    case LinkRounds::kOneWay:
      for (const LinkRound& round : tournament(ranks)) {
        rounds.push_back(round);
        rounds.push_back(reversed(round));
      }
      break;
    case LinkRounds::kBothWays:
      for (LinkRound round : tournament(ranks)) {
        const LinkRound back = reversed(round);
        round.insert(round.end(), back.begin(), back.end());
        rounds.push_back(std::move(round));
      }
      break;
    case LinkRounds::kIncast:
      for (int to = 0; to < ranks; ++to) {
        LinkRound& round = rounds.emplace_back();
        for (int from = 0; from < ranks; ++from) {
          if (from != to) round.push_back({from, to});
        }
      }
      break;
    case LinkRounds::kAllPairs: {
      LinkRound& round = rounds.emplace_back();
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
          if (from != to) round.push_back({from, to});
        }
      }
      break;
    }
  }
  return rounds;
}

}  // namespace

std::vector<LinkRound> link_rounds(LinkRounds kind, int ranks,
                                   const std::function<bool(int, int)>& wanted) {
  std::vector<LinkRound> rounds = all_rounds(kind, ranks);
  for (LinkRound& round : rounds) {
    std::erase_if(round, [&](const LinkPair& pair) { return !wanted(pair.from, pair.to); });
  }
  std::erase_if(rounds, [](const LinkRound& round) { return round.empty(); });
  return rounds;
}

}  // namespace plumbline
