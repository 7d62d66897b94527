// What the control thread of a rank shares with the rank's own thread: the first failure, what is
// known of each peer, data connections on their way from the one to the other, and requests in the
// opposite direction. Every method is thread-safe; failed() is one atomic load.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "transport/control/control_link.h"
#include "transport/control/poll_set.h"

namespace plumbline {

// How far the connections to one peer are.
struct PeerProgress {
  bool linked = false;      // the control connection stands, both ways
  size_t streams = 1;       // data connections that there shall be
  size_t streams_left = 0;  // that do not stand; 0 = complete, or handed over
  std::string note;         // what the last try was answered, or who was refused
};

// What the rank's thread wants of the control thread.
struct ControlRequests {
  bool stop = false;
  std::vector<int> connect;                       // data connections wanted now
  std::vector<std::pair<int, uint64_t>> queries;  // peer, id
};

class ControlState {
 public:
  // The origin of a failure that the coordinator told of, not a rank.
  static constexpr int kCoordinator = -1;

  // `apart`: by peer, who is never connected with this rank; empty = nobody. `streams`: by peer,
  // how many data connections there shall be; empty = one each.
  static Expected<std::unique_ptr<ControlState>> create(int rank, int size,
                                                        const std::vector<bool>& apart = {},
                                                        const std::vector<size_t>& streams = {},
                                                        int64_t heartbeat_ns = kSecond);

  // --- failure ---
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // As this rank should see it: a fault that another rank found says so.
  Error failure() const;
  // As it is told to other ranks.
  ControlAbort abort_message() const;
  // The first one stays; wakes everybody.
  void fail(int origin, const Error& error);
  int failed_fd() const { return failed_pipe_.read_fd(); }

  // --- peers; called by the control thread ---
  void heard(int peer, const RankStatus& status);
  void answered(int peer, ControlAnswer answer);
  // In order, or lost: no more answers will come.
  void left(int peer) {
    change(peer, [](Peer& p) { p.left = true; });
  }
  void note(int peer, std::string text);
  // The handshake found out; both sides know why.
  void disagrees(int peer) {
    change(peer, [](Peer& p) { p.disagrees = true; });
  }
  int64_t heard_ns(int peer) const { return read(peer, &Peer::heard_ns); }  // 0 = never
  bool is_linked(int peer) const { return read(peer, &Peer::linked); }
  size_t streams(int peer) const;
  // Forgets a connection that died before anybody took it. `stream` < streams(peer).
  bool has_data(int peer, size_t stream);
  void deliver_data(int peer, size_t stream, Fd connection);
  void data_failed(int peer, const Error& error) {
    change(peer, [&](Peer& p) { p.data_error = error; });
  }
  ControlRequests take_requests();
  const WakePipe& wake_pipe() const { return wake_; }

  // --- called by the rank's thread ---
  // Waits until every control connection stands, and every data connection when `with_data`;
  // false when the deadline passed or the group failed before that.
  bool wait_connected(bool with_data, Deadline deadline);
  // After a failure of this rank's own: waits until every peer has been told or disagrees anyway.
  void wait_told(Deadline deadline);
  void set_established() { established_.store(true); }
  bool established() const { return established_.load(); }
  std::vector<PeerProgress> progress();
  // All data connections to the peer, in order.
  Expected<std::vector<Fd>> take_data(int peer, Deadline deadline);
  RankStatus query(int peer, Deadline deadline, std::vector<FlightEntry>* recorder);
  void request_stop();

 private:
  struct Peer {
    bool linked = false, left = false, disagrees = false, apart = false;
    RankStatus status;
    int64_t heard_ns = 0;
    uint64_t answered = 0;  // newest query that it answered
    std::vector<FlightEntry> recorder;
    std::vector<Fd> data = std::vector<Fd>(1);  // by stream; empty ones do not stand yet
    bool data_taken = false;
    std::optional<Error> data_error;
    std::string note;

    size_t streams_left() const;
  };

  ControlState(int rank, int size, int64_t heartbeat_ns, WakePipe wake, WakePipe failed);
  Peer& at(int peer) { return peers_[static_cast<size_t>(peer)]; }
  const Peer& at(int peer) const { return peers_[static_cast<size_t>(peer)]; }
  // Changes what is known of a peer and wakes everybody who waits for that.
  template <typename Apply>
  void change(int peer, const Apply& apply) {
    {
      const std::lock_guard lock(mutex_);
      apply(at(peer));
    }
    changed_.notify_all();
  }
  template <typename Value>
  Value read(int peer, Value Peer::*what) const {
    const std::lock_guard lock(mutex_);
    return at(peer).*what;
  }
  // Waits on changed_ until `done()` holds or the deadline passes.
  template <typename Done>
  void wait_until(std::unique_lock<std::mutex>& lock, Deadline deadline, const Done& done);
  // The same, or the group fails.
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, Deadline deadline, const Done& done);

  const int rank_;
  const int64_t heartbeat_ns_;
  const WakePipe wake_, failed_pipe_;
  std::atomic<bool> failed_{false}, established_{false};
  mutable std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  ControlAbort failure_;
  std::vector<Peer> peers_;
  ControlRequests requests_;
  uint64_t last_query_ = 0;
};

}  // namespace plumbline
