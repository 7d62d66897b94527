// The descriptors of one poll(2) round, and a pipe with which other threads end its sleep. Portable
// on purpose (no epoll, no kqueue): the control thread watches a few dozen descriptors and sleeps.
#pragma once

#include <poll.h>

#include <cstddef>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// One thread.
class PollSet {
 public:
  static constexpr size_t kNotAdded = static_cast<size_t>(-1);

  void clear() { entries_.clear(); }
  // Returns the index for fired().
  size_t add(int fd, short events);
  // Sleeps until something happens or the time has passed (milliseconds, 0 = look only).
  void wait(int timeout_ms);
  // Something happened to that entry; what was not added counts as ready, to be tried.
  bool fired(size_t index) const {
    return index >= entries_.size() || entries_[index].revents != 0;
  }

 private:
  std::vector<pollfd> entries_;
};

// Thread-safe.
class WakePipe {
 public:
  static Expected<WakePipe> open();
  void signal() const;  // makes read_fd() readable; one system call
  void drain() const;   // makes it unreadable again
  int read_fd() const { return read_.get(); }

 private:
  Fd read_, write_;
};

}  // namespace plumbline
