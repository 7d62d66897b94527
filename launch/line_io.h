// Bytes on their way between processes: lines cut out of a stream without trusting its length, what
// child processes write handed on line by line, our standard input on its way to guards, in frames;
// descriptors that are non-blocking for a while, and writes to a reader that has gone.
#pragma once

#include <poll.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/fd.h"

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

// One pipe of a child, which does not block. One thread.
class LineSource {
 public:
  // A line of more than `longest` bytes is handed on in parts.
  LineSource(Fd pipe, size_t longest, std::function<void(const std::string& line)> say)
      : pipe_(std::move(pipe)), longest_(longest), say_(std::move(say)) {}
  // For poll(2); -1 = it has ended.
  int fd() const { return pipe_.get(); }
  // Hands on what has come, up to a share that leaves others their turn.
  void read();
  // Hands on what is there of a line that has not ended.
  void end();

 private:
  bool read_some();

  Fd pipe_;
  size_t longest_;
  std::function<void(const std::string& line)> say_;
  std::string text_;  // of a line that has not ended yet
};

// What they write to standard error, handed on by a thread that only waits for it, so that a child
// never blocks on a full pipe and its words come at once.
class ErrorLines {
 public:
  // `say` is called from the thread.
  ErrorLines(std::vector<Fd> pipes, const std::function<void(const std::string& line)>& say);
  // Hands on what has come until now. (A pipe may stay open for longer: ssh's shared connection
  // holds that of the command which opened it.)
  ~ErrorLines();
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;

 private:
  void run();

  std::vector<LineSource> sources_;
  std::atomic<bool> stop_{false};
  std::thread thread_;  // last: it uses all of the above
};

// Our standard input on its way to the guards of those ranks that get it: frames of bytes on the
// connection that also says that the asker is still there. An empty line says only that; "d N" is
// followed by N bytes of input; "e" is its end. No more is read than all guards have taken, so that
// a program that does not read slows down whoever writes, and nothing piles up here.
//
inline constexpr size_t kMostFrameBytes = 1 << 20;

std::string input_frame(std::string_view bytes);  // at most kMostFrameBytes
std::string end_of_input_frame();

// The guard's end. Pure.
class InputFrames {
 public:
  // What arrived. false: it is no frame, and nothing more is taken.
  bool feed(std::string_view bytes);
  // The input so far that nobody has taken; take from the front with erase().
  std::string& input() { return input_; }
  const std::string& input() const { return input_; }
  bool ended() const { return ended_; }

 private:
  bool take_line();
  std::string line_, input_;
  size_t rest_ = 0;  // bytes of the frame that are still to come
  bool ended_ = false, nonsense_ = false;
};

// The asking end. One thread.
class InputFeed {
 public:
  // `from` is neither closed nor made non-blocking.
  explicit InputFeed(int from) : from_(from) {}

  // The non-blocking connection to a guard whose order says takes_input. Not owned.
  void add(int to) { ways_.push_back({to, {}}); }
  void drop(int to);
  // What poll(2) is to wait for.
  void want(std::vector<pollfd>& entries) const;
  // Moves what can be moved at once.
  void move();
  // A frame is on its way there: nothing may come between its bytes, and it says that we live.
  bool busy(int to) const;

 private:
  struct Way {
    int to;
    std::string rest;  // what the connection has not taken yet
  };
  bool wants_more() const;
  bool read_some();
  void write_rest();

  int from_;  // -1: it has ended
  std::vector<Way> ways_;
};

}  // namespace plumbline
