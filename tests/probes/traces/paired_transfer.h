// A TCP transfer as two hosts' captures would show it, with packets lost at a chosen place, and
// both files cut at either end: small enough to be made thousands of times, and it is known what
// became of every packet. 10.0.0.1 (a) sends, 10.0.0.2 (b) acknowledges; beside it b sends
// something to a, and nothing of that is lost.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <vector>

#include "tests/probes/traces/packets.h"

namespace plumbline {

enum class LostAt { kNowhere, kBetween, kReceiver, kSender };

struct PairShape {
  LostAt lost = LostAt::kNowhere;
  bool marked = true;   // packets carry IP ids and time stamps, as those of real systems do
  int hops = 0;         // routers on the way
  bool joined = false;  // a's capture shows segments joined, as with segmentation offload
  int64_t skew_us = 0;  // b's clock minus a's, at the beginning
  int64_t drift_ppm = 0;
};

// What becomes of one packet, by a's clock; -1 = it never came there.
struct Transmission {
  bool from_a = true;
  int64_t sent_us = -1, arrived_us = -1;  // at the two wires
  Tcp tcp;
  bool planted = false, first = true;  // lost on purpose; not sent before
  int64_t meant_us = 0;                // when it left, or would have left
};

class PairedTransfer {
 public:
  static constexpr int64_t kSegments = 400, kEveryUs = 2000, kSize = 100;
  static constexpr int64_t kDelayUs = 200, kJitterUs = 150, kTimeoutUs = 260'000;
  static constexpr int64_t kPlantEvery = 29;

  explicit PairedTransfer(const PairShape& shape) : shape_(shape), random_(1) {
    handshake();
    for (int64_t i = 0; i < kSegments; ++i) {  // two at a time
      at(10'000 + i / 2 * 2 * kEveryUs + i % 2 * 5, Event::kSend, i);
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      act(event);
    }
    other_flow();
    std::stable_sort(sent_.begin(), sent_.end(), [](const auto& one, const auto& other) {
      return one.meant_us < other.meant_us;
    });
    for (const bool at_a : {true, false}) look(at_a);
  }

  const std::vector<Transmission>& all() const { return sent_; }
  // A packet at one host's wire, by a's clock.
  struct Seen {
    int64_t at_us = 0;
    Tcp tcp;
    ByteString frame;
  };
  const std::vector<Seen>& seen(bool at_a) const { return seen_[at_a ? 0 : 1]; }
  int64_t b_clock(int64_t at_us) const {
    return at_us + shape_.skew_us + at_us * shape_.drift_ppm / 1'000'000;
  }

 private:
  struct Event {
    enum Kind { kSend, kArrive, kAck, kTimeout } kind;
    int64_t at_us = 0, what = 0;  // segment, or the number of an acknowledgement
    bool operator<(const Event& other) const { return at_us > other.at_us; }
  };

  void at(int64_t at_us, Event::Kind kind, int64_t what) { events_.push({kind, at_us, what}); }
  // Packets keep their order.
  int64_t arrival(bool from_a, int64_t at_us) {
    int64_t& last = last_arrival_[from_a ? 0 : 1];
    last =
        std::max(last + 1, at_us + kDelayUs +
                               static_cast<int64_t>(random_() % static_cast<uint32_t>(kJitterUs)));
    return last;
  }
  Transmission& put(int64_t at_us, bool from_a, Tcp tcp) {
    tcp.from_a = from_a;
    if (shape_.marked) {
      tcp.id = ++ids_[from_a ? 0 : 1];
      ByteString stamp = {1, 1, 8, 10};
      put32(stamp, static_cast<uint32_t>(at_us / 1000 + 77));
      put32(stamp, 0);
      tcp.options = stamp;
    }
    sent_.push_back({from_a, at_us, arrival(from_a, at_us), tcp, false, true, at_us});
    return sent_.back();
  }

  void look(bool at_a) {
    std::vector<Seen>& seen = seen_[at_a ? 0 : 1];
    for (const Transmission& packet : sent_) {
      const bool own = packet.from_a == at_a;
      const int64_t at_us = own ? packet.sent_us : packet.arrived_us;
      if (at_us < 0) continue;
      Tcp tcp = packet.tcp;
      tcp.ttl = own ? 64 : 64 - shape_.hops;
      if (!seen.empty() && at_a && own && joins(seen.back().tcp, tcp)) {
        seen.back().tcp.payload += tcp.payload;
        continue;
      }
      seen.push_back({at_us, tcp, {}});
    }
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Seen& one, const Seen& other) { return one.at_us < other.at_us; });
    for (Seen& packet : seen) packet.frame = ethernet(packet.tcp);
  }
  // Two segments that are one packet with segmentation offload.
  bool joins(const Tcp& last, const Tcp& next) const {
    return shape_.joined && last.from_a && next.payload > 0 && last.payload == next.payload &&
           last.a_port == next.a_port && last.seq + static_cast<uint32_t>(last.payload) == next.seq;
  }

