// Listeners: opened, asked who came, closed.
#include <fmt/format.h>

#include "probes/actions/requests.h"

namespace plumbline {
namespace {

constexpr size_t kMaxAddresses = 64;

Expected<ListenReply> run_listen(const Session& session, const AskListen& asked,
                                 const AgentCall& call) {
  if (const Status few = few_ports(asked.ports); !few) return fail(few.error());
  if (asked.addresses.size() > kMaxAddresses) return fail(ErrorCode::kUsage, "too many addresses");
  const auto hub = session->hub();
  if (!hub) return session_ended();
  auto states = hub->listen(asked.id, asked.addresses, asked.ports, call);
  if (!states) return fail(states.error());
  return ListenReply{std::move(*states)};
}

Expected<Heard> run_listened(const Session& session, const AskListened& asked) {
  const auto hub = session->hub();
  if (!hub) return session_ended();
  return hub->heard(asked.id);
}

Expected<NothingSaid> run_unlisten(const Session& session, const AskUnlisten& asked) {
  const auto hub = session->hub();
  if (!hub) return session_ended();
  const Status closed = hub->unlisten(asked.id);
  if (!closed) return fail(closed.error());
  return NothingSaid{};
}

}  // namespace

tl::unexpected<Error> session_ended() {
  return fail(ErrorCode::kAborted, "the session of this agent has ended");
}

Status few_ports(const std::vector<int>& ports) {
  if (ports.size() <= kMaxPorts) return {};
  return fail(ErrorCode::kUsage, fmt::format("more than {} ports at once", kMaxPorts));
}

std::vector<AgentRequest> listener_requests(const Session& session) {
  return {
      AgentWire<AskListen>::row("listens on ports, over TCP and UDP",
                                [session](const AskListen& asked, const AgentCall& call) {
                                  return run_listen(session, asked, call);
                                }),
      AgentWire<AskListened>::row("who came to the listeners",
                                  [session](const AskListened& asked, const AgentCall&) {
                                    return run_listened(session, asked);
                                  }),
      AgentWire<AskUnlisten>::row("closes listeners",
                                  [session](const AskUnlisten& asked, const AgentCall&) {
                                    return run_unlisten(session, asked);
                                  }),
  };
}

}  // namespace plumbline
