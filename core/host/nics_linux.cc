#include <net/if.h>
#include <net/if_arp.h>
#include <netpacket/packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/fd.h"
#include "core/file.h"
#include "core/host/host_parse.h"
#include "core/host/nics_internal.h"

namespace plumbline {
namespace {

// IFF_LOWER_UP of linux/if.h, which cannot be included together with net/if.h: signal on the wire.
constexpr unsigned kLowerUp = 0x10000;
constexpr int kIp6Gre = 823;  // ARPHRD_IP6GRE of linux/if_arp.h, for the same reason

// sysfs shows the interfaces of the network namespace in which it was mounted, which may be
// another one than ours: an interface is believed only when name and index agree.
class Sysfs {
 public:
  explicit Sysfs(const Nic& nic) : folder_("/sys/class/net/" + nic.name) {
    known_ = parse_count(text("ifindex")) == static_cast<uint64_t>(nic.index);
  }
  bool known() const { return known_; }
  bool has(const char* entry) const {
    return known_ && access((folder_ + "/" + entry).c_str(), F_OK) == 0;
  }
  std::string text(const char* entry) const { return read_system_file(folder_ + "/" + entry); }
  // Last part of the path that a link points to.
  std::string target(const char* entry) const {
    std::array<char, 512> path{};
    const ssize_t size =
        known_ ? readlink((folder_ + "/" + entry).c_str(), path.data(), path.size()) : 0;
    if (size <= 0) return {};
    const std::string text(path.data(), static_cast<size_t>(size));
    return text.substr(text.rfind('/') + 1);
  }

 private:
  std::string folder_;
  bool known_ = false;
};

bool is_tunnel(int hardware_type) {
  constexpr std::array kTunnels = {ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT, ARPHRD_IPGRE,
                                   kIp6Gre,       ARPHRD_PPP,     ARPHRD_NONE};
  return std::find(kTunnels.begin(), kTunnels.end(), hardware_type) != kTunnels.end();
}

std::string kind_of(const Sysfs& sysfs, unsigned flags, int hardware_type) {
  if ((flags & IFF_LOOPBACK) != 0) return "loopback";
  if (sysfs.has("bridge")) return "bridge";
  if (sysfs.has("tun_flags") || is_tunnel(hardware_type)) return "tunnel";
  if (sysfs.has("wireless") || sysfs.has("phy80211")) return "wifi";
  if (!sysfs.known()) return "unknown";
  if (!sysfs.has("device")) return "virtual";
  return hardware_type == ARPHRD_ETHER ? "ethernet" : "unknown";
}

int mtu_of(int socket, const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) return 0;
  std::memcpy(request.ifr_name, name.data(), name.size());
  return ioctl(socket, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

// Only wired cards know their speed: what a veth or a bridge reports is invented.
std::optional<uint64_t> speed_of(const Nic& nic, const Sysfs& sysfs) {
  if (nic.kind != "ethernet" || !nic.carrier) return std::nullopt;
  const auto mbit = parse_count(sysfs.text("speed"));  // "-1" where it is unknown
  if (!mbit || *mbit == 0 || *mbit > 10'000'000) return std::nullopt;
  return *mbit * 1'000'000;
}

void complete(Nic& nic, const ifaddrs& entry, int socket) {
  sockaddr_ll link{};
  std::memcpy(&link, entry.ifa_addr, sizeof link);
  const Sysfs sysfs(nic);
  nic.carrier = (entry.ifa_flags & kLowerUp) != 0;
  nic.mac = to_mac(link.sll_addr, std::min<size_t>(link.sll_halen, sizeof link.sll_addr));
  nic.mtu = mtu_of(socket, nic.name);
  nic.kind = kind_of(sysfs, entry.ifa_flags, link.sll_hatype);
  nic.master = sysfs.target("master");
  nic.speed_bps = speed_of(nic, sysfs);
}

}  // namespace

Expected<std::vector<Nic>> list_nics() {
  const auto list = InterfaceList::read();
  if (!list) return fail(list.error());
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid())
    return fail_errno(ErrorCode::kSystem, "open a socket to ask for MTUs", errno);

  std::vector<Nic> nics = list->nics();
  for (const ifaddrs* entry = list->head(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_PACKET) continue;
    for (Nic& nic : nics) {
      if (nic.name == entry->ifa_name) complete(nic, *entry, socket.get());
    }
  }
  return nics;
}

}  // namespace plumbline
