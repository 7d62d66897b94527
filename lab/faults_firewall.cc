// Packet filters that break a job: on the receiver, on the sender, between them; dropping silently,
// refusing with ICMP or with RST; for all peers or one, for all ports of the job or some.
#include <fmt/format.h>

#include <algorithm>

#include "lab/address.h"
#include "lab/fault_tools.h"
#include "lab/port_words.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string no_filter(const Lab&) {
  return has_tool("nft") || has_tool("iptables-legacy")
             ? ""
             : "needs nft or iptables-legacy (Debian: packages nftables, iptables)";
}
std::string no_nft(const Lab&) {
  return has_tool("nft") ? "" : "needs nft (Debian: package nftables)";
}
std::string no_path_filter(const Lab& lab) {
  return first_reason({no_filter(lab), needs_switch(lab)});
}

// What a rule against the job may say about TCP to it: its very ports, a wide range around them,
// every new connection, or all of TCP.
PacketMatch job_match(FaultMaker& maker) {
  PacketMatch match;
  switch (maker.draw.below(4)) {
    case 0:
      match.ports = maker.target.ports;
      break;
    case 1:
      match.ports = maker.target.ports;
      match.syn_only = !maker.v6();
      break;
    case 2:
      match.syn_only = !maker.v6();
      break;
    default:
      break;
  }
  return match;
}

FaultPlan drop_inbound(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  add_filter(maker, Spot::kInput, job_match(maker));
  return maker.expect({"firewall.drop_inbound"}).done();
}

FaultPlan drop_inbound_peer(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match = job_match(maker);
  match.from = maker.peer_ip();
  match.to = maker.mesh() || maker.draw.coin() ? maker.ip() : "";
  add_filter(maker, Spot::kInput, match);
  return maker.expect({"firewall.drop_inbound"}, maker.peer.name).done();
}

FaultPlan drop_inbound_all(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.tcp_only = false;
  if (!maker.mesh() && maker.lab.topology.shape == "star") match.to = maker.ip();
  add_filter(maker, Spot::kInput, match);
  return maker.expect({"firewall.drop_inbound"}).done();
}

// The classic: a policy that drops, with rules for everything but the job.
FaultPlan policy_drop(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string table = "policy" + maker.draw.hex(3);
  const std::string family = maker.draw.coin() ? "inet" : maker.v6() ? "ip6" : "ip";
  std::string icmp;
  if (family != "ip6") icmp += "    ip protocol icmp accept\n";
  if (family != "ip") icmp += "    meta l4proto ipv6-icmp accept\n";
  maker.step(in_netns(maker.host.netns, "nft -f - <<'END'") +
                 fmt::format("\ntable {} {} {{\n"
                             "  chain input {{\n"
                             "    type filter hook input priority {}; policy drop;\n"
                             "    iif \"lo\" accept\n"
                             "    ct state established,related accept\n{}"
                             "    tcp dport {{ 22, 443 }} accept\n"
                             "  }}\n"
                             "}}\n"
                             "END",
                             family, table, maker.draw.between(-5, 5), icmp),
             in_netns(maker.host.netns, fmt::format("nft delete table {} {}", family, table)));
  maker.how("nft " + family + " input policy drop without a rule for the job on " +
            maker.host.name);
  return maker.expect({"firewall.drop_inbound"}).done();
}

FaultPlan drop_outbound(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  add_filter(maker, Spot::kOutput, job_match(maker));
  return maker.expect({"firewall.drop_outbound"}).done();
}

FaultPlan drop_outbound_peer(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match = job_match(maker);
  match.to = maker.peer_ip();
  match.from = maker.mesh() || maker.draw.coin() ? maker.ip() : "";
  add_filter(maker, Spot::kOutput, match);
  return maker.expect({"firewall.drop_outbound"}, maker.peer.name).done();
}

// Packets come in, the listener answers, and the answers never leave.
FaultPlan drop_answers(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = maker.target.ports;
  match.source_ports = true;
  add_filter(maker, Spot::kOutput, match);
  return maker.expect({"firewall.drop_outbound"}).done();
}

