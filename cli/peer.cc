#include "cli/peer.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/fd.h"
#include "core/number.h"
#include "launch/agent_link.h"
#include "probes/subnet.h"

namespace plumbline {
namespace {

constexpr int64_t kAttachMs = 8000;

struct Target {
  std::string address;
  int port = 0;  // 0 = no agent there
};

bool numeric(const std::string& text, int family) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(family, text.c_str(), bytes) == 1;
}

// "10.0.0.2", "10.0.0.2:29499", "fd00::2", "[fd00::2]:29499".
Expected<Target> parse_target(const std::string& text) {
  Target target{text, 0};
  const size_t colon = text.rfind(':');
  if (!numeric(text, AF_INET6) && colon != std::string::npos) {
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
  if (!numeric(target.address, AF_INET) && !numeric(target.address, AF_INET6)) {
    return fail(ErrorCode::kUsage, "--peer '" + text + "' is no address",
                "write it as 10.10.0.2, 10.10.0.2:29499 or [fd00::2]:29499");
  }
  return target;
}

// Has an interface of this machine this address? Loopback is always its own.
bool is_own_address(const std::string& address) {
  if (is_loopback_ip(address)) return true;
  in_addr v4{};
  in6_addr v6{};
  inet_pton(AF_INET, address.c_str(), &v4);
  inet_pton(AF_INET6, address.c_str(), &v6);
  const int family = numeric(address, AF_INET6) ? AF_INET6 : AF_INET;
  ifaddrs* head = nullptr;
  if (getifaddrs(&head) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> list(head, freeifaddrs);
  for (const ifaddrs* entry = head; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
    const void* own = family == AF_INET
                          ? static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr)
                          : static_cast<const void*>(
                                &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr);
    const void* wanted = family == AF_INET ? static_cast<const void*>(&v4) : &v6;
    if (std::memcmp(own, wanted, family == AF_INET ? sizeof v4 : sizeof v6) == 0) return true;
  }
  return false;
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
  sockaddr_storage storage{};
  socklen_t length = 0;
  const bool v6 = numeric(address, AF_INET6);
  constexpr uint16_t kDiscard = 9;
  if (v6) {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(kDiscard);
    inet_pton(AF_INET6, address.c_str(), &in6->sin6_addr);
    length = sizeof *in6;
  } else {
    auto* in4 = reinterpret_cast<sockaddr_in*>(&storage);
    in4->sin_family = AF_INET;
    in4->sin_port = htons(kDiscard);
    inet_pton(AF_INET, address.c_str(), &in4->sin_addr);
    length = sizeof *in4;
  }
  const Fd fd(socket(storage.ss_family, SOCK_DGRAM, 0));
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0) {
    Error error{ErrorCode::kUnreachable, "find the way to " + address, errno,
                "give this machine an address in its network, or a route to it", "route.missing"};
    return fail(std::move(error));
  }
  length = sizeof storage;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length);
  char text[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<sockaddr*>(&storage), length, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  const std::string source = text;
  return source.substr(0, source.find('%'));
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
