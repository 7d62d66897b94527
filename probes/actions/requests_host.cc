// What an agent is asked about its own host alone.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/command.h"
#include "core/host/process_facts.h"
#include "core/text.h"
#include "probes/actions/actions.h"
#include "probes/actions/artifact.h"
#include "probes/actions/endpoint.h"
#include "probes/actions/ends.h"
#include "probes/actions/host_state.h"
#include "probes/actions/neighbour.h"
#include "probes/actions/rdma_climb.h"
#include "probes/actions/rdma_meet.h"
#include "probes/actions/software.h"
#include "probes/agent_requests.h"
#include "probes/evidence_query.h"
#include "probes/job/look.h"

namespace plumbline {
namespace {

constexpr size_t kMostNeighbours = 256;
constexpr size_t kMaxCommandOut = 64 << 10;  // bytes, as CommandEvidence says

Expected<HostEvidence> run_snapshot(const AskSnapshot& asked, const AgentCall& call) {
  return take_snapshot(asked.host, asked, call.deadline);
}

Expected<std::vector<Nic>> run_nics(const AskNics&, const AgentCall&) { return list_nics(); }

// What ranks could still take here.
Expected<MemoryReply> run_memory(const AskMemory&, const AgentCall&) {
  const HostFacts facts = read_host_facts();
  return MemoryReply{facts.memory_available_bytes, facts.boot_id};
}

Expected<CoresReply> run_cores(const AskCores&, const AgentCall&) {
  return CoresReply{physical_cores()};
}

Expected<CountersReply> run_counters(const AskCounters&, const AgentCall&) {
  const auto counters = read_counters();
  if (!counters) return fail(counters.error());
  return CountersReply{*counters};
}

Expected<JobHostEvidence> run_job(const AskJob& asked, const AgentCall& call) {
  constexpr int64_t kMostApartMs = 60'000;
  return look_at_job(asked, std::clamp<int64_t>(asked.apart_ms, 0, kMostApartMs), call);
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

constexpr std::string_view kCarrierChanges = ".carrier_changes";

bool wants(const AskWatch& asked, std::string_view counter) {
  return watched_counter(counter) != nullptr || (asked.live && is_live_counter(counter)) ||
         counter.ends_with(kCarrierChanges);
}

// Out of the counters, where nobody expects it.
void take_carriers(WatchState& state) {
  for (const Nic& nic : state.nics) {
    const auto counter = state.counters.find("if." + nic.name + std::string(kCarrierChanges));
    if (counter != state.counters.end()) state.carrier_changes[nic.name] = counter->second;
  }
  std::erase_if(state.counters,
                [](const auto& each) { return each.first.ends_with(kCarrierChanges); });
}

// What a live view shows beside what watching needs.
void read_live(const AskWatch& asked, const AgentCall& call, WatchState& state) {
  const std::map<int, int64_t> drops = read_queue_drops(call);
  for (const Nic& nic : state.nics) {
    const auto found = drops.find(nic.index);
    if (found != drops.end()) state.counters["if." + nic.name + ".queue_drops"] = found->second;
  }
  std::set<std::string> first;
  for (const WatchedPeer& peer : asked.peers) first.insert(peer.to_ip);
  state.neighbours = read_neighbours(first, kMostNeighbours, call);
}

// What cannot be read here is left out: the rest is still worth watching.
Expected<WatchState> run_watch(const AskWatch& asked, const AgentCall& call, SensorMemory& memory) {
  WatchState state;
  auto nics = list_nics();
  if (!nics) return fail(nics.error());
  state.nics = std::move(*nics);
  state.at_ns = monotonic_ns();
  if (auto counters =
          read_counters([&asked](std::string_view name) { return wants(asked, name); })) {
    state.counters = std::move(*counters);
    take_carriers(state);
  }
  if (asked.live) read_live(asked, call, state);
  for (const WatchedPeer& peer : asked.peers) {
    const auto ends =
        make_ends(peer.from_ip, peer.to_ip, carrier_name(state.nics, peer.from_ip), 0);
    if (!ends) continue;
    if (const auto route = look_up_route(*ends, call)) state.routes[peer.name] = route_text(*route);
  }
  read_sensors(state.nics, state, "/sys", memory);
  state.memory_bytes = resident_bytes();
  return state;
}

Expected<CommandEvidence> run_words(const AskCommand& asked, const AgentCall& call) {
  if (asked.command.empty()) return fail(ErrorCode::kUsage, "no command given");
  CommandEvidence out;
  out.label = asked.label;
  out.command = join_words(asked.command, " ");
  CommandOptions options;
  options.max_bytes = kMaxCommandOut;
  const Deadline deadline = within(call, asked.timeout_ms * kMillisecond).deadline;
  const auto done = run_command(asked.command, deadline, options);
  if (!done) {
    out.error = done.error().message();
    return out;
  }
  out.status = done->status;
  // Many tools tell their version on standard error only.
  const std::string& said = done->out.empty() ? done->err : done->out;
  out.out = valid_utf8(said.substr(0, kMaxCommandOut));
  return out;
}

}  // namespace

std::vector<AgentRequest> host_requests() {
  return {
      AgentWire<AskSnapshot>::row("what this host says about itself", run_snapshot),
      AgentWire<AskNics>::row("network interfaces of this host with their addresses", run_nics),
      AgentWire<AskMemory>::row("memory that processes can still get on this host", run_memory),
      AgentWire<AskCores>::row("how many cores this host has, hardware threads of one counted once",
                               run_cores),
      AgentWire<AskCounters>::row("packet counters of this host's network stack", run_counters),
      AgentWire<AskWatch>::row(
          "what may change here while others measure: links, routes, counters, heat",
          [memory = std::make_shared<SensorMemory>()](const AskWatch& asked,
                                                      const AgentCall& call) {
            return run_watch(asked, call, *memory);
          }),
      AgentWire<AskJob>::row(
          "processes and TCP sockets of somebody's own job here, looked at twice", run_job),
      AgentWire<AskRdma>::row("what a program needs of an RDMA device, tried in a child process",
                              climb_in_child),
      AgentWire<AskRdmaMeet>::row("tries RDMA with another host's agent, in a child process",
                                  meet_in_child),
      AgentWire<AskCommand>::row("runs a read-only command and returns its output", run_words),
      AgentWire<AskSoftware>::row(
          "versions of the system and of programs; variables that ranks heed", read_software),
      AgentWire<AskArtifact>::row("the files of a model here, and a hash of each", read_artifact),
      AgentWire<AskEndpoint>::row("asks a server of language models, as its clients do",
                                  try_endpoint),
  };
}

}  // namespace plumbline
