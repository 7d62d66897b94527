// The table of rules about two hosts.
#include <algorithm>
#include <iterator>

#include "probes/rules/pair_blocks.h"
#include "probes/rules/pair_propose.h"

namespace plumbline {
namespace {

Candidates only(Candidates candidates, const char* cause) {
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [&](const Candidate& candidate) { return candidate.finding.cause != cause; }),
      candidates.end());
  return candidates;
}

// One row for each cause of a family that is found by one analysis.
template <const char* const& Cause, Candidates (*Propose)(const EvidenceSet&, const Checks& checks)>
Candidates one_of(const EvidenceSet& evidence, const Checks& checks) {
  return only(Propose(evidence, checks), Cause);
}

constexpr const char* kDropInbound = "firewall.drop_inbound";
constexpr const char* kDropOutbound = "firewall.drop_outbound";
constexpr const char* kDropPath = "firewall.drop_path";
constexpr const char* kRejectIcmp = "firewall.reject_icmp";
constexpr const char* kRejectRst = "firewall.reject_rst";
constexpr const char* kPartialRange = "firewall.partial_range";
constexpr const char* kNoListener = "tcp.no_listener";
constexpr const char* kWrongAddress = "tcp.listener_wrong_address";
constexpr const char* kLossRandom = "loss.random";
constexpr const char* kLossOneWay = "loss.one_way";
constexpr const char* kBelowLink = "rate.below_link";
constexpr const char* kAsymmetric = "rate.asymmetric";
constexpr const char* kHostLimited = "rate.host_limited";

}  // namespace

const std::vector<RuleRow>& pair_rules() {
  static const std::vector<RuleRow> kTable = {
      {"icmp.blocked", kRungIcmp, "echo fails on a pair whose TCP works", propose_icmp_blocked},
      {"macos.local_network_privacy", kRungFirewall,
       "EHOSTUNREACH without a packet, while the system's own tool reaches the same address",
       propose_local_network_privacy},
      {kDropInbound, kRungFirewall,
       "packets reach the host's wire and have no effect; or a rule of its input says so",
       one_of<kDropInbound, block_candidates>},
      {kDropOutbound, kRungFirewall, "packets that the host produces never reach its wire",
       one_of<kDropOutbound, block_candidates>},
      {kDropPath, kRungFirewall, "packets leave one wire and never reach the other",
       one_of<kDropPath, block_candidates>},
      {kRejectIcmp, kRungFirewall, "an ICMP error refuses the connection; its sender tells who",
       one_of<kRejectIcmp, block_candidates>},
      {kRejectRst, kRungFirewall, "RST, though the listener is up and never saw the connection",
       one_of<kRejectRst, block_candidates>},
      {kPartialRange, kRungFirewall, "some ports of the job are blocked while others are open",
       one_of<kPartialRange, block_candidates>},
      {"firewall.idle_timeout", kRungFirewall, "a connection dies silently after a pause",
       propose_idle_timeout},
      {kNoListener, kRungTcp, "RST, and nobody listens", one_of<kNoListener, propose_no_listener>},
      {kWrongAddress, kRungTcp, "refused, and the listener is bound to another address",
       one_of<kWrongAddress, propose_no_listener>},
      {"tcp.wrong_service", kRungTcp, "somebody else accepts or answers on a job port",
       propose_wrong_service},
      {"mtu.blackhole", kRungMtu,
       "large packets vanish without an ICMP error where small ones pass", propose_mtu_blackhole},
      {kLossRandom, kRungQuality, "packets get lost in both directions",
       one_of<kLossRandom, propose_loss>},
      {kLossOneWay, kRungQuality, "packets get lost in one direction only",
       one_of<kLossOneWay, propose_loss>},
      {kBelowLink, kRungQuality, "rate below the link's speed, or the other pairs'",
       one_of<kBelowLink, propose_rate>},
      {kAsymmetric, kRungQuality, "one direction is much slower than the other",
       one_of<kAsymmetric, propose_rate>},
      {kHostLimited, kRungQuality, "rate below the link's speed because a CPU or buffer is full",
       one_of<kHostLimited, propose_rate>},
      {"latency.high", kRungQuality, "idle round trip far above that of other pairs of its kind",
       propose_latency},
  };
  return kTable;
}

}  // namespace plumbline
