#include "transport/traffic/round_trip.h"

#include <algorithm>

namespace plumbline {

Expected<int64_t> round_trip(int fd, std::string& message, const Patience& patience) {
  const int64_t start = monotonic_ns();
  Status done = send_all(fd, message.data(), message.size(), patience);
  if (done) done = receive_all(fd, message.data(), message.size(), patience);
  if (!done) return fail(done.error());
  return monotonic_ns() - start;
}

Status echo_messages(int fd, const EchoSettings& settings, const Patience& patience) {
  std::string message(settings.bytes, '\0'), early = settings.early;
  const bool forever = settings.silence_ns == INT64_MAX;
  while (true) {
    const size_t had = early.copy(message.data(), message.size());
    early.erase(0, had);
    const Status came = receive_all(fd, message.data() + had, message.size() - had,
                                    forever ? patience : patience.within(settings.silence_ns));
    if (!came || (settings.heeds_last && message.front() == kLastMessage)) return came;
    const Status back = send_all(fd, message.data(), message.size(), patience);
    if (!back) return back;
  }
}

}  // namespace plumbline
