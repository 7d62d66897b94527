// What one host tries towards another.

#include "core/json.h"
#include "probes/actions/burst.h"
#include "probes/actions/connector.h"
#include "probes/actions/idle.h"
#include "probes/actions/mtu.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/ping.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/requests.h"
#include "probes/actions/route.h"
#include "probes/actions/stream.h"
#include "probes/actions/text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

Expected<PairEnds> ends_with_port(const Json& params) {
  return ends_of(params, params.at("port").get<int>());
}

Expected<Json> run_connect(const Json& params, const AgentCall& call) {
  const auto ends = ends_of(params, 0);
  if (!ends) return fail(ends.error());
  const auto ports = ports_of(params);
  if (!ports) return fail(ports.error());
  std::string nonce = params.value("nonce", std::string());
  if (nonce.empty()) nonce = new_nonce();
  if (!usable_nonce(nonce)) return fail(ErrorCode::kUsage, "that nonce cannot be sent in a line");
  Json out = Json::array();
  for (const ConnectAttempt& done :
       connect_ports(*ends, *ports, params.value("timeout_ms", int64_t{2000}), nonce, call)) {
    Json entry = done.attempt;
    entry["source_port"] = done.source_port;
    out.push_back(std::move(entry));
  }
  return Json{{"ports", std::move(out)}, {"nonce", nonce}};
}

Expected<Json> run_burst(const Json& params, const AgentCall& call) {
  const auto ends = ends_with_port(params);
  if (!ends) return fail(ends.error());
  const auto result = connect_burst(*ends, params.value("attempts", 20),
                                    params.value("timeout_ms", int64_t{300}), call);
  if (!result) return fail(result.error());
  return Json{{"attempts", result->attempts}, {"counters", result->counters}};
}

Expected<Json> run_stream_request(const Json& params, const AgentCall& call) {
  const auto ends = ends_with_port(params);
  if (!ends) return fail(ends.error());
  StreamSettings settings;
  settings.kind = params.value("kind", settings.kind);
  settings.duration_ms = params.value("duration_ms", settings.duration_ms);
  settings.bytes = params.value("bytes", settings.bytes);
  settings.rate_per_s = params.value("rate_per_s", settings.rate_per_s);
  return Json(run_stream(*ends, settings, call));
}

Expected<Json> run_round_trips(const Json& params, const AgentCall& call) {
  const auto ends = ends_with_port(params);
  if (!ends) return fail(ends.error());
  const int64_t ms = params.value("timeout_ms", int64_t{2000});
  const int count = std::clamp(params.value("count", 20), 1, 100'000);
  const auto times = measure_round_trips(*ends, count, within(call, ms * kMillisecond));
  if (!times) return fail(times.error());
  return Json{{"round_trips_ns", *times}};
}

Expected<Json> run_idle(const Json& params, const AgentCall& call) {
  const auto ends = ends_with_port(params);
  if (!ends) return fail(ends.error());
  IdleSettings settings;
  settings.idle_ms = params.value("idle_ms", settings.idle_ms);
  settings.timeout_ms = params.value("timeout_ms", settings.timeout_ms);
  return Json(try_after_idle(*ends, settings, call));
}

Expected<Json> run_mtu(const Json& params, const AgentCall& call) {
  const auto ends = ends_with_port(params);
  if (!ends) return fail(ends.error());
  MtuSettings settings;
  settings.interface_mtu = params.value("interface_mtu", settings.interface_mtu);
  settings.transfer_bytes = params.value("transfer_bytes", settings.transfer_bytes);
  settings.timeout_ms = params.value("timeout_ms", settings.timeout_ms);
  settings.silence_ms = params.value("silence_ms", settings.silence_ms);
  return Json(probe_mtu(*ends, settings, call));
}

Expected<Json> run_ping(const Json& params, const AgentCall& call) {
  const auto ends = ends_of(params, 0);
  if (!ends) return fail(ends.error());
  PingSettings settings;
  settings.count = params.value("count", settings.count);
  settings.interval_ms = params.value("interval_ms", settings.interval_ms);
  settings.timeout_ms = params.value("timeout_ms", settings.timeout_ms);
  settings.bytes = params.value("bytes", settings.bytes);
  return Json(ping(*ends, settings, call));
}

Expected<Json> run_route(const Json& params, const AgentCall& call) {
  const auto ends = ends_of(params, 0);
  if (!ends) return fail(ends.error());
  const auto lookup = look_up_route(*ends, call);
  if (!lookup) return fail(lookup.error());
  return Json(*lookup);
}

Expected<Json> run_neighbour(const Json& params, const AgentCall& call) {
  NeighbourSettings settings;
  settings.duplicate = params.value("duplicate", settings.duplicate);
  settings.timeout_ms = params.value("timeout_ms", settings.timeout_ms);
  Json asked = params;
  // For duplicates nobody but the own address is of interest.
  if (settings.duplicate) asked["to_ip"] = params.at("from_ip");
  const auto ends = ends_of(asked, 0);
  if (!ends) return fail(ends.error());
  return Json(probe_neighbour(*ends, settings, call));
}

}  // namespace

Expected<PairEnds> ends_of(const Json& params, int port) {
  return make_ends(params.value("from_ip", std::string()), params.at("to_ip").get<std::string>(),
                   params.value("interface", std::string()), port);
}

std::vector<AgentRequest> pair_requests() {
  return {
      {"connect", "connects to ports and finds out who answers", run_connect},
      {"burst", "many connection attempts and what the counters say", run_burst},
      {"stream", "a short stream over TCP", run_stream_request},
      {"round_trips", "small messages there and back over TCP", run_round_trips},
      {"idle", "a connection that lies idle and is used again", run_idle},
      {"mtu", "how large packets may be on the way", run_mtu},
      {"ping", "ICMP echo", run_ping},
      {"route", "the kernel's way to an address", run_route},
      {"neighbour", "who answers for an address on the link", run_neighbour},
  };
}

}  // namespace plumbline
