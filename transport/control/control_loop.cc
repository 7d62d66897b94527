#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "transport/control/control_link.h"
#include "transport/control/control_state.h"
#include "transport/tcp/socket.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

constexpr int64_t kFarewellNs = 300 * kMillisecond;
// A host that vanished: its control connection ends when heartbeats stay unacknowledged this long.
constexpr int64_t kControlUserTimeoutMs = 20'000;
// A peer that said nothing for this many heartbeats and one second more is worth a line.
constexpr int64_t kSilentBeats = 3;

// A peer that said nothing for so long is given up, whatever this rank does meanwhile: one
// heartbeat later than an operation would end that waits for it, so that the operation's own words
// come first.
int64_t longest_silence(const ControlConfig& config) {
  constexpr int64_t kLeastBeats = 3;
  return std::max(config.watchdog_ns + config.heartbeat_ns, kLeastBeats * config.heartbeat_ns);
}

Error gone(const std::string& who, const Error& how) {
  if (how.code == ErrorCode::kProtocol) return {how.code, who + ": " + how.what, 0, how.hint, {}};
  const bool vanished = how.sys_errno == ETIMEDOUT || how.code == ErrorCode::kUnreachable;
  return {ErrorCode::kPeerLost,
          fmt::format("{} is gone: {} ({})", who, how.what,
                      vanished ? "its host does not answer any more" : "its process ended"),
          how.sys_errno,
          vanished ? "look at that host and at the link" : "read that rank's own log", "rank.dead"};
}

// The lower rank dials the higher one.
size_t expected_calls(const ControlConfig& config) {
  size_t calls = 0;
  for (int peer = 0; peer < config.identity.rank; ++peer) {
    calls += 1 + config.paths[static_cast<size_t>(peer)].streams;
  }
  return calls;
}

// Asleep in poll(2) on the listener, on one control connection per peer, on connections that are
// being made, and on a pipe with which the rank's thread wakes it.
class ControlLoop {
 public:
  ControlLoop(const ControlConfig& config, ControlState& state, const FlightRecorder& recorder)
      : config_(config),
        state_(state),
        recorder_(recorder),
        rank_(config.identity.rank),
        peers_(config.endpoints.size()),
        acceptor_(config.identity, *config.listener,
                  {[this](int peer, Purpose purpose, size_t stream) {
                     return admits(peer, purpose, stream);
                   },
                   [this](int peer, Purpose purpose, size_t stream, Fd fd) {
                     connected(peer, purpose, stream, std::move(fd));
                   },
                   [this](int claimed, const Error& error, bool fatal) {
                     refused(claimed, error, fatal);
                   }},
                  expected_calls(config), config.refused, config.log) {}

  void run() {
    for (size_t peer = 0; peer < config_.apart.size(); ++peer) {
      peers_[peer].left = config_.apart[peer];  // as if it had been there
    }
    for (int peer = rank_ + 1; peer < static_cast<int>(peers_.size()); ++peer) {
      if (!peers_[static_cast<size_t>(peer)].left) start_control_dialer(peer);
    }
    while (!farewell_over()) round();
  }

 private:
  struct Peer {
    std::unique_ptr<ControlLink> link;
    std::unique_ptr<Dialer> control_dialer;
    std::vector<std::unique_ptr<Dialer>> data_dialers;  // by stream; null = none at work
    std::optional<AddressPair> pair;                    // that the control dialer found
    bool left = false;                                  // said goodbye, or was lost
    bool silent_logged = false;
  };

  // Every dialer at work; the visitor may put null in its place.
  template <typename Visit>
  static void each_dialer(Peer& peer, const Visit& visit) {
    if (peer.control_dialer) visit(peer.control_dialer);
    for (std::unique_ptr<Dialer>& dialer : peer.data_dialers) {
      if (dialer) visit(dialer);
    }
  }

  void round() {
    poll_.clear();
    poll_.add(state_.wake_pipe().read_fd(), POLLIN);
    if (farewell_until_ns_ == 0) acceptor_.add_to(poll_);
    for (Peer& peer : peers_) {
      if (peer.link) peer.link->add_to(poll_);
      each_dialer(peer, [this](const auto& dialer) { dialer->add_to(poll_); });
    }
    poll_.wait(timeout_ms());
    state_.wake_pipe().drain();
    if (farewell_until_ns_ == 0) {
      // Links before the acceptor: a second connection is judged knowing that the first has ended.
      step_links();
      acceptor_.step(poll_);
      step_dialers();
    }
    serve_requests();
    if (state_.failed() && !failure_sent_) broadcast_failure();
    if (monotonic_ns() >= std::min(next_heartbeat_ns_, silence_ends_ns_)) heartbeat();
    step_links();  // what was queued in this round leaves in this round
  }

