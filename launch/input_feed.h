// Our standard input on its way to the guards of those ranks that get it. No more is read than all
// of them have taken, so that a program that does not read slows down whoever writes, and nothing
// piles up here. One thread.
#pragma once

#include <poll.h>

#include <string>
#include <vector>

namespace plumbline {

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
