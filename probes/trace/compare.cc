// Two captures of one connection. Each file is read twice: first what every flow of it is and which
// bytes it saw, then, once it is known which flows are the same and which trace lies at whose end,
// the sender's segments one by one against what the receiver's wire saw.
#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/json_fields.h"
#include "probes/trace/compare_flows.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(TraceLoss, seen_at_both, left, arrived, bytes_left, bytes_arrived, where)

void to_json(nlohmann::json& json, const TracePairFlow& flow) {
  json = {{"here", flow.here},       {"there", flow.there},   {"here_is_a", flow.here_is_a},
          {"told_by", flow.told_by}, {"a_to_b", flow.a_to_b}, {"b_to_a", flow.b_to_a}};
}

namespace {

constexpr int64_t kWrap = int64_t{1} << 32;

// The sender's trace and the receiver's, for one direction of one pair.
struct Direction {
  const FlowState* sender = nullptr;
  const FlowState* receiver = nullptr;
  int sender_side = 0, receiver_side = 0;  // numbers of the side that sends, in either trace
  bool sender_is_first = true;
  int64_t shift = 0;  // from the sender's unwrapped numbers to the receiver's
};

Direction direction_of(const FlowPair& pair, int side) {
  Direction result;
  result.sender_is_first = pair.here_is_a == (side == 0);
  const int other = pair.there_side(side);
  result.sender = result.sender_is_first ? pair.here : pair.there;
  result.receiver = result.sender_is_first ? pair.there : pair.here;
  result.sender_side = result.sender_is_first ? side : other;
  result.receiver_side = result.sender_is_first ? other : side;
  if (result.sender == nullptr || result.receiver == nullptr) return result;
  const int64_t from = result.sender->side[static_cast<size_t>(result.sender_side)].first_seq;
  const int64_t to = result.receiver->side[static_cast<size_t>(result.receiver_side)].first_seq;
  const int64_t apart = to - from;  // a trace that begins later may have missed a wrap
  result.shift = (apart + (apart >= 0 ? kWrap / 2 : -kWrap / 2)) / kWrap * kWrap;
  return result;
}

// Counts the sender's distinct segments against the receiver's wire.
class Counter {
 public:
  Counter(const Direction& direction, const ComparedTrace& receiver, TraceLoss& loss)
      : direction_(direction), loss_(loss) {
    if (direction.receiver == nullptr) return;
    const auto found = receiver.seen.find({direction.receiver->index, direction.receiver_side});
    if (found != receiver.seen.end()) arrived_ = &found->second.ranges;
    const SideState& came = direction.receiver->side[static_cast<size_t>(direction.receiver_side)];
    if (came.highest_acked) acked_ = *came.highest_acked;
    if (came.seen && !came.syn_seq) begins_ = came.first_seq;
  }

  void add(int64_t begin, int64_t end) {
    if (begin + direction_.shift < begins_) return;  // before the receiver's capture began
    loss_.bytes_left += end - begin;
    if (!left_.add(begin, end)) return;
    ++loss_.left;
    begin += direction_.shift;
    end += direction_.shift;
    if (end <= acked_ || (arrived_ != nullptr && arrived_->covers(begin, end))) {
      ++loss_.arrived;
    } else if (arrived_ == nullptr || begin < arrived_->highest()) {
      hole_ = true;
    }
  }
  // Something is missing before the end of what the receiver's wire saw.
  bool hole() const { return hole_; }

