#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "core/number.h"
#include "probes/sources/parsers.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kMostNumber = 1 << 30;

bool has_word(const json& list, const char* word) {
  return list.is_array() && std::any_of(list.begin(), list.end(), [&](const json& entry) {
           return entry.is_string() && entry.get_ref<const std::string&>() == word;
         });
}

// The kinds that the kernel names (rtnetlink's IFLA_INFO_KIND), in our words.
const std::map<std::string, const char*>& kinds() {
  static const std::map<std::string, const char*> kKinds = {
      {"bridge", "bridge"},    {"bond", "bond"},    {"team", "bond"},      {"vlan", "vlan"},
      {"veth", "veth"},        {"gre", "tunnel"},   {"gretap", "tunnel"},  {"ip6gre", "tunnel"},
      {"ip6gretap", "tunnel"}, {"ipip", "tunnel"},  {"sit", "tunnel"},     {"ip6tnl", "tunnel"},
      {"vti", "tunnel"},       {"vti6", "tunnel"},  {"xfrm", "tunnel"},    {"erspan", "tunnel"},
      {"ip6erspan", "tunnel"}, {"vxlan", "tunnel"}, {"geneve", "tunnel"},  {"gtp", "tunnel"},
      {"wireguard", "tunnel"}, {"ppp", "tunnel"},   {"bareudp", "tunnel"}, {"amneziawg", "tunnel"},
      {"ovpn", "tunnel"},      {"netkit", "veth"},
  };
  return kKinds;
}

std::string kind_of(const json& link) {
  const std::string type = text_at(link, "link_type");
  if (type == "loopback") return "loopback";
  const json& info = part_at(link, "linkinfo");
  const std::string kind = text_at(info, "info_kind");
  // A tap carries frames of a virtual machine; a tun carries the packets of a VPN.
  if (kind == "tun") {
    return text_at(part_at(info, "info_data"), "type") == "tap" ? "virtual" : "tunnel";
  }
  if (const auto it = kinds().find(kind); it != kinds().end()) return it->second;
  if (!kind.empty()) return "virtual";  // dummy, ifb, macvlan, vrf ...
  if (type == "ether") return "ethernet";
  if (type == "none" || type == "ppp" || type == "sit" || type.rfind("gre", 0) == 0) {
    return "tunnel";
  }
  return "unknown";
}

// From 0 to `most`; 0 where there is no number.
int int_at(const json& object, const char* key, int most) {
  return static_cast<int>(std::clamp<int64_t>(number_at(object, key).value_or(0), 0, most));
}

AddressEvidence address_of(const json& entry) {
  AddressEvidence out;
  out.ip = text_at(entry, "local");
  out.prefix = int_at(entry, "prefixlen", text_at(entry, "family") == "inet6" ? 128 : 32);
  out.scope = text_at(entry, "scope");
  for (const char* flag : {"tentative", "dadfailed", "deprecated", "secondary", "temporary",
                           "optimistic", "dynamic", "noprefixroute", "mngtmpaddr", "nodad"}) {
    if (flag_at(entry, flag)) out.flags.emplace_back(flag);
  }
  return out;
}

// "rx": {"bytes": 1, ...} -> "rx_bytes".
void add_counters(const json& stats, const char* direction, std::map<std::string, int64_t>& out) {
  const json& part = part_at(stats, direction);
  if (!part.is_object()) return;
  for (const auto& [key, ignored] : part.items()) {
    if (key == "carrier_changes") continue;
    const auto value = number_at(part, key.c_str());
    if (value) out[std::string(direction) + "_" + key] = *value;
  }
}

void read_port(const json& link, InterfaceEvidence& out) {
  const json& info = part_at(link, "linkinfo");
  out.master = text_at(link, "master");
  out.master_kind = text_at(info, "info_slave_kind");
  if (out.master_kind == "team") out.master_kind = "bond";
  const json& data = part_at(info, "info_slave_data");
  if (out.master_kind == "bridge") {
    out.port_state = text_at(data, "state");
    out.isolated = flag_at(data, "isolated");
  } else {
    out.port_state = text_at(data, "state");  // of a bond: "ACTIVE", "BACKUP"
  }
}

