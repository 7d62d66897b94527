// From topology and seed to names and addresses: nothing is made here.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lab/address.h"
#include "lab/draw.h"
#include "lab/lab.h"

namespace plumbline {
namespace {

// Interface names as they are met, several of them misleading on purpose: a veth called wlan0 is
// still a veth.
std::vector<std::string> interface_pool() {
  return {"eth0",    "eth1",    "ens18",   "ens3f1np1",    "enp3s0", "enp65s0f0",
          "eno2",    "em1",     "p2p1",    "lan0",         "net1",   "data0",
          "roce0",   "fabric",  "en4",     "thunderbolt0", "wlan0",  "tun9",
          "docker1", "br-data", "virbr1",  "wg5",          "veth7",  "ib0",
          "bond3",   "lo1",     "tailsc0", "usb0",         "hsn0",   "enx0a1b2c3d4e5f"};
}

std::vector<std::string> bridge_pool() {
  return {"br0", "bridge0", "br-lan", "sw0", "switch1", "vmbr0", "eth9", "lan-br"};
}

std::vector<std::string> host_pool() {
  return {"ada",   "bode",  "curie",  "dirac", "euler", "fermi",   "gauss", "hopper",
          "ising", "joule", "kepler", "laue",  "mach",  "noether", "ohm",   "planck",
          "node1", "node2", "node3",  "gpu01", "gpu02", "mini1",   "mini2", "studio"};
}

class LayoutMaker {
 public:
  LayoutMaker(Lab& lab, std::mt19937_64& random,
              const std::function<bool(const std::string&)>& taken)
      : lab_(lab), topology_(lab.topology), draw_(random), taken_(taken) {}

  void make() {
    make_hosts();
    make_subnets();
    lab_.ports = job_ports();
    if (topology_.shape == "mesh") {
      make_mesh();
    } else {
      make_switch();
    }
    if (control_) make_control();
  }

 private:
  std::string namespace_name(const std::string& word) {
    for (;;) {
      const std::string name = "pl-" + draw_.hex(6) + "-" + word;
      if (used_.insert(name).second && (!taken_ || !taken_(name))) return name;
    }
  }

  // Locally administered unicast, so that it is nobody's card.
  std::string mac() {
    std::string out = "02";
    for (int i = 0; i < 5; ++i) out += ":" + draw_.hex(2);
    return out;
  }

  std::string interface_name(std::vector<std::string>& pool) {
    return pool.empty() ? "if" + draw_.hex(5) : draw_.take(pool);
  }

  std::vector<int> job_ports() {
    if (!topology_.ports.empty()) {
      auto ports = parse_ports(topology_.ports);
      if (ports) return *ports;
    }
    std::vector<int> ports = {29500};
    for (size_t i = 0; i < lab_.hosts.size(); ++i) ports.push_back(29600 + static_cast<int>(i));
    return ports;
  }

  void make_hosts() {
    std::vector<std::string> names = topology_.hosts;
    std::vector<std::string> pool = host_pool();
    while (names.size() < static_cast<size_t>(topology_.size)) names.push_back(draw_.take(pool));
    topology_.hosts = names;
    pools_.assign(names.size(), interface_pool());
    for (const std::string& name : names) {
      LabHost host;
      host.name = name;
      host.netns = namespace_name(name.substr(0, 12));
      // Link-local addresses mean nothing without their interface.
      host.names_interface = draw_.chance(40) || topology_.family == "link_local6";
      lab_.hosts.push_back(std::move(host));
    }
  }

  Subnet drawn_v4() {
    const std::string text =
        draw_.coin()   ? fmt::format("10.{}.{}.0/24", draw_.between(1, 250), draw_.between(0, 255))
        : draw_.coin() ? fmt::format("172.{}.{}.0/24", draw_.between(18, 31), draw_.between(0, 255))
                       : fmt::format("192.168.{}.0/24", draw_.between(1, 250));
    return *parse_subnet(text);
  }

  Subnet drawn_v6() {
    return *parse_subnet(fmt::format("fd{}:{:x}:{:x}:{:x}::/64", draw_.hex(2),
                                     draw_.between(1, 0xffff), draw_.between(1, 0xffff),
                                     draw_.between(1, 0xffff)));
  }

  void make_subnets() {
    if (!topology_.control.empty()) control_ = *parse_subnet(topology_.control);
    sequential_ = !topology_.data.empty();
    if (!topology_.data.empty()) {
      data_ = *parse_subnet(topology_.data);
    } else if (topology_.family == "link_local") {
      data_ = *parse_subnet("169.254.0.0/16");
    } else if (topology_.family == "link_local6") {
      data_ = *parse_subnet("fe80::/64");
    } else {
      do {
        data_ = topology_.family == "ipv6" ? drawn_v6() : drawn_v4();
      } while (control_ && overlap(*control_, data_));
    }
    topology_.data = to_text(data_);
  }

  // Number of an address in a subnet for `count` hosts, each once.
  std::vector<uint64_t> numbers(const Subnet& subnet, size_t count) {
    std::vector<uint64_t> out;
    const uint64_t room = host_capacity(subnet);
    if (sequential_ || room < 4 * count) {
      for (uint64_t i = 1; i <= count; ++i) out.push_back(i);
      return out;
    }
    std::set<uint64_t> seen;
    // RFC 3927 keeps the first and last 256 addresses of 169.254/16 for others.
    const uint64_t low = topology_.family == "link_local" ? 256 : 1;
    const uint64_t high =
        topology_.family == "link_local" ? 65279 : std::min<uint64_t>(room, 60000);
    while (out.size() < count) {
      const uint64_t n = low + draw_.below(high - low + 1);
      if (seen.insert(n).second) out.push_back(n);
    }
    return out;
  }

