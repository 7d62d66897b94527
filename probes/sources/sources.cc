#include "probes/sources/parsers.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

constexpr const char* kSysClassNet =
    "@files /sys/class/net/*/ifindex /sys/class/net/*/address /sys/class/net/*/speed "
    "/sys/class/net/*/duplex /sys/class/net/*/uevent /sys/class/net/*/device/uevent";

constexpr const char* kSysThunderbolt =
    "@files /sys/bus/thunderbolt/devices/*/uevent /sys/bus/thunderbolt/devices/*/unique_id "
    "/sys/bus/thunderbolt/devices/*/rx_speed /sys/bus/thunderbolt/devices/*/rx_lanes "
    "/sys/bus/thunderbolt/devices/*/net/*/ifindex";

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

// sysctl ends with status 1 when it does not know one of the names: only names that have been there
// for many releases, and several rows, so that the others are left.
constexpr const char* kSysctlHost =
    "sysctl kern.hostname kern.bootsessionuuid kern.osrelease hw.model hw.memsize hw.ncpu "
    "machdep.cpu.brand_string vm.loadavg kern.maxfiles kern.maxfilesperproc";
constexpr const char* kSysctlNet =
    "sysctl kern.ipc.maxsockbuf kern.ipc.somaxconn net.inet.tcp.sendspace net.inet.tcp.recvspace "
    "net.inet.tcp.mssdflt net.inet.tcp.delayed_ack net.inet.ip.forwarding "
    "net.inet6.ip6.forwarding net.inet.ip.portrange.first net.inet.ip.portrange.last";
constexpr const char* kSysctlTuning =
    "sysctl net.inet.tcp.autorcvbufmax net.inet.tcp.autosndbufmax";

}  // namespace

// Name, system, command, needs, filter, slow, parser, help.
const std::vector<SourceRow>& source_table() {
  static const std::vector<SourceRow> kTable = {
      {"ip-addr", "linux", "ip -j -d -s -s addr", "", "", false, parse_ip_addr,
       "interfaces, their kinds, flags, masters, counters and addresses"},
      {"sys-class-net", "linux", kSysClassNet, "", "", false, parse_sys_class_net,
       "speed, duplex, Wi-Fi, Thunderbolt, hardware or not"},
      {"sys-bus-thunderbolt", "linux", kSysThunderbolt, "", "", false, parse_sys_bus_thunderbolt,
       "Thunderbolt sockets, and which computer is at their other end"},
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

      // macOS. None needs root but those of pf, which then say "Permission denied". What not every
      // Mac has is "slow", so that nobody misses it.
      {"ifconfig", "macos", "ifconfig -a", "", "", false, parse_ifconfig,
       "interfaces, their flags, bridges, speed and addresses"},
      {"netstat-interfaces", "macos", "netstat -ibdn", "", "", false, parse_netstat_interfaces,
       "packets, bytes, errors and index of the interfaces"},
      {"networksetup", "macos", "networksetup -listallhardwareports", "", "", false,
       parse_hardware_ports, "which interface is Wi-Fi, Thunderbolt or Ethernet"},
      {"netstat-routes", "macos", "netstat -rn", "", "", false, parse_netstat_routes,
       "routes of both families"},
      {"arp", "macos", "arp -an", "", "", false, parse_arp,
       "hardware addresses of the IPv4 neighbours"},
      {"ndp", "macos", "ndp -an", "", "", false, parse_ndp,
       "hardware addresses of the IPv6 neighbours"},
      {"netstat-sockets", "macos", "netstat -anvl -p tcp", "", "", false, parse_netstat_sockets,
       "TCP sockets and whose they are"},
      {"lsof", "macos", "lsof +c 0 -nP -iTCP -sTCP:LISTEN", "", "", false, parse_lsof,
       "listeners of this user (of all, as root) with process names"},
      {"ps", "macos", "ps -axo pid=,etime=,comm=", "", "", true, parse_ps_etimes,
       "age and name of the processes that hold sockets"},
      {"sysctl-host", "macos", kSysctlHost, "", "", false, parse_sysctl,
       "name, model, cores, load, most open files"},
      {"sysctl-net", "macos", kSysctlNet, "", "", false, parse_sysctl,
       "socket buffers, forwarding, ports"},
      {"sysctl-tuning", "macos", kSysctlTuning, "", "", false, parse_sysctl,
       "how far socket buffers grow by themselves"},
      {"sw-vers", "macos", "sw_vers", "", "", false, parse_sw_vers, "the release of macOS"},
      {"uname", "macos", "uname -srm", "", "", false, parse_uname, "the kernel"},
      {"id", "macos", "id -u", "", "", false, parse_id, "the user"},
      {"limits", "macos", "ulimit -a", "", "", false, parse_ulimit, "open files, locked memory"},
      {"local-host-name", "macos", "scutil --get LocalHostName", "", "", true,
       parse_local_host_name, "the name on the local network, where there is no other"},
      {"pf-info", "macos", "pfctl -s info", "", "pf", false, parse_pf_info, "is pf switched on"},
      {"pf-rules", "macos", "pfctl -a * -s rules", "", "pf", false, parse_pf_rules,
       "rules of pf, those in anchors too"},
      {"alf", "macos", "/usr/libexec/ApplicationFirewall/socketfilterfw --getglobalstate", "",
       "alf", false, parse_alf_state, "is the application firewall switched on"},
      {"alf-block-all", "macos", "/usr/libexec/ApplicationFirewall/socketfilterfw --getblockall",
       "", "alf", false, parse_alf_block_all, "does it block all incoming connections"},
      {"alf-stealth", "macos", "/usr/libexec/ApplicationFirewall/socketfilterfw --getstealthmode",
       "", "alf", false, parse_alf_stealth, "does it swallow pings"},
      {"rdma-ctl", "macos", "rdma_ctl status", "", "", true, parse_rdma_ctl,
       "is RDMA over Thunderbolt switched on"},
      {"ibv-devices", "macos", "ibv_devices", "", "", true, parse_ibv_devices,
       "RDMA devices, also where ibv_devinfo hangs"},
      {"system-profiler-thunderbolt", "macos", "system_profiler SPThunderboltDataType -json", "",
       "", true, parse_thunderbolt_profile,
       "Thunderbolt sockets, which computer is at their other end, how fast the links are"},
      {"pmset", "macos", "pmset -g", "", "", true, parse_pmset, "is low power mode on"},
  };
  return kTable;
}

}  // namespace plumbline