void read_flags(const json& link, InterfaceEvidence& out) {
  const json& flags = part_at(link, "flags");
  out.up = has_word(flags, "UP");
  // Without being up an interface does not say whether there is a signal. LOWER_UP is the signal
  // itself; NO-CARRIER follows it up to a second later.
  if (out.up) out.carrier = has_word(flags, "LOWER_UP");
  out.arp = !has_word(flags, "NOARP");
  out.promiscuous = has_word(flags, "PROMISC");
}

bool has_xdp(const json& link) {
  const json& xdp = part_at(link, "xdp");
  if (xdp.is_null()) return false;
  return number_at(xdp, "mode").value_or(1) != 0;
}

InterfaceEvidence interface_of(const json& link) {
  InterfaceEvidence out;
  out.name = text_at(link, "ifname");
  out.index = int_at(link, "ifindex", kMostNumber);
  out.kind = kind_of(link);
  out.mac = text_at(link, "address");
  if (out.mac == "00:00:00:00:00:00") out.mac.clear();
  out.mtu = int_at(link, "mtu", kMostNumber);
  out.state = text_at(link, "operstate");
  read_flags(link, out);
  read_port(link, out);
  // The other end of a veth pair is no lower interface.
  if (out.kind != "veth") out.parent = text_at(link, "link");
  if (out.parent.empty() && out.kind == "tunnel") {
    out.parent = text_at(part_at(part_at(link, "linkinfo"), "info_data"), "link");
  }
  out.xdp = has_xdp(link);
  const json& stats = part_at(link, "stats64");
  add_counters(stats, "rx", out.counters);
  add_counters(stats, "tx", out.counters);
  out.carrier_changes = number_at(part_at(stats, "tx"), "carrier_changes");
  for (const json& entry : part_at(link, "addr_info")) {
    AddressEvidence address = address_of(entry);
    if (!address.ip.empty()) out.addresses.push_back(std::move(address));
  }
  return out;
}

// What /sys/class/net says about one interface.
struct SysInterface {
  std::string index, mac, speed, duplex, devtype, driver;
  bool device = false;  // there is hardware behind it (or a virtual machine's idea of it)
};

void read_sys_line(std::string_view entry, std::string_view line, SysInterface& out) {
  const auto value_of = [&](std::string_view key) {
    return line.rfind(key, 0) == 0 ? std::string(line.substr(key.size())) : std::string();
  };
  if (entry == "ifindex") out.index = line;
  if (entry == "address") out.mac = line;
  if (entry == "speed") out.speed = line;
  if (entry == "duplex") out.duplex = line;
  if (entry == "uevent" && out.devtype.empty()) out.devtype = value_of("DEVTYPE=");
  if (entry == "device/uevent") {
    out.device = true;
    if (out.driver.empty()) out.driver = value_of("DRIVER=");
  }
}

void add_hardware(const SysInterface& sys, InterfaceEvidence& out) {
  if (out.kind != "ethernet") return;
  if (sys.devtype == "wlan") {
    out.kind = "wifi";
  } else if (sys.driver.rfind("thunderbolt", 0) == 0) {
    out.kind = "thunderbolt";
  } else if (!sys.device) {
    out.kind = "virtual";
  }
  if (out.kind == "virtual") return;
  const auto mbit = parse_whole(sys.speed);  // "-1" where it is unknown
  if (mbit && *mbit > 0 && *mbit <= 10'000'000) out.speed_bps = *mbit * 1'000'000;
  if (sys.duplex == "full" || sys.duplex == "half") out.duplex = sys.duplex;
}

// ---- bridges in a loop ----

using nlohmann::json;

// A wire between two bridges of this host: a veth pair of which both ends are forwarding ports.
struct Wire {
  std::string port, other_port, bridge, other_bridge;
};

struct Port {
  std::string bridge, peer;
};

