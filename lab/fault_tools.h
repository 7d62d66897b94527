// What the fault rows are made from: the two hosts and their link, a plan to fill, and rules of
// every packet filter that this kernel may know, in the several shapes that people write them.
// Pure: everything ends as text in the plan.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lab/draw.h"
#include "lab/fault.h"

namespace plumbline {

class FaultMaker {
 public:
  FaultMaker(const Lab& lab, const FaultTarget& target, std::mt19937_64& random);

  const Lab& lab;
  FaultTarget target;
  const LabHost& host;
  const LabHost& peer;
  const LabLink& link;  // of host, towards peer
  const LabLink& back;  // of peer, towards host
  Draw draw;
  FaultPlan plan;

  bool mesh() const { return lab.topology.shape == "mesh"; }
  bool routed() const { return lab.topology.shape == "routed"; }
  bool v6() const;
  std::string ip() const;       // of host, on the link
  std::string peer_ip() const;  // of peer

  FaultMaker& step(std::string command);
  // What is undone last was done first: each call goes before the earlier ones. Several commands
  // of one call keep their order, and each runs even when the one before failed.
  FaultMaker& undo(std::string command);
  FaultMaker& undo(const std::vector<std::string>& commands);
  // Both at once.
  FaultMaker& step(std::string command, std::string undo_command);
  FaultMaker& how(const std::string& text);
  template <typename First, typename... Rest>
  FaultMaker& how(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
    return how(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
  }
  // The exact cause first; on `host`, and on `peer_name` when it belongs to a pair.
  FaultMaker& expect(std::vector<std::string> causes, const std::string& peer_name = "");

  // A cause of the host that touches only this link in a mesh.
  FaultMaker& expect_host_cause(std::vector<std::string> causes);
  // More of what the doctor must say, see Injected.
  FaultMaker& warn();
  FaultMaker& any_peer();
  FaultMaker& or_peer();           // a finding about the peer is as right
  FaultMaker& or_any_host();       // or about any
  FaultMaker& remedy_elsewhere();  // not on the named host

  // A table of nft ("inet filter") with one chain, and its undo: `type` is the chain's line behind
  // this word.
  FaultMaker& nft_table(const std::string& netns, const std::string& table,
                        const std::string& chain, const std::string& type,
                        const std::vector<std::string>& rules);

  // Gives hosts of the lab other addresses in this one's file of names; empty = none.
  FaultMaker& names(const LabHost& of, const std::map<std::string, std::string>& addresses);

  // An interface of this host that does not lead to its peers: the control network's, or else a
  // veth pair made for the purpose (with the undo), up and with carrier.
  std::string other_interface();
};

// Which packets, seen from where the rule stands.
struct PacketMatch {
  std::string from, to;       // addresses; empty = any
  std::vector<int> ports;     // empty = all ports
  bool source_ports = false;  // the ports are those of the sender (answers)
  bool tcp_only = true;       // false: every IP packet, ports do not count
  bool syn_only = false;      // only the first packet of a connection
  int longer_than = 0;        // bytes of the IP packet; 0 = any
  int percent = 100;          // of the packets
};

enum class Spot { kInput, kOutput, kPath };

// A rule somewhere: tool, hook, table and shape are drawn among those that can express it. At
// kInput and kOutput it stands in the host's namespace, at kPath in the switch or router between
// host and peer, for packets from `match.from` to `match.to`. `verdict`: "drop", "rst", or "icmp"
// (code drawn).
void add_filter(FaultMaker& maker, Spot spot, const PacketMatch& match,
                const std::string& verdict = "drop");
// The same at a given host (kInput, kOutput), whose link has this interface.
void add_filter_at(FaultMaker& maker, const std::string& netns, const LabLink& link, Spot spot,
                   const PacketMatch& match, const std::string& verdict = "drop");

// Classic BPF for `tc filter ... bpf da bytecode`: 2 (drop) for matching packets, else go on.
// Packets begin at their Ethernet header. Exposed for tests.
std::string tc_bytecode(const PacketMatch& match, bool v6);

bool has_tool(const char* program);
// The system's ping works for everybody: it is setuid or has a capability. ICMP sockets are open to
// nobody in a new network namespace (ping_group_range, icmp(7)).
bool ping_without_root();

// A process that listens on this address and port in a namespace and answers with `banner` (empty:
// stays silent); `name` is what the system calls it ("" = python3 or perl).
FaultHelper holder_helper(Draw& draw, const std::string& netns, const std::string& ip, int port,
                          const std::string& banner, const std::string& name);
// "needs python3 or perl", or empty.
std::string holder_unavailable();

// Reasons that many rows share; empty = can be made.
std::string anywhere(const Lab& lab);
std::string needs_switch(const Lab& lab);  // star or routed
std::string needs_star(const Lab& lab);
std::string needs_mesh(const Lab& lab);
std::string needs_v4(const Lab& lab);
std::string needs_nft(const Lab& lab);
std::string needs_one_link(const Lab& lab);  // all hosts on one subnet or one cable; plain carrier
std::string first_reason(std::initializer_list<std::string> reasons);

// The rows of the faults_*.cc files.
std::vector<FaultRow> firewall_faults();
std::vector<FaultRow> link_faults();
std::vector<FaultRow> address_faults();
std::vector<FaultRow> neighbour_faults();
std::vector<FaultRow> route_faults();
std::vector<FaultRow> quality_faults();
std::vector<FaultRow> port_faults();
std::vector<FaultRow> name_faults();
std::vector<FaultRow> agent_faults();
std::vector<FaultRow> wiring_faults();

}  // namespace plumbline
