// The sending end of one stream over a TCP connection: zeros for a time, as fast as the connection
// takes them or in messages at a steady pace. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "transport/traffic/pace.h"
#include "transport/traffic/patience.h"

namespace plumbline {

struct StreamLoad {
  Deadline until = Deadline::never();
  int64_t bytes = INT64_MAX;  // ends earlier, after so many
  size_t block = 256 << 10;   // bytes per write
  int64_t message_bytes = 0;  // not 0: messages of this size, at most `block`,
  int64_t gap_ns = 0;         // one in each gap
  int message_flags = 0;      // of send(2), beside the usual ones, for messages
};

class StreamSource {
 public:
  // The pace counts from now.
  StreamSource(int fd, const StreamLoad& load);

  bool done() const { return load_.until.passed() || sent_ >= load_.bytes; }
  int64_t sent() const { return sent_; }
  // Sends once, of what is due; false = the connection takes nothing now.
  Expected<bool> step();
  // Until it is done or the patience is over, neither of which is an error. `each` is called after
  // every step, and waits end for `events` of poll(2) too.
  Status run(const Patience& patience, const std::function<Status()>& each = {}, short events = 0);

 private:
  int fd_;
  StreamLoad load_;
  std::vector<char> zeros_;
  Pace pace_;
  int64_t sent_ = 0, unsent_ = 0;  // unsent_: of the message under way
};

}  // namespace plumbline
