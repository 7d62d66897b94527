// Loss of one direction, measured without TCP: the sender puts small numbered datagrams on the way
// at a steady pace, the receiver counts the distinct numbers that come. What is missing got lost
// between the two sockets, in this direction, whatever dropped it: TCP takes a drop on the own
// egress for a full queue and never counts it as a retransmission. A datagram counts only when it
// carries the receiver's token of 64 random bits; strangers are ignored. Datagrams that a busy
// receiver's socket had no room for are told apart, by the socket's own count of drops. Count,
// size, time and sockets are bounded. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "probes/actions/ends.h"
#include "probes/actions/listener.h"
#include "probes/evidence.h"

namespace plumbline {

constexpr int64_t kMaxDatagrams = 100'000;  // of one stream
constexpr size_t kMaxDatagramSockets = 64;  // open at one agent

struct DatagramSettings {
  std::string token;  // the receiver's
  int64_t count = 300;
  int64_t rate_per_s = 1250;
};
// `sent` counts what was handed to the system, `refused` what of it the system turned away (its own
// filter, a full queue). `received` is the receiver's to tell.
DatagramEvidence send_datagrams(const PairEnds& ends, const DatagramSettings& settings,
                                const AgentCall& call);

// The receiving end: sockets on ports that the system chose, each read by a thread of its own.
class DatagramHub {
 public:
  struct Opened {
    int port = 0;
    std::string token;
  };
  struct Counted {
    int64_t received = 0, duplicates = 0, strangers = 0;
    int64_t overflow = 0;  // came to the socket and found no room in it
  };

  DatagramHub() = default;
  ~DatagramHub() = default;
  DatagramHub(const DatagramHub&) = delete;
  DatagramHub& operator=(const DatagramHub&) = delete;

  // Opens a socket that counts until it is closed, `keep_ms` at most. kUsage for an id that is
  // open already, or when too many are.
  Expected<Opened> open(const std::string& id, const ListenAddress& at, int64_t keep_ms);
  // Waits until all `expected` have come or none came for `settle_ms`, then closes. kUsage for an
  // unknown id.
  Expected<Counted> close(const std::string& id, int64_t expected, int64_t settle_ms,
                          const AgentCall& call);

 private:
  class Counter;
  std::shared_ptr<Counter> take(const std::string& id);

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Counter>> counters_;
};

}  // namespace plumbline
