#include "probes/actions/burst.h"

#include <poll.h>

#include <algorithm>
#include <vector>

#include "core/clock.h"
#include "probes/actions/tcp_progress.h"

namespace plumbline {
namespace {

constexpr int kSliceMs = 20;

// Until every attempt has ended one way or the other, or the time is over.
void wait_for_all(const std::vector<Fd>& sockets, const AgentCall& call) {
  std::vector<pollfd> waiting;
  for (const Fd& socket : sockets) waiting.push_back({socket.get(), POLLOUT, 0});
  while (!waiting.empty() && !over(call)) {
    ::poll(waiting.data(), static_cast<nfds_t>(waiting.size()),
           call.deadline.poll_timeout_ms(kSliceMs));
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                 [](const pollfd& item) { return item.revents != 0; }),
                  waiting.end());
  }
}

}  // namespace

Expected<BurstResult> connect_burst(const PairEnds& ends, int attempts, int64_t timeout_ms,
                                    const AgentCall& call) {
  const auto before = read_counters();
  if (!before) return fail(before.error());
  BurstResult out;
  std::vector<Fd> sockets;
  for (int i = 0; i < std::clamp(attempts, 1, kMaxBurst) && !over(call); ++i) {
    StartedConnect started = start_probe_connect(ends, ends.to.port());
    if (started.before_connect) continue;
    // Without a route nothing was produced; a refusal may come before connect returns.
    if (started.err == 0 || started.err == ECONNREFUSED) sockets.push_back(std::move(started.fd));
  }
  const int64_t ns = std::clamp<int64_t>(timeout_ms, 1, 60'000) * kMillisecond;
  wait_for_all(sockets, within(call, ns));
  for (Fd& socket : sockets) {
    out.attempts += static_cast<int>(syns_sent(socket.get()));
    close_hard(socket);
  }
  const auto after = read_counters();
  if (!after) return fail(after.error());
  out.counters = counters_difference(*before, *after);
  return out;
}

}  // namespace plumbline