  int timeout_ms() {
    int64_t at = std::min(next_heartbeat_ns_, silence_ends_ns_);
    if (farewell_until_ns_ != 0) {
      at = std::min(at, farewell_until_ns_);
    } else {
      at = std::min(at, acceptor_.wake_at_ns());
      for (Peer& peer : peers_) {
        each_dialer(peer, [&at](const auto& dialer) { at = std::min(at, dialer->wake_at_ns()); });
      }
    }
    return Deadline::at_ns(at).poll_timeout_ms(60'000);
  }

  void serve_requests() {
    const ControlRequests requests = state_.take_requests();
    for (const int peer : requests.connect) want_data(peer, false);
    for (const auto& [peer, id] : requests.queries) {
      Peer& p = peers_[static_cast<size_t>(peer)];
      if (p.link) p.link->send(encode_query(id));
    }
    if (requests.stop && farewell_until_ns_ == 0) start_farewell();
  }

  // ---- making the mesh
  // ---------------------------------------------------------------------------

  std::unique_ptr<Dialer> dialer(int peer, Purpose purpose, size_t stream,
                                 std::vector<AddressPair> pairs) const {
    return std::make_unique<Dialer>(config_.identity, config_.endpoints[static_cast<size_t>(peer)],
                                    purpose, stream, std::move(pairs), config_.socket_options,
                                    Deadline::after_ms(config_.connect_timeout_ms));
  }

  void start_control_dialer(int peer) {
    const auto index = static_cast<size_t>(peer);
    peers_[index].control_dialer =
        dialer(peer, Purpose::kControl, 0, config_.paths[index].candidates);
  }

  // Streams take the cables in turn; where none is known, the pair on which control came through.
  std::vector<AddressPair> pairs_of_stream(size_t peer, size_t stream) const {
    const PeerPaths& paths = config_.paths[peer];
    if (!paths.cables.empty()) return {paths.cables[stream % paths.cables.size()]};
    return peers_[peer].pair ? std::vector{*peers_[peer].pair} : paths.candidates;
  }

  // The lower rank dials; the higher one asks it to, so that neither waits for the other's turn.
  void want_data(int peer, bool asked_by_peer) {
    Peer& p = peers_[static_cast<size_t>(peer)];
    if (peer < rank_) {
      if (p.link && !asked_by_peer) p.link->send(encode_plain(ControlKind::kConnect));
      return;
    }
    const size_t streams = state_.streams(peer);
    p.data_dialers.resize(streams);
    for (size_t stream = 0; stream < streams; ++stream) {
      if (state_.has_data(peer, stream) || p.data_dialers[stream]) continue;
      p.data_dialers[stream] =
          dialer(peer, Purpose::kData, stream, pairs_of_stream(static_cast<size_t>(peer), stream));
    }
  }

  Admission admits(int peer, Purpose purpose, size_t stream) {
    const Peer& p = peers_[static_cast<size_t>(peer)];
    if (stream >= (purpose == Purpose::kData ? state_.streams(peer) : 1)) {
      return Admission::kNoSuchStream;
    }
    const bool there =
        purpose == Purpose::kData ? state_.has_data(peer, stream) : p.link != nullptr || p.left;
    return there ? Admission::kDuplicate : Admission::kWelcome;
  }

  void step_dialers() {
    std::vector<std::unique_ptr<Dialer>> ended;
    for (int peer = rank_ + 1; peer < static_cast<int>(peers_.size()); ++peer) {
      each_dialer(peers_[static_cast<size_t>(peer)], [this, peer, &ended](auto& slot) {
        const Dialer::State state = slot->step(poll_);
        if (!slot->last_answer().what.empty()) {
          state_.note(peer, slot->last_answer().message());
        }
        if (state != Dialer::State::kTrying) ended.push_back(std::move(slot));
      });
    }
    for (const std::unique_ptr<Dialer>& dialer : ended) dialer_ended(*dialer);  // may start others
  }

  void dialer_ended(Dialer& dialer) {
    const int peer = dialer.peer();
    if (dialer.connected()) {
      if (dialer.purpose() == Purpose::kControl) {
        peers_[static_cast<size_t>(peer)].pair = dialer.pair();
      }
      return connected(peer, dialer.purpose(), dialer.stream(), dialer.take());
    }
    Error error = dialer.last_answer();
    if (error.what.empty()) error = {ErrorCode::kTimeout, "no answer", 0, {}, {}};
    error.what =
        fmt::format("{} connection to {}: {}", to_string(dialer.purpose()), name(peer), error.what);
    error.ranks = {peer};
    if (dialer.fatal() && !state_.established()) {
      state_.disagrees(peer);
      return state_.fail(rank_, error);
    }
    if (dialer.purpose() == Purpose::kData) state_.data_failed(peer, error);
  }

  void connected(int peer, Purpose purpose, size_t stream, Fd fd) {
    const auto index = static_cast<size_t>(peer);
    // A dialer that lost patience just before we answered: it will call again.
    if (connection_ended(fd.get())) return;
    const SocketAddress local = local_address(fd.get()), remote = remote_address(fd.get());
    info(fmt::format("{} connection with {}: {} - {}", to_string(purpose), name(peer),
                     to_text(local), to_text(remote)));
    if (purpose == Purpose::kData) {
      const bool one_host =
          remote.loopback() || remote.same_ip(local) ||
          same_host(config_.endpoints[static_cast<size_t>(rank_)], config_.endpoints[index]);
      const std::string notes = tune_data_connection(fd.get(), config_.socket_options, one_host);
      if (!notes.empty()) info("data connection with " + name(peer) + ": " + notes);
      return state_.deliver_data(peer, stream, std::move(fd));
    }
    tune_connection(fd.get(), kControlUserTimeoutMs);
    peers_[index].link = std::make_unique<ControlLink>(std::move(fd));
    peers_[index].link->send(encode_heartbeat(recorder_.status(rank_)));
    if (failure_sent_) peers_[index].link->send(encode_abort(state_.abort_message()));
    if (config_.eager && peer > rank_) want_data(peer, false);
  }

  void refused(int claimed, Error error, bool fatal) {
    if (claimed < 0 || claimed >= static_cast<int>(peers_.size())) return;
    state_.note(claimed, "refused a connection: " + error.message());
    if (!fatal || state_.established()) return;
    state_.disagrees(claimed);
    error.ranks = {claimed};
    state_.fail(rank_, error);
  }

  // ---- what peers say
  // ----------------------------------------------------------------------------

  void step_links() {
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      auto& link = peers_[static_cast<size_t>(peer)].link;
      if (!link) continue;
      const Status status =
          link->step(poll_, [&](ControlKind kind, std::span<const std::byte> fields) {
            return handle(peer, kind, fields);
          });
      if (!status) link_lost(peer, status.error());
    }
  }