FaultPlan drop_path(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  // First packets towards the peer, or everything.
  match.tcp_only = maker.draw.coin();
  if (match.tcp_only) match.ports = maker.target.ports;
  match.from = maker.ip();
  match.to = maker.peer_ip();
  add_filter(maker, Spot::kPath, match);
  maker.plan.injected.remedy_is_local = false;
  return maker.expect({"firewall.drop_path"}, maker.peer.name).done();
}

FaultPlan reject_icmp(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = maker.target.ports;
  add_filter(maker, Spot::kInput, match, "icmp");
  return maker.expect({"firewall.reject_icmp"}).done();
}

FaultPlan reject_icmp_peer(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  if (maker.draw.coin()) match.ports = maker.target.ports;
  match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, "icmp");
  return maker.expect({"firewall.reject_icmp"}, maker.peer.name).done();
}

// The host's own filter refuses what it sends itself.
FaultPlan reject_outbound(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = maker.target.ports;
  add_filter(maker, Spot::kOutput, match, "icmp");
  return maker.expect({"firewall.reject_icmp", "firewall.drop_outbound"}).done();
}

FaultPlan reject_rst(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = maker.target.ports;
  add_filter(maker, Spot::kInput, match, "rst");
  return maker.expect({"firewall.reject_rst"}).done();
}

FaultPlan reject_rst_peer(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = maker.target.ports;
  match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, "rst");
  return maker.expect({"firewall.reject_rst"}, maker.peer.name).done();
}

// Some ports of the job, never all.
std::vector<int> some_ports(FaultMaker& maker) {
  std::vector<int> ports = maker.target.ports;
  const size_t keep = 1 + maker.draw.below(std::max<size_t>(1, ports.size() - 1));
  while (ports.size() > keep) maker.draw.take(ports);
  if (ports.size() == maker.target.ports.size()) ports.pop_back();
  return ports;
}

FaultPlan partial(const Lab& lab, const FaultTarget& target, std::mt19937_64& random,
                  const std::string& verdict, bool one_peer) {
  FaultMaker maker(lab, target, random);
  PacketMatch match;
  match.ports = some_ports(maker);
  if (one_peer) match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, verdict);
  maker.how("ports " + port_words(match.ports));
  return maker.expect({"firewall.partial_range"}, one_peer ? maker.peer.name : "").done();
}

FaultPlan partial_drop(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  return partial(lab, target, random, "drop", false);
}
FaultPlan partial_reject(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  return partial(lab, target, random, random() % 2 == 0 ? "icmp" : "rst", false);
}
FaultPlan partial_peer(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  return partial(lab, target, random, "drop", true);
}

// Where agents cannot ping there is nothing to see.
std::string nobody_pings(const Lab& lab) {
  const bool can = !lab.topology.unprivileged || ping_without_root();
  return first_reason({no_nft(lab), can ? "" : "agents without root cannot ping here"});
}

FaultPlan ping_dropped(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string& netns = maker.host.netns;
  if (maker.draw.coin()) {
    const std::string key =
        maker.v6() ? "net.ipv6.icmp.echo_ignore_all" : "net.ipv4.icmp_echo_ignore_all";
    maker.step(in_netns(netns, "sysctl -qw " + key + "=1"),
               in_netns(netns, "sysctl -qw " + key + "=0"));
    maker.how(key + " on " + maker.host.name);
  } else {
    const std::string table = "noping" + maker.draw.hex(2);
    maker.step(in_netns(netns, "nft -f - <<'END'") +
                   fmt::format("\ntable inet {} {{\n"
                               "  chain input {{\n"
                               "    type filter hook input priority 0; policy accept;\n"
                               "    {} type echo-request drop\n"
                               "  }}\n"
                               "}}\n"
                               "END",
                               table, maker.v6() ? "icmpv6" : "icmp"),
               in_netns(netns, "nft delete table inet " + table));
    maker.how("nft inet input drops echo requests on " + maker.host.name);
  }
  maker.expect_host_cause({"icmp.blocked"});
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;  // nothing needs one
  return maker.done();
}

