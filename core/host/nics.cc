#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>

#include "core/host/ip.h"
#include "core/host/nics_internal.h"

namespace plumbline {
namespace {

// The leading one bits of a mask.
int prefix_length(const Ip& mask) { return common_bits(mask, netmask(mask.bits(), mask.v6)); }

// The address stands `offset` bytes into both. BSD systems leave the family of a mask out, and what
// is behind the last of its bytes.
NicAddress nic_address(const sockaddr* address, const sockaddr* mask, size_t offset, bool v6) {
  const auto ip_in = [&](const sockaddr* whole) {
    return ip_of_bytes(reinterpret_cast<const char*>(whole) + offset, v6);
  };
  Ip ip = ip_in(address);
  // macOS keeps the interface index in bytes 2 and 3 of a link-local address.
  if (v6 && ip.link_local()) ip.bytes[2] = ip.bytes[3] = 0;
  NicAddress out{to_text(ip), 0, v6, ip.link_local(), ip.loopback()};
  if (mask != nullptr) out.prefix = prefix_length(ip_in(mask));
  return out;
}

}  // namespace

std::optional<NicAddress> to_nic_address(const sockaddr* address, const sockaddr* mask) {
  if (address == nullptr) return std::nullopt;
  const bool v6 = address->sa_family == AF_INET6;
  if (!v6 && address->sa_family != AF_INET) return std::nullopt;
  return nic_address(address, mask,
                     v6 ? offsetof(sockaddr_in6, sin6_addr) : offsetof(sockaddr_in, sin_addr), v6);
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
