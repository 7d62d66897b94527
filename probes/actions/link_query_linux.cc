// Packet sockets of type SOCK_DGRAM (packet(7)): the kernel makes and strips the link header.
// IPv6 solicitations and advertisements go the same way, because a raw ICMPv6 socket would not
// show the ones that the kernel thinks are its own business.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/clock.h"
#include "core/fd.h"
#include "probes/actions/ends.h"
#include "probes/actions/netlink_linux.h"

namespace plumbline {
namespace {

constexpr int64_t kRepeat = 100 * kMillisecond;
constexpr int kMaxRequests = 5;
constexpr size_t kArpBytes = 28, kIp6Header = 40, kNdBytes = 24, kMacOption = 8;
constexpr int kSolicitation = 135, kAdvertisement = 136;
constexpr unsigned char kHopLimit = 255;  // anything less was forwarded (RFC 4861 section 7.1)

bool v6(const LinkQuery& query) { return query.wanted.family() == AF_INET6; }

std::string ip_bytes(const SocketAddress& address) {
  const Ip ip = address.ip();
  return {reinterpret_cast<const char*>(ip.bytes.data()), ip.size()};
}

std::string mac_bytes(const MacAddress& mac) {
  return {reinterpret_cast<const char*>(mac.data()), mac.size()};
}

// Without a sender address, always (an ARP probe, RFC 5227): who answers a request that names its
// sender learns the sender's address from it, which hides that the sender's own kernel cannot ask.
std::string arp_request(const LinkQuery& query) {
  std::string out("\0\1\x08\0\6\4\0\1", 8);  // Ethernet, IPv4, lengths, request
  out += mac_bytes(query.mac);
  out += std::string(4 + 6, '\0');
  return out + ip_bytes(query.wanted);
}

std::string arp_answer(const LinkQuery& query, const std::string& packet) {
  if (packet.size() < kArpBytes || packet.compare(0, 6, "\0\1\x08\0\6\4", 6) != 0) return {};
  const std::string sender = packet.substr(14, 4);
  if (sender != ip_bytes(query.wanted) || packet[6] != 0) return {};
  // A request tells its sender's address too: somebody else who uses ours shows up by that. But
  // who asks need not be able to answer.
  constexpr char kRequest = 1, kReply = 2;
  if (packet[7] != kReply && !(query.duplicate && packet[7] == kRequest)) return {};
  return mac_text({packet.data() + 8, sizeof(MacAddress)});
}

// ff02::1:ffXX:XXXX of an address (RFC 4291 section 2.7.1).
std::string solicited_group(const std::string& address) {
  return std::string("\xff\x02\0\0\0\0\0\0\0\0\0\1\xff", 13) + address.substr(13);
}

unsigned sum16(const std::string& bytes) {
  unsigned sum = 0;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    sum += static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) << 8 |
           static_cast<unsigned char>(bytes[i + 1]);
  }
  return sum;
}

std::string solicitation(const LinkQuery& query) {
  const std::string wanted = ip_bytes(query.wanted), group = solicited_group(wanted);
  const std::string own = query.duplicate ? std::string(16, '\0') : ip_bytes(query.own);
  std::string icmp(8, '\0');
  icmp[0] = static_cast<char>(kSolicitation);
  icmp += wanted;
  // Not allowed without a source address (RFC 4861 section 4.3).
  if (!query.duplicate) icmp += std::string("\1\1", 2) + mac_bytes(query.mac);
  const auto length = static_cast<char>(icmp.size());
  const std::string pseudo =
      own + group + std::string(3, '\0') + length + std::string(3, '\0') + '\x3a';
  unsigned sum = sum16(pseudo) + sum16(icmp);
  while (sum > 0xffff) sum = (sum & 0xffffu) + (sum >> 16);
  icmp[2] = static_cast<char>(~sum >> 8 & 255u);
  icmp[3] = static_cast<char>(~sum & 255u);
  std::string header("\x60\0\0\0\0", 5);
  header += length;
  header += '\x3a';
  header += static_cast<char>(kHopLimit);
  return header + own + group + icmp;
}

