#include "runs/ranks/rank_requests.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <utility>

#include "launch/line_io.h"

namespace plumbline {
namespace {

constexpr size_t kLongestRequest = 64u << 20;  // bytes

}  // namespace

OptionSet options_of(const SetupMessage& setup) {
  OptionSet options(transport_choices());
  for (const auto& [name, value] : setup.options) {
    if (options.text(name) == value.value && options.origin(name) == value.origin) continue;
    // The coordinator resolved them all: a value that is refused here would be another build, and
    // that the handshake tells.
    if (Expected<OptionSet> with = options.with(name, value.value, value.origin)) {
      options = std::move(*with);
    }
  }
  return options;
}

void RankReplies::send(const Message& message) {
  const std::string text = encode(message) + "\n";
  const std::scoped_lock lock(mutex_);
  // Where nobody reads any more, the reader of requests notices the same and ends this process.
  static_cast<void>(write_all(to_, text));
}

std::optional<Message> RankRequests::next() {
  std::unique_lock lock(mutex_);
  busy_ = false;
  arrived_.wait(lock, [&] { return !queue_.empty() || status_; });
  if (status_) return std::nullopt;
  busy_ = true;
  Message message = std::move(queue_.front());
  queue_.pop_front();
  return message;
}

void RankRequests::read() {
  LineBuffer lines(kLongestRequest);
  while (true) {
    if (!wait_for_input()) {
      return end(line_.lost_status,
                 fmt::format("heard nothing from the coordinator for {} s", line_.lease_ms / 1000));
    }
    if (!feed_from(line_.from, lines)) break;
    lease_.heard();
    while (const std::optional<std::string> line = lines.next()) {
      if (!take(*line)) return;
    }
  }
  // No coordinator any more. Sockets close with the process; peers are told by that.
  end(line_.lost_status, line_.lost_status != 0 ? "the coordinator (rank 0) has gone" : "");
}

// What is under way is given up, and nothing more is asked for. `why` is for a person; may be
// empty.
void RankRequests::end(int status, const std::string& why) {
  if (!why.empty()) std::cerr << "plumbline rank: " + why + "\n";
  interrupted_.store(true, std::memory_order_relaxed);
  if (line_.over) line_.over();
  const std::scoped_lock lock(mutex_);
  if (busy_) group_.give_up(Error{ErrorCode::kAborted, "the run has ended", 0, "", ""});
  status_ = status;
  arrived_.notify_one();
}

// Beats meanwhile, where that is wanted. False when the lease is over: a network that died says
// nothing, and so does a coordinator behind it.
bool RankRequests::wait_for_input() {
  constexpr int kLongestMs = 60'000;
  pollfd entry{line_.from, POLLIN, 0};
  while (true) {
    int wait_ms = lease_.poll_timeout_ms(kLongestMs);
    if (beat_ms_ > 0) wait_ms = next_beat_.poll_timeout_ms(std::min(wait_ms, beat_ms_));
    const int ready = poll(&entry, 1, wait_ms);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // read() tells what is wrong
    if (lease_.over()) return false;
    if (beat_ms_ == 0 || !next_beat_.passed()) continue;
    next_beat_ = Deadline::after_ms(beat_ms_);
    answers_.send(AliveMessage{});
  }
}

// False when it was the last one.
bool RankRequests::take(const std::string& line) {
  Expected<Message> message = decode(line);
  if (!message) {
    end(line_.lost_status, message.error().message());
    return false;
  }
  if (std::holds_alternative<AliveMessage>(*message)) return true;
  if (std::holds_alternative<DismissMessage>(*message)) {
    end(0, "");
    return false;
  }
  if (std::holds_alternative<InterruptMessage>(*message)) {
    interrupted_.store(true, std::memory_order_relaxed);
    return true;
  }
  if (const auto* gone = std::get_if<GiveUpMessage>(&*message)) {
    group_.give_up(gone->error);
    return true;
  }
  const auto* setup = std::get_if<SetupMessage>(&*message);
  if (setup != nullptr) group_.ask();
  if (!std::holds_alternative<ConnectMessage>(*message)) {
    beat_ms_ = 0;
    if (setup != nullptr) {
      beat_ms_ = static_cast<int>(options_of(*setup).integer("heartbeat_interval_ms"));
    }
    next_beat_ = Deadline::after_ns(0);
  }
  const std::scoped_lock lock(mutex_);
  queue_.push_back(std::move(*message));
  arrived_.notify_one();
  return true;
}

}  // namespace plumbline
