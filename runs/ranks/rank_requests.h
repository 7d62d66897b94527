// The line of a rank to its coordinator: requests come in on a thread of their own, answers go out.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "launch/process.h"
#include "runs/ranks/protocol.h"
#include "runs/ranks/rank_loop.h"
#include "transport/transports.h"

namespace plumbline {

// As the coordinator resolved them.
OptionSet options_of(const SetupMessage& setup);

// The group that this rank is in or is making, as far as the coordinator may want it ended while
// the rank's own thread waits in it. Thread-safe.
class CurrentGroup {
 public:
  // Another group is asked for: what was said before concerned the one before.
  void ask() {
    const std::scoped_lock lock(mutex_);
    control_.reset();
    given_up_.reset();
  }
  void started(const std::shared_ptr<ControlPlane>& control) {
    const std::scoped_lock lock(mutex_);
    control_ = control;
    if (given_up_) control->give_up(*given_up_);
  }
  void give_up(const Error& error) {
    const std::scoped_lock lock(mutex_);
    given_up_ = error;
    if (const auto control = control_.lock()) control->give_up(error);
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<ControlPlane> control_;
  std::optional<Error> given_up_;
};

// The way back to the coordinator. Thread-safe: lines stay whole.
class RankReplies {
 public:
  explicit RankReplies(int to) : to_(to) {}
  void send(const Message& message);

 private:
  const int to_;
  std::mutex mutex_;
};

// Reads requests on its own thread, so that an interrupt or the end of the input is noticed during
// an operation. Until there is a group whose ranks hear one another, that thread tells the
// coordinator now and then that this one lives.
class RankRequests {
 public:
  RankRequests(const RankLine& line, RankReplies& answers)
      : line_(line), answers_(answers), lease_(line.lease_ms), reader_([this] { read(); }) {}
  // Once next() has told the end.
  ~RankRequests() { reader_.join(); }
  RankRequests(const RankRequests&) = delete;
  RankRequests& operator=(const RankRequests&) = delete;
  CurrentGroup& group() { return group_; }

  // Nothing when it is over: then status() tells how.
  std::optional<Message> next();
  int status() const { return status_.value_or(line_.lost_status); }
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

 private:
  void read();
  void end(int status, const std::string& why);
  bool wait_for_input();
  bool take(const std::string& line);

  const RankLine line_;
  RankReplies& answers_;
  int beat_ms_ = 0;  // between two beats; 0 = none
  Deadline next_beat_ = Deadline::after_ns(0);
  Lease lease_;
  CurrentGroup group_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> queue_;
  bool busy_ = false;          // with what next() gave
  std::optional<int> status_;  // it is over
  std::atomic<bool> interrupted_{false};
  std::thread reader_;
};

}  // namespace plumbline
