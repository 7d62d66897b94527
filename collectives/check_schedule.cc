// Symbolic execution of all ranks' schedules over their event graph. Vector clocks along its edges
// decide whether two accesses to the same place are ordered, also where only messages through other
// ranks order them.
#include <algorithm>

#include "collectives/event_graph.h"
#include "collectives/schedule.h"

namespace plumbline {
namespace {

// What one element holds: which ranks' contributions, of which element of their input, and whether
// it was divided by the number of ranks. No contribution = never written.
struct Value {
  uint64_t ranks = 0;
  uint64_t element = 0;
  bool scaled = false;
  // The expression by which it was reckoned, as a number: equal ones are equal bits. Sums are
  // commutative, not associative.
  uint64_t how = 0;
  bool rounded = false;    // to 16 bits, as the last thing: once more changes nothing
  uint32_t roundings = 0;  // at most, of any contribution

  // The same data, however reckoned.
  bool same_data(const Value& other) const {
    return ranks == other.ranks && element == other.element && scaled == other.scaled;
  }
};

// The number of an expression (the finaliser of SplitMix64 over its parts).
enum class Reckoned : uint64_t { kContribution = 1, kSum, kQuotient, kRounded };
uint64_t expression(Reckoned what, uint64_t first, uint64_t second = 0) {
  uint64_t z = static_cast<uint64_t>(what);
  for (const uint64_t part : {first, second}) {
    z = (z ^ part) + 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return z;
}

Value rounded_if(bool rounds, Value value) {
  if (!rounds || value.rounded) return value;
  value.how = expression(Reckoned::kRounded, value.how);
  value.rounded = true;
  ++value.roundings;
  return value;
}

std::string to_text(const Value& v) {
  if (v.ranks == 0) return "nothing";
  std::string text = "element " + std::to_string(v.element) + " of ranks {";
  for (int r = 0; r < 64; ++r) {
    if ((v.ranks >> r & 1) != 0) text += std::to_string(r) + ",";
  }
  text.back() = '}';
  return text + (v.scaled ? " scaled" : "");
}

constexpr size_t kMaxClocks = size_t{1} << 27;  // 256 MiB

struct Access {
  uint32_t event;
  bool write;
};

class Checker {
 public:
  Checker(const AlgorithmRow& algorithm, const ScheduleRequest& request)
      : q_(request), same_bits_(algorithm.same_bits), graph_(algorithm, request) {}

  std::string run() {
    std::string wrong = graph_.build();
    if (!wrong.empty()) return wrong;
    if (graph_.events().size() * graph_.owners().size() > kMaxClocks) {
      return "too large to check: use a smaller count or fewer ranks";
    }
    fill_memory();
    for (auto check : {&Checker::execute, &Checker::check_conflicts, &Checker::check_results,
                       &Checker::check_bits, &Checker::check_knowledge}) {
      wrong = (this->*check)();
      if (!wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  void fill_memory();
  std::string execute();
  void advance_clock(uint32_t event);
  std::string execute_event(uint32_t event);
  std::string apply(const Step& step, Value value, Value& dst) const;
  std::string check_conflicts();
  std::string check_results();
  std::string check_bits();
  std::string check_knowledge();
  bool knows_start(uint32_t a, uint32_t b) const;
  bool knows_receives(uint32_t a, uint32_t b) const;
  bool known_to(uint32_t a, uint32_t event) const;
  Value expected(int rank, uint64_t element) const;
  uint64_t everybody() const { return q_.size == 64 ? ~uint64_t{0} : (uint64_t{1} << q_.size) - 1; }
  bool happened_before(uint32_t a, uint32_t b) const {
    const EventGraph::Event& first = graph_.events()[a];
    return clocks_[b * graph_.owners().size() + first.step] > first.element;
  }

  ScheduleRequest q_;
  bool same_bits_;
  EventGraph graph_;
  // [event * steps + step]: how many of the step's events came before the event, or are it.
  std::vector<uint16_t> clocks_;
  std::vector<std::vector<Value>> memory_;                  // [rank][place]
  std::vector<std::vector<std::vector<Access>>> accesses_;  // [rank][place], in order of execution
  std::vector<Value> wire_;                                 // per sending event
  std::vector<uint32_t> from_;                              // reused
  std::vector<Value> operands_;                             // reused: what is combined with a value
};

void Checker::fill_memory() {
  wire_.resize(graph_.events().size());
  clocks_.resize(graph_.events().size() * graph_.owners().size());
  for (const EventGraph::Rank& rank : graph_.ranks()) {
    const uint64_t contribution = uint64_t{1} << memory_.size();
    memory_.emplace_back(rank.memory_elems);
    accesses_.emplace_back(rank.memory_elems);
    for (uint64_t i = 0; i < rank.layout.in_elems; ++i) {
      const uint64_t how = expression(Reckoned::kContribution, contribution, i);
      memory_.back()[rank.in_at + i] = {contribution, i, false, how};
    }
  }
}

std::string Checker::apply(const Step& step, Value value, Value& dst) const {
  if (value.ranks == 0) return "reads what was never written";
  value = rounded_if(step.rounds_source, value);
  for (const Value& operand : operands_) {
    if (operand.ranks == 0) return "operand was never written";
    if (operand.element != value.element) return "combines different elements";
    if ((operand.ranks & value.ranks) != 0) return "counts a contribution twice";
    if (operand.scaled || value.scaled) return "adds to what is divided already";
    value.ranks |= operand.ranks;
    const auto [low, high] = std::minmax(operand.how, value.how);
    value.how = expression(Reckoned::kSum, low, high);
    value.rounded = false;
    value.roundings = std::max(value.roundings, operand.roundings);
  }
  if (step.action == Action::kScale || step.action == Action::kReduceScale) {
    if (value.scaled) return "divides twice";
    if (value.ranks != everybody()) return "divides before all contributions are there";
    value.scaled = true;
    value.how = expression(Reckoned::kQuotient, value.how);
    value.rounded = false;
  }
  dst = rounded_if(step.rounds_result, value);
  return {};
}

std::string Checker::execute_event(uint32_t event) {
  const EventGraph::Event& e = graph_.events()[event];
  const uint32_t owner = graph_.owner_of(event).rank;
  const Step& step = graph_.step_of(e.step);
  if (elements_of(step) == 0) return {};
  const auto touch = [&](const Range& range, bool write) -> Value& {
    const uint64_t place = EventGraph::place(graph_.ranks()[owner], range, e.element);
    accesses_[owner][place].push_back({event, write});
    return memory_[owner][place];
  };
  if (step.kind == StepKind::kSend) {
    wire_[event] = rounded_if(step.halved, touch(step.source, false));
    return wire_[event].ranks == 0 ? "sends what was never written" : "";
  }
  const Value value = step.kind == StepKind::kRecv ? wire_[static_cast<size_t>(e.partner)]
                                                   : touch(step.source, false);
  operands_.clear();
  if (reduces(step)) {
    operands_.push_back(rounded_if(step.rounds_operand, touch(step.operand, false)));
  }
  for (const Range& range : step.more) operands_.push_back(touch(range, false));
  return apply(step, value, touch(step.dst, true));
}

void Checker::advance_clock(uint32_t event) {
  const size_t width = graph_.owners().size();
  uint16_t* clock = &clocks_[event * width];
  graph_.edges_into(event, false, from_);
  bool first = true;
  for (uint32_t before : from_) {
    const uint16_t* other = &clocks_[before * width];
    const EventGraph::Event& known = graph_.events()[before];
    if (first) {
      std::copy_n(other, width, clock);
    } else if (clock[known.step] <= known.element) {  // else all that it knows has come already
      for (size_t i = 0; i < width; ++i) clock[i] = std::max(clock[i], other[i]);
    }
    first = false;
  }
  const EventGraph::Event& e = graph_.events()[event];
  clock[e.step] = static_cast<uint16_t>(e.element + 1);
}

std::string Checker::execute() {
  for (uint32_t event : graph_.order()) {
    advance_clock(event);
    const std::string wrong = execute_event(event);
    if (!wrong.empty()) return graph_.say(graph_.events()[event].step, wrong);
  }
  return {};
}

std::string Checker::check_conflicts() {
  const auto clash = [this](const Access& a, const Access& b) {
    return (a.write || b.write) && graph_.events()[a.event].step != graph_.events()[b.event].step &&
           !happened_before(a.event, b.event);
  };
  for (const auto& places : accesses_) {
    for (const std::vector<Access>& list : places) {
      for (size_t a = 0; a < list.size(); ++a) {
        for (size_t b = a + 1; b < list.size(); ++b) {
          if (!clash(list[a], list[b])) continue;
          return graph_.say(graph_.events()[list[a].event].step,
                            "and step " + std::to_string(graph_.owner_of(list[b].event).index) +
                                " use one place in no order");
        }
      }
    }
  }
  return {};
}

Value Checker::expected(int rank, uint64_t i) const {
  const bool scaled = q_.redop == RedOp::kAvg && q_.size > 1;
  const uint64_t mine = static_cast<uint64_t>(rank) * q_.count;
  const auto from = [](uint64_t source, uint64_t element) {
    return Value{uint64_t{1} << source, element};
  };
  switch (q_.op) {
    case Op::kAllreduce:
    case Op::kReduce:
      return {everybody(), i, scaled};
    case Op::kReduceScatter:
      return {everybody(), mine + i, scaled};
    case Op::kAllgather:
    case Op::kGather:
      return from(i / q_.count, i % q_.count);
    case Op::kBroadcast:
      return from(static_cast<uint64_t>(q_.root), i);
    case Op::kScatter:
      return from(static_cast<uint64_t>(q_.root), mine + i);
    case Op::kAlltoall:
      return from(i / q_.count, mine + i % q_.count);
    case Op::kPingpong:
    case Op::kStream:
      return from(0, i);
    case Op::kBidirectional:
      return from(static_cast<uint64_t>(1 - rank), i);
    case Op::kSendrecv:
      return from(static_cast<uint64_t>((rank + q_.size - 1) % q_.size), i);
    case Op::kBarrier:
      break;
  }
  return {};
}

std::string Checker::check_results() {
  for (size_t rank = 0; rank < graph_.ranks().size(); ++rank) {
    const EventGraph::Rank& s = graph_.ranks()[rank];
    for (uint64_t i = 0; i < s.layout.out_elems; ++i) {
      const Value got = memory_[rank][s.out_at + i];
      const Value want = expected(static_cast<int>(rank), i);
      if (got.same_data(want)) continue;
      return "rank " + std::to_string(rank) + " ends with " + to_text(got) + " in place " +
             std::to_string(i) + " instead of " + to_text(want);
    }
  }
  return {};
}

// Elements that all ranks get were reckoned alike, and no contribution was rounded more often than
// the bound of the error allows.
std::string Checker::check_bits() {
  if (q_.op != Op::kAllreduce || !same_bits_) return {};
  const EventGraph::Rank& first = graph_.ranks().front();
  for (size_t rank = 0; rank < graph_.ranks().size(); ++rank) {
    const EventGraph::Rank& s = graph_.ranks()[rank];
    for (uint64_t i = 0; i < s.layout.out_elems; ++i) {
      if (memory_[rank][s.out_at + i].roundings > graph_.ranks().size()) {
        return "rank " + std::to_string(rank) + " rounds place " + std::to_string(i) +
               " more often than there are ranks";
      }
      if (memory_[rank][s.out_at + i].how == memory_[0][first.out_at + i].how) continue;
      return "ranks 0 and " + std::to_string(rank) + " reckon place " + std::to_string(i) +
             " differently";
    }
  }
  return {};
}

// Operations that promise more than data: nobody leaves a barrier before everybody has come, and
// rank 0 of a stream or ping-pong not before rank 1 has got all.
std::string Checker::check_knowledge() {
  const bool answered = q_.op == Op::kPingpong || q_.op == Op::kStream;
  if (q_.op != Op::kBarrier && !answered) return {};
  for (uint32_t a = 0; a < graph_.ranks().size(); ++a) {
    for (uint32_t b = 0; b < graph_.ranks().size(); ++b) {
      if (a == b || (answered && (a != 0 || b != 1))) continue;
      if (answered ? knows_receives(a, b) : knows_start(a, b)) continue;
      return "rank " + std::to_string(a) + " can finish before rank " + std::to_string(b) +
             (answered ? " has got all" : " has come");
    }
  }
  return {};
}

bool Checker::knows_start(uint32_t a, uint32_t b) const {
  for (uint32_t event = 0; event < graph_.events().size(); ++event) {
    if (graph_.owner_of(event).rank != b) continue;
    if (known_to(a, event)) return true;
  }
  return false;
}

bool Checker::knows_receives(uint32_t a, uint32_t b) const {
  for (uint32_t event = 0; event < graph_.events().size(); ++event) {
    const Step& step = graph_.step_of(graph_.events()[event].step);
    if (graph_.owner_of(event).rank != b || step.kind != StepKind::kRecv) continue;
    if (!known_to(a, event)) return false;
  }
  return true;
}

// Whether some event of rank `a` came after `event`.
bool Checker::known_to(uint32_t a, uint32_t event) const {
  for (uint32_t other = 0; other < graph_.events().size(); ++other) {
    if (graph_.owner_of(other).rank == a && happened_before(event, other)) return true;
  }
  return false;
}

}  // namespace

std::string check_schedule(const AlgorithmRow& algorithm, ScheduleRequest request) {
  if (request.size < 1 || request.size > 64) return "the checker takes 1 to 64 ranks";
  const std::string unsupported = algorithm.unsupported(request);
  if (!unsupported.empty()) return unsupported;
  return Checker(algorithm, request).run();
}

}  // namespace plumbline
