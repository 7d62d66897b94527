// The table of rules about hosts and what lies below TCP.
#include <string>

#include "probes/rules/host_common.h"
#include "probes/rules/host_rows.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

using Propose = std::vector<Candidate> (*)(const EvidenceSet&, const Checks&);

// A row's part of what several rows propose together.
template <Propose Function, typename Cause>
std::vector<Candidate> part(const EvidenceSet& evidence, const Checks& checks) {
  return of_cause(Function(evidence, checks), Cause::kName);
}

struct LinkMissing {
  static constexpr const char* kName = "link.missing";
};
struct LinkDown {
  static constexpr const char* kName = "link.down";
};
struct IpMissing {
  static constexpr const char* kName = "ip.missing";
};
struct WrongSubnet {
  static constexpr const char* kName = "ip.wrong_subnet";
};
struct LinkLocalOnly {
  static constexpr const char* kName = "ip.link_local_only";
};
struct NotMesh {
  static constexpr const char* kName = "topology.not_mesh";
};
struct RouteMissing {
  static constexpr const char* kName = "route.missing";
};
struct WrongInterface {
  static constexpr const char* kName = "route.wrong_interface";
};
struct Asymmetric {
  static constexpr const char* kName = "route.asymmetric";
};

// One row serves a family where its causes exclude each other; `name` is the family then.
const std::vector<RuleRow> kRows = {
    {"config", kRungConfig, "problems in files; options or versions that differ between hosts",
     propose_config},
    {"ports", kRungPorts, "the port plan alone, and who holds a port of the job", propose_ports},
    {"name", kRungName, "what the host's own name gives, against its data addresses",
     propose_names},
    {"launch", kRungLaunch, "why no agent answers", propose_launch},
    {"host", kRungHost, "buffers, cores, load, clock, connection table, limits", propose_readiness},
    {"topology.bridge_loop", kRungLink, "bridges that close a circle, or leave a port out",
     propose_bridges},
    {"link.missing", kRungLink, "no interface is left that could carry the address",
     part<propose_absent, LinkMissing>},
    {"link.down", kRungLink, "the interface, or one below it, is switched off", propose_link_down},
    {"link.down", kRungLink, "switched off, and its IPv6 address gone with it",
     part<propose_absent, LinkDown>},
    {"link.no_carrier", kRungLink, "switched on, without a signal, and nothing below it is off",
     propose_no_carrier},
    {"link", kRungLink, "flapping, speed, duplex, errors", propose_link_quality},
    {"ip.duplicate", kRungIp, "two machines answer for one address, or two hosts have it",
     propose_duplicates},
    {"ip.missing", kRungIp, "the interface is there, the address is not",
     part<propose_absent, IpMissing>},
    {"ip.wrong_subnet", kRungIp, "an address of a network that nobody shares is in its place",
     part<propose_absent, WrongSubnet>},
    {"ip.link_local_only", kRungIp, "only a self-assigned address, or one named on purpose",
     part<propose_absent, LinkLocalOnly>},
    {"ip.mask_mismatch", kRungIp, "prefix lengths differ while one covers both ends",
     propose_masks},
    {"ip.wrong_subnet", kRungIp, "two subnets that no route joins",
     part<propose_subnets, WrongSubnet>},
    {"topology.not_mesh", kRungIp, "a pair of a mesh without a subnet in common",
     part<propose_subnets, NotMesh>},
    {"ip.overlap", kRungIp, "a second interface covers the data subnet", propose_overlaps},
    {"topology.rail_mismatch", kRungNeighbour, "several cables of one host lead to silence",
     propose_rails},
    {"neighbour.unresolved", kRungNeighbour, "no or a wrong hardware address on a link that works",
     propose_neighbours},
    {"neighbour.unresolved", kRungNeighbour, "nobody has the address of a host without an agent",
     propose_unanswered},
    {"route.missing", kRungRoute, "the kernel refuses to send to the peer",
     part<propose_routes, RouteMissing>},
    {"route.wrong_interface", kRungRoute, "packets leave elsewhere than their source address",
     part<propose_routes, WrongInterface>},
    {"route.asymmetric", kRungRoute, "there and back differ; rp_filter then drops",
     part<propose_routes, Asymmetric>},
    {"route.default_leak", kRungRoute, "the default route leaves through the data interface",
     propose_default_leak},
    {"path.slower_used", kRungRoute, "a faster common link is left unused", propose_slower_path},
    {"mtu.mismatch", kRungMtu, "two ends of one link with different MTUs", propose_mtu},
    {"rdma", kRungRdma, "the first rung of RDMA that fails", propose_rdma},
};

}  // namespace

const std::vector<RuleRow>& host_rules() { return kRows; }

}  // namespace plumbline
