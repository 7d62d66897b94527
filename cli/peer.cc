#include "cli/peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "core/fd.h"
#include "core/host/host.h"
#include "core/host/ip.h"
#include "core/number.h"
#include "launch/agent_link.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr int64_t kAttachMs = 8000;

struct Target {
  std::string address;
  int port = 0;  // 0 = no agent there
};

// "10.0.0.2", "10.0.0.2:29499", "fd00::2", "[fd00::2]:29499".
Expected<Target> parse_target(const std::string& text) {
  Target target{text, 0};
  const size_t colon = text.rfind(':');
  if (!parse_ip(text) && colon != std::string::npos) {
    target.address = text.substr(0, colon);
    const std::optional<int> port = parse_port(std::string_view(text).substr(colon + 1));
    if (!port) {
      return fail(ErrorCode::kUsage, "--peer '" + text + "' has no port from 1 to 65535");
    }
    target.port = *port;
  }
  if (target.address.size() > 2 && target.address.front() == '[' && target.address.back() == ']') {
    target.address = target.address.substr(1, target.address.size() - 2);
  }
  if (!parse_ip(target.address)) {
    return fail(ErrorCode::kUsage, "--peer '" + text + "' is no address",
                "write it as 10.10.0.2, 10.10.0.2:29499 or [fd00::2]:29499");
  }
  return target;
}

// Has an interface of this machine this address? Loopback is always its own.
bool is_own_address(const std::string& address) {
  if (is_loopback_ip(address)) return true;
  const std::vector<Nic> nics = list_nics().value_or(std::vector<Nic>{});
  return std::any_of(nics.begin(), nics.end(), [&](const Nic& nic) {
    return std::any_of(nic.addresses.begin(), nic.addresses.end(), [&](const NicAddress& own) {
      return parse_zoned_ip(own.ip) == parse_ip(address);
    });
  });
}

// A machine does not reach itself over its network: nothing of that would say how a peer fares. An
// agent that listens on loopback is another matter (a test, or a tunnel to elsewhere).
Status refuse_own_address(const Target& target) {
  const bool loopback = target.address == "127.0.0.1" || target.address == "::1";
  if ((loopback && target.port != 0) || !is_own_address(target.address)) return {};
  return fail(ErrorCode::kUsage, "--peer " + target.address + " is an address of this very machine",
              "give the address of another one; plumbline doctor alone looks at this machine");
}

// Our address on the way to the peer: what the system would choose as source; nothing is sent.
Expected<std::string> source_towards(const std::string& address) {
  constexpr uint16_t kDiscard = 9;
  const Expected<SocketAddress> peer = make_socket_address(address, kDiscard);
  if (!peer) return fail(peer.error());
  const Fd fd(socket(peer->family(), SOCK_DGRAM, 0));
  if (connect(fd.get(), peer->get(), peer->length) != 0) {
    Error error{ErrorCode::kUnreachable, "find the way to " + address, errno,
                "give this machine an address in its network, or a route to it", "route.missing"};
    return fail(std::move(error));
  }
  return to_text(local_address(fd.get()).ip());
}

}  // namespace

Expected<Peer> find_peer(const Args& args, const OptionSet& options) {
  const Expected<Target> target = parse_target(args.get("peer"));
  if (!target) return fail(target.error());
  if (const Status other = refuse_own_address(*target); !other) return fail(other.error());
  const Expected<std::string> source = source_towards(target->address);
  if (!source) return fail(source.error());
  Peer peer;
  ScenarioHost here;
  here.name = "here";
  here.local = true;
  here.data = {*source};
  ScenarioHost there;
  there.name = "peer";
  there.data = {target->address};
  peer.hosts = {here, there};
  if (target->port == 0) return peer;
  const char* file = std::getenv(kTokenVariable);
  if (file == nullptr || *file == '\0') {
    return fail(ErrorCode::kUsage, "the token of the listening agent is missing",
                "paste the whole line that plumbline agent --listen printed");
  }
  const Expected<std::string> token = read_token(file);
  if (!token) return fail(token.error());
  std::map<std::string, std::string> config;
  for (const auto& [name, value] : options.values()) config[name] = value.value;
  peer.agent = attach_agent("peer", target->address, target->port, *token,
                            Deadline::after_ms(kAttachMs), config);
  if (peer.agent->agent == nullptr) return fail(peer.agent->error);
  return peer;
}

}  // namespace plumbline
