// What an agent is asked about its own host alone.

#include <set>

#include "core/clock.h"
#include "core/command.h"
#include "core/host/host.h"
#include "core/host/own_memory.h"
#include "core/host/physical_cores.h"
#include "core/json.h"
#include "probes/actions/counters.h"
#include "probes/actions/neighbour_table.h"
#include "probes/actions/queue_drops.h"
#include "probes/actions/requests.h"
#include "probes/actions/route.h"
#include "probes/actions/sensors.h"
#include "probes/actions/text.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCommandMs = 5000;  // when the request does not say
constexpr size_t kMostNeighbours = 256;

Expected<Json> run_snapshot(const Json& params, const AgentCall& call) {
  const auto request = params.get<SnapshotRequest>();
  return Json(take_snapshot(params.value("host", std::string()), request, call.deadline));
}

Expected<Json> run_nics(const Json&, const AgentCall&) {
  const auto nics = list_nics();
  if (!nics) return fail(nics.error());
  return Json(*nics);
}

// What ranks could still take here; `machine` tells hosts apart that share it.
Expected<Json> run_memory(const Json&, const AgentCall&) {
  const HostFacts facts = read_host_facts();
  return Json{{"available_bytes", facts.memory_available_bytes}, {"machine", facts.boot_id}};
}

Expected<Json> run_cores(const Json&, const AgentCall&) {
  return Json{{"cores", physical_cores()}};
}

Expected<Json> run_counters(const Json&, const AgentCall&) {
  const auto counters = read_counters();
  if (!counters) return fail(counters.error());
  return Json(*counters);
}

std::string route_text(const RouteLookup& route) {
  if (!route.error.empty()) return "none (" + route.error + ")";
  std::string text = "dev " + route.dev;
  if (!route.via.empty()) text += " via " + route.via;
  if (!route.source.empty()) text += " src " + route.source;
  if (route.type != "unicast" && !route.type.empty()) text += " (" + route.type + ")";
  return text;
}

// Link-local addresses mean nothing without it. Empty when no interface has the address.
std::string carrier_name(const std::vector<Nic>& nics, const std::string& ip) {
  for (const Nic& nic : nics) {
    for (const NicAddress& address : nic.addresses) {
      if (address.ip == ip) return nic.name;
    }
  }
  return {};
}

// What a live view shows beside what watching needs.
void read_live(const Json& peers, const AgentCall& call, WatchState& state) {
  const std::map<int, int64_t> drops = read_queue_drops(call);
  for (const Nic& nic : state.nics) {
    const auto found = drops.find(nic.index);
    if (found != drops.end()) state.counters["if." + nic.name + ".queue_drops"] = found->second;
  }
  std::set<std::string> first;
  for (const Json& peer : peers) first.insert(peer.at("to_ip").get<std::string>());
  state.neighbours = read_neighbours(first, kMostNeighbours, call);
}

// What cannot be read here is left out: the rest is still worth watching.
Expected<Json> run_watch(const Json& params, const AgentCall& call) {
  WatchState state;
  const bool live = params.value("live", false);
  const Json peers = params.value("peers", Json::array());
  auto nics = list_nics();
  if (!nics) return fail(nics.error());
  state.nics = std::move(*nics);
  state.at_ns = monotonic_ns();
  if (const auto counters = read_counters()) {
    for (const auto& [name, value] : *counters) {
      const bool wanted = watched_counter(name) != nullptr || (live && is_live_counter(name));
      if (wanted) state.counters[name] = value;
      for (const Nic& nic : state.nics) {
        if (name == "if." + nic.name + ".carrier_changes") state.carrier_changes[nic.name] = value;
      }
    }
  }
  if (live) read_live(peers, call, state);
  for (const Json& peer : peers) {
    const auto from_ip = peer.at("from_ip").get<std::string>();
    const auto name = peer.at("name").get<std::string>();
    const auto ends = make_ends(from_ip, peer.at("to_ip").get<std::string>(),
                                carrier_name(state.nics, from_ip), 0);
    if (!ends) continue;
    if (const auto route = look_up_route(*ends, call)) state.routes[name] = route_text(*route);
  }
  read_sensors(state.nics, state, "/sys");
  state.memory_bytes = resident_bytes();
  return Json(state);
}

Expected<Json> run_command_request(const Json& params, const AgentCall& call) {
  const auto words = params.at("command").get<std::vector<std::string>>();
  const int64_t ms = params.value("timeout_ms", kCommandMs);
  if (words.empty()) return fail(ErrorCode::kUsage, "no command given");
  CommandEvidence out;
  out.label = params.value("label", std::string());
  for (const std::string& word : words) out.command += (out.command.empty() ? "" : " ") + word;
  CommandOptions options;
  options.max_bytes = kMaxCommandOut;
  const auto done = run_command(words, within(call, ms * kMillisecond).deadline, options);
  if (!done) {
    out.error = done.error().message();
    return Json(out);
  }
  out.status = done->status;
  // Many tools tell their version on standard error only.
  out.out = valid_utf8(done->out.empty() ? done->err : done->out, kMaxCommandOut);
  return Json(out);
}

}  // namespace

std::vector<AgentRequest> host_requests() {
  return {
      {"snapshot", "what this host says about itself", run_snapshot},
      {"nics", "network interfaces of this host with their addresses", run_nics},
      {"memory", "memory that processes can still get on this host", run_memory},
      {"cores", "how many cores this host has, hardware threads of one counted once", run_cores},
      {"counters", "packet counters of this host's network stack", run_counters},
      {"watch", "what may change here while others measure: links, routes, counters, heat",
       run_watch},
      {"command", "runs a read-only command and returns its output", run_command_request},
  };
}

}  // namespace plumbline