  bool handle(int peer, ControlKind kind, std::span<const std::byte> fields) {
    Peer& p = peers_[static_cast<size_t>(peer)];
    switch (kind) {
      case ControlKind::kHeartbeat: {
        const auto status = decode_heartbeat(fields);
        if (status) state_.heard(peer, *status);
        return status.has_value();
      }
      case ControlKind::kQuery: {
        const auto id = decode_query(fields);
        if (id) p.link->send(encode_answer({*id, recorder_.status(rank_), recorder_.entries()}));
        return id.has_value();
      }
      case ControlKind::kAnswer: {
        auto answer = decode_answer(fields);
        if (answer) state_.answered(peer, std::move(*answer));
        return answer.has_value();
      }
      case ControlKind::kAbort: {
        const auto abort = decode_abort(fields);
        const bool known = abort && knows(*abort);
        if (known) state_.fail(abort->origin, abort->error);
        return known;
      }
      case ControlKind::kBye:
        p.left = true;
        return true;
      case ControlKind::kConnect:
        want_data(peer, true);
        return true;
    }
    return false;
  }

  // Whether all ranks that it is about are of this group: others take them for places in lists.
  bool knows(const ControlAbort& abort) const {
    const auto of_group = [this](int rank) {
      return rank >= 0 && rank < static_cast<int>(peers_.size());
    };
    const std::vector<int>& ranks = abort.error.ranks;
    return (abort.origin == ControlState::kCoordinator || of_group(abort.origin)) &&
           std::all_of(ranks.begin(), ranks.end(), of_group);
  }

  void link_lost(int peer, const Error& error) {
    Peer& p = peers_[static_cast<size_t>(peer)];
    p.link.reset();
    const bool said_goodbye = p.left && error.code != ErrorCode::kProtocol;
    if (!said_goodbye && !state_.established() && !state_.is_linked(peer)) {
      // It closed before it said anything: perhaps it never learned that it was accepted.
      state_.note(peer, "connected, then closed the connection");
      if (peer > rank_ && farewell_until_ns_ == 0) start_control_dialer(peer);
      return;
    }
    p.left = true;
    state_.left(peer);
    if (said_goodbye) {
      info(name(peer) + " has left in order");
    } else if (farewell_until_ns_ == 0) {
      Error reason = gone(name(peer), error);
      reason.ranks = {peer};
      state_.fail(rank_, reason);
    }
  }

