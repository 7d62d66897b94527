// Bytes over one non-blocking socket, with a patience: how long a wait may last, and what ends it
// before that. What probes and link cells send stands on these; the data path of collectives does
// not (channel/). Every failure is kTimeout (the deadline), kAborted (whatever it was for has
// ended), kPeerLost (the other end closed) or what the system said. Thread-safe functions; a socket
// belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/clock.h"
#include "core/error.h"

namespace plumbline {

struct Patience {
  Deadline deadline = Deadline::never();
  std::function<bool()> ended = {};  // give up now? Callable from any thread; empty = never
  int64_t spin_ns = 0;               // how long to try before sleeping in poll(2)
  bool yield = false;                // give the core away between these tries

  bool over() const { return deadline.passed() || (ended && ended()); }
  // The same with this deadline, or with one that is `ns` away at the most.
  Patience until(Deadline later) const { return {later, ended, spin_ns, yield}; }
  Patience within(int64_t ns) const;
};

// The call would have had to wait: nothing is wrong.
bool would_wait(int err);

// Waits for `events` of poll(2), or an end of the connection.
Status await_ready(int fd, short events, const Patience& patience);
// Exactly `count` bytes.
Status send_all(int fd, const void* bytes, size_t count, const Patience& patience);
Status receive_all(int fd, void* bytes, size_t count, const Patience& patience);
// What is there, waiting for it; 0 = the other end has ended its direction.
Expected<size_t> receive_some(int fd, void* bytes, size_t count, const Patience& patience);
// The same without waiting; nullopt = nothing is there.
Expected<std::optional<size_t>> receive_now(int fd, void* bytes, size_t count);

}  // namespace plumbline
