// Two captures of one connection. Each file is read three times: first what every flow of it is and
// which packets both have, then, once it is known which time both cover, which flows are the same
// and which trace lies at whose end, what arrived at the receiver's wire, and at last what had left
// the sender's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/json.h"
#include "probes/traces/compare_flows.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(TraceLoss, seen_at_both, left, arrived, bytes_left, bytes_arrived, compared,
                      left_out, where)
PLUMBLINE_JSON_FIELDS(TraceLeftOut, before_ns, before_packets, after_ns, after_packets)
PLUMBLINE_JSON_FIELDS(TraceOverlap, not_compared, common_packets, clock_offset_ns, clock_error_ns,
                      begin, duration_ns, first, second)

PLUMBLINE_JSON_FIELDS(TracePairFlow, here, there, here_is_a, told_by, a_to_b, b_to_a)

namespace {

std::set<IpPair> pairs_of(const Analysis& trace) {
  std::set<IpPair> pairs;
  for (const FlowState& flow : trace.flows()) {
    pairs.insert(hosts_of(flow));
  }
  return pairs;
}

bool share_hosts(const Analysis& first, const Analysis& second) {
  const std::set<IpPair> here = pairs_of(first), there = pairs_of(second);
  return std::any_of(here.begin(), here.end(),
                     [&](const IpPair& pair) { return there.count(pair) > 0; });
}

// One capture given twice, or a part of it: two hosts never see everything at the same time.
bool is_one_capture(const Analysis& first, const Analysis& second,
                    const std::vector<CommonPacket>& common) {
  const auto same = [&](const CommonPacket& packet) {
    return packet.delta() == common.front().delta() && packet.first.ttl == packet.second.ttl;
  };
  if (!std::all_of(common.begin(), common.end(), same)) return false;
  // By directions, which only one place can show like that.
  std::set<std::pair<Endpoint, Endpoint>> ways;
  for (const CommonPacket& packet : common) {
    const FlowState& flow = first.flows()[static_cast<size_t>(packet.first.flow)];
    ways.insert(packet.first.side == 0 ? std::pair(flow.a, flow.b) : std::pair(flow.b, flow.a));
  }
  const bool both_ways = std::any_of(ways.begin(), ways.end(), [&](const auto& way) {
    return ways.count({way.second, way.first}) > 0;
  });
  return both_ways || (common.front().delta() == 0 && first.packets() == second.packets() &&
                       static_cast<int64_t>(common.size()) == first.packets());
}

std::string nothing_common(const Analysis& first, const Analysis& second) {
  const std::string ranges = fmt::format(
      "by its clock the first covers {} to {}, the second {} to {}", trace_time(first.first_ns()),
      trace_time(first.last_ns()), trace_time(second.first_ns()), trace_time(second.last_ns()));
  if (!share_hosts(first, second)) {
    return "no packet is in both files, and no two hosts are that speak with each other in both: "
           "these are captures of other hosts, or everything between the two was lost (" +
           ranges + ")";
  }
  const bool apart = first.last_ns() < second.first_ns() || second.last_ns() < first.first_ns();
  if (apart) {
    return "no packet is in both files: they were captured at different times (" + ranges + ")";
  }
  return "no packet is in both files, so nothing tells how their clocks compare: they were "
         "captured "
         "at different times by clocks that disagree, or everything between the two was lost (" +
         ranges + ")";
}

// Two files that cannot be compared, and the sentence that says why; empty when they can be.
// `any_flow`: a flow runs between the two hosts that captured.
std::string why_not_compared(const Analysis& first, const Analysis& second,
                             const std::vector<CommonPacket>& common, bool any_flow) {
  if (first.packets() == 0 && second.packets() == 0) return "neither file holds a packet";
  if (first.packets() == 0 || second.packets() == 0) {
    const bool first_is = first.packets() == 0;
    return fmt::format(
        "the {} file holds no packet, so nothing tells what time it covers; if it was captured "
        "while the {} one was, nothing of that came to its wire",
        first_is ? "first" : "second", first_is ? "second" : "first");
  }
  if (common.empty()) return nothing_common(first, second);
  if (is_one_capture(first, second, common)) {
    return "both files are of one capture: what one has, the other has at the same time; give one "
           "from each host";
  }
  if (!any_flow) {
    return "no flow runs between the two hosts that captured, as far as the files tell these; "
           "--first-at ADDRESS names the first file's host";
  }
  return "";
}

constexpr int64_t kWrap = int64_t{1} << 32;

// From the first trace's unwrapped numbers to the second's, by flow and side in the first.
using Shifts = std::map<std::pair<int64_t, int>, int64_t>;

Shifts shifts_of(const std::vector<CommonPacket>& common) {
  Shifts shifts;
  for (const CommonPacket& packet : common) {
    shifts.emplace(std::pair(packet.first.flow, int{packet.first.side}),
                   packet.second.seq - packet.first.seq);
  }
  return shifts;
}

int64_t shift_of(const FlowPair& pair, int side, const Shifts& shifts) {
  if (pair.here == nullptr || pair.there == nullptr) return 0;
  const auto known = shifts.find({pair.here->index, side});
  if (known != shifts.end()) return known->second;
  const int64_t from = pair.here->side[static_cast<size_t>(side)].first_seq;
  const int64_t to = pair.there->side[static_cast<size_t>(pair.there_side(side))].first_seq;
  const int64_t apart = to - from;  // a trace that begins later may have missed a wrap
  return (apart + (apart >= 0 ? kWrap / 2 : -kWrap / 2)) / kWrap * kWrap;
}

Direction compared_direction(const FlowPair& pair, int side, const CommonTime& time,
                             const Shifts& shifts) {
  Direction result;
  const bool from_first = pair.here_is_a == (side == 0);
  const int other = pair.there_side(side);
  const int64_t shift = shift_of(pair, side, shifts);
  result.sender = from_first ? pair.here : pair.there;
  result.receiver = from_first ? pair.there : pair.here;
  result.sender_side = from_first ? side : other;
  result.receiver_side = from_first ? other : side;
  result.shift = from_first ? shift : -shift;
  result.covered = from_first ? time.towards_second() : time.towards_first();
  result.receiver_until = later_by(time.overlap().end, from_first ? time.offset_ns() : 0);
  return result;
}

// All directions of all pairs, and the two readings that they are checked in.
class Comparison {
 public:
  Comparison(ComparedTrace& first, ComparedTrace& second, std::vector<FlowPair>& pairs,
             const CommonTime& time, const Shifts& shifts)
      : traces_{&first, &second}, pairs_(pairs) {
    checks_.reserve(2 * pairs.size());
    for (const FlowPair& pair : pairs) {
      for (int side = 0; side < 2; ++side) {
        const Direction direction = compared_direction(pair, side, time, shifts);
        const size_t at_first = pair.here_is_a == (side == 0) ? 0 : 1;
        if (pair.decided()) enter(direction, at_first);
        checks_.emplace_back(direction);
      }
    }
  }