  std::string address(const Subnet& subnet, uint64_t n) {
    return nth_address(subnet, n) + "/" + std::to_string(subnet.prefix);
  }

  void make_mesh() {
    uint64_t pair = 0;
    for (size_t a = 0; a < lab_.hosts.size(); ++a) {
      for (size_t b = a + 1; b < lab_.hosts.size(); ++b) make_cables(a, b, pair);
    }
    // One name cannot stand for all interfaces of a mesh.
    for (LabHost& host : lab_.hosts) {
      if (host.links.size() > 1) host.names_interface = false;
    }
  }

  // Between hosts `a` and `b`; `next` counts the subnets of the mesh.
  void make_cables(size_t a, size_t b, uint64_t& next) {
    for (int cable = 0; cable < topology_.cables; ++cable) {
      const Subnet subnet = nth_subnet(data_, data_.ip.v6 ? 126 : 30, next++);
      for (const auto& [self, other, n] : {std::tuple{a, b, 1}, std::tuple{b, a, 2}}) {
        LabLink link;
        link.data = address(subnet, static_cast<uint64_t>(n));
        link.subnet = to_text(subnet);
        link.interface = link.nic = interface_name(pools_[self]);
        link.mac = mac();
        link.peer = lab_.hosts[other].name;
        lab_.hosts[self].links.push_back(std::move(link));
      }
    }
  }

  void make_switch() {
    const bool routed = topology_.shape == "routed";
    lab_.switch_netns = namespace_name(routed ? "router" : "switch");
    std::vector<std::string> bridges = bridge_pool();
    std::vector<Subnet> subnets = {data_};
    if (routed) {
      subnets = {nth_subnet(data_, data_.prefix + 1, 0), nth_subnet(data_, data_.prefix + 1, 1)};
    }
    for (size_t i = 0; i < subnets.size(); ++i) lab_.bridges.push_back(draw_.take(bridges));
    control_bridge_ = draw_.take(bridges);
    const size_t half = (lab_.hosts.size() + 1) / 2;
    std::vector<std::vector<uint64_t>> places;
    const size_t on_one_side = routed ? half + 1 : lab_.hosts.size();  // with the router
    for (const Subnet& subnet : subnets) places.push_back(numbers(subnet, on_one_side));
    for (size_t i = 0; i < lab_.hosts.size(); ++i) {
      const size_t side = routed && i >= half ? 1 : 0;
      const size_t place = i - side * half;
      LabLink link;
      link.data = address(subnets[side], places[side][place]);
      link.subnet = to_text(subnets[side]);
      link.mac = mac();
      link.nic = interface_name(pools_[i]);
      link.interface = topology_.carrier == "direct" ? link.nic : interface_name(pools_[i]);
      link.port = fmt::format("p{}{}", i + 1, draw_.hex(3));
      link.bridge = lab_.bridges[side];
      if (routed) link.gateway = nth_address(subnets[side], places[side].back());
      lab_.hosts[i].links.push_back(std::move(link));
    }
  }

  void make_control() {
    // A mesh has no switch of its own: the control network gets one.
    lab_.control_netns = lab_.switch_netns.empty() ? namespace_name("control") : lab_.switch_netns;
    lab_.control_bridge = control_bridge_.empty() ? "br0" : control_bridge_;
    const std::vector<uint64_t> places = numbers(*control_, lab_.hosts.size());
    for (size_t i = 0; i < lab_.hosts.size(); ++i) {
      LabHost& host = lab_.hosts[i];
      host.control = address(*control_, places[i]);
      host.control_interface = interface_name(pools_[i]);
      host.control_mac = mac();
      host.control_port = fmt::format("c{}{}", i + 1, draw_.hex(3));
    }
  }

  Lab& lab_;
  LabTopology& topology_;
  Draw draw_;
  const std::function<bool(const std::string&)>& taken_;
  std::set<std::string> used_;
  std::vector<std::vector<std::string>> pools_;  // interface names still free, by host
  Subnet data_;
  std::optional<Subnet> control_;
  bool sequential_ = false;
  std::string control_bridge_;
};

}  // namespace

Lab lay_out(const LabTopology& topology, uint64_t seed,
            const std::function<bool(const std::string&)>& taken) {
  Lab lab;
  lab.name = topology.name;
  lab.topology = topology;
  lab.seed = seed;
  std::mt19937_64 random(seed);
  LayoutMaker(lab, random, taken).make();
  return lab;
}

const LabHost* find_lab_host(const Lab& lab, const std::string& name) {
  for (const LabHost& host : lab.hosts) {
    if (host.name == name) return &host;
  }
  return nullptr;
}

const LabLink& link_to(const LabHost& host, const std::string& peer) {
  for (const LabLink& link : host.links) {
    if (!peer.empty() && link.peer == peer) return link;
  }
  return host.links.front();
}

const LabLink& far_end(const Lab& lab, const LabLink& link) {
  const LabHost& peer = *find_lab_host(lab, link.peer);
  for (const LabLink& there : peer.links) {
    if (there.subnet == link.subnet) return there;
  }
  return peer.links.front();
}

}  // namespace plumbline
