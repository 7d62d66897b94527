#include "launch/agent_connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "core/json.h"
#include "launch/agent_lines.h"
#include "launch/ssh.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr size_t kMaxOutbox = 32u << 20;  // bytes of requests that the agent does not read
constexpr size_t kMaxWords = 4096;        // kept of its standard error
constexpr size_t kShownWords = 400;
constexpr int kSleepMs = 250;
constexpr int64_t kSilentNs = 1 * kSecond;  // then it is asked for the time ...
constexpr int64_t kHungNs = 3 * kSecond;    // ... and that long it may take to answer
constexpr int kPoliteMs = 400;              // from the end of its input to SIGTERM, to SIGKILL

// The last lines of a standard error, on one line.
std::string shown_words(const std::string& words) {
  std::string text = words.substr(words.size() - std::min(words.size(), kShownWords));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::string shown;
  for (const char c : text) {
    if (c == '\n') {
      shown += " | ";
    } else if (c != '\r') {  // ssh ends its lines for a terminal
      shown += c < ' ' || c > '~' ? '?' : c;
    }
  }
  return shown;
}

}  // namespace

struct AgentConnection::Pending {
  std::string request;
  Deadline deadline = Deadline::never();
  int64_t posted_ns = 0;  // monotonic
  bool own = false, done = false;
  Expected<json> answer{json()};
  ExchangeTimes times;
};

Expected<std::unique_ptr<AgentConnection>> AgentConnection::open(std::string host,
                                                                 AgentWires wires) {
  Expected<WakePipe> wake = WakePipe::open();
  if (!wake) return fail(wake.error());
  return std::unique_ptr<AgentConnection>(
      new AgentConnection(std::move(host), std::move(wires), std::move(*wake)));
}

AgentConnection::AgentConnection(std::string host, AgentWires wires, WakePipe wake)
    : host_(std::move(host)),
      wires_(std::move(wires)),
      wake_(std::move(wake)),
      lines_(kMaxReplyBytes),
      heard_ns_(monotonic_ns()),
      mover_([this] { move(); }) {}

AgentConnection::~AgentConnection() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.signal();
  mover_.join();
  wires_.to.reset();
  wires_.from.reset();
  wires_.errors.reset();
  if (wires_.process != nullptr) end_wires({wires_.process.get()}, kPoliteMs, kPoliteMs);
}

int64_t AgentConnection::ask(const std::string& request, const json& params, Deadline deadline) {
  return post(request, params, deadline, false);
}

int64_t AgentConnection::post(const std::string& request, const json& params, Deadline deadline,
                              bool own) {
  const auto pending = std::make_shared<Pending>();
  pending->request = request;
  pending->deadline = deadline;
  pending->own = own;
  pending->posted_ns = monotonic_ns();
  const int64_t within_ms = deadline.remaining_ns() / kMillisecond;
  int64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = ++last_ticket_;
    pending_[ticket] = pending;
    if (ending_) {
      pending->answer = fail(ending_->error);
      pending->done = true;
    } else if (outbox_bytes_ > kMaxOutbox) {
      pending->answer =
          fail(ErrorCode::kBusy, "the agent on " + host_ + " does not read its requests");
      pending->done = true;
    } else if (within_ms > 0) {
      outbox_.push_back({ticket, format_request_line(ticket, request, within_ms, params) + '\n'});
      outbox_bytes_ += outbox_.back().text.size();
    }
  }
  wake_.signal();
  return ticket;
}

Expected<json> AgentConnection::reply(int64_t ticket) { return reply(ticket, nullptr); }

Expected<json> AgentConnection::reply(int64_t ticket, ExchangeTimes* times) {
  std::unique_lock lock(mutex_);
  const auto it = pending_.find(ticket);
  if (it == pending_.end()) return fail(ErrorCode::kUsage, "no request with this ticket");
  const std::shared_ptr<Pending> pending = it->second;
  while (!pending->done && !pending->deadline.passed()) {
    changed_.wait_for(lock, std::chrono::milliseconds(pending->deadline.poll_timeout_ms(1000)));
  }
  pending_.erase(ticket);
  if (!pending->done) {
    abandoned_.insert(ticket);
    return fail(ErrorCode::kTimeout,
                "the agent on " + host_ + " did not answer '" + pending->request + "' in time");
  }
  if (times != nullptr) *times = pending->times;
  return std::move(pending->answer);
}

