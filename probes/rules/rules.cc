// The tables of rules: about hosts and what lies below TCP, and about two hosts.
#include "probes/rules/rules.h"

#include <string>

#include "probes/rules/host_common.h"
#include "probes/rules/pair_blocks.h"

namespace plumbline {
namespace {

// A row that serves several causes, which exclude each other, is named after what they have in
// common.
const std::vector<RuleRow> kRows = {
    {"config", kRungConfig, "problems in files; options or versions that differ between hosts",
     propose_config},
    {"software", kRungConfig, "versions and variables that differ from what most hosts have",
     propose_software},
    {"job.config", kRungConfig, "ranks of a job that were told different things",
     propose_job_config},
    {"job.worlds", kRungConfig, "ranks of a job that are a world of their own each",
     propose_job_worlds},
    {"ports", kRungPorts, "the port plan alone, and who holds a port of the job", propose_ports},
    {"name", kRungName, "what the host's own name gives, against its data addresses",
     propose_names},
    {"stack", kRungName, "what the user's own library would take, against what the ladder saw",
     propose_stack},
    {"job.places", kRungName, "ranks of a job that listen where the others cannot come",
     propose_job_places},
    {"job.processes", kRungLaunch, "ranks of a job that are stopped, have ended, or never came",
     propose_job_processes},
    {"launch", kRungLaunch, "why no agent answers", propose_launch},
    {"host", kRungHost, "buffers, cores, load, clock, connection table, limits", propose_readiness},
    {"artifact", kRungHost, "a model's files that are not there, or not as on most hosts",
     propose_artifacts},
    {"topology.bridge_loop", kRungLink, "bridges that close a circle, or leave a port out",
     propose_bridges},
    {"topology", kRungLink, "Thunderbolt cables against the device matrix; circles through bridges",
     propose_cables},
    {"link.missing", kRungLink, "no interface is left that could carry the address",
     propose_absent},
    {"link.down", kRungLink, "the interface, or one below it, is switched off", propose_link_down},
    {"link.down", kRungLink, "switched off, and its IPv6 address gone with it", propose_absent},
    {"link.no_carrier", kRungLink, "switched on, without a signal, and nothing below it is off",
     propose_no_carrier},
    {"link", kRungLink, "flapping, speed, duplex, errors", propose_link_quality},
    {"ip.duplicate", kRungIp, "two machines answer for one address, or two hosts have it",
     propose_duplicates},
    {"ip.missing", kRungIp, "the interface is there, the address is not", propose_absent},
    {"ip.wrong_subnet", kRungIp, "an address of a network that nobody shares is in its place",
     propose_absent},
    {"ip.link_local_only", kRungIp, "only a self-assigned address, or one named on purpose",
     propose_absent},
    {"ip.link_local_only", kRungIp, "RDMA over a port whose only address is self-assigned",
     propose_self_assigned},
    {"ip.missing", kRungIp, "the address where rank 0 coordinates is not on the first host",
     propose_coordinator},
    {"ip.mask_mismatch", kRungIp, "prefix lengths differ while one covers both ends",
     propose_masks},
    {"ip.wrong_subnet", kRungIp, "two subnets that no route joins", propose_subnets},
    {"topology.not_mesh", kRungIp, "a pair of a mesh without a subnet in common", propose_subnets},
    {"ip.overlap", kRungIp, "a second interface covers the data subnet", propose_overlaps},
    {"topology.rail_mismatch", kRungNeighbour, "several cables of one host lead to silence",
     propose_rails},
    {"neighbour.unresolved", kRungNeighbour, "no or a wrong hardware address on a link that works",
     propose_neighbours},
    {"neighbour.unresolved", kRungNeighbour, "nobody has the address of a host without an agent",
     propose_unanswered},
    {"route.missing", kRungRoute, "the kernel refuses to send to the peer", propose_routes},
    {"route.wrong_interface", kRungRoute, "packets leave elsewhere than their source address",
     propose_routes},
    {"route.asymmetric", kRungRoute, "there and back differ; rp_filter then drops", propose_routes},
    {"route.default_leak", kRungRoute, "the default route leaves through the data interface",
     propose_default_leak},
    {"path.slower_used", kRungRoute, "a faster common link is left unused", propose_slower_path},
    {"mtu.mismatch", kRungMtu, "two ends of one link with different MTUs", propose_mtu},
    {"rdma", kRungRdma, "the first rung of RDMA that fails", propose_rdma},
    {"config.version_mismatch", kRungRdma, "releases of macOS whose frames over RDMA differ",
     propose_releases},
    {"endpoint", kRungEndpoint, "how the server's answers end: none, full, stuck, wrong",
     propose_endpoints},
};

}  // namespace

const std::vector<RuleRow>& host_rules() { return kRows; }

const std::vector<RuleRow>& pair_rules() {
  static const std::vector<RuleRow> kTable = {
      {"icmp.blocked", kRungIcmp, "echo fails on a pair whose TCP works", propose_icmp_blocked},
      {"macos.local_network_privacy", kRungFirewall,
       "EHOSTUNREACH without a packet, while the system's own tool reaches the same address; whom "
       "to allow, by who started the agent",
       propose_local_network_privacy},
      {"firewall.drop_inbound", kRungFirewall,
       "packets reach the host's wire and have no effect; or a rule of its input says so",
       block_candidates},
      {"firewall.drop_outbound", kRungFirewall,
       "packets that the host produces never reach its wire", block_candidates},
      {"firewall.drop_path", kRungFirewall, "packets leave one wire and never reach the other",
       block_candidates},
      {"firewall.reject_icmp", kRungFirewall,
       "an ICMP error refuses the connection; its sender tells who", block_candidates},
      {"firewall.reject_rst", kRungFirewall,
       "RST, though the listener is up and never saw the connection", block_candidates},
      {"firewall.partial_range", kRungFirewall,
       "some ports of the job are blocked while others are open", block_candidates},
      {"firewall.idle_timeout", kRungFirewall, "a connection dies silently after a pause",
       propose_idle_timeout},
      {"tcp.no_listener", kRungTcp, "RST, and nobody listens", propose_no_listener},
      {"tcp.listener_wrong_address", kRungTcp,
       "refused, and the listener is bound to another address", propose_no_listener},
      {"tcp.wrong_service", kRungTcp, "somebody else accepts or answers on a job port",
       propose_wrong_service},
      {"mtu.blackhole", kRungMtu,
       "large packets vanish without an ICMP error where small ones pass", propose_mtu_blackhole},
      {"loss.random", kRungQuality, "packets get lost in both directions", propose_loss},
      {"loss.one_way", kRungQuality, "packets get lost in one direction only", propose_loss},
      {"rate.below_link", kRungQuality, "rate below the link's speed, or the other pairs'",
       propose_rate},
      {"rate.asymmetric", kRungQuality, "one direction is much slower than the other",
       propose_rate},
      {"rate.host_limited", kRungQuality,
       "rate below the link's speed because a CPU or buffer is full", propose_rate},
      {"latency.high", kRungQuality, "idle round trip far above that of other pairs of its kind",
       propose_latency},
      {"job.reading", kRungJobNetwork, "unread bytes of a job, and a sender who waits with more",
       propose_job_reading},
      {"job.network", kRungJobNetwork,
       "connections of a job that lose packets, by both kernels and by the filters of both hosts",
       propose_job_network},
  };
  return kTable;
}

}  // namespace plumbline
