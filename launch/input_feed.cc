#include "launch/input_feed.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "launch/input_frames.h"

namespace plumbline {

void InputFeed::drop(int to) {
  std::erase_if(ways_, [to](const Way& way) { return way.to == to; });
}

bool InputFeed::busy(int to) const {
  return std::any_of(ways_.begin(), ways_.end(),
                     [to](const Way& way) { return way.to == to && !way.rest.empty(); });
}

// A process in the background that reads its terminal is stopped by the kernel.
bool InputFeed::wants_more() const {
  const bool idle =
      std::all_of(ways_.begin(), ways_.end(), [](const Way& way) { return way.rest.empty(); });
  if (from_ < 0 || ways_.empty() || !idle) return false;
  return isatty(from_) == 0 || tcgetpgrp(from_) == getpgrp();
}

void InputFeed::want(std::vector<pollfd>& entries) const {
  if (wants_more()) entries.push_back({from_, POLLIN, 0});
  for (const Way& way : ways_) {
    if (!way.rest.empty()) entries.push_back({way.to, POLLOUT, 0});
  }
}

void InputFeed::move() {
  write_rest();
  if (wants_more() && read_some()) write_rest();
}

bool InputFeed::read_some() {
  pollfd entry{from_, POLLIN, 0};
  if (poll(&entry, 1, 0) <= 0) return false;
  std::array<char, 65536> chunk;
  const ssize_t n = ::read(from_, chunk.data(), chunk.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  const std::string frame =
      n > 0 ? input_frame({chunk.data(), static_cast<size_t>(n)}) : end_of_input_frame();
  for (Way& way : ways_) way.rest = frame;
  if (n <= 0) from_ = -1;
  return true;
}

void InputFeed::write_rest() {
  for (Way& way : ways_) {
    while (!way.rest.empty()) {
      const ssize_t n = ::write(way.to, way.rest.data(), way.rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n < 0) way.rest.clear();  // its end is seen elsewhere
      if (n > 0) way.rest.erase(0, static_cast<size_t>(n));
    }
  }
}

}  // namespace plumbline