 private:
  Direction direction_;
  TraceLoss& loss_;
  const Intervals* arrived_ = nullptr;
  int64_t acked_ = INT64_MIN, begins_ = INT64_MIN;
  Intervals left_;
  bool hole_ = false;
};

std::string place_of(const Direction& direction, const TraceLoss& loss, bool hole) {
  const auto s = static_cast<size_t>(direction.sender_side);
  const auto r = static_cast<size_t>(direction.receiver_side);
  if (direction.sender == nullptr || direction.sender->side[s].counts.packets == 0) {
    const bool asked = direction.sender != nullptr && direction.sender->side[1 - s].counts.syn > 0;
    const bool unknown =
        direction.sender == nullptr && direction.receiver->side[r].counts.packets > 0;
    return asked || unknown ? "before the sender's wire" : "nowhere";
  }
  const bool again = direction.sender->side[s].counts.retransmissions > 0;
  const bool missing = loss.left > loss.arrived && (hole || again || !loss.seen_at_both);
  if (missing || (again && loss.bytes_left > loss.bytes_arrived)) return "between the hosts";
  if (direction.receiver == nullptr || loss.left == 0) return "nowhere";
  const SideState& came = direction.receiver->side[r];
  const bool silent = direction.receiver->side[1 - r].counts.packets == 0;
  const bool ignored = came.stuck_times >= 2 && came.segments.bytes() > 0;
  return silent || ignored ? "behind the receiver's wire" : "nowhere";
}

// UDP has no numbers: only how many packets were seen.
void count_datagrams(const Direction& direction, TraceLoss& loss) {
  const auto seen = [](const FlowState* flow, int side) {
    return flow != nullptr ? flow->side[static_cast<size_t>(side)].counts : TraceDirection();
  };
  const TraceDirection left = seen(direction.sender, direction.sender_side);
  const TraceDirection arrived = seen(direction.receiver, direction.receiver_side);
  loss.left = left.packets;
  loss.arrived = std::min(left.packets, arrived.packets);
  loss.bytes_left = left.payload_bytes;
  loss.bytes_arrived = arrived.payload_bytes;
  if (left.packets > arrived.packets) loss.where = "between the hosts";
  if (left.packets < arrived.packets) loss.where = "before the sender's wire";
}

class Comparison {
 public:
  Comparison(ComparedTrace& first, ComparedTrace& second, std::vector<FlowPair>& pairs)
      : first_(first), second_(second) {
    for (FlowPair& pair : pairs) {
      for (int side = 0; side < 2; ++side) prepare(pair, side);
    }
  }

  Status run() {
    for (ComparedTrace* sender : {&first_, &second_}) {
      auto& counters = sender == &first_ ? by_first_ : by_second_;
      const Expected<AnalysedFile> read = read_trace(
          sender->source, {},
          [&](const FlowState& flow, int side, const Packet&, const SegmentEvent& event) {
            const auto found = counters.find({flow.index, side});
            if (found == counters.end() || !carries_bytes(event)) return;
            const int64_t zero = flow.side[static_cast<size_t>(side)].first_seq;
            work_[found->second].counter.add(zero + event.begin, zero + event.end);
          });
      if (!read) return fail(read.error());
    }
    for (Work& work : work_) {
      work.loss->where = place_of(work.direction, *work.loss, work.counter.hole());
    }
    return {};
  }

 private:
  struct Work {
    Direction direction;
    TraceLoss* loss;
    Counter counter;
  };

  void prepare(FlowPair& pair, int side) {
    const Direction direction = direction_of(pair, side);
    TraceLoss& loss = pair.loss[static_cast<size_t>(side)];
    const auto packets = [](const FlowState* flow, int number) {
      return flow != nullptr ? flow->side[static_cast<size_t>(number)].counts.packets : 0;
    };
    loss.seen_at_both = packets(direction.sender, direction.sender_side) > 0 &&
                        packets(direction.receiver, direction.receiver_side) > 0;
    if (pair.any().protocol != kProtocolTcp) {
      count_datagrams(direction, loss);
      return;
    }
    const ComparedTrace& receiver = direction.sender_is_first ? second_ : first_;
    if (direction.receiver != nullptr) {
      const auto found = receiver.seen.find({direction.receiver->index, direction.receiver_side});
      if (found != receiver.seen.end()) loss.bytes_arrived = found->second.bytes;
    }
    if (direction.sender != nullptr) {
      auto& counters = direction.sender_is_first ? by_first_ : by_second_;
      counters[{direction.sender->index, direction.sender_side}] = work_.size();
    }
    work_.push_back({direction, &loss, Counter(direction, receiver, loss)});
  }

  ComparedTrace& first_;
  ComparedTrace& second_;
  std::vector<Work> work_;
  std::map<std::pair<int64_t, int>, size_t> by_first_, by_second_;
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

Expected<TraceComparison> compare(const TraceSource& first, const TraceSource& second,
                                  const std::vector<std::string>& first_ips) {
  ComparedTrace one, other;
  one.source = first;
  other.source = second;
  for (ComparedTrace* side : {&one, &other}) {
    if (const Status loaded = side->load(); !loaded) return fail(loaded.error());
  }
  const Expected<CapturePlaces> places =
      find_places(*one.read.analysis, *other.read.analysis, first_ips);
  if (!places) return fail(places.error());
  TraceComparison result;
  std::vector<FlowPair> pairs = match_flows(one, other, *places, result.other_flows);
  tell_places(pairs, *places);
  Comparison comparison(one, other, pairs);
  if (const Status done = comparison.run(); !done) return fail(done.error());
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
