// Packet filters that break a job: on the receiver, on the sender, between them; dropping silently,
// refusing with ICMP or with RST; for all peers or one, for all ports of the job or some.
#include <fmt/format.h>

#include <algorithm>

#include "lab/address.h"
#include "lab/fault_tools.h"
#include "lab/shell.h"

namespace plumbline {
namespace {

std::string no_filter(const Lab&) {
  return has_tool("nft") || has_tool("iptables-legacy")
             ? ""
             : "needs nft or iptables-legacy (Debian: packages nftables, iptables)";
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

PacketMatch on_ports(const FaultMaker& maker) {
  PacketMatch match;
  match.ports = maker.target.ports;
  return match;
}

void drop_inbound(FaultMaker& maker) {
  add_filter(maker, Spot::kInput, job_match(maker));
  maker.expect({"firewall.drop_inbound"});
}

void drop_inbound_peer(FaultMaker& maker) {
  PacketMatch match = job_match(maker);
  match.from = maker.peer_ip();
  match.to = maker.mesh() || maker.draw.coin() ? maker.ip() : "";
  add_filter(maker, Spot::kInput, match);
  maker.expect({"firewall.drop_inbound"}, maker.peer.name);
}

void drop_inbound_all(FaultMaker& maker) {
  PacketMatch match;
  match.tcp_only = false;
  if (!maker.mesh() && maker.lab.topology.shape == "star") match.to = maker.ip();
  add_filter(maker, Spot::kInput, match);
  maker.expect({"firewall.drop_inbound"});
}

// The classic: a policy that drops, with rules for everything but the job.
void policy_drop(FaultMaker& maker) {
  const std::string table = "policy" + maker.draw.hex(3);
  const std::string family = maker.draw.coin() ? "inet" : maker.v6() ? "ip6" : "ip";
  std::vector<std::string> rules = {"iif \"lo\" accept", "ct state established,related accept"};
  if (family != "ip6") rules.emplace_back("ip protocol icmp accept");
  if (family != "ip") rules.emplace_back("meta l4proto ipv6-icmp accept");
  rules.emplace_back("tcp dport { 22, 443 } accept");
  const int priority = maker.draw.between(-5, 5);
  maker.nft_table(maker.host.netns, family + " " + table, "input",
                  fmt::format("filter hook input priority {}; policy drop;", priority), rules);
  maker.how("nft " + family + " input policy drop without a rule for the job on " +
            maker.host.name);
  maker.expect({"firewall.drop_inbound"});
}

void drop_outbound(FaultMaker& maker) {
  add_filter(maker, Spot::kOutput, job_match(maker));
  maker.expect({"firewall.drop_outbound"});
}

void drop_outbound_peer(FaultMaker& maker) {
  PacketMatch match = job_match(maker);
  match.to = maker.peer_ip();
  match.from = maker.mesh() || maker.draw.coin() ? maker.ip() : "";
  add_filter(maker, Spot::kOutput, match);
  maker.expect({"firewall.drop_outbound"}, maker.peer.name);
}

// Packets come in, the listener answers, and the answers never leave.
void drop_answers(FaultMaker& maker) {
  PacketMatch match = on_ports(maker);
  match.source_ports = true;
  add_filter(maker, Spot::kOutput, match);
  maker.expect({"firewall.drop_outbound"});
}

void drop_path(FaultMaker& maker) {
  PacketMatch match;
  // First packets towards the peer, or everything.
  match.tcp_only = maker.draw.coin();
  if (match.tcp_only) match.ports = maker.target.ports;
  match.from = maker.ip();
  match.to = maker.peer_ip();
  add_filter(maker, Spot::kPath, match);
  maker.plan.injected.remedy_is_local = false;
  maker.expect({"firewall.drop_path"}, maker.peer.name);
}

void reject_icmp(FaultMaker& maker) {
  add_filter(maker, Spot::kInput, on_ports(maker), "icmp");
  maker.expect({"firewall.reject_icmp"});
}

void reject_icmp_peer(FaultMaker& maker) {
  PacketMatch match;
  if (maker.draw.coin()) match.ports = maker.target.ports;
  match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, "icmp");
  maker.expect({"firewall.reject_icmp"}, maker.peer.name);
}

// The host's own filter refuses what it sends itself.
void reject_outbound(FaultMaker& maker) {
  add_filter(maker, Spot::kOutput, on_ports(maker), "icmp");
  maker.expect({"firewall.reject_icmp", "firewall.drop_outbound"});
}

void reject_rst(FaultMaker& maker) {
  add_filter(maker, Spot::kInput, on_ports(maker), "rst");
  maker.expect({"firewall.reject_rst"});
}

void reject_rst_peer(FaultMaker& maker) {
  PacketMatch match = on_ports(maker);
  match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, "rst");
  maker.expect({"firewall.reject_rst"}, maker.peer.name);
}

// Some ports of the job, never all.
std::vector<int> some_ports(FaultMaker& maker) {
  std::vector<int> ports = maker.target.ports;
  const size_t keep = 1 + maker.draw.below(std::max<size_t>(1, ports.size() - 1));
  while (ports.size() > keep) maker.draw.take(ports);
  if (ports.size() == maker.target.ports.size()) ports.pop_back();
  return ports;
}

void partial(FaultMaker& maker, const std::string& verdict, bool one_peer) {
  PacketMatch match;
  match.ports = some_ports(maker);
  if (one_peer) match.from = maker.peer_ip();
  add_filter(maker, Spot::kInput, match, verdict);
  maker.how("ports " + port_words(match.ports));
  maker.expect({"firewall.partial_range"}, one_peer ? maker.peer.name : "");
}

void partial_drop(FaultMaker& maker) { partial(maker, "drop", false); }
void partial_reject(FaultMaker& maker) {
  partial(maker, maker.draw.coin() ? "icmp" : "rst", false);
}
void partial_peer(FaultMaker& maker) { partial(maker, "drop", true); }

// Where agents cannot ping there is nothing to see.
std::string nobody_pings(const Lab& lab) {
  const bool can = !lab.topology.unprivileged || ping_without_root();
  return first_reason({needs_nft(lab), can ? "" : "agents without root cannot ping here"});
}

void ping_dropped(FaultMaker& maker) {
  const std::string& netns = maker.host.netns;
  if (maker.draw.coin()) {
    const std::string key =
        maker.v6() ? "net.ipv6.icmp.echo_ignore_all" : "net.ipv4.icmp_echo_ignore_all";
    maker.step(in_netns(netns, "sysctl -qw " + key + "=1"),
               in_netns(netns, "sysctl -qw " + key + "=0"));
    maker.how(key + " on " + maker.host.name);
  } else {
    const std::string table = "noping" + maker.draw.hex(2);
    maker.nft_table(netns, "inet " + table, "input", "filter hook input priority 0; policy accept;",
                    {maker.v6() ? "icmpv6 type echo-request drop" : "icmp type echo-request drop"});
    maker.how("nft inet input drops echo requests on " + maker.host.name);
  }
  // Nothing needs one.
  maker.expect_host_cause({"icmp.blocked"}).warn().remedy_elsewhere();
}

// A filter with state that knows a connection for a second only, and drops what it does not know.
void idle_timeout(FaultMaker& maker) {
  const std::string& netns = maker.host.netns;
  const auto tracking = [&](int seconds, int loose) {
    return in_netns(netns,
                    "sysctl -qw "
                    "net.netfilter.nf_conntrack_tcp_timeout_established={} "
                    "net.netfilter.nf_conntrack_tcp_loose={}",
                    seconds, loose);
  };
  constexpr int kFiveDays = 432'000;  // the kernel's default, in seconds
  const std::string table = "state" + maker.draw.hex(2);
  maker.nft_table(netns, "inet " + table, "input", "filter hook input priority 0; policy accept;",
                  {"ct state established accept", "tcp flags & (syn | ack) == syn accept",
                   "meta l4proto tcp drop"});
  maker.step(tracking(1, 0), tracking(kFiveDays, 1));
  maker.how("the filter of " + maker.host.name + " forgets connections after a second");
  maker.plan.injected.doctor_args = {"--idle", std::to_string(maker.draw.between(3, 5))};
  // How long is long enough, its owner must say.
  maker.expect({"firewall.idle_timeout"}).warn().remedy_elsewhere();
}

}  // namespace

