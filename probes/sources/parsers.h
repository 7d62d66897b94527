// The parsers of the rows of the table, one per tool or kind of file. Pure functions of the text,
// compiled and tested on every system (so the file names must not end in _macos); each adds to the
// evidence what it understands. See SourceRow::parse for what they may expect. Formats of macOS
// after its manual pages: ifconfig(8), netstat(1), arp(8), ndp(8), lsof(8), pfctl(8), pf.conf(5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "probes/evidence.h"

namespace plumbline {

// ---- of all systems ----

struct SocketEnd {
  std::string ip;
  int port = 0;
};
// A peer without a port is none.
SocketEvidence socket_between(std::string_view protocol, const std::string& state,
                              const SocketEnd& local, const SocketEnd& peer);

// ---- Linux ----

// linux_links.cc: `ip -j -d -s -s addr`, then the files of /sys/class/net, which know the hardware.
Status parse_ip_addr(const std::string& text, HostEvidence& host);
Status parse_sys_class_net(const std::string& text, HostEvidence& host);
// Bridges of this host that veth pairs join to a loop without spanning tree, in words; `addr` is
// the text of `ip -j -d -s -s addr`.
std::vector<std::string> bridge_loops(const std::string& addr);

// linux_thunderbolt.cc: the files of /sys/bus/thunderbolt, for interfaces that are known already.
Status parse_sys_bus_thunderbolt(const std::string& text, HostEvidence& host);

// linux_network.cc: routes, rules, neighbours.
Status parse_ip_route(const std::string& text, HostEvidence& host);
Status parse_ip_rule(const std::string& text, HostEvidence& host);
Status parse_ip_neigh(const std::string& text, HostEvidence& host);

// linux_network.cc: `ss -Htunap`; /proc/net/{tcp,tcp6,udp,udp6} in the form of "@files" where there
// is no ss; `ps -eo pid=,etimes=,comm=` for the age of the processes found before.
Status parse_ss(const std::string& text, HostEvidence& host);
Status parse_proc_net_sockets(const std::string& text, HostEvidence& host);
Status parse_ps_ages(const std::string& text, HostEvidence& host);

// linux_system.cc
Status parse_proc_sys(const std::string& text, HostEvidence& host);
Status parse_os_release_file(const std::string& text, HostEvidence& host);
Status parse_machine_files(const std::string& text, HostEvidence& host);
Status parse_proc_limits(const std::string& text, HostEvidence& host);
Status parse_proc_status(const std::string& text, HostEvidence& host);
Status parse_loadavg(const std::string& text, HostEvidence& host);

// linux_filters.cc: the rules themselves are read by probes/filters.
Status parse_nft_source(const std::string& text, HostEvidence& host);
Status parse_nft_text_source(const std::string& text, HostEvidence& host);
Status parse_iptables_nft_source(const std::string& text, HostEvidence& host);
Status parse_ip6tables_nft_source(const std::string& text, HostEvidence& host);
Status parse_iptables_source(const std::string& text, HostEvidence& host);
Status parse_ip6tables_source(const std::string& text, HostEvidence& host);
Status parse_ebtables_source(const std::string& text, HostEvidence& host);
Status parse_tc_source(const std::string& text, HostEvidence& host);
Status parse_ufw_conf(const std::string& text, HostEvidence& host);
Status parse_firewall_cmd(const std::string& text, HostEvidence& host);
// What can only be said when all filters are known: whether firewalld and ufw are at work in this
// namespace, by the tables and chains that they made.
void finish_filters(HostEvidence& host);

// The same file: the files of /sys/class/infiniband; `ibv_devinfo -v` (any system).
Status parse_sys_class_infiniband(const std::string& text, HostEvidence& host);
Status parse_ibv_devinfo(const std::string& text, HostEvidence& host);

// ---- macOS ----

// macos_links.cc: `ifconfig -a`.
Status parse_ifconfig(const std::string& text, HostEvidence& host);

// macos_hardware.cc, for interfaces that are known already: `netstat -ibdn`, counters;
// `networksetup -listallhardwareports`, Wi-Fi, Thunderbolt (with the socket's number) or Ethernet.
Status parse_netstat_interfaces(const std::string& text, HostEvidence& host);
Status parse_hardware_ports(const std::string& text, HostEvidence& host);
// macos_thunderbolt.cc, behind these: `system_profiler SPThunderboltDataType -json`: the sockets
// and what is at their other ends, the speed of the interfaces, whether the hardware can do RDMA.
Status parse_thunderbolt_profile(const std::string& text, HostEvidence& host);

// macos_routes.cc: `netstat -rn`, `arp -an`, `ndp -an`.
Status parse_netstat_routes(const std::string& text, HostEvidence& host);
Status parse_arp(const std::string& text, HostEvidence& host);
Status parse_ndp(const std::string& text, HostEvidence& host);
// "10.10/24" -> "10.10.0.0/24", "169.254" -> "169.254.0.0/16", "fe80::%en0/64" -> "fe80::/64";
// `host_route`: the route's flags say that it leads to one host. Empty for nonsense.
std::string expand_destination(std::string_view text, bool host_route);

// macos_sockets.cc: `netstat -anvl -p tcp`; `lsof +c 0 -nP -iTCP -sTCP:LISTEN`, which may know more
// about the same sockets; `ps -axo pid=,etime=,comm=` for the age of their processes.
Status parse_netstat_sockets(const std::string& text, HostEvidence& host);
Status parse_lsof(const std::string& text, HostEvidence& host);
Status parse_ps_etimes(const std::string& text, HostEvidence& host);

// macos_filters.cc: `pfctl -s info`; the application firewall's three answers of socketfilterfw.
Status parse_pf_info(const std::string& text, HostEvidence& host);
Status parse_alf_state(const std::string& text, HostEvidence& host);
Status parse_alf_block_all(const std::string& text, HostEvidence& host);
Status parse_alf_stealth(const std::string& text, HostEvidence& host);
// The same file: `pfctl -a * -s rules`, all anchors included. The last rule of pf that matches
// decides, or the first one that is "quick"; they are put into the order in which the first match
// decides, as everywhere else.
Status parse_pf_rules(const std::string& text, HostEvidence& host);

// macos_system.cc: `sysctl NAME...`, `sw_vers`, `uname -srm`, `id -u`, `ulimit -a`, `scutil --get
// LocalHostName`, `rdma_ctl status` (kept as the value "rdma_ctl.status"), `ibv_devices`.
Status parse_sysctl(const std::string& text, HostEvidence& host);
Status parse_sw_vers(const std::string& text, HostEvidence& host);
Status parse_uname(const std::string& text, HostEvidence& host);
Status parse_id(const std::string& text, HostEvidence& host);
Status parse_ulimit(const std::string& text, HostEvidence& host);
Status parse_local_host_name(const std::string& text, HostEvidence& host);
Status parse_rdma_ctl(const std::string& text, HostEvidence& host);
Status parse_ibv_devices(const std::string& text, HostEvidence& host);
// macos_power.cc: `pmset -g` (low power mode, kept as the value "pmset.low_power_mode": "on" or
// "off").
Status parse_pmset(const std::string& text, HostEvidence& host);

}  // namespace plumbline
