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

// A flow of one trace only says something when the other trace could have seen it.
void drop_foreign(std::vector<FlowPair>& pairs, const ComparedTrace& first,
                  const ComparedTrace& second) {
  const bool shared = std::any_of(pairs.begin(), pairs.end(), [](const FlowPair& pair) {
    return pair.here != nullptr && pair.there != nullptr;
  });
  const auto knows = [](const ComparedTrace& side, const FlowState& flow) {
    const std::set<IpAddress>& addresses = side.read.analysis->addresses();
    return addresses.count(flow.a.ip) > 0 && addresses.count(flow.b.ip) > 0;
  };
  std::erase_if(pairs, [&](const FlowPair& pair) {
    if (pair.here != nullptr && pair.there != nullptr) return false;
    return shared && !knows(pair.here != nullptr ? second : first, pair.any());
  });
  if (pairs.size() > kMaxPairs) pairs.resize(kMaxPairs);
}

// > 0: the capture was taken where side 0 sends, < 0: where it receives.
int by_direction(const FlowState& flow) {
  const TraceDirection& a = flow.side[0].counts;
  const TraceDirection& b = flow.side[1].counts;
  const int64_t score = a.outgoing - a.incoming - b.outgoing + b.incoming;
  return score > 0 ? 1 : score < 0 ? -1 : 0;
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

Told tell(const FlowPair& pair, const std::set<std::string>& first_ips) {
  if (first_ips.count(ip_text(pair.any().a.ip)) > 0) return {1, "addresses"};
  if (first_ips.count(ip_text(pair.any().b.ip)) > 0) return {-1, "addresses"};
  if (pair.here != nullptr && by_direction(*pair.here) != 0) {
    return {by_direction(*pair.here), "direction"};
  }
  if (pair.there != nullptr && by_direction(*pair.there) != 0) {
    return {pair.swapped ? by_direction(*pair.there) : -by_direction(*pair.there), "direction"};
  }
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

std::vector<FlowPair> match_flows(const ComparedTrace& first, const ComparedTrace& second) {
  std::vector<FlowPair> pairs = match_all(first, second);
  drop_foreign(pairs, first, second);
  return pairs;
}

// What one flow says about whose capture is whose holds for the others, too.
void tell_places(std::vector<FlowPair>& pairs, std::set<std::string> first_ips) {
  for (int round = 0; round < 2; ++round) {
    for (FlowPair& pair : pairs) {
      const Told told = tell(pair, first_ips);
      if (told.side == 0) {
        // Nothing came of these packets: the trace that has them lies at the end that sent them.
        pair.here_is_a = pair.here != nullptr;
        continue;
      }
      pair.here_is_a = told.side > 0;
      if (round == 0 || pair.told_by == std::string("guess")) pair.told_by = told.by;
      const Endpoint& own = pair.here_is_a ? pair.any().a : pair.any().b;
      if (!(pair.any().a.ip == pair.any().b.ip)) first_ips.insert(ip_text(own.ip));
    }
  }
}

}  // namespace plumbline
