#include "probes/sources/macos_sources.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

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

// The rows of macOS, parsed by the functions of macos_sources.h. None needs root but those of pf,
// which then say "Permission denied". What not every Mac has is "slow", so that nobody misses it.
// Name, system, command, needs, filter, slow, parser, help.
const std::vector<SourceRow>& macos_source_table() {
  static const std::vector<SourceRow> kTable = {
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
       "", true, parse_thunderbolt_profile, "speed of the Thunderbolt links"},
  };
  return kTable;
}

}  // namespace plumbline