  void heartbeat() {
    const int64_t now = monotonic_ns();
    // This process was stopped itself, or its machine slept: what peers said meanwhile comes now.
    const int64_t late = last_heartbeat_ns_ == 0 ? 0 : now - next_heartbeat_ns_;
    if (late > config_.heartbeat_ns + kSecond) awake_since_ns_ = now;
    last_heartbeat_ns_ = now;
    next_heartbeat_ns_ = now + config_.heartbeat_ns;
    silence_ends_ns_ = std::numeric_limits<int64_t>::max();
    const std::vector<std::byte> message = encode_heartbeat(recorder_.status(rank_));
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      Peer& p = peers_[static_cast<size_t>(peer)];
      if (!p.link) continue;
      // A peer that does not read gets no more of them.
      if (p.link->unsent() == 0 && farewell_until_ns_ == 0) p.link->send(message);
      watch_silence(peer, now);
    }
  }

  void watch_silence(int peer, int64_t now) {
    Peer& p = peers_[static_cast<size_t>(peer)];
    const int64_t heard = state_.heard_ns(peer);
    if (heard == 0) return;  // still connecting
    const int64_t silent_ns = now - std::max(heard, awake_since_ns_);
    const std::string silence = fmt::format("{} has said nothing for {:.1f} s", name(peer),
                                            static_cast<double>(silent_ns) / 1e9);
    const bool silent = silent_ns > kSilentBeats * config_.heartbeat_ns + kSecond;
    if (silent && !p.silent_logged && config_.log != nullptr && tells_of(peer)) {
      config_.log->warn(silence + " (stopped, or its host is overloaded or unreachable)");
    }
    p.silent_logged = silent;
    const int64_t longest = longest_silence(config_);
    if (silent_ns < longest) {
      silence_ends_ns_ = std::min(silence_ends_ns_, now - silent_ns + longest);
    } else if (farewell_until_ns_ == 0) {
      state_.fail(rank_, {ErrorCode::kPeerLost,
                          silence + " (stopped, or its host hangs or is out of reach)",
                          0,
                          "look at that rank's process and its host",
                          "rank.dead",
                          {peer}});
    }
  }

  // All see the silence of one; the lowest of those connected says so.
  bool tells_of(int silent) const {
    for (int lower = 0; lower < rank_; ++lower) {
      if (lower != silent && peers_[static_cast<size_t>(lower)].link) return false;
    }
    return true;
  }

  void broadcast_failure() {
    failure_sent_ = true;
    const std::vector<std::byte> message = encode_abort(state_.abort_message());
    for (Peer& peer : peers_) {
      if (peer.link) peer.link->send(message);
    }
  }

  // ---- the end
  // -----------------------------------------------------------------------------------

  void start_farewell() {
    farewell_until_ns_ = monotonic_ns() + kFarewellNs;
    // A failure that came with the same wake-up must leave before the goodbye.
    if (state_.failed() && !failure_sent_) broadcast_failure();
    for (Peer& peer : peers_) {
      each_dialer(peer, [](auto& dialer) { dialer.reset(); });
      if (!peer.link) continue;
      peer.link->send(encode_plain(ControlKind::kBye));
      peer.link->finish();
    }
  }

  // All peers have closed their end too, or time is up: closing with their bytes unread would reset
  // the connection and might destroy our last words on their side (RFC 1122, 4.2.2.13).
  bool farewell_over() const {
    if (farewell_until_ns_ == 0) return false;
    const bool alone = std::none_of(peers_.begin(), peers_.end(),
                                    [](const Peer& peer) { return peer.link != nullptr; });
    return alone || monotonic_ns() >= farewell_until_ns_;
  }

  std::string name(int peer) const {
    return fmt::format("rank {} on {}", peer, config_.endpoints[static_cast<size_t>(peer)].host);
  }

  void info(const std::string& text) const {
    if (config_.log != nullptr && config_.log->enabled(LogLevel::kInfo)) config_.log->info(text);
  }

  const ControlConfig& config_;
  ControlState& state_;
  const FlightRecorder& recorder_;
  const int rank_;
  std::vector<Peer> peers_;
  Acceptor acceptor_;
  PollSet poll_;
  int64_t next_heartbeat_ns_ = 0;
  int64_t silence_ends_ns_ = 0;  // when the peer that has been silent longest is given up
  int64_t last_heartbeat_ns_ = 0;
  int64_t awake_since_ns_ = 0;     // silence before that is this process's own
  int64_t farewell_until_ns_ = 0;  // 0 = not stopping
  bool failure_sent_ = false;
};

}  // namespace

void run_control_loop(const ControlConfig& config, ControlState& state,
                      const FlightRecorder& recorder) {
  ControlLoop(config, state, recorder).run();
}

}  // namespace plumbline
