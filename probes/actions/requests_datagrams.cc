// Numbered datagrams one way: a socket that counts them, a sender, the count.
#include "probes/actions/requests.h"

namespace plumbline {
namespace {

Expected<DatagramHub::Opened> run_open(const Session& session, const AskDatagramsOpen& asked) {
  const auto hub = session->datagram_hub();
  if (!hub) return session_ended();
  return hub->open(asked.id, {asked.ip, asked.interface}, asked.keep_ms);
}

Expected<DatagramEvidence> run_send(const AskDatagramsSend& asked, const AgentCall& call) {
  const auto ends = ends_of(asked, asked.port);
  if (!ends) return fail(ends.error());
  return send_datagrams(*ends, asked, call);
}

Expected<DatagramHub::Counted> run_close(const Session& session, const AskDatagramsClose& asked,
                                         const AgentCall& call) {
  const auto hub = session->datagram_hub();
  if (!hub) return session_ended();
  return hub->close(asked.id, asked.expected, asked.settle_ms, call);
}

}  // namespace

std::vector<AgentRequest> datagram_requests(const Session& session) {
  return {
      AgentWire<AskDatagramsOpen>::row("counts numbered datagrams on a port of the system's choice",
                                       [session](const AskDatagramsOpen& asked, const AgentCall&) {
                                         return run_open(session, asked);
                                       }),
      AgentWire<AskDatagramsSend>::row("sends numbered datagrams at a steady pace", run_send),
      AgentWire<AskDatagramsClose>::row(
          "how many distinct ones came; closes",
          [session](const AskDatagramsClose& asked, const AgentCall& call) {
            return run_close(session, asked, call);
          }),
  };
}

}  // namespace plumbline
