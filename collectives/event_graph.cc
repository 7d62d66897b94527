#include "collectives/event_graph.h"

#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace plumbline {
namespace {

// Of one step; clocks count elements in 16 bits, and the work grows with the product of events and
// steps.
constexpr uint64_t kMaxElements = 4096;

uint64_t buffer_elems(const EventGraph::Rank& s, BufferId id) {
  if (id == BufferId::kIn) return s.layout.in_elems;
  return id == BufferId::kOut ? s.layout.out_elems : s.schedule.scratch_elems;
}

}  // namespace

EventGraph::EventGraph(const AlgorithmRow& algorithm, ScheduleRequest request) {
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    Rank rank;
    rank.schedule = build_schedule(algorithm, request);
    rank.layout = layout_of(request);
    place_buffers(request, rank);
    ranks_.push_back(std::move(rank));
  }
}

std::string EventGraph::build() {
  for (auto check : {&EventGraph::check_steps, &EventGraph::make_events,
                     &EventGraph::match_messages, &EventGraph::order_events}) {
    std::string wrong = (this->*check)();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

void EventGraph::place_buffers(const ScheduleRequest& request, Rank& s) const {
  const uint64_t span = request.count * static_cast<uint64_t>(request.size);
  if (request.in_place) {
    // One array; whichever buffer is the part begins inside the other one.
    const auto shift = static_cast<uint64_t>(std::abs(s.layout.in_offset));
    s.in_at = s.layout.in_offset > 0 ? shift : 0;
    s.out_at = s.layout.in_offset < 0 ? shift : 0;
  } else {
    s.out_at = span;
  }
  s.scratch_at = 2 * span;
  s.memory_elems = s.scratch_at + s.schedule.scratch_elems;
}

uint64_t EventGraph::place(const Rank& s, const Range& range, uint64_t element) {
  const uint64_t base = range.buffer == BufferId::kIn    ? s.in_at
                        : range.buffer == BufferId::kOut ? s.out_at
                                                         : s.scratch_at;
  return base + range.begin + element;
}

std::string EventGraph::say(uint32_t step, const std::string& what) const {
  return "rank " + std::to_string(owners_[step].rank) + " step " +
         std::to_string(owners_[step].index) + ": " + what;
}

std::string EventGraph::check_ranges(const Rank& s, const Step& step) const {
  const auto inside = [&](const Range& r) {
    const uint64_t size = buffer_elems(s, r.buffer);
    return r.count <= size && r.begin <= size - r.count;
  };
  const auto clash = [&](const Range& a) {  // overlaps dst without being exactly dst
    const uint64_t x = place(s, a, 0), y = place(s, step.dst, 0);
    return x != y && x < y + step.dst.count && y < x + a.count;
  };
  const bool reads_source = step.kind != StepKind::kRecv;
  if (reads_source && !inside(step.source)) return "source outside its buffer";
  if (step.kind == StepKind::kSend) return {};
  if (!inside(step.dst)) return "destination outside its buffer";
  if (step.dst.buffer == BufferId::kIn) return "writes to the input";
  if (reads_source && step.source.count != step.dst.count) return "source and destination differ";
  if (reads_source && clash(step.source)) return "source overlaps destination";
  if (!step.more.empty() && (!reduces(step) || step.kind != StepKind::kLocal)) {
    return "only local reductions have more operands";
  }
  if (!reduces(step)) return {};
  std::vector<Range> operands = step.more;
  operands.push_back(step.operand);
  for (const Range& operand : operands) {
    if (!inside(operand)) return "operand outside its buffer";
    if (operand.count != step.dst.count) return "operand and destination differ in length";
    if (clash(operand)) return "operand overlaps destination";
  }
  return {};
}

std::string EventGraph::check_step(const Rank& s, const Step& step, size_t index) const {
  const auto rank = &s - ranks_.data();
  for (uint32_t dep : step.after) {
    if (dep >= index) return "waits for a later step";
  }
  if (step.kind != StepKind::kLocal) {
    if (step.peer < 0 || step.peer >= static_cast<int>(ranks_.size()) || step.peer == rank)
      return "peer is no other rank";
    if (step.action == Action::kScale) return "scaling is for local steps";
  }
  if (step.kind == StepKind::kSend && step.action != Action::kCopy) return "a send only copies";
  std::string wrong = check_ranges(s, step);
  if (!wrong.empty() || step.streams_from < 0) return wrong;
  if (step.kind != StepKind::kSend) return "only sends stream";
  const auto from = static_cast<size_t>(step.streams_from);
  if (from >= index) return "streams from a later step";
  const Step& source = s.schedule.steps[from];
  if (source.kind == StepKind::kSend || !(source.dst == step.source)) {
    return "streams from a step that writes something else";
  }
  return {};
}

std::string EventGraph::check_steps() {
  for (Rank& s : ranks_) {
    const auto rank = static_cast<uint32_t>(&s - ranks_.data());
    s.first_step = static_cast<uint32_t>(owners_.size());
    for (size_t i = 0; i < s.schedule.steps.size(); ++i) {
      owners_.push_back({rank, static_cast<uint32_t>(i)});
      const std::string wrong = check_step(s, s.schedule.steps[i], i);
      if (!wrong.empty()) return say(static_cast<uint32_t>(owners_.size() - 1), wrong);
    }
  }
  return {};
}

std::string EventGraph::make_events() {
  for (Rank& s : ranks_) {
    for (size_t i = 0; i < s.schedule.steps.size(); ++i) {
      s.first_event.push_back(static_cast<uint32_t>(events_.size()));
      const uint64_t n = std::max<uint64_t>(1, elements_of(s.schedule.steps[i]));
      if (n > kMaxElements) {
        return say(s.first_step + static_cast<uint32_t>(i), "too many elements to check");
      }
      for (uint32_t e = 0; e < n; ++e) {
        events_.push_back({s.first_step + static_cast<uint32_t>(i), e, -1});
      }
    }
  }
  return {};
}

std::string EventGraph::match_messages() {
  using Key = std::tuple<int, int, uint32_t>;  // from, to, message
  std::map<Key, uint32_t> sends;
  std::set<Key> received;
  for (uint32_t step = 0; step < owners_.size(); ++step) {
    const Step& s = step_of(step);
    if (s.kind != StepKind::kSend) continue;
    const Key key{static_cast<int>(owners_[step].rank), s.peer, s.message};
    if (!sends.emplace(key, step).second) return say(step, "message number used twice");
  }
  for (uint32_t step = 0; step < owners_.size(); ++step) {
    const Step& s = step_of(step);
    if (s.kind != StepKind::kRecv) continue;
    const Key key{s.peer, static_cast<int>(owners_[step].rank), s.message};
    const auto found = sends.find(key);
    if (found == sends.end()) return say(step, "receives a message that nobody sends");
    if (!received.insert(key).second) return say(step, "receives a message twice");
    std::string wrong = match_receive(step, found->second);
    if (!wrong.empty()) return wrong;
  }
  for (const auto& [key, step] : sends) {
    if (received.count(key) == 0) return say(step, "sends a message that nobody receives");
  }
  return {};
}

std::string EventGraph::match_receive(uint32_t step, uint32_t sender) {
  const uint64_t count = elements_of(step_of(step));
  if (elements_of(step_of(sender)) != count) return say(step, "message lengths differ");
  const Owner to = owners_[step], from = owners_[sender];
  const uint32_t first = ranks_[to.rank].first_event[to.index];
  const uint32_t partner = ranks_[from.rank].first_event[from.index];
  for (uint32_t e = 0; e < std::max<uint64_t>(1, count); ++e) {
    events_[first + e].partner = static_cast<int32_t>(partner + e);
  }
  events_[partner].partner = static_cast<int32_t>(first);  // for the rendezvous
  return {};
}

void EventGraph::edges_into(uint32_t event, bool rendezvous, std::vector<uint32_t>& from) const {
  from.clear();
  const Event& e = events_[event];
  const Owner owner = owners_[e.step];
  const Rank& s = ranks_[owner.rank];
  const Step& step = s.schedule.steps[owner.index];
  if (step.kind == StepKind::kRecv) from.push_back(static_cast<uint32_t>(e.partner));
  if (step.streams_from >= 0) {
    from.push_back(s.first_event[static_cast<size_t>(step.streams_from)] + e.element);
  }
  if (e.element > 0) {
    from.push_back(event - 1);
    return;
  }
  for (uint32_t dep : step.after) from.push_back(last_event(s, dep));
  if (!rendezvous || step.kind != StepKind::kSend) return;
  const Owner to = owners_[events_[static_cast<size_t>(e.partner)].step];
  const Rank& receiver = ranks_[to.rank];
  for (uint32_t dep : receiver.schedule.steps[to.index].after) {
    from.push_back(last_event(receiver, dep));
  }
}

// Kahn's algorithm; what is left over waits in a circle.
std::string EventGraph::order_events() {
  std::vector<uint32_t> missing(events_.size());
  std::vector<std::vector<uint32_t>> next(events_.size());
  std::vector<uint32_t> from;
  for (uint32_t event = 0; event < events_.size(); ++event) {
    edges_into(event, true, from);
    missing[event] = static_cast<uint32_t>(from.size());
    for (uint32_t before : from) next[before].push_back(event);
    if (from.empty()) order_.push_back(event);
  }
  for (size_t i = 0; i < order_.size(); ++i) {
    for (uint32_t after : next[order_[i]]) {
      if (--missing[after] == 0) order_.push_back(after);
    }
  }
  if (order_.size() == events_.size()) return {};
  for (uint32_t event = 0; event < events_.size(); ++event) {
    if (missing[event] > 0) {
      return say(events_[event].step, "never starts: ranks wait for one another in a circle");
    }
  }
  return {};
}

}  // namespace plumbline
