#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectives/links/link_measure.h"
#include "transport/traffic/traffic.h"

namespace plumbline {
namespace {

std::vector<LinkRound> in_pairs(int ranks, bool both_at_once) {
  std::vector<LinkRound> rounds;
  for (const auto& pairs : disjoint_rounds(static_cast<size_t>(ranks))) {
    LinkRound there, back;
    for (const auto& [a, b] : pairs) {
      there.push_back({static_cast<int>(a), static_cast<int>(b)});
      back.push_back({static_cast<int>(b), static_cast<int>(a)});
    }
    if (both_at_once) there.insert(there.end(), back.begin(), back.end());
    rounds.push_back(std::move(there));
    if (!both_at_once) rounds.push_back(std::move(back));
  }
  return rounds;
}

std::vector<LinkRound> all_rounds(LinkRounds kind, int ranks) {
  if (kind == LinkRounds::kOneWay || kind == LinkRounds::kBothWays) {
    return in_pairs(ranks, kind == LinkRounds::kBothWays);
  }
  const bool one_receiver = kind == LinkRounds::kIncast;
  std::vector<LinkRound> rounds(one_receiver ? static_cast<size_t>(ranks) : 1);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to) rounds[one_receiver ? static_cast<size_t>(to) : 0].push_back({from, to});
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

void judge_links(Measurement& measurement) {
  std::vector<LinkResult>& links = measurement.links;
  if (links.empty() || measurement.outcome == Outcome::kSkipped) return;
  std::sort(links.begin(), links.end(), [](const LinkResult& a, const LinkResult& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  size_t failed = 0, skipped = 0;
  const LinkResult* first = nullptr;
  for (const LinkResult& link : links) {
    skipped += link.skipped.empty() ? 0 : 1;
    if (link.error.empty()) continue;
    ++failed;
    if (first == nullptr) first = &link;
  }
  if (failed > 0) {
    measurement.outcome = Outcome::kFailed;
    measurement.cause = first->cause;
    measurement.reason = fmt::format("{} of {} links could not be measured: {}", failed,
                                     links.size() - skipped, first->error);
  } else if (skipped == links.size()) {
    measurement.outcome = Outcome::kSkipped;
    measurement.reason = "no pair is to be measured: " + links.front().skipped;
  }
}

}  // namespace plumbline
