#include "probes/actions/actions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "core/encode.h"
#include "probes/actions/connector.h"
#include "probes/actions/ends.h"
#include "probes/actions/neighbour.h"
#include "probes/agent_requests.h"
#include "probes/traces/analyse.h"
#include "probes/traces/capture.h"

namespace plumbline {

// What lives longer than one request. Thread-safe.
struct SessionState {
  std::mutex mutex;
  // Null after close().
  std::shared_ptr<DatagramHub> datagrams = std::make_shared<DatagramHub>();
  std::shared_ptr<ListenerHub> listeners = std::make_shared<ListenerHub>();
  std::map<std::string, std::shared_ptr<Capture>> running;
  std::map<std::string, std::shared_ptr<const std::string>> kept;  // files of ended captures
  bool closed = false;

  void close();
};

namespace {

using Session = std::shared_ptr<SessionState>;

constexpr size_t kMaxCaptures = 16;  // running and kept ones of one agent together
constexpr size_t kMaxPorts = 4096, kMaxAddresses = 64;  // of one request

tl::unexpected<Error> session_ended() {
  return fail(ErrorCode::kAborted, "the session of this agent has ended");
}

Status few_ports(const std::vector<int>& ports) {
  if (ports.size() <= kMaxPorts) return {};
  return fail(ErrorCode::kUsage, fmt::format("more than {} ports at once", kMaxPorts));
}

// ---- rows of the table ----

// What needs something that stays open between requests.
template <typename Request, typename Action>
AgentRequest session_row(const Session& session, const char* help, Action action) {
  return AgentWire<Request>::row(help,
                                 [session, action](const Request& asked, const AgentCall& call) {
                                   return action(*session, asked, call);
                                 });
}

// The same, of one of its hubs.
template <typename Request, typename Hub, typename Action>
AgentRequest hub_row(const Session& session, std::shared_ptr<Hub> SessionState::*place,
                     const char* help, Action action) {
  const auto run = [place, action](SessionState& state, const Request& asked,
                                   const AgentCall& call) -> Expected<typename Request::Reply> {
    std::unique_lock lock(state.mutex);
    const std::shared_ptr<Hub> hub = state.*place;
    lock.unlock();
    if (!hub) return session_ended();
    return action(*hub, asked, call);
  };
  return session_row<Request>(session, help, run);
}

// What needs no more than the two ends and its settings.
template <typename Request, typename Action>
AgentRequest way_row(const char* help, Action action) {
  return AgentWire<Request>::row(
      help,
      [action](const Request& asked, const AgentCall& call) -> Expected<typename Request::Reply> {
        int port = 0;  // of the peer, 0 where none is used
        if constexpr (std::is_base_of_v<AskedPort, Request>) port = asked.port;
        const auto ends = make_ends(asked.from_ip, asked.to_ip, asked.interface, port);
        if (!ends) return fail(ends.error());
        return action(*ends, asked, call);
      });
}

// ---- listeners: opened, asked who came, closed ----

Expected<ListenReply> run_listen(ListenerHub& hub, const AskListen& asked, const AgentCall& call) {
  if (const Status few = few_ports(asked.ports); !few) return fail(few.error());
  if (asked.addresses.size() > kMaxAddresses) return fail(ErrorCode::kUsage, "too many addresses");
  auto states = hub.listen(asked.id, asked.addresses, asked.ports, call);
  if (!states) return fail(states.error());
  return ListenReply{std::move(*states)};
}

Expected<Heard> run_listened(ListenerHub& hub, const AskListened& asked, const AgentCall&) {
  return hub.heard(asked.id);
}

Expected<NothingSaid> run_unlisten(ListenerHub& hub, const AskUnlisten& asked, const AgentCall&) {
  const Status closed = hub.unlisten(asked.id);
  if (!closed) return fail(closed.error());
  return NothingSaid{};
}

// ---- numbered datagrams one way: a socket that counts them, a sender, the count ----

Expected<DatagramHub::Opened> run_open(DatagramHub& hub, const AskDatagramsOpen& asked,
                                       const AgentCall&) {
  return hub.open(asked.id, {asked.ip, asked.interface}, asked.keep_ms);
}

Expected<DatagramHub::Counted> run_close(DatagramHub& hub, const AskDatagramsClose& asked,
                                         const AgentCall& call) {
  return hub.close(asked.id, asked.expected, asked.settle_ms, call);
}

// ---- what one host tries towards another ----

Expected<ConnectReply> run_connect(const PairEnds& ends, const AskConnect& asked,
                                   const AgentCall& call) {
  if (const Status few = few_ports(asked.ports); !few) return fail(few.error());
  const std::string nonce = asked.nonce.empty() ? new_nonce() : asked.nonce;
  if (!usable_nonce(nonce)) return fail(ErrorCode::kUsage, "that nonce cannot be sent in a line");
  return ConnectReply{connect_ports(ends, asked.ports, asked.timeout_ms, nonce, call), nonce};
}

Expected<BurstReply> run_burst(const PairEnds& ends, const AskBurst& asked, const AgentCall& call) {
  const auto result = connect_burst(ends, asked.attempts, asked.timeout_ms, call);
  if (!result) return fail(result.error());
  return BurstReply{result->attempts, result->counters};
}

Expected<RoundTripsReply> run_round_trips(const PairEnds& ends, const AskRoundTrips& asked,
                                          const AgentCall& call) {
  const int count = std::clamp(asked.count, 1, 100'000);
  auto times = measure_round_trips(ends, count, within(call, asked.timeout_ms * kMillisecond));
  if (!times) return fail(times.error());
  return RoundTripsReply{std::move(*times)};
}

Expected<NeighbourProbe> run_neighbour(const AskNeighbour& asked, const AgentCall& call) {
  // For duplicates nobody but the own address is of interest.
  const std::string& to_ip = asked.duplicate ? asked.from_ip : asked.to_ip;
  const auto ends = make_ends(asked.from_ip, to_ip, asked.interface, 0);
  if (!ends) return fail(ends.error());
  return probe_neighbour(*ends, asked, call);
}

Expected<RouteLookup> run_route(const PairEnds& ends, const AskRoute&, const AgentCall& call) {
  return look_up_route(ends, call);
}

// ---- captures: started, ended and analysed, their files read in pieces ----

constexpr int64_t kMaxKeptBytes = 64 << 20, kMaxCaptureMs = 600'000;
constexpr int64_t kMaxPiece = 1 << 20;  // bytes of one capture.read, before base64
constexpr int64_t kMaxCaptureSettleMs = 1000;

Expected<CaptureStarted> run_start(SessionState& session, const AskCaptureStart& asked,
                                   const AgentCall&) {
  CaptureSettings settings;
  settings.device = asked.interface.empty() ? capture_device(asked.own) : asked.interface;
  settings.filter = capture_filter(asked.own, asked.peers, asked.ports);
  settings.snap_bytes = asked.snap_bytes;
  settings.max_bytes = std::clamp<int64_t>(asked.max_bytes, 1024, kMaxKeptBytes);
  settings.max_ns = std::clamp<int64_t>(asked.max_ms, 1, kMaxCaptureMs) * kMillisecond;

  const std::lock_guard lock(session.mutex);
  if (session.closed) return session_ended();
  if (session.running.count(asked.id) != 0) {
    return fail(ErrorCode::kUsage, "a capture '" + asked.id + "' is running already");
  }
  session.kept.erase(asked.id);
  if (session.running.size() + session.kept.size() >= kMaxCaptures) {
    return CaptureStarted{false, "too many captures at once"};
  }
  auto capture = start_capture(settings);
  if (!capture) return CaptureStarted{false, capture.error().message()};
  session.running[asked.id] = std::move(*capture);
  return CaptureStarted{true};
}

Expected<CaptureStopped> run_stop(SessionState& session, const AskCaptureStop& asked,
                                  const AgentCall& call) {
  const int64_t settle_ms = std::clamp<int64_t>(asked.settle_ms, 0, kMaxCaptureSettleMs);
  std::shared_ptr<Capture> capture;
  {
    const std::lock_guard lock(session.mutex);
    const auto it = session.running.find(asked.id);
    if (it == session.running.end()) {
      return fail(ErrorCode::kUsage, "no capture '" + asked.id + "' is running");
    }
    capture = std::move(it->second);
    session.running.erase(it);
  }
  const int64_t left_ms = std::max<int64_t>(0, call.deadline.remaining_ns() / kMillisecond);
  CaptureResult result = capture->stop(static_cast<int>(std::min(settle_ms, left_ms)));
  CaptureStopped out;
  if (auto summary = analyse_trace(result.pcap, asked.id)) {
    out.summary = std::move(*summary);
  } else {
    out.summary.problems = {summary.error().message()};
  }
  out.packets = result.packets;
  out.dropped = result.dropped;
  out.cut = result.cut;
  out.bytes = result.pcap.size();
  if (asked.keep) {
    const std::lock_guard lock(session.mutex);
    if (!session.closed) {
      session.kept[asked.id] = std::make_shared<const std::string>(std::move(result.pcap));
    }
  }
  return out;
}

Expected<CapturePiece> run_read(SessionState& session, const AskCaptureRead& asked,
                                const AgentCall&) {
  std::shared_ptr<const std::string> file;
  {
    const std::lock_guard lock(session.mutex);
    const auto it = session.kept.find(asked.id);
    if (it == session.kept.end()) {
      return fail(ErrorCode::kUsage, "no capture '" + asked.id + "' is kept");
    }
    file = it->second;
  }
  const auto size = static_cast<int64_t>(file->size());
  const int64_t offset = std::clamp<int64_t>(asked.offset, 0, size);
  const int64_t wanted = std::clamp<int64_t>(asked.bytes, 1, kMaxPiece);
  const std::string piece = file->substr(static_cast<size_t>(offset), static_cast<size_t>(wanted));
  return CapturePiece{to_base64(piece), offset + static_cast<int64_t>(piece.size()) >= size};
}

}  // namespace

void SessionState::close() {
  std::shared_ptr<ListenerHub> old_listeners;
  std::shared_ptr<DatagramHub> old_datagrams;
  std::map<std::string, std::shared_ptr<Capture>> old_captures;
  {
    const std::lock_guard lock(mutex);
    closed = true;
    old_listeners.swap(listeners);
    old_datagrams.swap(datagrams);
    old_captures.swap(running);
    kept.clear();
  }
  // Their threads are waited for here, without the lock.
}

AgentSession::AgentSession() : state_(std::make_shared<SessionState>()) {}
AgentSession::~AgentSession() { state_->close(); }

std::vector<AgentRequest> AgentSession::requests() {
  constexpr auto kListeners = &SessionState::listeners;
  constexpr auto kDatagrams = &SessionState::datagrams;
  std::vector<AgentRequest> out = host_requests();
  out.insert(
      out.end(),
      {
          hub_row<AskListen>(state_, kListeners, "listens on ports, over TCP and UDP", run_listen),
          hub_row<AskListened>(state_, kListeners, "who came to the listeners", run_listened),
          hub_row<AskUnlisten>(state_, kListeners, "closes listeners", run_unlisten),
          way_row<AskConnect>("connects to ports and finds out who answers", run_connect),
          way_row<AskBurst>("many connection attempts and what the counters say", run_burst),
          way_row<AskStream>("a short stream over TCP", run_stream),
          way_row<AskRoundTrips>("small messages there and back over TCP", run_round_trips),
          way_row<AskIdle>("a connection that lies idle and is used again", try_after_idle),
          way_row<AskMtu>("how large packets may be on the way", probe_mtu),
          way_row<AskPing>("ICMP echo", ping),
          way_row<AskRoute>("the kernel's way to an address", run_route),
          AgentWire<AskNeighbour>::row("who answers for an address on the link", run_neighbour),
          hub_row<AskDatagramsOpen>(state_, kDatagrams,
                                    "counts numbered datagrams on a port of the system's choice",
                                    run_open),
          way_row<AskDatagramsSend>("sends numbered datagrams at a steady pace", send_datagrams),
          hub_row<AskDatagramsClose>(state_, kDatagrams, "how many distinct ones came; closes",
                                     run_close),
          session_row<AskCaptureStart>(state_, "captures packets between addresses", run_start),
          session_row<AskCaptureStop>(state_, "ends a capture and analyses it", run_stop),
          session_row<AskCaptureRead>(state_, "the file of a capture that was kept, in pieces",
                                      run_read),
      });
  return out;
}

}  // namespace plumbline
