// What both ends of an agent's pipes need: cutting a stream of bytes into lines without trusting
// its length, descriptors that are non-blocking for a while, and writes to a reader that has gone.
#pragma once

#include <csignal>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

// Bytes in, lines out. A line longer than `max_bytes` is dropped as it comes, so that gigabytes
// without a newline cost no memory; overlong() counts them. One thread.
class LineBuffer {
 public:
  explicit LineBuffer(size_t max_bytes) : max_bytes_(max_bytes) {}
  void feed(std::string_view bytes);
  // Next whole line, without its newline; nothing when none is there yet.
  std::optional<std::string> next();
  int overlong() const { return overlong_; }
  // The beginning of what could not be read as a line, for messages.
  const std::string& overlong_text() const { return overlong_text_; }

 private:
  void drop(std::string_view text);
  size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // of the next line in buffer_
  size_t scanned_ = 0;  // no newline between begin_ and here
  bool dropping_ = false;
  int overlong_ = 0;
  std::string overlong_text_;
};

// Reads once from a descriptor that blocks; false = the other end has closed, or reading failed.
bool feed_from(int fd, LineBuffer& lines);
// All of it, to a descriptor that blocks; false with errno.
bool write_all(int fd, std::string_view bytes);

// Sets O_NONBLOCK, and puts the descriptor back as it was: it may be shared with a terminal.
class NonBlocking {
 public:
  explicit NonBlocking(int fd);
  ~NonBlocking();
  NonBlocking(const NonBlocking&) = delete;
  NonBlocking& operator=(const NonBlocking&) = delete;

 private:
  int fd_, flags_;
};

// While it lives, writing to a pipe without a reader gives EPIPE in this thread and no SIGPIPE.
// (MSG_NOSIGNAL does that for sockets only.)
class NoSigpipe {
 public:
  NoSigpipe();
  ~NoSigpipe();
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  bool blocked_here_ = false;
};

}  // namespace plumbline
