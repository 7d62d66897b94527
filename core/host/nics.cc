#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>

#include "core/host/nics_internal.h"

namespace plumbline {
namespace {

// The leading one bits of a mask in network order.
int prefix_length(const unsigned char* mask, size_t bytes) {
  int bits = 0;
  for (size_t i = 0; i < bytes; ++i) {
    bits += std::countl_one(mask[i]);
    if (mask[i] != 0xff) break;
  }
  return bits;
}

NicAddress from_v4(const sockaddr_in& address, const sockaddr* mask) {
  NicAddress out;
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  out.ip = text;
  const uint32_t host_order = ntohl(address.sin_addr.s_addr);
  out.loopback = host_order >> 24 == 127;
  out.link_local = host_order >> 16 == 0xa9fe;  // 169.254/16
  if (mask != nullptr) {
    // BSD systems leave the family of a mask out, so it is taken from the address.
    in_addr bits{};
    std::memcpy(&bits, reinterpret_cast<const char*>(mask) + offsetof(sockaddr_in, sin_addr),
                sizeof bits);
    unsigned char bytes[4];
    std::memcpy(bytes, &bits, sizeof bytes);
    out.prefix = prefix_length(bytes, sizeof bytes);
  }
  return out;
}

NicAddress from_v6(const sockaddr_in6& address, const sockaddr* mask) {
  NicAddress out;
  out.v6 = true;
  in6_addr plain = address.sin6_addr;
  out.link_local = IN6_IS_ADDR_LINKLOCAL(&plain);
  out.loopback = IN6_IS_ADDR_LOOPBACK(&plain);
  // macOS keeps the interface index in bytes 2 and 3 of a link-local address.
  if (out.link_local) plain.s6_addr[2] = plain.s6_addr[3] = 0;
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, &plain, text, sizeof text);
  out.ip = text;
  if (mask != nullptr) {
    unsigned char bytes[16];
    std::memcpy(bytes, reinterpret_cast<const char*>(mask) + offsetof(sockaddr_in6, sin6_addr),
                sizeof bytes);
    out.prefix = prefix_length(bytes, sizeof bytes);
  }
  return out;
}

}  // namespace

std::optional<NicAddress> to_nic_address(const sockaddr* address, const sockaddr* mask) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return from_v4(v4, mask);
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    return from_v6(v6, mask);
  }
  return std::nullopt;
}

std::string to_mac(const unsigned char* bytes, size_t count) {
  if (std::all_of(bytes, bytes + count, [](unsigned char b) { return b == 0; })) return {};
  std::string out;
  for (size_t i = 0; i < count; ++i) out += fmt::format("{}{:02x}", i == 0 ? "" : ":", bytes[i]);
  return out;
}

Expected<InterfaceList> InterfaceList::read() {
  ifaddrs* head = nullptr;
  if (getifaddrs(&head) != 0) {
    return fail_errno(ErrorCode::kSystem, "list the network interfaces (getifaddrs)", errno);
  }
  return InterfaceList(head);
}

std::vector<Nic> InterfaceList::nics() const {
  std::map<std::string, Nic> by_name;
  for (const ifaddrs* entry = head_; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_name == nullptr) continue;
    // "eth0:1" is an old-style alias: a second address of eth0, not an interface.
    std::string name = entry->ifa_name;
    name.resize(std::min(name.find(':'), name.size()));
    Nic& nic = by_name[name];
    nic.name = name;
    nic.up = nic.up || (entry->ifa_flags & IFF_UP) != 0;
    if (auto address = to_nic_address(entry->ifa_addr, entry->ifa_netmask)) {
      nic.addresses.push_back(std::move(*address));
    }
  }
  std::vector<Nic> out;
  for (auto& [name, nic] : by_name) {
    nic.index = static_cast<int>(if_nametoindex(name.c_str()));
    out.push_back(std::move(nic));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Nic& a, const Nic& b) { return a.index < b.index; });
  return out;
}

}  // namespace plumbline