// A filter with state that knows a connection for a second only, and drops what it does not know.
FaultPlan idle_timeout(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string& netns = maker.host.netns;
  const auto tracking = [&](int seconds, int loose) {
    return in_netns(netns, fmt::format("sysctl -qw "
                                       "net.netfilter.nf_conntrack_tcp_timeout_established={} "
                                       "net.netfilter.nf_conntrack_tcp_loose={}",
                                       seconds, loose));
  };
  constexpr int kFiveDays = 432'000;  // the kernel's default, in seconds
  const std::string table = "state" + maker.draw.hex(2);
  maker.step(in_netns(netns, "nft -f - <<'END'") +
                 fmt::format("\ntable inet {} {{\n"
                             "  chain input {{\n"
                             "    type filter hook input priority 0; policy accept;\n"
                             "    ct state established accept\n"
                             "    tcp flags & (syn | ack) == syn accept\n"
                             "    meta l4proto tcp drop\n"
                             "  }}\n"
                             "}}\n"
                             "END",
                             table),
             in_netns(netns, "nft delete table inet " + table));
  maker.step(tracking(1, 0), tracking(kFiveDays, 1));
  maker.how("the filter of " + maker.host.name + " forgets connections after a second");
  maker.plan.injected.doctor_args = {"--idle", std::to_string(maker.draw.between(3, 5))};
  maker.expect({"firewall.idle_timeout"});
  maker.plan.injected.warn = true;
  maker.plan.injected.remedy_is_local = false;  // how long is long enough, its owner must say
  return maker.done();
}

}  // namespace

std::vector<FaultRow> firewall_faults() {
  return {
      {"drop_inbound", "firewall", "the host silently drops the job's packets that come in",
       no_filter, drop_inbound},
      {"drop_inbound_peer", "firewall", "the same, from one peer only", no_filter,
       drop_inbound_peer},
      {"drop_inbound_all", "firewall", "the host silently drops every IP packet that comes in",
       no_filter, drop_inbound_all},
      {"policy_drop", "firewall", "the host's input policy is drop, no rule lets the job in",
       no_nft, policy_drop},
      {"drop_outbound", "firewall", "the host drops the first packets that it sends itself",
       no_filter, drop_outbound},
      {"drop_outbound_peer", "firewall", "the same, towards one peer only", no_filter,
       drop_outbound_peer},
      {"drop_answers", "firewall", "the host drops its own answers to the job's packets", no_filter,
       drop_answers},
      {"drop_path", "firewall", "packets from the host to the peer vanish in the switch or router",
       no_path_filter, drop_path},
      {"reject_icmp", "firewall", "the host refuses the job's packets with an ICMP error",
       no_filter, reject_icmp},
      {"reject_icmp_peer", "firewall", "the same, from one peer only", no_filter, reject_icmp_peer},
      {"reject_outbound", "firewall", "the host's own filter refuses what it sends itself",
       no_filter, reject_outbound},
      {"reject_rst", "firewall", "the host's filter refuses the job's packets with RST", no_filter,
       reject_rst},
      {"reject_rst_peer", "firewall", "the same, from one peer only", no_filter, reject_rst_peer},
      {"partial_drop", "firewall", "some ports of the job are dropped on the host", no_filter,
       partial_drop},
      {"partial_reject", "firewall", "some ports of the job are refused on the host", no_filter,
       partial_reject},
      {"partial_peer", "firewall", "some ports of the job are dropped, from one peer only",
       no_filter, partial_peer},
      {"ping_dropped", "firewall", "the host does not answer pings; harmless", nobody_pings,
       ping_dropped},
      {"idle_timeout", "firewall", "the host's filter forgets connections that lie idle", no_nft,
       idle_timeout},
  };
}

}  // namespace plumbline
