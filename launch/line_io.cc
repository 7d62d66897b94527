#include "launch/line_io.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>

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

bool feed_from(int fd, LineBuffer& lines) {
  std::array<char, 65536> chunk;
  ssize_t n = 0;
  do n = ::read(fd, chunk.data(), chunk.size());
  while (n < 0 && errno == EINTR);
  if (n > 0) lines.feed({chunk.data(), static_cast<size_t>(n)});
  return n > 0;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
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
