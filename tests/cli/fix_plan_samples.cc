#include "tests/cli/fix_plan_samples.h"

#include "tests/probes/evidence_builder.h"
#include "tests/probes/rules/packet_stop.h"

namespace plumbline::test {
namespace {

constexpr const char* kFaulty = "mini2";

void unresolve_host(EvidenceSet& set, const std::string& name) {
  silence_host(set, name);
  for (const JobHost& peer : set.job.hosts) {
    if (peer.name != name) unresolve(set, peer.name, name);
  }
}

RouteEvidence route(const std::string& destination, const std::string& dev, const std::string& via,
                    const std::string& type = "unicast") {
  RouteEvidence out;
  out.destination = destination;
  out.dev = dev;
  out.via = via;
  out.type = type;
  out.table = "main";
  return out;
}

FilterRule drop_rule(const std::string& tool, const std::string& family, const std::string& text) {
  FilterRule rule;
  rule.tool = tool;
  rule.family = family;
  rule.table = "filter";
  rule.chain = "INPUT";
  rule.hook = "input";
  rule.handle = 4;
  rule.action = "drop";
  rule.text = text;
  return rule;
}

// A rule on the faulty host that stops all of the job's ports.
EvidenceSet stopped_by(FilterRule rule, const std::vector<std::string>& front_ends = {}) {
  EvidenceSet set = healthy_star(3);
  StopModel(set, {{PacketStop::kIn, kFaulty}}, Sight::kAll).apply();
  HostEvidence& owner = host(set, kFaulty);
  owner.filters = {std::move(rule)};
  for (const std::string& name : front_ends) {
    FilterSource source;
    source.tool = name;
    source.present = source.readable = true;
    source.state = "active";
    owner.filter_sources.push_back(source);
  }
  return set;
}

void add_links(std::vector<PlanSample>& out) {
  EvidenceSet set = healthy_star(3);
  nic(set, kFaulty, "eth1").up = false;
  silence_host(set, kFaulty);
  out.push_back({"link down", set});
  host(set, kFaulty).system = "macos";
  out.push_back({"link down on macOS", set});
  set = healthy_star(3);
  nic(set, kFaulty, "eth1").duplex = "half";
  host(set, kFaulty).build = "debug";
  out.push_back({"duplex and build", set});
  set = healthy_star(3);
  nic(set, kFaulty, "eth1").mtu = 9000;
  for (const char* peer : {"mini1", "mini3"}) pair(set, kFaulty, peer).mtu->smallest_lost = 9000;
  out.push_back({"mtu", set});
  set = healthy_star(4);
  unresolve(set, "mini2", "mini4");
  unresolve(set, "mini4", "mini2");
  silence(set, "mini2", "mini4");
  for (const char* port : {"p2", "p4"}) {
    InterfaceEvidence interface = make_nic(port, "", {}, "veth");
    interface.master = "br0";
    interface.isolated = true;
    host(set, "mini1").interfaces.push_back(interface);
  }
  out.push_back({"isolated ports", set});
}

void add_addresses(std::vector<PlanSample>& out) {
  EvidenceSet set = healthy_star(3);
  nic(set, kFaulty, "eth1").addresses = make_nic("x", "", {"10.77.0.3/24"}).addresses;
  silence_host(set, kFaulty);
  out.push_back({"wrong subnet", set});
  set = healthy_star(3);
  nic(set, kFaulty, "eth1").addresses[0].prefix = 30;
  silence_host(set, kFaulty);
  out.push_back({"prefix", set});
  set = healthy_star(3);
  nic(set, "mini3", "eth1").addresses.push_back(make_nic("x", "", {"10.10.0.2/24"}).addresses[0]);
  out.push_back({"duplicate", set});
  set = healthy_star(3);
  job_host(set, kFaulty).interface = "eth0.100";
  nic(set, kFaulty, "eth1").addresses.clear();
  silence_host(set, kFaulty);
  out.push_back({"vlan", set});
  set = healthy_star(3);
  host(set, kFaulty).names = {{"mini2.local", "own", "", {"127.0.1.1"}, {}, "", 1000}};
  out.push_back({"own name", set});
}

void add_routes(std::vector<PlanSample>& out) {
  EvidenceSet set = healthy_star(3);
  host(set, kFaulty).routes.push_back(route("10.10.0.1", "", "", "blackhole"));
  unroute(set, kFaulty, "mini1", "EINVAL");
  out.push_back({"blackhole", set});
  set = healthy_star(3);
  host(set, kFaulty)
      .policy_rules.push_back({77, "10.10.0.2", "10.10.0.0/24", "blackhole", "", "77: blackhole"});
  unroute(set, kFaulty, "mini1", "EINVAL");
  out.push_back({"policy rule", set});
  set = healthy_star(3);
  auto& routes = host(set, kFaulty).routes;
  routes.erase(std::remove_if(routes.begin(), routes.end(),
                              [](const RouteEvidence& r) { return r.dev == "eth1"; }),
               routes.end());
  for (const char* peer : {"mini1", "mini3"}) unroute(set, kFaulty, peer, "ENETUNREACH");
  out.push_back({"connected route", set});
  set = healthy_star(3);
  host(set, kFaulty).routes.push_back(route("default", "eth1", "10.10.0.254"));
  out.push_back({"default leak", set});
  set = healthy_star(3);
  host(set, kFaulty).routes.push_back(route("10.10.0.1", "eth0", "192.168.7.1"));
  for (RouteLookup& lookup : pair(set, kFaulty, "mini1").routes) lookup.dev = "eth0";
  silence(set, "mini1", kFaulty);
  out.push_back({"other interface", set});
}

void add_neighbours(std::vector<PlanSample>& out) {
  EvidenceSet set = healthy_star(3);
  for (NeighbourEvidence& entry : host(set, kFaulty).neighbours) {
    entry.mac = "02:de:ad:be:ef:01";
    entry.state = "PERMANENT";
  }
  silence(set, kFaulty, "mini1");
  out.push_back({"static neighbours", set});
  set = healthy_star(3);
  nic(set, kFaulty, "eth1").arp = false;
  unresolve_host(set, kFaulty);
  out.push_back({"arp off", set});
  set = healthy_star(3);
  host(set, kFaulty).sysctls["net.ipv4.conf.eth1.arp_ignore"] = "8";
  unresolve_host(set, kFaulty);
  out.push_back({"arp_ignore", set});
  for (const char* tool : {"nftables", "ebtables"}) {
    set = healthy_star(3);
    host(set, kFaulty)
        .filters.push_back(drop_rule(tool, tool == std::string("nftables") ? "arp" : "bridge",
                                     "-A INPUT -p ARP -i eth1 -j DROP"));
    unresolve_host(set, kFaulty);
    out.push_back({std::string("arp rule of ") + tool, set});
  }
}

void add_filters(std::vector<PlanSample>& out) {
  out.push_back({"nftables", stopped_by(drop_rule("nftables", "inet", "drop"))});
  out.push_back({"iptables", stopped_by(drop_rule("iptables", "ip", "-j DROP"))});
  FilterRule user = drop_rule("iptables", "ip", "-j DROP");
  user.chain = "ufw-user-input";
  out.push_back({"ufw", stopped_by(user, {"ufw"})});
  FilterRule zone = drop_rule("nftables", "inet", "reject");
  zone.table = "firewalld";
  zone.chain = "filter_IN_public_deny";
  out.push_back({"firewalld", stopped_by(zone, {"firewalld"})});
  FilterRule tc = drop_rule("tc", "any", "drop");
  tc.table = "flower";
  tc.chain = "0";
  tc.hook = "ingress";
  tc.device = "eth1";
  tc.id = "0x1";
  out.push_back({"tc", stopped_by(tc)});
  tc.handle = 1;
  out.push_back({"tc, first", stopped_by(tc)});
  EvidenceSet set = healthy_star(3);
  StopModel(set, {{PacketStop::kIn, kFaulty}}, Sight::kWord).apply();
  out.push_back({"unseen filter", set});
  for (const char* state : {"enabled", "disabled"}) {
    set = healthy_star(3);
    StopModel(set, {{PacketStop::kIn, kFaulty, {}, {}, "drop", false}}, Sight::kAll).apply();
    host(set, kFaulty).system = "macos";
    FilterSource alf;
    alf.tool = "alf";
    alf.present = alf.readable = true;
    alf.state = state;
    host(set, kFaulty).filter_sources = {alf};
    out.push_back({std::string("macOS firewall ") + state, set});
  }
}

void add_host_faults(std::vector<PlanSample>& out) {
  EvidenceSet set;
  for (const char* holder : {"PID 4711 (python3)", "PID 4711 (plumbline)"}) {
    set = healthy_star(3);
    for (PairEvidence& each : set.pairs) {
      if (each.to != kFaulty) continue;
      for (PortTry& attempt : each.ports) {
        attempt.listener = "in_use";
        attempt.holder = holder;
        attempt.answer = "stranger";
        attempt.accepted = false;
      }
    }
    out.push_back({std::string("port held by ") + holder, set});
  }
  set = healthy_star(3);
  HostEvidence& owner = host(set, kFaulty);
  owner.buffers = {4 << 20, 200'000, 200'000, ""};
  owner.conntrack_count = owner.conntrack_max;
  owner.clock_offset_ns = 3600LL * 1'000'000'000;
  out.push_back({"buffers, table, clock", set});
  set = healthy_star(3);
  set.job.rdma = true;
  RdmaEvidence rdma;
  rdma.library = "libibverbs.so.1";
  RdmaDevice device;
  device.name = "mlx5_0";
  device.netdev = "eth1";
  device.state = "DOWN";
  rdma.devices = {device};
  host(set, kFaulty).rdma = rdma;
  out.push_back({"rdma", set});
  set = healthy_star(3);
  job_host(set, kFaulty).ssh = "me@mini2";
  host(set, kFaulty) = make_host(kFaulty);
  host(set, kFaulty).source = "none";
  host(set, kFaulty).agent_cause = "ssh.key_permissions";
  host(set, kFaulty).agent_error = "Permissions 0644 for '~/key' are too open.";
  out.push_back({"launch", set});
}

}  // namespace

std::vector<PlanSample> plan_samples() {
  std::vector<PlanSample> out;
  add_links(out);
  add_addresses(out);
  add_routes(out);
  add_neighbours(out);
  add_filters(out);
  add_host_faults(out);
  return out;
}

}  // namespace plumbline::test
