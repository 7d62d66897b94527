#include "collectives/clock_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "collectives/schedule.h"

namespace plumbline {
namespace {

constexpr int kExchanges = 12;  // a round; the fastest decides, the first ones find the peer asleep
constexpr int kAttempts = 3;    // rounds in a row that may be unusable
constexpr int kStarRanks = 8;   // all ask rank 0 itself up to here
// Messages of their own, apart from those of operations.
constexpr uint32_t kGroupMark = 0x4000'0000;
constexpr uint32_t kOpHash = 0x636c6f63;

using Answer = std::array<int64_t, 3>;  // t2, t3 in rank 0's time; bound of both, ns

// A message of a fixed value, and when its last byte came.
template <typename Value>
class StampedSink : public RecvSink {
 public:
  explicit StampedSink(const RankClock& clock) : clock_(&clock) {}
  std::span<std::byte> window() override {
    return std::as_writable_bytes(std::span(&value_, 1)).subspan(got_);
  }
  void advance(size_t bytes) override {
    got_ += bytes;
    if (done()) at_ = (*clock_)();
  }
  bool done() const { return got_ == sizeof(Value); }
  int64_t at() const { return at_; }
  const Value& value() const { return value_; }

 private:
  const RankClock* clock_;
  Value value_{};
  size_t got_ = 0;
  int64_t at_ = 0;
};

class SentCount : public SendObserver {
 public:
  void sent(uint64_t) override { ++count; }
  int count = 0;
};

}  // namespace

std::vector<SyncPair> sync_order(int size, const RankPairs& apart) {
  std::vector<SyncPair> order;
  const auto parents = spanning_tree(size, apart);
  if (parents && !apart.empty()) {
    std::vector<int> served = {0};
    for (size_t i = 0; i < served.size(); ++i) {
      for (int rank = 1; rank < size; ++rank) {
        if ((*parents)[static_cast<size_t>(rank)] != served[i]) continue;
        order.push_back({rank, served[i]});
        served.push_back(rank);
      }
    }
    return order;
  }
  for (int rank = 1; rank < size; ++rank) {
    // Without its highest bit: a rank that is synchronised already.
    const auto bits = static_cast<unsigned>(rank);
    const int partner = rank - static_cast<int>(std::bit_floor(bits));
    order.push_back({rank, size <= kStarRanks ? 0 : partner});
  }
  return order;
}

ClockSync::ClockSync(Group& group, RankClock clock, const ClockLimits& limits,
                     const RankPairs& apart)
    : group_(group),
      clock_(std::move(clock)),
      limits_(limits),
      model_(limits),
      order_(sync_order(group.size(), apart)) {}

ClockOffset ClockSync::at(int64_t own_ns) const {
  if (group_.rank() == 0) return {};
  return model_.ready() ? model_.at(own_ns) : ClockOffset{0, kUnknownNs};
}

ClockDrift ClockSync::drift() const { return group_.rank() == 0 ? ClockDrift{} : model_.drift(); }

int64_t ClockSync::to_own(int64_t global_ns) const {
  // The offset is asked for at an own time; that of the first guess is right but for the drift.
  const int64_t guess = global_ns - at(clock_()).offset_ns;
  return global_ns - at(guess).offset_ns;
}

Status ClockSync::round(int64_t timeout_ms) {
  if (++sequence_ == 1) {
    limits_.resolution_ns = static_cast<double>(measure_clock().resolution_ns);
    model_ = ClockModel(limits_);
  }
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (const SyncPair& pair : order_) {
    Status done;
    if (pair.child == group_.rank()) done = learn(pair.parent, deadline);
    if (pair.parent == group_.rank()) done = serve(pair.child, deadline);
    if (!done) return done;
  }
  return {};
}

// Waits on a channel with receives posted into memory that goes away: on a failure the channel must
// not call back any more.
Status ClockSync::wait_for(Channel& channel, int peer, const std::function<bool()>& done,
                           Deadline deadline) {
  Status status = group_.wait(done, deadline);
  if (status) return status;
  Error error = status.error();
  if (error.code == ErrorCode::kTimeout) {
    error.what = fmt::format("rank {}: rank {} took no part in comparing clocks in time",
                             group_.rank(), peer);
    error.hint = "look at that rank's host: it is overloaded, or the connection is stuck";
    error.ranks = {peer, group_.rank()};
    group_.control().abort(error);
  }
  channel.cancel(error);
  return fail(error);
}

Status ClockSync::ask(int parent, Deadline deadline, std::vector<ClockExchange>& exchanges) {
  const Expected<Channel*> channel = group_.channel(parent, deadline);
  if (!channel) return fail(channel.error());
  std::vector<StampedSink<Answer>> answers(kExchanges, StampedSink<Answer>(clock_));
  MessageTag tag{group_.id() ^ kGroupMark, sequence_, 0, kOpHash};
  for (auto& sink : answers) {
    (*channel)->post_recv(tag, sizeof(Answer), &sink);
    ++tag.step;
  }
  tag.step = 0;
  SentCount sent;
  const int64_t question = 0;
  for (auto& sink : answers) {
    const int64_t left = clock_();
    (*channel)->post_send(tag, &question, sizeof question, sizeof question, &sent, 0);
    ++tag.step;
    const auto done = [&] { return sink.done() && sent.count == static_cast<int>(tag.step); };
    if (Status got = wait_for(**channel, parent, done, deadline); !got) return got;
    const Answer& answer = sink.value();
    exchanges.push_back({left, answer[0], answer[1], sink.at(), static_cast<double>(answer[2])});
  }
  return {};
}

Status ClockSync::serve(int child, Deadline deadline) {
  const Expected<Channel*> channel = group_.channel(child, deadline);
  if (!channel) return fail(channel.error());
  std::vector<StampedSink<int64_t>> questions(kExchanges, StampedSink<int64_t>(clock_));
  std::vector<Answer> answers(kExchanges);
  MessageTag tag{group_.id() ^ kGroupMark, sequence_, 0, kOpHash};
  for (auto& sink : questions) {
    (*channel)->post_recv(tag, sizeof(int64_t), &sink);
    ++tag.step;
  }
  tag.step = 0;
  SentCount sent;
  const auto all_sent = [&] { return sent.count == kExchanges; };
  for (size_t i = 0; i < questions.size(); ++i, ++tag.step) {
    const auto done = [&] { return questions[i].done(); };
    if (Status got = wait_for(**channel, child, done, deadline); !got) return got;
    const int64_t came = questions[i].at();
    const ClockOffset then = at(came);
    const int64_t leaves = clock_();
    const ClockOffset now = at(leaves);
    answers[i] = {came + then.offset_ns, leaves + now.offset_ns,
                  static_cast<int64_t>(
                      std::ceil(std::max(then.error_ns, now.error_ns) + limits_.resolution_ns))};
    (*channel)->post_send(tag, &answers[i], sizeof(Answer), sizeof(Answer), &sent, 0);
  }
  return wait_for(**channel, child, all_sent, deadline);
}

Status ClockSync::learn(int parent, Deadline deadline) {
  std::vector<ClockExchange> exchanges;
  if (const Status asked = ask(parent, deadline, exchanges); !asked) return asked;
  if (model_.add_round(exchanges) != ClockModel::Round::kUnusable) {
    unusable_ = 0;
    return {};
  }
  if (++unusable_ < kAttempts) return {};
  return fail_about(
      {group_.rank(), parent}, ErrorCode::kUnsupported,
      fmt::format("rank {} cannot compare its clock with that of rank {}: {} rounds of {} "
                  "exchanges contradict themselves",
                  group_.rank(), parent, unusable_, kExchanges),
      "a clock goes backwards or jumps all the time; use \"sync\": \"barrier\"");
}

}  // namespace plumbline
