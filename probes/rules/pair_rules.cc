// The table of rules about two hosts.
#include "probes/rules/pair_blocks.h"
#include "probes/rules/pair_propose.h"

namespace plumbline {
const std::vector<RuleRow>& pair_rules() {
  static const std::vector<RuleRow> kTable = {
      {"icmp.blocked", kRungIcmp, "echo fails on a pair whose TCP works", propose_icmp_blocked},
      {"macos.local_network_privacy", kRungFirewall,
       "EHOSTUNREACH without a packet, while the system's own tool reaches the same address",
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
  };
  return kTable;
}

}  // namespace plumbline
