// What one host tries towards another.
#include <algorithm>

#include "core/clock.h"
#include "probes/actions/burst.h"
#include "probes/actions/probe_line.h"
#include "probes/actions/requests.h"
#include "probes/actions/route.h"
#include "probes/actions/text.h"

namespace plumbline {
namespace {

Expected<ConnectReply> run_connect(const AskConnect& asked, const AgentCall& call) {
  const auto ends = ends_of(asked, 0);
  if (!ends) return fail(ends.error());
  if (const Status few = few_ports(asked.ports); !few) return fail(few.error());
  const std::string nonce = asked.nonce.empty() ? new_nonce() : asked.nonce;
  if (!usable_nonce(nonce)) return fail(ErrorCode::kUsage, "that nonce cannot be sent in a line");
  return ConnectReply{connect_ports(*ends, asked.ports, asked.timeout_ms, nonce, call), nonce};
}

Expected<BurstReply> run_burst(const AskBurst& asked, const AgentCall& call) {
  const auto ends = ends_of(asked, asked.port);
  if (!ends) return fail(ends.error());
  const auto result = connect_burst(*ends, asked.attempts, asked.timeout_ms, call);
  if (!result) return fail(result.error());
  return BurstReply{result->attempts, result->counters};
}

Expected<RoundTripsReply> run_round_trips(const AskRoundTrips& asked, const AgentCall& call) {
  const auto ends = ends_of(asked, asked.port);
  if (!ends) return fail(ends.error());
  const int count = std::clamp(asked.count, 1, 100'000);
  auto times = measure_round_trips(*ends, count, within(call, asked.timeout_ms * kMillisecond));
  if (!times) return fail(times.error());
  return RoundTripsReply{std::move(*times)};
}

Expected<NeighbourProbe> run_neighbour(const AskNeighbour& asked, const AgentCall& call) {
  AskedWay way = asked;
  // For duplicates nobody but the own address is of interest.
  if (asked.duplicate) way.to_ip = asked.from_ip;
  const auto ends = ends_of(way, 0);
  if (!ends) return fail(ends.error());
  return probe_neighbour(*ends, asked, call);
}

// What needs no more than the two ends and its settings.
template <typename Request, typename Action>
AgentRequest row_of(const char* help, Action action) {
  return AgentWire<Request>::row(
      help,
      [action](const Request& asked, const AgentCall& call) -> Expected<typename Request::Reply> {
        int port = 0;
        if constexpr (std::is_base_of_v<AskedPort, Request>) port = asked.port;
        const auto ends = ends_of(asked, port);
        if (!ends) return fail(ends.error());
        return action(*ends, asked, call);
      });
}

Expected<RouteLookup> run_route(const PairEnds& ends, const AskRoute&, const AgentCall& call) {
  return look_up_route(ends, call);
}

}  // namespace

Expected<PairEnds> ends_of(const AskedWay& way, int port) {
  return make_ends(way.from_ip, way.to_ip, way.interface, port);
}

std::vector<AgentRequest> pair_requests() {
  return {
      AgentWire<AskConnect>::row("connects to ports and finds out who answers", run_connect),
      AgentWire<AskBurst>::row("many connection attempts and what the counters say", run_burst),
      row_of<AskStream>("a short stream over TCP", run_stream),
      AgentWire<AskRoundTrips>::row("small messages there and back over TCP", run_round_trips),
      row_of<AskIdle>("a connection that lies idle and is used again", try_after_idle),
      row_of<AskMtu>("how large packets may be on the way", probe_mtu),
      row_of<AskPing>("ICMP echo", ping),
      row_of<AskRoute>("the kernel's way to an address", run_route),
      AgentWire<AskNeighbour>::row("who answers for an address on the link", run_neighbour),
  };
}

}  // namespace plumbline
