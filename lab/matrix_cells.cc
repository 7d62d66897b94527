// Which cells there are, and the network of each: drawn from the cell's name and seed alone.
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "lab/draw.h"
#include "lab/matrix.h"

namespace plumbline {
namespace {

constexpr int kTries = 300;  // networks drawn until one can hold the fault

// Two faults that have nothing to do with each other, on different hosts.
constexpr std::pair<const char*, const char*> kFaultPairs[] = {
    {"drop_inbound", "link_down"},        {"drop_outbound", "address_missing"},
    {"reject_icmp", "port_in_use"},       {"partial_drop", "name_loopback"},
    {"reject_rst", "route_missing"},      {"wrong_service", "arp_off"},
    {"policy_drop", "mtu_mismatch"},      {"link_missing", "drop_inbound"},
    {"route_rule", "partial_reject"},     {"agent_dies", "drop_inbound"},
    {"namespace_missing", "port_in_use"}, {"default_leak", "drop_answers"},
    {"wrong_subnet", "reject_rst"},       {"config_differs", "route_blocked"},
    {"partial_drop", "drop_inbound_all"}, {"partial_drop", "mtu_mismatch"},
    {"partial_drop", "rate_low"},         {"partial_drop", "ping_dropped"},
    {"partial_peer", "loss_one_way"},     {"partial_reject", "drop_path"},
};

struct ZooRow {
  const char* name;
  const char* help;
  void (*shape)(LabTopology& topology);
};

constexpr ZooRow kZoo[] = {
    {"star", "one switch", [](LabTopology&) {}},
    {"mesh", "a cable per pair, a /30 each", [](LabTopology& t) { t.shape = "mesh"; }},
    {"routed", "two subnets and a router", [](LabTopology& t) { t.shape = "routed"; }},
    {"ipv6", "IPv6 only", [](LabTopology& t) { t.family = "ipv6"; }},
    {"mesh6", "a mesh with IPv6", [](LabTopology& t) { t.shape = "mesh", t.family = "ipv6"; }},
    {"link_local", "169.254/16 by choice", [](LabTopology& t) { t.family = "link_local"; }},
    {"link_local6", "fe80 by choice", [](LabTopology& t) { t.family = "link_local6"; }},
    {"vlan", "data addresses on a VLAN", [](LabTopology& t) { t.carrier = "vlan"; }},
    {"bond", "data addresses on a bond", [](LabTopology& t) { t.carrier = "bond"; }},
    {"bridged", "data addresses on a bridge", [](LabTopology& t) { t.carrier = "bridge"; }},
    {"macvlan", "data addresses on a macvlan", [](LabTopology& t) { t.carrier = "macvlan"; }},
    {"jumbo", "MTU 9000", [](LabTopology& t) { t.mtu = 9000; }},
    {"firewalld", "the rules that firewalld writes, with the job's ports open",
     [](LabTopology& t) { t.firewall = "firewalld"; }},
    {"default_deny", "nft drops all but the job's ports",
     [](LabTopology& t) { t.firewall = "default_deny"; }},
    {"ping_blocked", "nobody answers pings", [](LabTopology& t) { t.ping = "blocked"; }},
    {"others", "docker bridge, VPN and a second card with the default route",
     [](LabTopology& t) {
       t.others = {"docker", "vpn", "second_nic"};
     }},
    {"shaped", "a link that is slow and says so", [](LabTopology& t) { t.rate = "200Mbit"; }},
    {"unprivileged", "agents without root", [](LabTopology& t) { t.unprivileged = true; }},
    {"locked_down", "default deny, no pings, agents without root, a router between",
     [](LabTopology& t) {
       t.shape = "routed", t.firewall = "default_deny", t.ping = "blocked";
       t.unprivileged = true;
     }},
};

constexpr const char* kReducedSet[] = {"drop_inbound",
                                       "drop_outbound",
                                       "drop_path",
                                       "reject_icmp",
                                       "reject_rst",
                                       "partial_drop",
                                       "port_in_use",
                                       "wrong_service",
                                       "link_down",
                                       "address_missing",
                                       "wrong_neighbour",
                                       "route_blocked",
                                       "mtu_blackhole",
                                       "loss_one_way",
                                       "name_loopback",
                                       "agent_dies",
                                       "star",
                                       "mesh",
                                       "default_deny",
                                       "drop_inbound+link_down",
                                       "reject_icmp+port_in_use"};

uint64_t mixed(const MatrixCell& cell) {
  // FNV-1a over the name, so that cells of one seed differ.
  uint64_t hash = 1469598103934665603ULL ^ cell.seed;
  for (const char c : cell.name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return hash;
}

std::string drawn_ports(Draw& draw, int hosts) {
  // Below the range that systems take for themselves.
  const int base = draw.between(10'300, 31'000), master = base - draw.between(20, 200);
  return fmt::format("{},{}-{}", master, base, base + hosts - 1);
}

LabTopology drawn_topology(Draw& draw, const MatrixCell& cell, bool unprivileged) {
  LabTopology topology;
  topology.size = cell.kind == MatrixCellKind::kPair ? 4 : draw.between(3, 4);
  const int shape = draw.between(1, 100);
  topology.shape = shape <= 60 ? "star" : shape <= 82 ? "mesh" : "routed";
  if (draw.chance(15)) topology.family = "ipv6";
  if (topology.shape == "star" && draw.chance(20)) {
    topology.carrier = draw.coin() ? "bridge" : "macvlan";
  }
  if (draw.coin()) {
    topology.rate = draw.pick({"1Gbit", "500Mbit", "200Mbit", "2Gbit"});
  }
  topology.mtu = draw.pick(std::vector<int>{1500, 1500, 1500, 1500, 9000, 1420});
  if (draw.chance(40)) {
    topology.control = fmt::format("10.{}.{}.0/24", draw.between(251, 254), draw.between(0, 255));
  }
  topology.ports = drawn_ports(draw, topology.size);
  topology.unprivileged = unprivileged;
  return topology;
}

std::vector<MatrixCell> all_cells(const MatrixOptions& options) {
  std::vector<MatrixCell> cells;
  const int seeds = std::max(1, options.seeds);
  const int zoo_runs = options.reduced ? 1 : std::max(1, options.zoo_runs);
  for (int i = 0; i < seeds; ++i) {
    const uint64_t seed = options.seed + static_cast<uint64_t>(i);
    for (const FaultRow& row : fault_table()) {
      cells.push_back({MatrixCellKind::kSingle, row.name, {row.name}, seed});
    }
    for (const auto& [a, b] : kFaultPairs) {
      cells.push_back({MatrixCellKind::kPair, std::string(a) + "+" + b, {a, b}, seed});
    }
  }
  for (int i = 0; i < zoo_runs; ++i) {
    for (const ZooRow& row : kZoo) {
      cells.push_back(
          {MatrixCellKind::kZoo, row.name, {}, options.seed + static_cast<uint64_t>(i)});
    }
  }
  return cells;
}

const std::vector<std::string> kKinds = {"single", "pairs", "zoo"};

bool wanted(const MatrixCell& cell, const MatrixOptions& options) {
  const auto is_cell = [&](const std::string& name) { return name == cell.name; };
  if (options.reduced && std::none_of(std::begin(kReducedSet), std::end(kReducedSet), is_cell)) {
    return false;
  }
  if (options.only.empty()) return true;
  const std::string& kind = kKinds[static_cast<size_t>(cell.kind)];
  return std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& word) { return word == kind || word == cell.name; });
}

}  // namespace

