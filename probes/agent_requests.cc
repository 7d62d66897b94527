#include "probes/agent_requests.h"

#include <sstream>
#include <type_traits>

#include "core/error.h"
#include "core/json.h"
#include "probes/foreign_numbers.h"

namespace plumbline {

using Json = nlohmann::json;

// Without content, and whatever is said there.
template <typename T, std::enable_if_t<std::is_empty_v<T>, int> = 0>
static void to_json(Json& json, const T&) {
  json = Json::object();
}
template <typename T, std::enable_if_t<std::is_empty_v<T>, int> = 0>
static void from_json(const Json&, T&) {}

// Keys without which a message says nothing; all others have defaults.
static void check_keys(const Json& json, const char* needed) {
  std::istringstream words(needed);
  for (std::string key; words >> key;) static_cast<void>(json.at(key));
}

// As PLUMBLINE_JSON_FIELDS, with those keys in front.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define PLUMBLINE_MESSAGE(Type, needed, ...)                                    \
  static void to_json(Json& nlohmann_json_j, const Type& nlohmann_json_t) {     \
    nlohmann_json_j = Json::object();                                           \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))    \
  }                                                                             \
  static void from_json(const Json& nlohmann_json_j, Type& nlohmann_json_t) {   \
    check_keys(nlohmann_json_j, needed);                                        \
    const Type nlohmann_json_default_obj{};                                     \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(PLUMBLINE_JSON_FROM, __VA_ARGS__)) \
  }
// NOLINTEND(bugprone-macro-parentheses)

// ---- what the messages below hold ----

PLUMBLINE_MESSAGE(WatchedPeer, "name from_ip to_ip", name, from_ip, to_ip)
PLUMBLINE_MESSAGE(ListenAddress, "", ip, interface)
PLUMBLINE_MESSAGE(ListenState, "ip port", ip, port, listener, error, holder, role, run, udp)
PLUMBLINE_MESSAGE(AcceptedConnection, "port nonce", ip, port, peer_ip, peer_port, nonce)
PLUMBLINE_MESSAGE(HalfOpenConnection, "port peer_ip peer_port", ip, port, peer_ip, peer_port)
PLUMBLINE_MESSAGE(SeenDatagrams, "", ip, port, peer_ip, largest, count)

static void to_json(Json& json, const ConnectAttempt& attempt) {
  json = attempt.attempt;
  json["source_port"] = attempt.source_port;
}
static void from_json(const Json& json, ConnectAttempt& attempt) {
  json.get_to(attempt.attempt);
  get_field_or(json, "source_port", attempt.source_port, 0);
}

// ---- the messages ----

PLUMBLINE_MESSAGE(TimeReply, "", time_ns)
PLUMBLINE_MESSAGE(AskSnapshot, "", host, ports, names, own_data_ip, buffer_bytes, deep)
PLUMBLINE_MESSAGE(MemoryReply, "available_bytes machine", available_bytes, machine)
PLUMBLINE_MESSAGE(CoresReply, "cores", cores)
PLUMBLINE_MESSAGE(AskWatch, "", peers, live)
PLUMBLINE_MESSAGE(AskJob, "", pid, port, name, run, identities, lone_program, ends, apart_ms)
PLUMBLINE_MESSAGE(AskListen, "id addresses ports", id, addresses, ports)
PLUMBLINE_MESSAGE(ListenReply, "ports", ports)
PLUMBLINE_MESSAGE(AskListened, "id", id)
PLUMBLINE_MESSAGE(Heard, "accepted half_open", accepted, half_open, datagrams)
PLUMBLINE_MESSAGE(AskUnlisten, "id", id)
PLUMBLINE_MESSAGE(AskConnect, "to_ip ports", from_ip, interface, to_ip, ports, timeout_ms, nonce)
PLUMBLINE_MESSAGE(ConnectReply, "ports", ports, nonce)
PLUMBLINE_MESSAGE(AskBurst, "to_ip port", from_ip, interface, to_ip, port, attempts, timeout_ms)
PLUMBLINE_MESSAGE(BurstReply, "counters", attempts, counters)
PLUMBLINE_MESSAGE(AskStream, "to_ip port", from_ip, interface, to_ip, port, kind, duration_ms,
                  bytes, rate_per_s)
PLUMBLINE_MESSAGE(AskRoundTrips, "to_ip port", from_ip, interface, to_ip, port, count, timeout_ms)
PLUMBLINE_MESSAGE(RoundTripsReply, "round_trips_ns", round_trips_ns)
PLUMBLINE_MESSAGE(AskIdle, "to_ip port", from_ip, interface, to_ip, port, idle_ms, timeout_ms)
PLUMBLINE_MESSAGE(AskMtu, "to_ip port", from_ip, interface, to_ip, port, interface_mtu,
                  transfer_bytes, timeout_ms, silence_ms)
PLUMBLINE_MESSAGE(AskPing, "to_ip", from_ip, interface, to_ip, count, interval_ms, timeout_ms,
                  bytes)
