#include <fmt/format.h>

#include <map>
#include <set>

#include "core/json.h"
#include "probes/sources/json_read.h"
#include "probes/sources/linux_sources.h"

namespace plumbline {
namespace {

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
