// Numbered datagrams one way: a socket that counts them, a sender, the count.

#include "core/json.h"
#include "core/json_fields.h"
#include "probes/actions/requests.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kKeepMs = 30'000, kSettleMs = 200;

Expected<Json> run_open(const Session& session, const Json& params) {
  const auto hub = session->datagram_hub();
  if (!hub) return session_ended();
  const ListenAddress at{params.at("ip").get<std::string>(),
                         params.value("interface", std::string())};
  const auto opened =
      hub->open(params.at("id").get<std::string>(), at, params.value("keep_ms", kKeepMs));
  if (!opened) return fail(opened.error());
  return Json{{"port", opened->port}, {"token", opened->token}};
}

Expected<Json> run_send(const Json& params, const AgentCall& call) {
  const auto ends = ends_of(params, params.at("port").get<int>());
  if (!ends) return fail(ends.error());
  DatagramSettings settings;
  settings.token = params.at("token").get<std::string>();
  settings.count = params.value("count", settings.count);
  settings.rate_per_s = params.value("rate_per_s", settings.rate_per_s);
  return Json(send_datagrams(*ends, settings, call));
}

Expected<Json> run_close(const Session& session, const Json& params, const AgentCall& call) {
  const auto hub = session->datagram_hub();
  if (!hub) return session_ended();
  const auto counted =
      hub->close(params.at("id").get<std::string>(), params.value("expected", int64_t{0}),
                 params.value("settle_ms", kSettleMs), call);
  if (!counted) return fail(counted.error());
  return Json{{"received", counted->received},
              {"duplicates", counted->duplicates},
              {"strangers", counted->strangers},
              {"overflow", counted->overflow}};
}

}  // namespace

std::vector<AgentRequest> datagram_requests(const Session& session) {
  return {
      {"datagrams.open", "counts numbered datagrams on a port of the system's choice",
       [session](const Json& params, const AgentCall&) { return run_open(session, params); }},
      {"datagrams.send", "sends numbered datagrams at a steady pace", run_send},
      {"datagrams.close", "how many distinct ones came; closes",
       [session](const Json& params, const AgentCall& call) {
         return run_close(session, params, call);
       }},
  };
}

}  // namespace plumbline
