#include "probes/actions/idle.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.h"
#include "probes/actions/connector.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/stream.h"
#include "probes/actions/text.h"

namespace plumbline {

PortTry try_after_idle(const PairEnds& ends, const IdleSettings& settings, const AgentCall& call) {
  PortTry out;
  out.port = ends.to.port();
  const int64_t idle_ms = std::clamp<int64_t>(settings.idle_ms, 1, kMaxIdleMs);
  const int64_t patience_ns = std::max<int64_t>(1, settings.timeout_ms) * kMillisecond;
  auto fd = open_service(ends, "idle", idle_ms, within(call, patience_ns));
  if (!fd) {
    out.error = fd.error().message();
    return out;
  }
  int err = 0;
  if (!echo_once(fd->get(), within(call, patience_ns), err)) {
    out.error = "it did not work before the pause either: " + errno_name(err);
    close_hard(*fd);
    return out;
  }
  // Whatever comes now is its end: nobody has anything to say.
  const bool ended = wait_for(fd->get(), POLLIN, within(call, idle_ms * kMillisecond));
  if (over(call)) {
    out.error = "no time was left";
    close_hard(*fd);
    return out;
  }
  const int64_t began_ns = monotonic_ns();
  const bool well = echo_once(fd->get(), within(call, patience_ns), err);
  out.took_ns = monotonic_ns() - began_ns;
  if (well) {
    out.result = "connected";
    out.answer = "ours";
    return out;
  }
  out.error = errno_name(err);
  out.result = connect_result(err, false);
  if (ended && out.result == "timeout") out.result = "closed";
  close_hard(*fd);
  return out;
}

}  // namespace plumbline
