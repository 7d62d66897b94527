#include "transport/control/poll_set.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace plumbline {

size_t PollSet::add(int fd, short events) {
  entries_.push_back(pollfd{fd, events, 0});
  return entries_.size() - 1;
}

void PollSet::wait(int timeout_ms) {
  const int ready = ::poll(entries_.data(), static_cast<nfds_t>(entries_.size()), timeout_ms);
  if (ready < 0) {  // EINTR: nothing is known of any entry
    for (pollfd& entry : entries_) entry.revents = 0;
  }
}

Expected<WakePipe> WakePipe::open() {
  int ends[2];
  if (::pipe(ends) != 0) return fail_errno(ErrorCode::kSystem, "pipe", errno);
  WakePipe pipe;
  pipe.read_.reset(ends[0]);
  pipe.write_.reset(ends[1]);
  for (const int fd : ends) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
      return fail_errno(ErrorCode::kSystem, "fcntl on a pipe", errno);
    }
  }
  return pipe;
}

void WakePipe::signal() const {
  const char byte = 0;
  // A full pipe is as awake as can be.
  [[maybe_unused]] const ssize_t done = ::write(write_.get(), &byte, 1);
}

void WakePipe::drain() const {
  std::array<char, 256> bytes;
  while (::read(read_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace plumbline