std::optional<AgentEnding> AgentConnection::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

std::string AgentConnection::words() {
  const std::lock_guard lock(mutex_);
  return last_words_.empty() ? "" : "it last said: " + shown_words(last_words_);
}

bool AgentConnection::closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void AgentConnection::move() {
  const NoSigpipe no_sigpipe;
  const int to = wires_.to.valid() ? wires_.to.get() : wires_.from.get();
  while (!closing() && !lost_) {
    const bool writes = next_message();
    std::array<pollfd, 4> fds{{{wires_.from.get(), POLLIN, 0},
                               {writes ? to : -1, POLLOUT, 0},
                               {wires_.errors.get(), POLLIN, 0},
                               {wake_.read_fd(), POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), kSleepMs) < 0 && errno != EINTR) {
      return lose(ErrorCode::kSystem, std::string("cannot be waited for: ") + strerror(errno));
    }
    if (fds[3].revents != 0) wake_.drain();
    if (fds[2].revents != 0) read_errors();
    if (fds[0].revents != 0) read_answers();
    if (fds[1].revents != 0 && !lost_) write_some();
    if (!lost_) look_after();
  }
}

// Something is there to be written.
bool AgentConnection::next_message() {
  if (sent_ < sending_.text.size()) return true;
  const std::lock_guard lock(mutex_);
  if (outbox_.empty()) return false;
  sending_ = std::move(outbox_.front());
  outbox_.pop_front();
  outbox_bytes_ -= sending_.text.size();
  sent_ = 0;
  return true;
}

void AgentConnection::write_some() {
  const int to = wires_.to.valid() ? wires_.to.get() : wires_.from.get();
  if (sent_ == 0) {
    const std::lock_guard lock(mutex_);
    const auto it = pending_.find(sending_.ticket);
    if (it != pending_.end()) it->second->times.sent_ns = wall_clock_ns();
  }
  const ssize_t n = ::write(to, sending_.text.data() + sent_, sending_.text.size() - sent_);
  if (n > 0) sent_ += static_cast<size_t>(n);
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    // Its last answers may still lie in the pipe.
    while (read_answers()) {
    }
    if (!lost_) lose(ErrorCode::kPeerLost, "closed its input");
  }
}

bool AgentConnection::read_answers() {
  std::array<char, 65536> chunk;
  const ssize_t n = ::read(wires_.from.get(), chunk.data(), chunk.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    lose(ErrorCode::kPeerLost, "closed its output");
    return false;
  }
  bytes_ns_ = monotonic_ns();
  lines_.feed({chunk.data(), static_cast<size_t>(n)});
  while (!lost_) {
    const std::optional<std::string> line = lines_.next();
    if (!line) break;
    take(*line);
  }
  if (!lost_ && lines_.overlong() > 0) {
    lose(ErrorCode::kProtocol,
         "talks nonsense: an endless line: '" + excerpt(lines_.overlong_text()) + "'");
  }
  return !lost_;
}

