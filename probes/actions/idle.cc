#include "probes/actions/idle.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "core/clock.h"
#include "probes/actions/connector.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/text.h"
#include "transport/traffic/round_trip.h"

namespace plumbline {
namespace {

int errno_of(const Error& error) {
  if (error.sys_errno != 0) return error.sys_errno;
  return error.code == ErrorCode::kPeerLost ? ECONNRESET : ETIMEDOUT;
}

}  // namespace

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
  std::string message(kEchoBytes, '\0');
  const auto used = [&] {
    return round_trip(fd->get(), message, patience_of(within(call, patience_ns)));
  };
  if (const auto before = used(); !before) {
    const std::string why = errno_name(errno_of(before.error()));
    out.error = "it did not work before the pause either: " + why;
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
  const auto after = used();
  out.took_ns = monotonic_ns() - began_ns;
  if (after) {
    out.result = "connected";
    out.answer = "ours";
    return out;
  }
  const int err = errno_of(after.error());
  out.error = errno_name(err);
  out.result = connect_result(err, false);
  if (ended && out.result == "timeout") out.result = "closed";
  close_hard(*fd);
  return out;
}

}  // namespace plumbline