  Status run() {
    Status read = each([&](const Roles& roles, const FlowState& flow, const Packet& packet,
                           const SegmentEvent& event) {
      if (roles.arrives) checks_[*roles.arrives].arrival(flow, packet, event);
      if (roles.answers) checks_[*roles.answers].answer(flow);
      if (roles.leaves) checks_[*roles.leaves].departure_ahead(flow, event);
    });
    if (!read) return read;
    read = each([&](const Roles& roles, const FlowState& flow, const Packet& packet,
                    const SegmentEvent& event) {
      if (roles.leaves) checks_[*roles.leaves].departure(flow, packet, event);
    });
    if (!read) return read;
    for (size_t i = 0; i < pairs_.size(); ++i) judge(pairs_[i], 2 * i);
    return {};
  }

 private:
  // What a packet of one side of a flow of one trace is, as indices of checks.
  struct Roles {
    std::optional<size_t> leaves, arrives, answers;
  };
  using Use =
      std::function<void(const Roles&, const FlowState&, const Packet&, const SegmentEvent&)>;

  void enter(const Direction& direction, size_t sender_trace) {
    const size_t check = checks_.size();
    if (direction.sender != nullptr) {
      roles_[sender_trace][{direction.sender->index, direction.sender_side}].leaves = check;
    }
    if (direction.receiver == nullptr) return;
    auto& roles = roles_[1 - sender_trace];
    roles[{direction.receiver->index, direction.receiver_side}].arrives = check;
    roles[{direction.receiver->index, 1 - direction.receiver_side}].answers = check;
  }

  // Every packet of a direction that is compared, in both files.
  Status each(const Use& use) {
    for (const size_t trace : {0U, 1U}) {
      const auto& roles = roles_[trace];
      const Expected<AnalysedFile> read = read_trace(
          traces_[trace]->source, {},
          [&](const FlowState& flow, int side, const Packet& packet, const SegmentEvent& event) {
            const auto found = roles.find({flow.index, side});
            if (found != roles.end()) use(found->second, flow, packet, event);
          });
      if (!read) return fail(read.error());
    }
    return {};
  }

  void judge(FlowPair& pair, size_t check) {
    for (size_t side = 0; side < 2; ++side) {
      pair.loss[side] = checks_[check + side].result();
      if (!pair.decided()) pair.loss[side].where = "unknown";
    }
    if (!pair.decided()) return;
    // Who is asked again and again, and was never seen to answer, does not get to its own wire.
    for (size_t side = 0; side < 2; ++side) {
      if (checks_[check + side].silence()) pair.loss[1 - side].where = "before the sender's wire";
    }
  }