  void handshake() {
    put(0, true, {.flags = kS, .seq = 999});
    put(1000, false, {.flags = kS | kA, .seq = 4999, .ack = 1000});
    put(2000, true, {.seq = 1000, .ack = 5000});
  }

  void act(const Event& event) {
    switch (event.kind) {
      case Event::kSend:
        send(event.at_us, event.what);
        break;
      case Event::kArrive:
        receive(event.at_us, event.what);
        break;
      case Event::kAck:
        hear(event.at_us, event.what);
        break;
      case Event::kTimeout:
        if (acked_ == event.what) send(event.at_us, event.what);
        break;
    }
  }

  // Every 29th segment is lost at its first sending, every third of these at the second, too.
  void send(int64_t at_us, int64_t segment) {
    const int times = times_[segment]++;
    Transmission& packet = put(at_us, true,
                               {.seq = static_cast<uint32_t>(1000 + segment * kSize),
                                .ack = 5000,
                                .payload = static_cast<int>(kSize)});
    packet.first = times == 0;
    const bool lost = shape_.lost != LostAt::kNowhere && segment % kPlantEvery == 13 &&
                      times < (segment / kPlantEvery % 3 == 2 ? 2 : 1);
    if (times > 0 || lost) at(at_us + kTimeoutUs, Event::kTimeout, segment);
    if (!lost) return at(packet.arrived_us, Event::kArrive, segment);
    packet.planted = true;
    if (shape_.lost == LostAt::kBetween) packet.arrived_us = -1;
    if (shape_.lost == LostAt::kSender) packet.sent_us = packet.arrived_us = -1;
  }

  void receive(int64_t at_us, int64_t segment) {
    received_.insert(segment);
    while (received_.count(expected_) > 0) ++expected_;
    const Transmission& packet = put(
        at_us + 20, false, {.seq = 5000, .ack = static_cast<uint32_t>(1000 + expected_ * kSize)});
    at(packet.arrived_us, Event::kAck, expected_);
  }

  void hear(int64_t at_us, int64_t acked) {
    duplicates_ = acked == acked_ ? duplicates_ + 1 : 0;
    acked_ = std::max(acked_, acked);
    if (duplicates_ == 3 && times_[acked] == 1) send(at_us + 10, acked);
  }

  void other_flow() {
    uint32_t seq = 70'000;
    for (int64_t i = 0; i < kSegments / 4; ++i) {
      const int64_t at_us = 11'000 + i * 4 * kEveryUs;
      last_arrival_ = {0, 0};
      Tcp data{.seq = seq, .ack = 90'000, .payload = 300};
      data.a_port = 5000;
      const int64_t there = put(at_us, false, data).arrived_us;
      seq += 300;
      Tcp ack{.seq = 90'000, .ack = seq};
      ack.a_port = 5000;
      put(there + 30, true, ack);
    }
  }

  PairShape shape_;
  std::mt19937 random_;
  std::priority_queue<Event> events_;
  std::vector<Transmission> sent_;
  std::array<std::vector<Seen>, 2> seen_;  // at a's wire, at b's
  std::array<int, 2> ids_ = {100, 30'000};
  std::array<int64_t, 2> last_arrival_ = {0, 0};
  std::map<int64_t, int> times_;
  std::set<int64_t> received_;
  int64_t expected_ = 0, acked_ = 0, duplicates_ = 0;
};

// Which part of a capture is left, in shares of its time.
struct Cut {
  double head = 0, tail = 0;
};

// One host's file, and the true times (by a's clock) of what is in it.
struct CutCapture {
  BuiltCapture file{1, true};
  int64_t begin_us = INT64_MAX, end_us = INT64_MIN, packets = 0;
  bool holds(int64_t at_us) const { return begin_us <= at_us && at_us <= end_us; }
};

inline CutCapture capture_at(const PairedTransfer& transfer, bool at_a, Cut cut) {
  CutCapture out;
  const std::vector<PairedTransfer::Seen>& seen = transfer.seen(at_a);
  const auto first = static_cast<double>(seen.front().at_us);
  const double length = static_cast<double>(seen.back().at_us) - first;
  for (const PairedTransfer::Seen& packet : seen) {
    const double share = (static_cast<double>(packet.at_us) - first) / length;
    if (share < cut.head || share > 1 - cut.tail) continue;
    constexpr int64_t kBaseUs = 10'000'000'000;  // clocks may differ by hours
    out.file.add_frame(kBaseUs + (at_a ? packet.at_us : transfer.b_clock(packet.at_us)),
                       packet.frame);
    out.begin_us = std::min(out.begin_us, packet.at_us);
    out.end_us = std::max(out.end_us, packet.at_us);
    ++out.packets;
  }
  return out;
}

}  // namespace plumbline
