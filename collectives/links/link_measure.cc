#include "collectives/links/link_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "collectives/links/link_session.h"
#include "collectives/start_sync.h"
#include "core/encode.h"
#include "transport/rdma/bare_verbs.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

constexpr int64_t kConnectMs = 4000;
constexpr int64_t kAcceptMs = 6000;  // longer than the other end may take to dial
constexpr int64_t kReasonMs = 1000;  // for the control plane to learn why a connection ended

// The two sides of one measure.
struct FlowRow {
  const char* measure;
  Status (*from)(LinkSession&, const FlowSettings&, LinkResult&);
  Status (*to)(LinkSession&, const FlowSettings&);
  bool streams = false;  // has data connections: Cell::outstanding of them
  std::optional<VerbsMove> move = {};
};
constexpr FlowRow kFlows[] = {
    {"latency", latency_from, latency_to},
    {"stream", streams_from, streams_to, true},
    {"duplex", streams_from, streams_to, true},
    {"parallel", streams_from, streams_to, true},
    {"loaded_rtt", streams_from, streams_to, true},
    {"incast", streams_from, streams_to, true},
    {"udp", udp_from, udp_to},
    {"all_pairs", streams_from, streams_to, true},
    {"send_lat", verbs_latency_from, verbs_latency_to, false, VerbsMove::kSend},
    {"write_lat", verbs_latency_from, verbs_latency_to, false, VerbsMove::kWrite},
    {"read_lat", verbs_latency_from, verbs_latency_to, false, VerbsMove::kRead},
    {"send_bw", verbs_rate_from, verbs_rate_to, false, VerbsMove::kSend},
    {"write_bw", verbs_rate_from, verbs_rate_to, false, VerbsMove::kWrite},
    {"read_bw", verbs_rate_from, verbs_rate_to, false, VerbsMove::kRead},
    {"send_bibw", verbs_rate_from, verbs_rate_to, false, VerbsMove::kSend},
    {"write_bibw", verbs_rate_from, verbs_rate_to, false, VerbsMove::kWrite},
};

const FlowRow* find_flow(const std::string& measure) {
  const auto* found = std::find_if(std::begin(kFlows), std::end(kFlows),
                                   [&](const FlowRow& row) { return measure == row.measure; });
  return found == std::end(kFlows) ? nullptr : found;
}

int64_t round_limit_ms(int64_t time_ns) { return kConnectMs + kAcceptMs + flow_limit_ms(time_ns); }

uint64_t random_nonce() {
  const Digest digest = random_token();
  uint64_t nonce = 0;
  std::memcpy(&nonce, digest.data(), sizeof nonce);
  return nonce >> 1;  // fits a signed number, which is what ranks exchange
}

// All pairs of one cell on one rank.
class LinkMatrix {
 public:
  LinkMatrix(const Cell& cell, const MeasureSettings& settings, const MeasureContext& context,
             const LinkMeasureRow& measure, const FlowRow& flow)
      : cell_(cell),
        settings_(settings),
        context_(context),
        group_(*context.group),
        measure_(measure),
        flow_(flow),
        rank_(group_.rank()),
        ranks_(group_.size()),
        sockets_(socket_options(*context.options)),
        exchange_(*context.executor,
                  settings.operation_timeout_ms + round_limit_ms(settings.throughput_time_ns)) {
    flow_settings_.time_ns = settings.throughput_time_ns;
    flow_settings_.message_bytes = cell.bytes;
    flow_settings_.datagram_bytes = cell.bytes;
    flow_settings_.rate_bps = cell.rate_bps;
    flow_settings_.loaded = cell.measure == "loaded_rtt";
    flow_settings_.move = flow.move.value_or(VerbsMove::kSend);
    flow_settings_.pairs = std::max(1, cell.outstanding);
    const WaitOptions wait = group_.wait_options();
    flow_settings_.wait = {Deadline::never(),
                           [&control = group_.control()] { return control.failed(); }, wait.spin_ns,
                           wait.yield};
  }

  Expected<Measurement> run() {
    const int64_t start = monotonic_ns();
    Status done = exchange_.barrier();
    if (done) done = prepare();
    if (done) done = agree_on_ports();
    if (done) done = measure_rounds();
    if (!done) return fail(done.error());
    for (LinkSession& session : sessions_) {
      if (session.from == rank_) result_.links.push_back(std::move(result_of(session)));
    }
    add_skipped();
    result_.elapsed_ns = monotonic_ns() - start;
    if (result_.stop_reason.empty()) result_.stop_reason = "time";
    result_.iterations = result_.links.size();
    // Its own connections or queue pairs, whatever joins the ranks.
    result_.resolved.transport = flow_.move ? "rdma" : "tcp";
    result_.resolved.algorithm = "none";
    result_.resolved.streams = flow_.move ? flow_settings_.pairs : connections();
    return std::move(result_);
  }