  std::array<ComparedTrace*, 2> traces_;
  std::vector<FlowPair>& pairs_;
  std::vector<DirectionCheck> checks_;  // of each pair a's direction, then b's
  std::array<std::map<std::pair<int64_t, int>, Roles>, 2> roles_;  // by trace, then flow and side
};

// The second trace's summary in the first one's terms.
TraceFlow turned(TraceFlow flow) {
  std::swap(flow.a, flow.b);
  std::swap(flow.a_ip, flow.b_ip);
  std::swap(flow.a_port, flow.b_port);
  for (TraceRateBin& bin : flow.rate) std::swap(bin.a_bytes, bin.b_bytes);
  for (TraceIcmp& error : flow.icmp) error.about_a = !error.about_a;
  if (flow.ended.rfind("rst by ", 0) == 0)
    flow.ended = flow.ended == "rst by a" ? "rst by b" : "rst by a";
  return flow;
}

TracePairFlow result_of(const FlowPair& pair, const ComparedTrace& first,
                        const ComparedTrace& second) {
  TracePairFlow result;
  if (pair.here != nullptr) {
    result.here = summarise_flow(*pair.here, first.read.analysis->origin_ns());
  }
  if (pair.there != nullptr) {
    result.there = summarise_flow(*pair.there, second.read.analysis->origin_ns());
    if (pair.swapped) result.there = turned(std::move(result.there));
  }
  result.here_is_a = pair.here_is_a;
  result.told_by = pair.told_by;
  result.a_to_b = pair.loss[0];
  result.b_to_a = pair.loss[1];
  return result;
}

TraceLeftOut left_out(const TimeRange& capture, const TimeRange& overlap,
                      const TraceSource& source) {
  TraceLeftOut out;
  out.before_ns = std::max<int64_t>(overlap.begin - capture.begin, 0);
  out.after_ns = std::max<int64_t>(capture.end - overlap.end, 0);
  // Only to count: a file that could be read twice can be read again.
  static_cast<void>(read_trace(source, {}, {}, [&](int64_t at) {
    if (at < overlap.begin) ++out.before_packets;
    if (at > overlap.end) ++out.after_packets;
  }));
  return out;
}

TraceOverlap overlap_of(const CommonTime& time, size_t common, const ComparedTrace& first,
                        const ComparedTrace& second) {
  TraceOverlap out;
  const TimeRange both = time.overlap();
  const int64_t offset = time.offset_ns();
  out.common_packets = static_cast<int64_t>(common);
  out.clock_offset_ns = offset;
  out.clock_error_ns = time.error_ns();
  out.begin = trace_time(both.begin);
  out.duration_ns = std::max<int64_t>(both.end - both.begin, 0);
  out.first = left_out(time.first, both, first.source);
  out.second = left_out(time.second, {later_by(both.begin, offset), later_by(both.end, offset)},
                        second.source);
  return out;
}

Expected<TraceComparison> compare(const TraceSource& first, const TraceSource& second,
                                  const std::vector<std::string>& first_ips) {
  ComparedTrace one, other;
  one.source = first;
  other.source = second;
  for (ComparedTrace* side : {&one, &other}) {
    if (const Status loaded = side->load(); !loaded) return fail(loaded.error());
  }
  const Analysis& here = *one.read.analysis;
  const Analysis& there = *other.read.analysis;
  const Expected<CapturePlaces> places = find_places(here, there, first_ips);
  if (!places) return fail(places.error());
  TraceComparison result;
  std::vector<FlowPair> pairs = match_flows(one, other, *places, result.other_flows);
  const std::vector<CommonPacket> common = common_packets(one.index, other.index);
  result.overlap.not_compared = why_not_compared(here, there, common, !pairs.empty());
  if (!result.overlap.not_compared.empty()) return result;
  const PlaceVotes votes(common, here, there);
  tell_places(pairs, *places, votes);
  const CommonTime time = common_time(here, there, common, [&](const FlowState& flow) {
    const int side = places->side_of_first(flow);
    return side != 0 ? side : votes.of(flow.a.ip, flow.b.ip).side;
  });
  Comparison comparison(one, other, pairs, time, shifts_of(common));
  if (const Status done = comparison.run(); !done) return fail(done.error());
  result.overlap = overlap_of(time, common.size(), one, other);
  result.flows.reserve(pairs.size());
  for (const FlowPair& pair : pairs) result.flows.push_back(result_of(pair, one, other));
  return result;
}

}  // namespace

Expected<TraceComparison> compare_trace_files(const std::string& first, const std::string& second,
                                              const std::vector<std::string>& first_ips) {
  return compare({first, nullptr}, {second, nullptr}, first_ips);
}

Expected<TraceComparison> compare_traces(const std::string& first, const std::string& second,
                                         const std::vector<std::string>& first_ips) {
  return compare({"first", &first}, {"second", &second}, first_ips);
}

}  // namespace plumbline
