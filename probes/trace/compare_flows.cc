#include "probes/trace/compare_flows.h"

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

int sign(int64_t value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

int64_t answer_time(const FlowState& flow) {
  return flow.first_syn_at >= 0 && flow.answer_at >= 0 ? flow.answer_at - flow.first_syn_at : 0;
}

// > 0: side 0 of `here` is nearer to the first trace.
struct Told {
  int side = 0;
  const char* by = "guess";
};

Told tell_from_both(const FlowPair& pair) {
  const auto a = static_cast<size_t>(pair.there_side(0)), b = 1 - a;
  const FlowState& here = *pair.here;
  const FlowState& there = *pair.there;
  if (here.side[0].counts.ttl != 0 && there.side[a].counts.ttl != 0) {
    const int hops = sign(here.side[0].counts.ttl - there.side[a].counts.ttl);
    if (hops != 0) return {hops, "hops"};
  }
  if (here.side[1].counts.ttl != 0 && there.side[b].counts.ttl != 0) {
    const int hops = sign(there.side[b].counts.ttl - here.side[1].counts.ttl);
    if (hops != 0) return {hops, "hops"};
  }
  if (!pair.swapped && answer_time(here) != 0 && answer_time(there) != 0) {
    const int times = sign(answer_time(here) - answer_time(there));
    if (times != 0) return {times, "times"};
  }
  const int64_t rtt_a = here.side[0].rtt.summary().p50_ns - there.side[a].rtt.summary().p50_ns;
  const int64_t rtt_b = here.side[1].rtt.summary().p50_ns - there.side[b].rtt.summary().p50_ns;
  if (sign(rtt_a - rtt_b) != 0) return {sign(rtt_a - rtt_b), "times"};
  const int64_t lost = here.side[0].counts.packets - there.side[a].counts.packets -
                       here.side[1].counts.packets + there.side[b].counts.packets;
  return {sign(lost), "guess"};
}

Told tell(const FlowPair& pair, const CapturePlaces& places, const std::set<IpAddress>& first_ips) {
  const int side = places.side_of_first(pair.any());
  if (side != 0) {
    return {side, places.first.decided ? places.first.told_by : places.second.told_by};
  }
  if (first_ips.count(pair.any().a.ip) > 0) return {1, "flows"};
  if (first_ips.count(pair.any().b.ip) > 0) return {-1, "flows"};
  if (pair.here != nullptr && pair.there != nullptr) return tell_from_both(pair);
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
                 [this](const FlowState& flow, int side, const Packet&, const SegmentEvent& event) {
                   if (!carries_bytes(event)) return;
                   SeenBytes& here = seen[{flow.index, side}];
                   const int64_t zero = flow.side[static_cast<size_t>(side)].first_seq;
                   here.ranges.add(zero + event.begin, zero + event.end);
                   here.bytes += event.end - event.begin;
                 });
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

void tell_places(std::vector<FlowPair>& pairs, const CapturePlaces& places) {
  std::set<IpAddress> first_ips;
  for (int round = 0; round < 2; ++round) {
    for (FlowPair& pair : pairs) {
      const Told told = tell(pair, places, first_ips);
      if (told.side == 0) {
        // Nothing came of these packets: the trace that has them lies at the end that sent them.
        pair.here_is_a = pair.here != nullptr;
        continue;
      }
      pair.here_is_a = told.side > 0;
      if (round == 0 || pair.told_by == std::string("guess")) pair.told_by = told.by;
      const Endpoint& own = pair.here_is_a ? pair.any().a : pair.any().b;
      first_ips.insert(own.ip);
    }
  }
}

}  // namespace plumbline
