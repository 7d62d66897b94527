// Own address resolution on one Ethernet-like link, past the kernel's: asks "who has this address"
// several times and collects everybody who answers. Needs CAP_NET_RAW. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "transport/tcp/socket.h"

namespace plumbline {

using MacAddress = std::array<unsigned char, 6>;

struct LinkQuery {
  int interface = 0;          // index
  MacAddress mac{};           // of the interface
  SocketAddress own, wanted;  // IPv4 both, or IPv6 both
  // Asks as nobody in particular (RFC 5227, RFC 4862 duplicate detection), for the own address.
  bool duplicate = false;
  int64_t timeout_ms = 500;
};
// MACs that answered, each once, without our own. kUnsupported when this process may not ask.
Expected<std::vector<std::string>> ask_link(const LinkQuery& query, const AgentCall& call);

// For tests: the frames' bytes, and the answerer's MAC of one that came (empty: not an answer).
std::string link_request(const LinkQuery& query);
std::string link_answer(const LinkQuery& query, const std::string& packet);

}  // namespace plumbline