std::string advertiser(const LinkQuery& query, const std::string& packet) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(packet[i]); };
  if (packet.size() < kIp6Header + kNdBytes || at(0) >> 4 != 6 || at(6) != IPPROTO_ICMPV6 ||
      at(7) != kHopLimit || at(kIp6Header) != kAdvertisement ||
      packet.compare(kIp6Header + 8, 16, ip_bytes(query.wanted)) != 0) {
    return {};
  }
  for (size_t i = kIp6Header + kNdBytes; i + kMacOption <= packet.size();) {
    const size_t length = size_t{at(i + 1)} * 8;
    if (at(i) == 2 && length == kMacOption)
      return mac_text({packet.data() + i + 2, sizeof(MacAddress)});
    if (length == 0) return {};
    i += length;
  }
  return {};
}

sockaddr_ll destination(const LinkQuery& query) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(v6(query) ? ETH_P_IPV6 : ETH_P_ARP);
  to.sll_ifindex = query.interface;
  to.sll_halen = sizeof(MacAddress);
  std::memset(to.sll_addr, 0xff, sizeof(MacAddress));
  if (v6(query)) {
    const std::string group = solicited_group(ip_bytes(query.wanted));
    to.sll_addr[0] = to.sll_addr[1] = 0x33;
    std::memcpy(to.sll_addr + 2, group.data() + 12, 4);
  }
  return to;
}

// Waits for one packet and notes who answered.
void collect(int fd, const LinkQuery& query, const AgentCall& call,
             std::vector<std::string>& macs) {
  while (wait_for(fd, POLLIN, call)) {
    char buffer[512];
    sockaddr_ll from{};
    socklen_t length = sizeof from;
    const ssize_t got =
        ::recvfrom(fd, buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&from), &length);
    if (got <= 0 || from.sll_pkttype == PACKET_OUTGOING) continue;
    const std::string mac = link_answer(query, {buffer, static_cast<size_t>(got)});
    const bool own = mac == mac_text(mac_bytes(query.mac));
    if (mac.empty() || own || std::find(macs.begin(), macs.end(), mac) != macs.end()) continue;
    if (macs.size() < 16) macs.push_back(mac);
  }
}

}  // namespace

std::string link_request(const LinkQuery& query) {
  return v6(query) ? solicitation(query) : arp_request(query);
}

std::string link_answer(const LinkQuery& query, const std::string& packet) {
  return v6(query) ? advertiser(query, packet) : arp_answer(query, packet);
}

Expected<std::vector<std::string>> ask_link(const LinkQuery& query, const AgentCall& call) {
  sockaddr_ll to = destination(query);
  const Fd fd(::socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) {
    const bool denied = errno == EPERM || errno == EACCES;
    return fail_errno(denied ? ErrorCode::kUnsupported : ErrorCode::kSystem,
                      "open a packet socket (needs CAP_NET_RAW)", errno);
  }
  // Bound to one protocol and interface only now, so that nothing else was queued before.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    return fail_errno(ErrorCode::kSystem, "listen on the link", errno);
  }
  const std::string request = link_request(query);
  const AgentCall all = within(call, std::max<int64_t>(1, query.timeout_ms) * kMillisecond);
  std::vector<std::string> macs;
  for (int i = 0; !over(all); ++i) {
    if (i < kMaxRequests &&
        ::sendto(fd.get(), request.data(), request.size(), 0,
                 reinterpret_cast<const sockaddr*>(&to), sizeof to) < 0 &&
        i == 0) {
      return fail_errno(ErrorCode::kSystem, "ask on the link", errno);
    }
    collect(fd.get(), query, within(all, kRepeat), macs);
    // Whoever else answers does so about as fast; two rounds find him.
    if (!macs.empty() && i >= 1) break;
  }
  return macs;
}

}  // namespace plumbline