PLUMBLINE_MESSAGE(AskRoute, "to_ip", from_ip, interface, to_ip)
PLUMBLINE_MESSAGE(AskNeighbour, "", from_ip, interface, to_ip, duplicate, timeout_ms)
PLUMBLINE_MESSAGE(AskDatagramsOpen, "id ip", id, ip, interface, keep_ms)
PLUMBLINE_MESSAGE(DatagramHub::Opened, "port token", port, token)
PLUMBLINE_MESSAGE(AskDatagramsSend, "to_ip port token", from_ip, interface, to_ip, port, token,
                  count, rate_per_s)
PLUMBLINE_MESSAGE(AskDatagramsClose, "id", id, expected, settle_ms)
PLUMBLINE_MESSAGE(DatagramHub::Counted, "received duplicates overflow", received, duplicates,
                  strangers, overflow)
PLUMBLINE_MESSAGE(AskCaptureStart, "id", id, own, peers, ports, snap_bytes, max_bytes, max_ms,
                  interface)
PLUMBLINE_MESSAGE(CaptureStarted, "", running, reason)
PLUMBLINE_MESSAGE(AskCaptureStop, "id", id, settle_ms, keep)
PLUMBLINE_MESSAGE(CaptureStopped, "summary", summary, packets, dropped, cut, bytes)
PLUMBLINE_MESSAGE(AskCaptureRead, "id", id, offset, bytes)
PLUMBLINE_MESSAGE(CapturePiece, "base64", base64, end)
PLUMBLINE_MESSAGE(AskCommand, "command", label, command, timeout_ms)
PLUMBLINE_MESSAGE(AskRdma, "device", device, port, library, counts)
PLUMBLINE_MESSAGE(AskRdmaMeet, "from_ip to_ip port device nonce", from_ip, interface, to_ip, port,
                  listens, device, library, nonce)
PLUMBLINE_MESSAGE(AskEndpoint, "url", url, model, key, questions, silence_ms)
PLUMBLINE_MESSAGE(AskSoftware, "", python, packages, as_over_ssh, timeout_ms)
PLUMBLINE_MESSAGE(AskArtifact, "path", path, deep)

static void to_json(Json& json, const CountersReply& reply) { json = reply.counts; }
static void from_json(const Json& json, CountersReply& reply) { reply.counts = counts_of(json); }

template <typename Request>
AgentRequest AgentWire<Request>::row(const char* help, Run run) {
  return {Request::kName, help,
          [run = std::move(run)](const Json& params, const AgentCall& call) -> Expected<Json> {
            const Expected<Reply> reply = run(params.get<Request>(), call);
            if (!reply) return fail(reply.error());
            return Json(*reply);
          }};
}

template <typename Request>
int64_t AgentWire<Request>::ask(HostAgent& agent, const Request& request, Deadline deadline) {
  return agent.ask(Request::kName, Json(request), deadline);
}

template <typename Request>
Expected<typename AgentWire<Request>::Reply> AgentWire<Request>::reply(HostAgent& agent,
                                                                       int64_t ticket) {
  // Who reads these looks at each number himself.
  constexpr bool kLookedAt =
      std::is_same_v<Request, AskCounters> || std::is_same_v<Request, AskWatch>;
  const Expected<Json> said = agent.reply(ticket);
  if (!said) return fail(said.error());
  try {
    if (!kLookedAt) check_numbers(*said);
    return said->template get<Reply>();
  } catch (const Json::exception& problem) {
    return fail(ErrorCode::kWrongData, std::string("its answer to '") + Request::kName +
                                           "' makes no sense: " + json_trouble(problem));
  }
}

template struct AgentWire<AskTime>;
template struct AgentWire<AskSnapshot>;
template struct AgentWire<AskNics>;
template struct AgentWire<AskMemory>;
template struct AgentWire<AskCounters>;
template struct AgentWire<AskCores>;
template struct AgentWire<AskWatch>;
template struct AgentWire<AskJob>;
template struct AgentWire<AskListen>;
template struct AgentWire<AskListened>;
template struct AgentWire<AskUnlisten>;
template struct AgentWire<AskConnect>;
template struct AgentWire<AskBurst>;
template struct AgentWire<AskStream>;
template struct AgentWire<AskRoundTrips>;
template struct AgentWire<AskIdle>;
template struct AgentWire<AskMtu>;
template struct AgentWire<AskPing>;
template struct AgentWire<AskRoute>;
template struct AgentWire<AskNeighbour>;
template struct AgentWire<AskDatagramsOpen>;
template struct AgentWire<AskDatagramsSend>;
template struct AgentWire<AskDatagramsClose>;
template struct AgentWire<AskCaptureStart>;
template struct AgentWire<AskCaptureStop>;
template struct AgentWire<AskCaptureRead>;
template struct AgentWire<AskCommand>;
template struct AgentWire<AskRdma>;
template struct AgentWire<AskRdmaMeet>;
template struct AgentWire<AskEndpoint>;
template struct AgentWire<AskSoftware>;
template struct AgentWire<AskArtifact>;

}  // namespace plumbline
