// Listeners: opened, asked who came, closed.
#include <fmt/format.h>

#include "core/json.h"
#include "core/json_fields.h"
#include "probes/actions/requests.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(ListenAddress, ip, interface)
PLUMBLINE_JSON_FIELDS(ListenState, ip, port, listener, error, holder, role, run, udp)
PLUMBLINE_JSON_FIELDS(AcceptedConnection, ip, port, peer_ip, peer_port, nonce)
PLUMBLINE_JSON_FIELDS(HalfOpenConnection, ip, port, peer_ip, peer_port)
PLUMBLINE_JSON_FIELDS(SeenDatagrams, ip, port, peer_ip, largest, count)
PLUMBLINE_JSON_FIELDS(Heard, accepted, half_open, datagrams)

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxAddresses = 64;

Expected<Json> run_listen(const Session& session, const Json& params, const AgentCall& call) {
  const auto id = params.at("id").get<std::string>();
  const auto addresses = params.at("addresses").get<std::vector<ListenAddress>>();
  const auto ports = ports_of(params);
  if (!ports) return fail(ports.error());
  if (addresses.size() > kMaxAddresses) return fail(ErrorCode::kUsage, "too many addresses");
  const auto hub = session->hub();
  if (!hub) return session_ended();
  const auto states = hub->listen(id, addresses, *ports, call);
  if (!states) return fail(states.error());
  return Json{{"ports", *states}};
}

Expected<Json> run_listened(const Session& session, const Json& params) {
  const auto hub = session->hub();
  if (!hub) return session_ended();
  const auto heard = hub->heard(params.at("id").get<std::string>());
  if (!heard) return fail(heard.error());
  return Json(*heard);
}

Expected<Json> run_unlisten(const Session& session, const Json& params) {
  const auto hub = session->hub();
  if (!hub) return session_ended();
  const Status closed = hub->unlisten(params.at("id").get<std::string>());
  if (!closed) return fail(closed.error());
  return Json::object();
}

}  // namespace

tl::unexpected<Error> session_ended() {
  return fail(ErrorCode::kAborted, "the session of this agent has ended");
}

Expected<std::vector<int>> ports_of(const Json& params) {
  auto ports = params.at("ports").get<std::vector<int>>();
  if (ports.size() > kMaxPorts) {
    return fail(ErrorCode::kUsage, fmt::format("more than {} ports at once", kMaxPorts));
  }
  return ports;
}

std::vector<AgentRequest> listener_requests(const Session& session) {
  return {
      {"listen", "listens on ports, over TCP and UDP",
       [session](const Json& params, const AgentCall& call) {
         return run_listen(session, params, call);
       }},
      {"listened", "who came to the listeners",
       [session](const Json& params, const AgentCall&) { return run_listened(session, params); }},
      {"unlisten", "closes listeners",
       [session](const Json& params, const AgentCall&) { return run_unlisten(session, params); }},
  };
}

}  // namespace plumbline
