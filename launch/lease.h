// How two ends learn that the other has gone where a network that died tells nobody: whoever asks
// says something every kAliveEveryNs, and whoever serves ends when it has heard nothing for
// kLeaseS. Agents, ranks and guards behind ssh serve so.
#pragma once

#include "core/clock.h"

namespace plumbline {

inline constexpr int64_t kAliveEveryNs = 2 * kSecond;
// Longer than ssh itself takes to notice a dead network (launch/ssh.cc), so that its words come
// first.
inline constexpr int kLeaseS = 10;

// The serving end. One thread.
class Lease {
 public:
  // 0 = it never ends.
  explicit Lease(int64_t ms) : ms_(ms) { heard(); }
  void heard() { end_ = ms_ > 0 ? Deadline::after_ms(ms_) : Deadline::never(); }
  bool over() const { return end_.passed(); }
  // For poll(2).
  int poll_timeout_ms(int cap_ms) const { return end_.poll_timeout_ms(cap_ms); }

 private:
  int64_t ms_;
  Deadline end_ = Deadline::never();
};

}  // namespace plumbline