 private:
  int connections() const { return flow_.streams ? std::max(1, cell_.outstanding) : 0; }

  const std::string& reason(int from, int to) const {
    static const std::string kNone;
    const auto index = pair_index(ranks_, from, to);
    return index < settings_.pair_reasons.size() ? settings_.pair_reasons[index] : kNone;
  }

  std::string host(int rank) const {
    if (context_.endpoints == nullptr) return fmt::format("rank {}", rank);
    return (*context_.endpoints)[static_cast<size_t>(rank)].host;
  }

  // On the port on which `from` listens at its own host: at this one it is free, and firewalls let
  // the whole window of the job through. On any port where it is not free.
  Expected<Fd> listen_for(int from, const LinkPath& path) const {
    SocketAddress address = path.local;
    if (context_.endpoints != nullptr && !address.loopback()) {
      const auto here = tcp_endpoint(from, (*context_.endpoints)[static_cast<size_t>(from)]);
      if (!here) return fail(here.error());
      address.set_port(here->port);
      if (Expected<Fd> listener = listen_on(address, sockets_)) return listener;
    }
    return listen_on(path.local, sockets_);
  }

  LinkSession new_session(int from, int to) {
    LinkSession session;
    session.from = from;
    session.to = to;
    const int peer = from == rank_ ? to : from;
    Expected<LinkPath> path = link_path(group_, peer, context_.endpoints,
                                        Deadline::after_ms(settings_.operation_timeout_ms));
    session.name = fmt::format("{} > {}", host(from), host(to));
    if (!path) {
      session.refuse(path.error());
      return session;
    }
    session.path = std::move(*path);
    session.name += from == rank_
                        ? fmt::format(" ({} > {})", session.path.local_ip, session.path.remote_ip)
                        : fmt::format(" ({} > {})", session.path.remote_ip, session.path.local_ip);
    if (flow_.move && !session.path.rdma) {
      session.refuse({ErrorCode::kUnsupported, "these ranks do not talk over RDMA", 0,
                      "--transport rdma says why they cannot", ""});
      return session;
    }
    if (to != rank_) return session;
    session.nonce = random_nonce();
    Expected<Fd> listener = listen_for(from, session.path);
    if (!listener) {
      session.refuse(listener.error());
      return session;
    }
    session.port = local_address(listener->get()).port();
    session.listener = std::move(*listener);
    return session;
  }

