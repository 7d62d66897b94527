#include "launch/data_addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/host/ip.h"

namespace plumbline {
namespace {

// Interfaces that software makes for its own purposes. A "#" stands for digits, or nothing, up to
// the end of the name; "*" for anything.
struct NameRow {
  const char *pattern, *reason;
};
constexpr NameRow kNames[] = {
    {"docker*", "a container's bridge"},
    {"br-*", "a container's bridge"},
    {"podman#", "a container's bridge"},
    {"cni*", "a container's bridge"},
    {"cali*", "a container's link"},
    {"flannel*", "a container's link"},
    {"cilium*", "a container's link"},
    {"kube-*", "a container's link"},
    {"virbr*", "a bridge of virtual machines"},
    {"lxcbr#", "a bridge of virtual machines"},
    {"lxdbr#", "a bridge of virtual machines"},
    {"vmnet#", "a bridge of virtual machines"},
    {"wg*", "a VPN or tunnel"},
    {"tailscale#", "a VPN or tunnel"},
    {"zt*", "a VPN or tunnel"},
    {"utun#", "a VPN or tunnel"},
    {"tun#", "a VPN or tunnel"},
    {"tap#", "a VPN or tunnel"},
    {"ppp#", "a VPN or tunnel"},
    {"ipsec#", "a VPN or tunnel"},
    {"awdl#", "for AirDrop"},
    {"llw#", "for AirDrop"},
};

bool matches(const std::string& name, const std::string& pattern) {
  const std::string head = pattern.substr(0, pattern.size() - 1);
  if (name.rfind(head, 0) != 0) return false;
  return pattern.back() == '*' ||
         std::all_of(name.begin() + static_cast<ptrdiff_t>(head.size()), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// An address that may carry the world.
struct Usable {
  RankAddress address;
  bool v6 = false, link_local = false, wireless = false;
  uint64_t speed = 0;  // bits per second; 0 = unknown
  size_t order = 0;    // of interface and address
};

struct Machine {
  std::string host;
  std::vector<Usable> usable;
  std::string excluded;     // what was left out and why, for messages
  std::set<size_t> chosen;  // indices into usable
  std::map<size_t, std::vector<std::string>> shared_with;  // by index: hosts
  std::vector<std::string> unshared;                       // hosts that no subnet joins it to
};

// The subnet that an address lies in.
std::optional<Subnet> data_subnet(const RankAddress& address) {
  const std::optional<Ip> ip = parse_ip(address.ip);
  if (!ip || address.prefix <= 0 || address.prefix > ip->bits()) return std::nullopt;
  return network_of(Subnet{*ip, address.prefix});
}

Machine machine_of(const RankNics& rank) {
  Machine machine;
  machine.host = rank.host;
  size_t order = 0;
  for (const Nic& nic : rank.nics) {
    const std::string why = why_excluded(nic);
    if (!why.empty()) {
      machine.excluded += (machine.excluded.empty() ? "" : ", ") + nic.name + " (" + why + ")";
      continue;
    }
    for (const NicAddress& address : nic.addresses) {
      // fe80 says nothing about which network it is.
      if (address.loopback || (address.v6 && address.link_local)) continue;
      machine.usable.push_back({{address.ip, address.prefix, nic.name},
                                address.v6,
                                address.link_local,
                                nic.kind == "wifi",
                                nic.speed_bps.value_or(0),
                                order++});
    }
  }
  return machine;
}

// The same address on two machines (libvirt's 192.168.122.1) names neither of them.
void drop_repeated(std::vector<Machine>& machines) {
  std::map<std::string, int> seen;
  for (const Machine& machine : machines) {
    for (const Usable& usable : machine.usable) ++seen[usable.address.ip];
  }
  for (Machine& machine : machines) {
    std::erase_if(machine.usable, [&](const Usable& usable) {
      if (seen[usable.address.ip] < 2) return false;
      machine.excluded += (machine.excluded.empty() ? "" : ", ") + usable.address.ip +
                          " (several machines have it)";
      return true;
    });
  }
}

// Smaller is better.
auto quality(const Usable& a, const Usable& b) {
  const bool known = a.speed > 0 && b.speed > 0;
  const uint64_t slower = known ? std::min(a.speed, b.speed) : 0;
  return std::tuple(a.wireless || b.wireless, a.link_local || b.link_local,
                    std::numeric_limits<uint64_t>::max() - slower, a.v6, a.order + b.order,
                    std::min(a.order, b.order));
}

void join(Machine& a, Machine& b) {
  std::optional<std::pair<size_t, size_t>> best;
  for (size_t i = 0; i < a.usable.size(); ++i) {
    const auto subnet = data_subnet(a.usable[i].address);
    for (size_t j = 0; subnet && j < b.usable.size(); ++j) {
      if (subnet != data_subnet(b.usable[j].address)) continue;
      if (best && quality(a.usable[best->first], b.usable[best->second]) <=
                      quality(a.usable[i], b.usable[j])) {
        continue;
      }
      best = {i, j};
    }
  }
  if (!best) {
    a.unshared.push_back(b.host);
    b.unshared.push_back(a.host);
    return;
  }
  a.chosen.insert(best->first);
  b.chosen.insert(best->second);
  a.shared_with[best->first].push_back(b.host);
  b.shared_with[best->second].push_back(a.host);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string speed_text(uint64_t bps) {
  return bps == 0 ? std::string("speed unknown")
                  : fmt::format("{:g} Gbit/s", static_cast<double>(bps) * 1e-9);
}

AddressChoice choice_of(const Machine& machine) {
  AddressChoice choice;
  const auto add = [&](const Usable& usable, const std::string& why) {
    choice.addresses.push_back(usable.address);
    choice.reason +=
        fmt::format("{}{}/{} on {}: {}, {}", choice.reason.empty() ? "" : "; ", usable.address.ip,
                    usable.address.prefix, usable.address.interface, why, speed_text(usable.speed));
  };
  std::vector<size_t> order(machine.chosen.begin(), machine.chosen.end());
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return quality(machine.usable[a], machine.usable[a]) <
           quality(machine.usable[b], machine.usable[b]);
  });
  for (const size_t index : order) {
    add(machine.usable[index], "shared with " + listed(machine.shared_with.at(index)));
  }
  if (machine.unshared.empty()) return choice;
  for (size_t index = 0; index < machine.usable.size(); ++index) {
    if (machine.chosen.count(index) > 0) continue;
    add(machine.usable[index],
        "no subnet shared with " + listed(machine.unshared) + ", which must be routed");
  }
  return choice;
}

}  // namespace

std::string why_excluded(const Nic& nic) {
  if (nic.kind == "loopback") return "loopback";
  if (nic.kind == "tunnel") return "a VPN or tunnel";
  for (const NameRow& row : kNames) {
    if (matches(nic.name, row.pattern)) return row.reason;
  }
  if (!nic.up) return "down";
  if (!nic.carrier) return "no carrier";
  return {};
}

Expected<std::vector<AddressChoice>> choose_data_addresses(const std::vector<RankNics>& ranks) {
  std::map<std::string, size_t> index;  // machine -> its place in `machines`
  std::vector<Machine> machines;
  for (const RankNics& rank : ranks) {
    if (index.emplace(rank.machine, machines.size()).second) machines.push_back(machine_of(rank));
  }
  if (machines.size() == 1) {
    const AddressChoice loopback = {{{"127.0.0.1", 8, {}}}, "127.0.0.1: all ranks share one host"};
    return std::vector<AddressChoice>(ranks.size(), loopback);
  }
  drop_repeated(machines);
  for (const Machine& machine : machines) {
    if (!machine.usable.empty()) continue;
    return fail(
        Error{ErrorCode::kConfig,
              fmt::format("host {} has no address that could carry the data{}", machine.host,
                          machine.excluded.empty() ? std::string(": it has no interface")
                                                   : "; left out: " + machine.excluded),
              0, "give its interface an address, or run from a host file without the launcher",
              "ip.missing"});
  }
  for (size_t a = 0; a < machines.size(); ++a) {
    for (size_t b = a + 1; b < machines.size(); ++b) join(machines[a], machines[b]);
  }
  std::vector<AddressChoice> choices;
  for (const RankNics& rank : ranks) choices.push_back(choice_of(machines[index[rank.machine]]));
  return choices;
}

}  // namespace plumbline
