// When the next one is due of what is sent at a steady pace. One thread.
#pragma once

#include <cstdint>

namespace plumbline {

class Pace {
 public:
  // One every `gap_ns`, from now on. After a late wake at most `most_behind` follow at once and the
  // rest is given up, so that the burst does not overrun what a steady flow would not.
  Pace(int64_t gap_ns, int most_behind);

  int64_t due_ns() const { return due_ns_; }
  // Sleeps until the next is due, but only some milliseconds: whether it is now. (poll(2) counts in
  // milliseconds, and messages come closer than that.)
  bool wait() const;
  // It was sent.
  void next();

 private:
  int64_t gap_ns_, behind_ns_, due_ns_;
};

}  // namespace plumbline
