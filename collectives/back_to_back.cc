#include "collectives/back_to_back.h"

#include <algorithm>

#include "core/clock.h"

namespace plumbline {

// Timed operations until the next stop.
uint64_t BackToBack::next_timed(uint64_t left) {
  const uint64_t k = in_flight();
  switch (s_.verifier->mode()) {
    case VerifyMode::kNone:
    case VerifyMode::kLast:
      return left;
    case VerifyMode::kEvery:
      return std::min(left, k);
    case VerifyMode::kSampled:
      break;
  }
  uint64_t count = k;
  while (count < left && !s_.verifier->chosen()) count += k;
  return std::min(left, count);
}

// The last ones, as many as can be in flight, work on data of their own; so do the first ones where
// all are verified. The rest take turns.
size_t BackToBack::slot_for(uint64_t index, uint64_t length) const {
  const uint64_t k = in_flight(), last = length - std::min(length, k);
  const auto check = static_cast<size_t>(s_.slots.ordinary);
  if (s_.verifier->on() && index >= last) return check + static_cast<size_t>(index - last);
  if (s_.verifier->mode() == VerifyMode::kEvery && index < k) {
    return check + static_cast<size_t>(k + index);
  }
  return static_cast<size_t>(index % s_.slots.ordinary);
}

void BackToBack::for_each_verified(uint64_t length, const std::function<void(size_t)>& use) const {
  if (!s_.verifier->on()) return;
  const uint64_t k = in_flight(), last = length - std::min(length, k);
  const bool first = s_.verifier->mode() == VerifyMode::kEvery;
  for (uint64_t i = 0; first && i < std::min(k, last); ++i) use(slot_for(i, length));
  for (uint64_t i = last; i < length; ++i) use(slot_for(i, length));
}

Status BackToBack::launch(uint64_t index, uint64_t length) {
  const size_t slot = slot_for(index, length);
  Executor::Plan& plan = *(*s_.plans)[index % in_flight()];
  for (uint64_t repeat = 1; repeat < s_.aggregate; ++repeat) {
    const Status done = s_.executor->run(plan, s_.operand->in(slot), s_.operand->out(slot),
                                         Deadline::after_ms(s_.timeout_ms));
    if (!done) return done;
  }
  return s_.executor->start(plan, s_.operand->in(slot), s_.operand->out(slot));
}

// Operations 1 to length - k are timed, k in flight: until then each that ends has another behind
// it.
Status BackToBack::stretch(uint64_t length, std::vector<int64_t>& durations, int64_t& window_ns) {
  for_each_verified(length, [&](size_t slot) { s_.verifier->fill(slot); });
  if (const Status met = s_.exchange->barrier(); !met) return met;
  const uint64_t k = in_flight(), last_timed = length - std::min(length, k);
  std::vector<int64_t> started(k);
  int64_t first_end = 0;
  for (uint64_t i = 0; i < length + k; ++i) {
    if (i >= k) {
      const uint64_t ended = i - k;
      const Status done =
          s_.executor->wait(*(*s_.plans)[ended % k], Deadline::after_ms(s_.timeout_ms));
      if (!done) return done;
      const int64_t now = monotonic_ns();
      if (ended == 0) first_end = now;
      if (ended > 0 && ended <= last_timed) {
        durations.push_back((now - started[ended % k]) / static_cast<int64_t>(s_.aggregate));
      }
      if (ended == last_timed) window_ns += now - first_end;
    }
    if (i >= length) continue;
    started[i % k] = monotonic_ns();
    if (const Status begun = launch(i, length); !begun) return begun;
  }
  s_.verifier->ran(length * s_.aggregate);
  if (s_.verifiable) for_each_verified(length, [&](size_t slot) { s_.verifier->check(slot); });
  return {};
}

Status BackToBack::timed(uint64_t count, std::vector<int64_t>& durations, int64_t& window_ns) {
  durations.clear();
  window_ns = 0;
  while (durations.size() < count) {
    const uint64_t next = next_timed(count - durations.size());
    if (const Status done = stretch(next + in_flight(), durations, window_ns); !done) return done;
  }
  return {};
}

Status BackToBack::untimed(uint64_t count) {
  std::vector<int64_t> durations;
  int64_t window_ns = 0;
  const bool all = s_.verifier->mode() == VerifyMode::kEvery;
  while (count > 0) {
    const uint64_t next = all ? std::min(count, 2 * in_flight()) : count;
    if (const Status done = stretch(next, durations, window_ns); !done) return done;
    count -= next;
  }
  return {};
}

}  // namespace plumbline