const char* to_string(MatrixCellKind kind) {
  return kind == MatrixCellKind::kSingle ? "single"
         : kind == MatrixCellKind::kPair ? "pair"
                                         : "zoo";
}

Expected<std::vector<MatrixCell>> matrix_cells(const MatrixOptions& options) {
  std::vector<MatrixCell> cells = all_cells(options);
  std::vector<std::string> names = kKinds;
  for (const MatrixCell& cell : cells) names.push_back(cell.name);
  for (const std::string& word : options.only) {
    if (std::count(names.begin(), names.end(), word) > 0) continue;
    return fail(ErrorCode::kUsage, "the matrix has no '" + word + "'",
                near_or(word, names, "single, pairs, zoo, or a fault of plumbline lab faults"));
  }
  std::erase_if(cells, [&](const MatrixCell& cell) { return !wanted(cell, options); });
  return cells;
}

CellNetwork cell_network(const MatrixCell& cell, bool unprivileged) {
  std::mt19937_64 random(mixed(cell));
  Draw draw(random);
  CellNetwork network;
  if (cell.kind == MatrixCellKind::kZoo) {
    network.topology.size = 4;
    network.topology.ports = drawn_ports(draw, network.topology.size);
    network.topology.unprivileged = unprivileged;
    for (const ZooRow& row : kZoo) {
      if (cell.name == row.name) row.shape(network.topology);
    }
    return network;
  }
  for (int i = 0; i < kTries; ++i) {
    network.topology = drawn_topology(draw, cell, unprivileged);
    network.unavailable = topology_problem(network.topology);
    if (!network.unavailable.empty()) continue;
    const Lab lab = lay_out(network.topology, cell.seed);
    for (const std::string& fault : cell.faults) {
      const FaultRow* row = find_fault(fault);
      if (row != nullptr && network.unavailable.empty())
        network.unavailable = row->unavailable(lab);
    }
    if (network.unavailable.empty()) break;
  }
  return network;
}

std::string in_words(const LabTopology& topology) {
  std::string out = fmt::format("{} of {}, {}, MTU {}", topology.shape, topology.size,
                                topology.family, topology.mtu);
  if (topology.carrier != "direct") out += ", " + topology.carrier;
  if (!topology.rate.empty()) out += ", " + topology.rate;
  if (!topology.control.empty()) out += ", control network";
  if (!topology.firewall.empty()) out += ", " + topology.firewall;
  if (topology.unprivileged) out += ", without root";
  return out;
}

}  // namespace plumbline
