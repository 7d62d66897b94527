#include <fmt/format.h>

#include <algorithm>

#include "probes/sources/linux_sources.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

constexpr const char* kSysClassNet =
    "@files /sys/class/net/*/ifindex /sys/class/net/*/address /sys/class/net/*/speed "
    "/sys/class/net/*/duplex /sys/class/net/*/uevent /sys/class/net/*/device/uevent";

constexpr const char* kProcSys =
    "@files /proc/sys/kernel/hostname /proc/sys/kernel/ostype /proc/sys/kernel/osrelease "
    "/proc/sys/kernel/arch /proc/sys/kernel/random/boot_id "
    "/proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/conf/*/arp_ignore "
    "/proc/sys/net/ipv4/conf/*/arp_filter /proc/sys/net/ipv4/conf/*/arp_announce "
    "/proc/sys/net/ipv4/conf/*/accept_local /proc/sys/net/ipv4/conf/*/forwarding "
    "/proc/sys/net/ipv6/conf/*/disable_ipv6 /proc/sys/net/ipv6/conf/*/forwarding "
    "/proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem "
    "/proc/sys/net/ipv4/tcp_mem /proc/sys/net/core/rmem_max /proc/sys/net/core/wmem_max "
    "/proc/sys/net/core/somaxconn /proc/sys/net/core/netdev_max_backlog "
    "/proc/sys/net/core/default_qdisc /proc/sys/net/ipv4/tcp_congestion_control "
    "/proc/sys/net/ipv4/ip_local_port_range /proc/sys/net/ipv4/ip_local_reserved_ports "
    "/proc/sys/net/ipv4/tcp_mtu_probing /proc/sys/net/ipv4/tcp_window_scaling "
    "/proc/sys/net/ipv4/tcp_timestamps /proc/sys/net/ipv4/tcp_sack "
    "/proc/sys/net/ipv4/icmp_echo_ignore_all /proc/sys/net/ipv4/ping_group_range "
    "/proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/net/ipv4/ip_no_pmtu_disc "
    "/proc/sys/net/ipv4/tcp_syncookies /proc/sys/net/ipv4/tcp_max_syn_backlog "
    "/proc/sys/net/ipv6/icmp/echo_ignore_all /proc/sys/net/ipv6/bindv6only "
    "/proc/sys/net/netfilter/nf_conntrack_count /proc/sys/net/netfilter/nf_conntrack_max "
    "/proc/sys/net/bridge/bridge-nf-call-iptables /proc/sys/net/bridge/bridge-nf-call-ip6tables";

// Tables of GIDs are filled from their beginning and may have a thousand entries, a file each.
constexpr const char* kSysInfiniband =
    "@files /sys/class/infiniband/*/node_type /sys/class/infiniband/*/ports/*/state "
    "/sys/class/infiniband/*/ports/*/link_layer /sys/class/infiniband/*/ports/*/gids/[0-9] "
    "/sys/class/infiniband/*/ports/*/gids/[0-9][0-9] "
    "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/0";

// iptables-legacy-save and its kin load the kernel's tables when they are asked; the files in
// /proc/net name the tables that are there already. `iptables-save` is one of the other two under
// its old name on systems that know no better one.
constexpr const char* kLegacy4 = "has /proc/net/ip_tables_names";
constexpr const char* kLegacy6 = "has /proc/net/ip6_tables_names";
constexpr const char* kOld4 =
    "has /proc/net/ip_tables_names and without iptables-legacy-save and without iptables-nft-save";
constexpr const char* kOld6 =
    "has /proc/net/ip6_tables_names and without ip6tables-legacy-save and without "
    "ip6tables-nft-save";
constexpr const char* kProcNet = "@files /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6";