  // One session per ordered pair that this rank takes part in.
  Status prepare() {
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      for (const auto& [from, to] : {std::pair{rank_, peer}, std::pair{peer, rank_}}) {
        if (reason(from, to).empty()) sessions_.push_back(new_session(from, to));
      }
      if (group_.control().failed()) return fail(group_.control().failure());
    }
    results_.resize(sessions_.size());
    for (LinkSession& session : sessions_) {
      LinkResult& result = result_of(session);
      result.from = session.from;
      result.to = session.to;
      result.from_host = host(session.from);
      result.to_host = host(session.to);
      result.local = session.path.local_ip;
      result.remote = session.path.remote_ip;
      result.direct = session.path.direct;
    }
    return {};
  }

  LinkResult& result_of(const LinkSession& session) {
    return results_[static_cast<size_t>(&session - sessions_.data())];
  }

  // Receivers tell senders their port and nonce.
  Status agree_on_ports() {
    const auto pairs = static_cast<size_t>(ranks_) * static_cast<size_t>(ranks_);
    std::vector<int64_t> told(2 * pairs, 0);
    const auto slot = [&](const LinkSession& s) { return pair_index(ranks_, s.from, s.to); };
    for (const LinkSession& session : sessions_) {
      if (session.to != rank_) continue;
      told[slot(session)] = session.port;
      told[pairs + slot(session)] = static_cast<int64_t>(session.nonce);
    }
    if (const Status done = exchange_.max(told); !done) return done;
    for (LinkSession& session : sessions_) {
      if (session.from != rank_) continue;
      session.port = static_cast<uint16_t>(told[slot(session)]);
      session.nonce = static_cast<uint64_t>(told[pairs + slot(session)]);
    }
    return {};
  }

  Status measure_rounds() {
    const auto wanted = [this](int from, int to) { return reason(from, to).empty(); };
    for (const LinkRound& round : link_rounds(measure_.rounds, ranks_, wanted)) {
      if (const Status done = measure_round(round); !done) return done;
      std::vector<int64_t> stop = {context_.interrupted && context_.interrupted() ? 1 : 0};
      if (const Status done = exchange_.max(stop); !done) return done;
      if (stop[0] != 0) {
        result_.stop_reason = "interrupted";
        return {};
      }
    }
    return {};
  }

  std::vector<LinkSession*> mine(const LinkRound& round, bool sending) {
    std::vector<LinkSession*> out;
    for (LinkSession& session : sessions_) {
      if ((session.from == rank_) != sending) continue;
      const LinkPair pair{session.from, session.to};
      if (std::find(round.begin(), round.end(), pair) != round.end()) out.push_back(&session);
    }
    return out;
  }

  // Everybody dials, everybody takes; when all are ready, the pairs of the round run at once.
  Status measure_round(const LinkRound& round) {
    std::vector<LinkSession*> sending = mine(round, true), receiving = mine(round, false);
    connect_sessions(sending, connections(), sockets_, Deadline::after_ms(kConnectMs));
    accept_sessions(receiving, connections(), sockets_,
                    flow_settings_.wait.until(Deadline::after_ms(kAcceptMs)));
    if (const Status ready = exchange_.barrier(); !ready) return ready;
    run_together(sending, receiving);
    bool broken = false;
    for (const std::vector<LinkSession*>& sessions : {sending, receiving}) {
      for (LinkSession* session : sessions) {
        broken = broken || !session->error.what.empty();
        session->control.reset();
        session->data.clear();
        session->listener.reset();
      }
    }
    return broken ? group_state() : Status();
  }

  void run_together(const std::vector<LinkSession*>& sending,
                    const std::vector<LinkSession*>& receiving) {
    std::vector<std::thread> threads;
    for (LinkSession* session : sending) {
      if (!session->usable) continue;
      threads.emplace_back([this, session] {
        if (const Status done = flow_.from(*session, flow_settings_, result_of(*session)); !done) {
          session->refuse(done.error());
        }
      });
    }
    for (LinkSession* session : receiving) {
      if (!session->usable) continue;
      threads.emplace_back([this, session] {
        if (const Status done = flow_.to(*session, flow_settings_); !done) {
          session->refuse(done.error());
        }
        // Whoever still waits for something from here shall know that nothing comes.
        session->control.reset();
        session->data.clear();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (LinkSession* session : sending) {
      if (session->error.what.empty()) continue;
      result_of(*session).error = session->error.message();
      result_of(*session).cause = session->error.cause;
    }
  }

  // A pair may be broken alone; when a rank has died, that is the reason to give.
  Status group_state() {
    const Deadline patience = Deadline::after_ms(kReasonMs);
    while (!group_.control().failed() && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (group_.control().failed()) return fail(group_.control().failure());
    return {};
  }

  void add_skipped() {
    for (int to = 0; to < ranks_; ++to) {
      if (to == rank_ || reason(rank_, to).empty()) continue;
      LinkResult link;
      link.from = rank_;
      link.to = to;
      link.from_host = host(rank_);
      link.to_host = host(to);
      link.skipped = reason(rank_, to);
      result_.links.push_back(std::move(link));
    }
  }

  const Cell& cell_;
  const MeasureSettings& settings_;
  const MeasureContext& context_;
  Group& group_;
  const LinkMeasureRow& measure_;
  const FlowRow& flow_;
  const int rank_, ranks_;
  const SocketOptions sockets_;
  Exchange exchange_;
  FlowSettings flow_settings_;
  std::vector<LinkSession> sessions_;
  std::vector<LinkResult> results_;  // of the sessions
  Measurement result_;
};

}  // namespace

Expected<Measurement> measure_links(const Cell& cell, const MeasureSettings& settings,
                                    const MeasureContext& context) {
  const LinkMeasureRow* measure = find_link_measure(cell.measure);
  const FlowRow* flow = find_flow(cell.measure);
  if (measure == nullptr || flow == nullptr) {
    return fail(ErrorCode::kConfig, "unknown link measure '" + cell.measure + "'");
  }
  if (context.group->size() < 2) {
    Measurement skipped;
    skipped.outcome = Outcome::kSkipped;
    skipped.reason = "a link needs two ranks";
    return skipped;
  }
  return LinkMatrix(cell, settings, context, *measure, *flow).run();
}

int64_t link_cell_limit_ms(const Cell& cell, const MeasureSettings& settings) {
  const LinkMeasureRow* measure = find_link_measure(cell.measure);
  const int64_t pairs = 2 * int64_t{std::max(2, cell.ranks)};  // rounds of the longest schedule
  const int64_t rounds = measure != nullptr && measure->rounds == LinkRounds::kAllPairs ? 1 : pairs;
  return rounds * round_limit_ms(settings.throughput_time_ns) + 2 * settings.operation_timeout_ms;
}

}  // namespace plumbline
