// Questions to the kernel over route netlink (rtnetlink(7)): one request, all parts of its answer;
// and its table of neighbours, entry by entry. Only reads; needs no privilege. And own address
// resolution on one Ethernet-like link, past the kernel's: asks "who has this address" several
// times and collects everybody who answers. Needs CAP_NET_RAW. Thread-safe.
#pragma once

#include <linux/rtnetlink.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"
#include "transport/tcp/socket.h"

namespace plumbline {

// A request under construction: header, the family's structure, attributes.
class NetlinkRequest {
 public:
  // `flags` beside NLM_F_REQUEST.
  NetlinkRequest(uint16_t type, uint16_t flags, const void* body, size_t size);
  void add(uint16_t type, const void* data, size_t size);
  const std::string& bytes() const { return bytes_; }

 private:
  void close();  // pads, and writes the length into the header
  std::string bytes_;
};

// Calls `message` for each part of the answer. kSystem with the errno that the kernel answered.
// `protocol`: NETLINK_ROUTE, or another part of the kernel that speaks the same way
// (NETLINK_SOCK_DIAG).
Status ask_netlink(const NetlinkRequest& request, const AgentCall& call,
                   const std::function<void(const nlmsghdr&)>& message,
                   int protocol = NETLINK_ROUTE);

// The family's structure behind the header; false when the message is too short for it.
bool netlink_body(const nlmsghdr& message, void* body, size_t size);
// The attributes behind the structure of `body_size` bytes: type -> bytes; damaged ones left out.
std::map<int, std::string> netlink_attributes(const nlmsghdr& message, size_t body_size);
// An attribute that holds an address of this family as text; empty when there is none.
std::string netlink_ip(const std::map<int, std::string>& attributes, int type, int family);
// The same for a 32-bit number; 0 when there is none.
uint32_t netlink_number(const std::map<int, std::string>& attributes, int type);

// ---- neighbours ----

struct KernelNeighbour {
  int interface = 0;  // index
  std::string ip;
  std::string mac;    // empty when it is not known
  std::string state;  // as ip-neighbour(8) prints it
};
// `family`: AF_INET, AF_INET6, or AF_UNSPEC for both.
Expected<std::vector<KernelNeighbour>> kernel_neighbours(int family, const AgentCall& call);

// ---- on the link, link_query_linux.cc ----

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
