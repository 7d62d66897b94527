// The schedules of all ranks as one graph of events, for the checker. Every element of every step
// is one event; an event happens after its predecessor in the same message (bytes keep their
// order), after the events that its step waits for, and a received element after the same element
// was sent. For the order of execution a send additionally waits until its receive is posted, as if
// no network buffered anything: a schedule that needs buffers is a deadlock. Internal to
// collectives/; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/schedule.h"

namespace plumbline {

inline bool reduces(const Step& step) {
  return step.action == Action::kReduce || step.action == Action::kReduceScale;
}
inline uint64_t elements_of(const Step& step) {
  return step.kind == StepKind::kSend ? step.source.count : step.dst.count;
}

class EventGraph {
 public:
  struct Rank {
    Schedule schedule;
    BufferLayout layout;
    uint64_t in_at = 0, out_at = 0, scratch_at = 0;  // where the buffers begin in its memory
    uint64_t memory_elems = 0;
    uint32_t first_step = 0;            // number of its first step among all ranks' steps
    std::vector<uint32_t> first_event;  // per step
  };
  struct Owner {
    uint32_t rank, index;  // of a step
  };
  struct Event {
    uint32_t step = 0;  // among all ranks' steps
    uint32_t element = 0;
    int32_t partner = -1;  // receives: the event that sends this element
  };

  EventGraph(const AlgorithmRow& algorithm, ScheduleRequest request);
  // Checks each step alone, matches messages and finds an order of execution. Empty = right; only
  // then the rest may be asked.
  std::string build();

  const std::vector<Rank>& ranks() const { return ranks_; }
  const std::vector<Owner>& owners() const { return owners_; }
  const std::vector<Event>& events() const { return events_; }
  // All events, each after those that come before it.
  const std::vector<uint32_t>& order() const { return order_; }
  const Owner& owner_of(uint32_t event) const { return owners_[events_[event].step]; }
  const Step& step_of(uint32_t step) const {
    return ranks_[owners_[step].rank].schedule.steps[owners_[step].index];
  }
  // The events that come directly before `event`. With `rendezvous` a send also waits until its
  // receive is posted.
  void edges_into(uint32_t event, bool rendezvous, std::vector<uint32_t>& from) const;
  static uint64_t place(const Rank& rank, const Range& range, uint64_t element);
  // "rank 1 step 4: what"
  std::string say(uint32_t step, const std::string& what) const;

 private:
  void place_buffers(const ScheduleRequest& request, Rank& rank) const;
  std::string check_steps();
  std::string check_step(const Rank& s, const Step& step, size_t index) const;
  std::string check_ranges(const Rank& s, const Step& step) const;
  std::string make_events();
  std::string match_messages();
  std::string match_receive(uint32_t step, uint32_t sender);
  std::string order_events();
  static uint32_t last_event(const Rank& s, uint32_t index) {
    const uint64_t n = std::max<uint64_t>(1, elements_of(s.schedule.steps[index]));
    return s.first_event[index] + static_cast<uint32_t>(n - 1);
  }

  std::vector<Rank> ranks_;
  std::vector<Owner> owners_;  // of each step
  std::vector<Event> events_;
  std::vector<uint32_t> order_;
};

}  // namespace plumbline
