// The parsers of the Linux rows of the table, one per tool or kind of file. Pure functions of the
// text, compiled and tested on every system; each adds to the evidence what it understands. See
// SourceRow::parse for what they may expect.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "probes/evidence.h"

namespace plumbline {

// linux_links.cc: `ip -j -d -s -s addr`, then the files of /sys/class/net, which know the hardware.
Status parse_ip_addr(const std::string& text, HostEvidence& host);
Status parse_sys_class_net(const std::string& text, HostEvidence& host);
// linux_loops.cc: bridges of this host that veth pairs join to a loop without spanning tree, in
// words; `addr` is the text of `ip -j -d -s -s addr`.
std::vector<std::string> bridge_loops(const std::string& addr);

// linux_routes.cc
Status parse_ip_route(const std::string& text, HostEvidence& host);
Status parse_ip_rule(const std::string& text, HostEvidence& host);
Status parse_ip_neigh(const std::string& text, HostEvidence& host);

// linux_sockets.cc: `ss -Htunap`; /proc/net/{tcp,tcp6,udp,udp6} in the form of "@files" where there
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

// rdma_sources.cc: the files of /sys/class/infiniband; `ibv_devinfo -v` (any system).
Status parse_sys_class_infiniband(const std::string& text, HostEvidence& host);
Status parse_ibv_devinfo(const std::string& text, HostEvidence& host);

}  // namespace plumbline
