#include "probes/traces/compare_flows.h"

#include <algorithm>

namespace plumbline {
namespace {

constexpr size_t kMaxPairs = 1000;

bool numbers_agree(const SideState& one, const SideState& other) {
  if (one.syn_seq && other.syn_seq) {
    return static_cast<uint32_t>(*one.syn_seq) == static_cast<uint32_t>(*other.syn_seq);
  }
  return true;
}

bool same_connection(const FlowState& one, const FlowState& other) {
  if (one.protocol != kProtocolTcp) return true;
  const bool swapped = !(one.a == other.a);
  for (size_t side = 0; side < 2; ++side) {
    if (!numbers_agree(one.side[side], other.side[swapped ? 1 - side : side])) return false;
  }
  return true;
}

std::vector<FlowPair> match_all(const ComparedTrace& first, const ComparedTrace& second) {
  std::multimap<std::pair<Endpoint, Endpoint>, const FlowState*> unmatched;
  const auto ends = [](const FlowState& flow) {
    return flow.a < flow.b ? std::pair(flow.a, flow.b) : std::pair(flow.b, flow.a);
  };
  std::set<const FlowState*> found;
  for (const FlowState& flow : second.flows()) {
    if (flow.protocol != kProtocolIcmp) unmatched.emplace(ends(flow), &flow);
  }
  std::vector<FlowPair> pairs;
  for (const FlowState& flow : first.flows()) {
    if (flow.protocol == kProtocolIcmp) continue;
    FlowPair pair;
    pair.here = &flow;
    const auto [begin, end] = unmatched.equal_range(ends(flow));
    const auto other = std::find_if(begin, end, [&](const auto& item) {
      return item.second->protocol == flow.protocol && same_connection(flow, *item.second);
    });
    if (other != end) {
      pair.there = other->second;
      pair.swapped = !(flow.a == pair.there->a);
      found.insert(other->second);
      unmatched.erase(other);
    }
    pairs.push_back(pair);
  }
  for (const FlowState& flow : second.flows()) {
    if (flow.protocol == kProtocolIcmp || found.count(&flow) > 0) continue;
    FlowPair pair;
    pair.there = &flow;
    pairs.push_back(pair);
  }
  return pairs;
}

Told tell(const FlowPair& pair, const CapturePlaces& places, const PlaceVotes& votes,
          const std::set<IpAddress>& first_ips) {
  const FlowState& flow = pair.any();
  const Told voted = votes.of(flow.a.ip, flow.b.ip);
  const int side = places.side_of_first(flow);
  if (side != 0) {
    const char* by = places.first.decided ? places.first.told_by : places.second.told_by;
    // That an address is in all flows of a file only makes it likely that this is its host.
    const bool likely = by == std::string_view("flows");
    if (likely && voted.side != 0 && (voted.side > 0) != (side > 0)) return voted;
    return {side, by};
  }
  if (voted.side != 0) return voted;
  if (first_ips.count(flow.a.ip) > 0) return {1, "flows"};
  if (first_ips.count(flow.b.ip) > 0) return {-1, "flows"};
  return {};
}

}  // namespace

bool carries_bytes(const SegmentEvent& event) {
  return event.end > event.begin && event.kind != TracePointKind::kRst &&
         event.kind != TracePointKind::kProbe;
}

Status ComparedTrace::load() {
  Expected<AnalysedFile> file =
      read_trace(source, {},
                 [this](const FlowState& flow, int side, const Packet& packet,
                        const SegmentEvent& event) { index.add(flow, side, packet, event); });
  if (!file) return fail(file.error());
  read = std::move(*file);
  return {};
}

std::vector<FlowPair> match_flows(const ComparedTrace& first, const ComparedTrace& second,
                                  const CapturePlaces& places, int64_t& others) {
  std::vector<FlowPair> pairs = match_all(first, second);
  const size_t all = pairs.size();
  std::erase_if(pairs, [&](const FlowPair& pair) { return !places.between(pair.any()); });
  others = static_cast<int64_t>(all - pairs.size());
  if (pairs.size() > kMaxPairs) pairs.resize(kMaxPairs);
  return pairs;
}

void tell_places(std::vector<FlowPair>& pairs, const CapturePlaces& places,
                 const PlaceVotes& votes) {
  std::set<IpAddress> first_ips;
  for (int round = 0; round < 2; ++round) {
    for (FlowPair& pair : pairs) {
      if (pair.decided()) continue;
      const Told told = tell(pair, places, votes, first_ips);
      if (told.side == 0) continue;
      pair.here_is_a = told.side > 0;
      pair.told_by = told.by;
      first_ips.insert(pair.here_is_a ? pair.any().a.ip : pair.any().b.ip);
    }
  }
}

}  // namespace plumbline