// Name, system, command, needs, filter, slow, parser, help.
const std::vector<SourceRow>& linux_source_table() {
  static const std::vector<SourceRow> kTable = {
      {"ip-addr", "linux", "ip -j -d -s -s addr", "", "", false, parse_ip_addr,
       "interfaces, their kinds, flags, masters, counters and addresses"},
      {"sys-class-net", "linux", kSysClassNet, "", "", false, parse_sys_class_net,
       "speed, duplex, Wi-Fi, Thunderbolt, hardware or not"},
      {"ip-route", "linux", "ip -j route show table all", "", "", false, parse_ip_route,
       "routes of both families and all tables"},
      {"ip-rule", "linux", "ip -j rule", "", "", false, parse_ip_rule, "routing policy, IPv4"},
      {"ip6-rule", "linux", "ip -j -6 rule", "", "", false, parse_ip_rule, "routing policy, IPv6"},
      {"ip-neigh", "linux", "ip -j neigh", "", "", false, parse_ip_neigh,
       "hardware addresses of the neighbours"},
      {"ss", "linux", "ss -Htunap", "", "", false, parse_ss,
       "sockets and, as far as visible, whose they are"},
      {"proc-net", "linux", kProcNet, "without ss", "", false, parse_proc_net_sockets,
       "sockets, where there is no ss"},
      {"ps", "linux", "ps -eo pid=,etimes=,comm=", "", "", true, parse_ps_ages,
       "age of the processes that hold sockets"},
      {"proc-sys", "linux", kProcSys, "", "", false, parse_proc_sys,
       "kernel values; names of host and kernel"},
      {"os-release", "linux", "@file /etc/os-release", "", "", false, parse_os_release_file,
       "the distribution"},
      {"machine", "linux", "@files /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name", "",
       "", false, parse_machine_files, "the model"},
      {"limits", "linux", "@file /proc/self/limits", "", "", false, parse_proc_limits,
       "open files, locked memory"},
      {"status", "linux", "@file /proc/self/status", "", "", false, parse_proc_status,
       "user and usable cores"},
      {"loadavg", "linux", "@file /proc/loadavg", "", "", false, parse_loadavg, "load"},
      {"nft", "linux", "nft -j list ruleset", "module nf_tables", "nftables", false,
       parse_nft_source, "rules of nftables"},
      {"nft-text", "linux", "nft list ruleset", "module nf_tables", "nftables", false,
       parse_nft_text_source,
       "what nft leaves out of its JSON: devices of chains, sleeping tables"},
      {"iptables-nft", "linux", "iptables-nft-save", "module nf_tables", "iptables", false,
       parse_iptables_nft_source, "rules of iptables, kept in nftables"},
      {"ip6tables-nft", "linux", "ip6tables-nft-save", "module nf_tables", "ip6tables", false,
       parse_ip6tables_nft_source, "the same for IPv6"},
      {"iptables-legacy", "linux", "iptables-legacy-save", kLegacy4, "iptables", false,
       parse_iptables_source, "rules of iptables, in its own tables"},
      {"ip6tables-legacy", "linux", "ip6tables-legacy-save", kLegacy6, "ip6tables", false,
       parse_ip6tables_source, "the same for IPv6"},
      {"iptables", "linux", "iptables-save", kOld4, "iptables", false, parse_iptables_source,
       "rules of iptables on older systems"},
      {"ip6tables", "linux", "ip6tables-save", kOld6, "ip6tables", false, parse_ip6tables_source,
       "the same for IPv6"},
      {"ebtables-legacy", "linux", "ebtables-legacy-save", "loaded ebtables", "ebtables", false,
       parse_ebtables_source, "rules of bridges, in ebtables' own tables"},
      {"tc", "linux", "@clsact tc -j filter show dev", "", "tc", false, parse_tc_source,
       "filters at the edge of an interface"},
      {"ufw", "linux", "@file /etc/ufw/ufw.conf", "has /etc/ufw/ufw.conf", "ufw", false,
       parse_ufw_conf, "is ufw switched on"},
      {"firewalld", "linux", "firewall-cmd --state", "process firewalld", "firewalld", true,
       parse_firewall_cmd, "does firewalld run"},
      {"infiniband", "linux", kSysInfiniband, "", "", false, parse_sys_class_infiniband,
       "RDMA devices, their ports and GIDs"},
      {"ibv-devinfo", "any", "ibv_devinfo -v", "", "", true, parse_ibv_devinfo,
       "the same as the verbs library sees it"},
  };
  return kTable;
}

}  // namespace

const std::vector<SourceRow>& source_table() {
  static const std::vector<SourceRow> kTable = [] {
    std::vector<SourceRow> all = linux_source_table();
    const auto& macos = macos_source_table();
    all.insert(all.end(), macos.begin(), macos.end());
    return all;
  }();
  return kTable;
}

const SourceRow* find_source(const std::string& name, const std::string& system) {
  const auto& table = source_table();
  const auto it = std::find_if(table.begin(), table.end(), [&](const SourceRow& row) {
    return name == row.name && (system == row.system || std::string("any") == row.system);
  });
  return it == table.end() ? nullptr : &*it;
}

std::string collect_script_rows() {
  std::string out;
  for (const SourceRow& row : source_table()) {
    out += fmt::format("{}|{}|{}|{}\n", row.system, row.name, row.needs, row.command);
  }
  return out;
}

}  // namespace plumbline
