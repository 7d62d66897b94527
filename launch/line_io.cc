#include "launch/line_io.h"

#include <fcntl.h>
#include <pthread.h>

namespace plumbline {

void LineBuffer::drop(std::string_view text) {
  constexpr size_t kShown = 200;
  ++overlong_;
  overlong_text_ = text.substr(0, kShown);
}

void LineBuffer::feed(std::string_view bytes) {
  if (dropping_) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return;
    dropping_ = false;
    bytes.remove_prefix(end + 1);
  }
  buffer_.append(bytes);
}

std::optional<std::string> LineBuffer::next() {
  while (true) {
    const size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    if (line.size() <= max_bytes_) return std::string(line);
    drop(line);
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  scanned_ = buffer_.size();
  if (buffer_.size() > max_bytes_) {
    drop(buffer_);
    buffer_ = std::string();
    scanned_ = 0;
    dropping_ = true;
  }
  return std::nullopt;
}

NonBlocking::NonBlocking(int fd) : fd_(fd), flags_(fcntl(fd, F_GETFL)) {
  if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_ | O_NONBLOCK);
}

NonBlocking::~NonBlocking() {
  if (flags_ >= 0) fcntl(fd_, F_SETFL, flags_);
}

NoSigpipe::NoSigpipe() {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  blocked_here_ = sigismember(&before, SIGPIPE) == 0;
}

NoSigpipe::~NoSigpipe() {
  if (!blocked_here_) return;
  sigset_t pipe_signal, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  // One that waits would strike as soon as it is let through.
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1) {
    int taken = 0;
    sigwait(&pipe_signal, &taken);
  }
  pthread_sigmask(SIG_UNBLOCK, &pipe_signal, nullptr);
}

}  // namespace plumbline