std::vector<FaultRow> firewall_faults() {
  return {
      {"drop_inbound", "the host silently drops the job's packets that come in", no_filter,
       drop_inbound},
      {"drop_inbound_peer", "the same, from one peer only", no_filter, drop_inbound_peer},
      {"drop_inbound_all", "the host silently drops every IP packet that comes in", no_filter,
       drop_inbound_all},
      {"policy_drop", "the host's input policy is drop, no rule lets the job in", needs_nft,
       policy_drop},
      {"drop_outbound", "the host drops the first packets that it sends itself", no_filter,
       drop_outbound},
      {"drop_outbound_peer", "the same, towards one peer only", no_filter, drop_outbound_peer},
      {"drop_answers", "the host drops its own answers to the job's packets", no_filter,
       drop_answers},
      {"drop_path", "packets from the host to the peer vanish in the switch or router",
       no_path_filter, drop_path},
      {"reject_icmp", "the host refuses the job's packets with an ICMP error", no_filter,
       reject_icmp},
      {"reject_icmp_peer", "the same, from one peer only", no_filter, reject_icmp_peer},
      {"reject_outbound", "the host's own filter refuses what it sends itself", no_filter,
       reject_outbound},
      {"reject_rst", "the host's filter refuses the job's packets with RST", no_filter, reject_rst},
      {"reject_rst_peer", "the same, from one peer only", no_filter, reject_rst_peer},
      {"partial_drop", "some ports of the job are dropped on the host", no_filter, partial_drop},
      {"partial_reject", "some ports of the job are refused on the host", no_filter,
       partial_reject},
      {"partial_peer", "some ports of the job are dropped, from one peer only", no_filter,
       partial_peer},
      {"ping_dropped", "the host does not answer pings; harmless", nobody_pings, ping_dropped},
      {"idle_timeout", "the host's filter forgets connections that lie idle", needs_nft,
       idle_timeout},
  };
}

}  // namespace plumbline
