#include <net/if.h>
#include <net/if_dl.h>
#include <net/if_var.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sockio.h>

#include <cerrno>
#include <cstring>

#include "core/fd.h"
#include "core/host/nics_internal.h"

namespace plumbline {
namespace {

bool begins(const std::string& name, const char* start) { return name.rfind(start, 0) == 0; }

// What the kernel says that the interface is for; IFRTYPE_FUNCTIONAL_UNKNOWN when it does not.
uint32_t functional_type(int socket, const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) return IFRTYPE_FUNCTIONAL_UNKNOWN;
  std::memcpy(request.ifr_name, name.data(), name.size());
  if (ioctl(socket, SIOCGIFFUNCTIONALTYPE, &request) != 0) return IFRTYPE_FUNCTIONAL_UNKNOWN;
  return request.ifr_ifru.ifru_functional_type;
}

std::string kind_of(int socket, const std::string& name, unsigned flags) {
  if ((flags & IFF_LOOPBACK) != 0) return "loopback";
  if (begins(name, "bridge")) return "bridge";
  for (const char* tunnel : {"utun", "gif", "stf", "ipsec", "ppp", "tun", "tap"}) {
    if (begins(name, tunnel)) return "tunnel";
  }
  for (const char* internal : {"awdl", "llw", "ap", "anpi", "feth", "vmenet", "vlan"}) {
    if (begins(name, internal)) return "virtual";
  }
  switch (functional_type(socket, name)) {
    case IFRTYPE_FUNCTIONAL_WIRED:
      return "ethernet";
    case IFRTYPE_FUNCTIONAL_WIFI_INFRA:
      return "wifi";
    case IFRTYPE_FUNCTIONAL_WIFI_AWDL:
      return "virtual";
    default:
      return "unknown";
  }
}

void complete(Nic& nic, const ifaddrs& entry, int socket) {
  const auto* link = reinterpret_cast<const sockaddr_dl*>(entry.ifa_addr);
  const auto* data = static_cast<const if_data*>(entry.ifa_data);
  nic.kind = kind_of(socket, nic.name, entry.ifa_flags);
  nic.carrier = (entry.ifa_flags & IFF_RUNNING) != 0;
  nic.mac = to_mac(reinterpret_cast<const unsigned char*>(LLADDR(link)), link->sdl_alen);
  if (data == nullptr) return;
  nic.mtu = static_cast<int>(data->ifi_mtu);
  if (nic.kind == "ethernet" && nic.carrier && data->ifi_baudrate > 0) {
    nic.speed_bps = data->ifi_baudrate;
  }
}

}  // namespace

Expected<std::vector<Nic>> list_nics() {
  const auto list = InterfaceList::read();
  if (!list) return fail(list.error());
  const Fd socket(::socket(AF_INET, SOCK_DGRAM, 0));
  if (!socket.valid()) {
    return fail_errno(ErrorCode::kSystem, "open a socket to ask for interface types", errno);
  }
  std::vector<Nic> nics = list->nics();
  for (const ifaddrs* entry = list->head(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_LINK) continue;
    for (Nic& nic : nics) {
      if (nic.name == entry->ifa_name) complete(nic, *entry, socket.get());
    }
  }
  return nics;
}

}  // namespace plumbline