void AgentConnection::read_errors() {
  std::array<char, 16384> chunk;
  const ssize_t n = ::read(wires_.errors.get(), chunk.data(), chunk.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return wires_.errors.reset();
  const std::lock_guard lock(mutex_);
  last_words_.append(chunk.data(), static_cast<size_t>(n));
  if (last_words_.size() > kMaxWords) last_words_.erase(0, last_words_.size() - kMaxWords);
}

void AgentConnection::take(const std::string& line) {
  // A login shell may say its own before it starts the agent.
  if (wires_.remote && !ever_spoke_ && is_of_shell(line) && shell_lines_++ < kMostShellLines)
    return;
  const int64_t now = wall_clock_ns();
  Expected<json> answer{json()};
  const Expected<int64_t> ticket = parse_reply_line(line, answer);
  if (!ticket) return lose(ErrorCode::kProtocol, "talks nonsense: " + ticket.error().what);
  heard_ns_ = monotonic_ns();
  ever_spoke_ = true;
  bool expected = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = pending_.find(*ticket);
    expected = abandoned_.erase(*ticket) > 0;
    if (it != pending_.end() && !it->second->done && it->second->times.sent_ns != 0) {
      expected = true;
      it->second->answer = std::move(answer);
      it->second->times.received_ns = now;
      it->second->done = true;
      if (it->second->own) pending_.erase(it);
      changed_.notify_all();
    }
  }
  if (!expected) {
    lose(ErrorCode::kProtocol,
         fmt::format("talks nonsense: an answer to request {}, which nobody waits for", *ticket));
  }
}

void AgentConnection::look_after() {
  // A child of its own may hold its output open.
  if (wires_.process != nullptr && monotonic_ns() - heard_ns_ > kSilentNs &&
      wires_.process->wait(Deadline::after_ns(0))) {
    while (read_answers()) {
    }
    if (!lost_) lose(ErrorCode::kPeerLost, "closed its output");
    return;
  }
  // The first answer may take long: a slow disk, a login.
  if (ever_spoke_) ask_for_time_if_silent();
  if (wires_.remote && monotonic_ns() - kept_alive_ns_ > kAliveEveryNs) {
    kept_alive_ns_ = monotonic_ns();
    post(kTimeRequest, json::object(), Deadline::after_ns(kHungNs), true);
  }
}

void AgentConnection::ask_for_time_if_silent() {
  const int64_t now = monotonic_ns();
  if (asked_ns_ != 0 && heard_ns_ > asked_ns_) asked_ns_ = 0;
  if (asked_ns_ != 0) {
    // Whoever sends bytes is not silent: they are a long answer, or nonsense, which has an end of
    // its own.
    if (now - asked_ns_ < kHungNs || now - bytes_ns_ < kSilentNs) return;
    return lose(ErrorCode::kTimeout, fmt::format("hangs: it has been silent for {:.1f} s",
                                                 static_cast<double>(now - heard_ns_) / kSecond));
  }
  int64_t oldest = std::numeric_limits<int64_t>::max();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, pending] : pending_) {
      if (!pending->done) oldest = std::min(oldest, pending->posted_ns);
    }
    if (!abandoned_.empty()) oldest = heard_ns_;
  }
  if (oldest > now || now - std::max(oldest, heard_ns_) < kSilentNs) return;
  asked_ns_ = now;
  post(kTimeRequest, json::object(), Deadline::after_ns(kHungNs), true);
}

void AgentConnection::lose(ErrorCode code, const std::string& what) {
  lost_ = true;
  AgentEnding ending;
  ending.ever_spoke = ever_spoke_;
  ending.remote = wires_.remote;
  std::string became = what;
  if (wires_.process != nullptr) {
    constexpr int kEndingMs = 300;
    if (code == ErrorCode::kPeerLost && wires_.process->wait(Deadline::after_ms(kEndingMs))) {
      ending.exit_status = wires_.process->exit_status();
      became = wires_.process->state();
    } else {
      // Of no use any more, and perhaps busy flooding us.
      wires_.process->kill(SIGKILL);
      wires_.process->wait(Deadline::after_ms(kEndingMs));
    }
  }
  constexpr int kMaxReads = 64;
  for (int reads = 0; wires_.errors.valid() && reads < kMaxReads; ++reads) read_errors();
  ending.error = {code, "the agent on " + host_ + " " + became, 0, words(), "rank.agent_lost"};
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, pending] : pending_) {
    if (pending->done) continue;
    pending->answer = fail(ending.error);
    pending->done = true;
  }
  abandoned_.clear();
  outbox_.clear();
  ending.last_words = last_words_;
  ending_ = std::move(ending);
  changed_.notify_all();
}

}  // namespace plumbline