std::map<std::string, Port> forwarding_ports(const json& links) {
  std::map<std::string, Port> out;
  for (const json& link : links) {
    const json& info = part_at(link, "linkinfo");
    const bool forwards = text_at(info, "info_slave_kind") == "bridge" &&
                          text_at(part_at(info, "info_slave_data"), "state") == "forwarding";
    const std::string peer = text_at(link, "link");
    if (!forwards || peer.empty() || text_at(info, "info_kind") != "veth") continue;
    // The peer's name is of another namespace when there is a namespace id.
    if (number_at(link, "link_netnsid")) continue;
    out[text_at(link, "ifname")] = {text_at(link, "master"), peer};
  }
  return out;
}

std::vector<Wire> wires_of(const std::map<std::string, Port>& ports) {
  std::vector<Wire> out;
  for (const auto& [name, port] : ports) {
    const auto other = ports.find(port.peer);
    if (other == ports.end() || name > port.peer) continue;  // each pair once
    out.push_back({name, port.peer, port.bridge, other->second.bridge});
  }
  return out;
}

// Bridges that are joined so far, each named by one of its group (union-find).
class Groups {
 public:
  std::string root(const std::string& bridge) {
    std::string at = bridge;
    while (true) {
      const auto it = parent_.find(at);
      if (it == parent_.end() || it->second == at) return at;
      at = it->second;
    }
  }
  // False when they were joined before: a second way between them.
  bool join(const std::string& a, const std::string& b) {
    const std::string root_a = root(a), root_b = root(b);
    if (root_a == root_b) return false;
    parent_[root_a] = root_b;
    return true;
  }

 private:
  std::map<std::string, std::string> parent_;
};

}  // namespace

Status parse_ip_addr(const std::string& text, HostEvidence& host) {
  const auto links = parse_json_array(text, "ip addr");
  if (!links) return fail(links.error());
  for (const json& link : *links) {
    InterfaceEvidence interface = interface_of(link);
    if (interface.name.empty()) continue;  // iproute2 prints {} for what it filtered out
    const bool known = std::any_of(host.interfaces.begin(), host.interfaces.end(),
                                   [&](const auto& other) { return other.name == interface.name; });
    if (!known) host.interfaces.push_back(std::move(interface));
  }
  for (std::string& loop : bridge_loops(text)) host.forwarding_loops.push_back(std::move(loop));
  return {};
}

Status parse_sys_class_net(const std::string& text, HostEvidence& host) {
  constexpr std::string_view kFolder = "/sys/class/net/";
  std::map<std::string, SysInterface, std::less<>> found;
  for (const auto& [path, line] : file_lines(text)) {
    if (path.rfind(kFolder, 0) != 0) continue;
    const std::string_view rest = path.substr(kFolder.size());
    const size_t slash = rest.find('/');
    if (slash == std::string_view::npos) continue;
    read_sys_line(rest.substr(slash + 1), line, found[std::string(rest.substr(0, slash))]);
  }
  for (InterfaceEvidence& interface : host.interfaces) {
    const auto it = found.find(interface.name);
    if (it == found.end()) continue;
    // /sys shows the interfaces of the network namespace in which it was mounted, which may be
    // another one than ours: believed only where name, index and hardware address agree.
    const bool same_mac = interface.mac.empty() || it->second.mac == interface.mac;
    if (parse_whole(it->second.index) == interface.index && same_mac) {
      add_hardware(it->second, interface);
    }
  }
  return {};
}

std::vector<std::string> bridge_loops(const std::string& addr) {
  std::vector<std::string> out;
  const auto links = parse_json_array(addr, "ip addr");
  if (!links) return out;
  Groups groups;
  for (const Wire& wire : wires_of(forwarding_ports(*links))) {
    if (groups.join(wire.bridge, wire.other_bridge)) continue;
    out.push_back(wire.bridge == wire.other_bridge
                      ? fmt::format("bridge {} is wired to itself by {} and {}, both forwarding",
                                    wire.bridge, wire.port, wire.other_port)
                      : fmt::format("bridges {} and {} are joined in more than one way; {} and {} "
                                    "close the loop, both forwarding",
                                    wire.bridge, wire.other_bridge, wire.port, wire.other_port));
  }
  return out;
}

}  // namespace plumbline
