#include <cstddef>
#include <string_view>

#include "core/diagnosis/cause.h"
#include "core/text.h"

namespace plumbline {
namespace {

// A row as it is written here: causes and probes with blanks between them.
struct SymptomText {
  const char *pattern, *source, *meaning, *causes, *probes;
  const char* errno_name = nullptr;
  const char* by_hand = nullptr;
  const char* stack = nullptr;
  bool runs = false;
};

constexpr std::nullptr_t kNone = nullptr;
constexpr bool kRuns = true;

constexpr SymptomText kSymptoms[] = {
    // ---- what the C library and the resolver of Linux and macOS say ----
    {"connection refused", "any",
     "The peer's system, or a filter, answered with a refusal: the address is reachable, the "
     "port is not open.",
     "tcp.no_listener tcp.listener_wrong_address firewall.reject_rst firewall.reject_icmp",
     "tcp.connect firewall", "ECONNREFUSED"},
    {"errno 111", "linux", "ECONNREFUSED: connection refused.",
     "tcp.no_listener tcp.listener_wrong_address firewall.reject_rst firewall.reject_icmp",
     "tcp.connect firewall"},
    {"errno 61", "macos", "ECONNREFUSED: connection refused.",
     "tcp.no_listener tcp.listener_wrong_address firewall.reject_rst", "tcp.connect firewall"},
    {"timed out", "any", "No answer came: packets are dropped somewhere, or nobody is there.",
     "firewall.drop_inbound firewall.drop_outbound firewall.drop_path neighbour.unresolved "
     "link.down link.no_carrier",
     "link neighbour icmp firewall tcp.connect", "ETIMEDOUT"},
    {"errno 110", "linux", "ETIMEDOUT: no answer within the time-out.",
     "firewall.drop_inbound firewall.drop_outbound firewall.drop_path",
     "link neighbour firewall tcp.connect"},
    {"errno 60", "macos",
     "ETIMEDOUT: no answer; on an RDMA queue pair: the peer's GID is not reachable on this link.",
     "firewall.drop_inbound firewall.drop_path neighbour.unresolved rdma.rtr",
     "link neighbour firewall tcp.connect rdma"},
    {"errno 65", "macos",
     "EHOSTUNREACH: macOS found no way to the host, or refused this program the local network.",
     "macos.local_network_privacy route.missing neighbour.unresolved link.no_carrier "
     "firewall.reject_icmp",
     "link ip neighbour route firewall tcp.connect"},
    {"no route to host", "any",
     "The system found no way to the host: no route, nobody answers on the link, or a filter "
     "refused with an ICMP error.",
     "neighbour.unresolved route.missing firewall.reject_icmp link.no_carrier "
     "macos.local_network_privacy",
     "link ip neighbour route firewall", "EHOSTUNREACH"},
    {"errno 113", "linux",
     "EHOSTUNREACH: nobody answers for the address on the link, or an ICMP error came.",
     "neighbour.unresolved firewall.reject_icmp route.missing", "link ip neighbour route firewall"},
    {"network is unreachable", "any", "There is no route to that network.",
     "route.missing ip.missing link.down ip.wrong_subnet", "link ip route", "ENETUNREACH"},
    {"errno 101", "linux", "ENETUNREACH: there is no route to that network.",
     "route.missing ip.missing link.down", "link ip route"},
    {"errno 51", "macos", "ENETUNREACH: there is no route to that network.",
     "route.missing ip.missing link.down", "link ip route"},
    {"connection reset by peer", "any",
     "The connection was there and was cut: the peer's process ended, or a filter sent a reset.",
     "rank.dead firewall.reject_rst tcp.wrong_service", "tcp.connect firewall", "ECONNRESET"},
    {"errno 104", "linux", "ECONNRESET: the peer's process ended, or a filter sent a reset.",
     "rank.dead firewall.reject_rst tcp.wrong_service", "tcp.connect firewall"},
    {"errno 54", "macos", "ECONNRESET: the peer's process ended, or a filter sent a reset.",
     "rank.dead firewall.reject_rst tcp.wrong_service", "tcp.connect firewall"},
    {"broken pipe", "any", "We wrote to a connection that the peer had closed.", "rank.dead",
     "launch tcp.connect", "EPIPE"},
    {"address already in use", "any", "Somebody else listens on that port.",
     "tcp.port_in_use host.stale_process tcp.port_collision", "ports host", "EADDRINUSE"},
    {"errno 98", "linux", "EADDRINUSE: somebody else listens on that port.",
     "tcp.port_in_use host.stale_process tcp.port_collision", "ports host"},
    {"errno 48", "macos", "EADDRINUSE: somebody else listens on that port.",
     "tcp.port_in_use host.stale_process tcp.port_collision", "ports host"},
    {"can*assign requested address", "any", "The address is not on this host.",
     "ip.missing ip.link_local_only link.missing", "link ip", "EADDRNOTAVAIL"},
    {"errno 49", "macos",
     "EADDRNOTAVAIL: the address (of the coordinator, mostly) is not on this host any more.",
     "ip.missing ip.link_local_only", "link ip"},
    {"errno 99", "linux", "EADDRNOTAVAIL: the address is not on this host.",
     "ip.missing ip.link_local_only", "link ip"},
    {"message too long", "any", "EMSGSIZE: the packet is larger than the path's MTU.",
     "mtu.mismatch mtu.blackhole", "mtu", "EMSGSIZE"},
    {"no buffer space available", "any", "ENOBUFS: writes were too large or too many at a time.",
     "host.limits host.sockbuf_clamped", "host", "ENOBUFS"},
    {"too many open files", "any", "The process ran out of descriptors.", "host.limits", "host",
     "EMFILE"},
    {"name or service not known", "linux", "The resolver does not know the name.",
     "name.unresolved", "name"},
    {"temporary failure in name resolution", "linux", "No name server answered.", "name.unresolved",
     "name"},
    {"nodename nor servname provided", "macos", "The resolver does not know the name.",
     "name.unresolved", "name"},
    {"gai error: 8", "mlx",
     "The resolver does not know the name; numeric addresses avoid the question.",
     "name.unresolved", "name"},
    {"operation not permitted", "any",
     "A filter of this host refused the packet (output chain), or a privilege is missing.",
     "firewall.drop_outbound", "firewall", "EPERM"},
    // ---- what gloo, PyTorch, NCCL, Open MPI, MLX and MCCL say ----
    // gloo, torch
    {"gloo*connectfullmesh failed", "gloo",
     "Ranks could not connect to each other's published addresses.",
     "name.loopback name.wrong_address firewall.drop_inbound firewall.partial_range",
     "name ip route firewall tcp.connect", kNone, kNone, "torch-gloo"},
    {"connection closed by peer [", "gloo", "A peer's process ended in the middle of an operation.",
     "rank.dead collective.mismatch", "launch tcp.connect", kNone, kNone, "torch-gloo", kRuns},
    {"timed out waiting*for*recv operation to complete", "gloo",
     "A peer stopped sending: it died without a reset, calls another operation, or large packets "
     "vanish.",
     "mtu.blackhole collective.mismatch rank.dead firewall.idle_timeout", "mtu quality launch",
     kNone, kNone, "torch-gloo", kRuns},
    {"disterror", "torch", "The rendezvous store was lost or never reached.",
     "rank.missing firewall.drop_inbound rank.dead", "name firewall tcp.connect", kNone, kNone,
     "torch-gloo"},
    {"diststoreerror", "torch",
     "A wait at the rendezvous store timed out: a rank never started, a rank was given another "
     "master address or port, or the master cannot be reached.",
     "rank.missing name.wrong_address name.loopback firewall.drop_inbound rank.dead",
     "name firewall tcp.connect", kNone, kNone, "torch-gloo"},
    {"clients joined", "torch",
     "Some ranks never came to the master: they were not started, or they look for it at another "
     "address or port.",
     "rank.missing name.wrong_address config.mismatch firewall.drop_inbound",
     "config name firewall tcp.connect", kNone, kNone, "torch-gloo"},
    {"distnetworkerror", "torch", "The rendezvous store could not be reached on the master's port.",
     "tcp.no_listener firewall.drop_inbound name.unresolved rank.missing",
     "name firewall tcp.connect", kNone, kNone, "torch-gloo"},
    {"client socket has timed out*while trying to connect to", "torch",
     "A rank cannot reach the master's port.",
     "firewall.drop_inbound tcp.listener_wrong_address rank.missing name.wrong_address",
     "name route firewall tcp.connect", kNone, kNone, "torch-gloo"},
    {"the server socket has failed to listen", "torch", "The master's port is taken.",
     "tcp.port_in_use host.stale_process", "ports host", kNone, kNone, "torch-gloo"},
    // NCCL
    {"nccl*no socket interface found", "nccl", "The named interface is not there.",
     "link.missing link.down", "link ip", kNone, kNone, "nccl"},
    {"nccl*unhandled system error", "nccl",
     "A socket or verbs call failed; NCCL_DEBUG=INFO names it.",
     "firewall.drop_inbound route.missing host.limits rdma.memlock",
     "link route firewall tcp.connect rdma", kNone, kNone, "nccl"},
    {"nccl*call to connect returned connection refused", "nccl",
     "A peer's listener is not where it was published.",
     "name.wrong_address ip.overlap firewall.reject_rst tcp.listener_wrong_address",
     "ip route firewall tcp.connect", kNone, kNone, "nccl"},
    {"nccl*call to connect returned no route to host", "nccl",
     "The published address cannot be reached: another network's address, or a filter.",
     "firewall.reject_icmp name.wrong_address route.missing", "ip route firewall", kNone, kNone,
     "nccl"},
    {"nccl*connection closed by remote peer", "nccl",
     "Another rank closed its connection: it failed or was ended first; look at its log.",
     "rank.dead firewall.idle_timeout tcp.wrong_service", "tcp.connect firewall", kNone, kNone,
     "nccl", kRuns},
    {"nccl*call to ibv_create_qp failed", "nccl",
     "The RDMA device gives no queue pair: it has none left, or too little memory may be locked.",
     "rdma.qp_limit rdma.memlock rdma.port_down", "host rdma"},
    {"ncclsystemerror", "nccl",
     "A call of the system or of the verbs library failed; NCCL_DEBUG=WARN names it.",
     "firewall.drop_inbound route.missing host.limits rdma.memlock",
     "host link route firewall tcp.connect rdma", kNone, kNone, "nccl"},
    {"ncclremoteerror", "nccl", "Another rank failed first; look at its log.", "rank.dead",
     "launch", kNone, kNone, "nccl", kRuns},
    {"watchdog caught collective operation timeout", "nccl",
     "An operation did not end in time: a rank is missing from it, or data stopped moving.",
     "collective.mismatch collective.stalled mtu.blackhole rank.dead", "mtu quality launch", kNone,
     kNone, "nccl", kRuns},
    {"connect to*exceeded error retry count", "nccl",
     "A peer's listener could not be reached in 35 attempts: its port is closed, or the address "
     "that "
     "it published leads elsewhere.",
     "firewall.drop_inbound firewall.partial_range stack.interface name.wrong_address rank.dead",
     "stack ip route firewall tcp.connect", kNone, kNone, "nccl"},
    {"bootstrap root*mismatch in info from procs", "nccl",
     "Ranks were started with different numbers of ranks, or two jobs meet at one address.",
     "config.mismatch host.stale_process", "stack config host", kNone, kNone, "nccl"},
    {"bootstrap root*has already checked in", "nccl",
     "Two processes have the same rank, or two jobs meet at one address.",
     "config.mismatch host.stale_process", "stack config host", kNone, kNone, "nccl"},
    {"didn't receive a valid magic", "nccl",
     "Somebody else connected to NCCL's port (a port scan, a health check, another job); it goes "
     "on.",
     "tcp.wrong_service host.stale_process", "host tcp.connect", kNone, kNone, "nccl", kRuns},
    // Open MPI
    {"btl_tcp_endpoint*connect() to*failed", "openmpi",
     "A rank cannot reach another one's published address.",
     "firewall.drop_inbound firewall.partial_range path.slower_used route.missing",
     "ip route firewall tcp.connect", kNone, kNone, "openmpi"},
    {"tcp connection failed*peer process", "openmpi",
     "Ranks published addresses that do not reach one another.",
     "ip.overlap route.wrong_interface firewall.drop_inbound", "ip route firewall tcp.connect",
     kNone, kNone, "openmpi"},
    {"orte was unable to reliably start one or more daemons", "openmpi",
     "mpirun could not start its helper on a host.",
     "ssh.auth ssh.no_binary ssh.unreachable firewall.drop_inbound", "", nullptr,
     "ssh -v HOST true; ssh HOST 'command -v orted'"},
    {"not enough slots available", "openmpi", "More ranks than places in the host file.",
     "host.oversubscribed", "host"},
    {"accepted a tcp connection from what appears to be a*another open mpi process", "openmpi",
     "A rank called an address that it has itself, mostly that of docker0 or another bridge that "
     "every host has: Open MPI waits for ever.",
     "stack.interface", "stack ip", kNone, kNone, "openmpi", kRuns},
    {"at least one pair of mpi processes are unable to reach each other", "openmpi",
     "Two ranks have no transport in common: interfaces that were excluded, or no port that was "
     "free.",
     "stack.interface tcp.port_in_use", "stack ports ip", kNone, kNone, "openmpi"},
    {"btl_tcp_if_*clude", "openmpi",
     "An interface or network of btl_tcp_if_include or btl_tcp_if_exclude is not on this host.",
     "stack.interface link.missing", "stack link ip", kNone, kNone, "openmpi"},
    // MPICH, UCX
    {"unable to connect to server*check for firewalls", "mpich",
     "The proxy on a host cannot call back to mpiexec, by the name and port that it was told.",
     "firewall.drop_inbound name.unresolved name.wrong_address name.loopback",
     "stack name route firewall tcp.connect", kNone, kNone, "mpich"},
    {"unable to get host address for", "mpich", "The name of a host is not known.",
     "name.unresolved", "name", kNone, kNone, "mpich"},
    {"bad termination of one of your application processes", "mpich",
     "A rank's process ended first, and mpiexec ended the others; its exit code or signal stands "
     "below.",
     "rank.dead", "launch", kNone, kNone, "mpich", kRuns},
    {"connect(fd=*dest_addr=*failed", "ucx",
     "A rank cannot reach the address and port that another one published.",
     "stack.interface firewall.drop_inbound firewall.partial_range route.missing rank.dead",
     "stack ip route firewall tcp.connect", kNone, kNone, "mpich"},
    {"destination is unreachable", "ucx",
     "No published address of a peer can be reached from the interfaces in use.",
     "stack.interface route.missing firewall.drop_inbound", "stack ip route firewall tcp.connect",
     kNone, kNone, "mpich"},
    {"no usable transports/devices", "ucx",
     "UCX_NET_DEVICES or UCX_TLS names nothing that this host has.", "stack.interface link.missing",
     "stack link ip", kNone, kNone, "mpich"},
    {"endpoint timeout", "ucx", "A peer stopped answering while the job ran.",
     "rank.dead firewall.idle_timeout link.down", "link firewall tcp.connect", kNone, kNone,
     "mpich", kRuns},
    // MLX, JACCL, MCCL
    {"[jaccl]*changing queue pair to rtr failed with errno 22", "mlx",
     "The GID does not fit: no IPv4 on the port yet, or the mapped GID at another index.",
     "rdma.no_gid rdma.rtr topology.rail_mismatch", "ip rdma", kNone, kNone, "mlx-jaccl"},
    {"changing queue pair to rtr failed with errno 96", "mlx",
     "The GID table is empty: the Thunderbolt Bridge holds the port.",
     "rdma.no_gid link.not_in_bridge", "link rdma", kNone, kNone, "mlx-jaccl"},
    {"changing queue pair to rtr failed with errno 60", "mlx",
     "The peer's GID cannot be reached on this link.",
     "topology.rail_mismatch rdma.rtr route.wrong_interface", "route rdma", kNone, kNone,
     "mlx-jaccl"},
    {"couldn't allocate protection domain", "mlx",
     "The port is down, or protection domains leaked in earlier runs.", "rdma.port_down rdma.pd",
     "link rdma"},
    {"register memory region failed", "mlx", "The device has no memory region left (about 100).",
     "rdma.mr_limit rdma.memlock", "rdma"},
    {"couldn't find device", "mlx",
     "The device matrix names a device that this host does not have.",
     "rdma.no_device topology.rail_mismatch", "rdma", kNone, kNone, "mlx-jaccl"},
    {"[ring] couldn't connect", "mlx", "A neighbour of the ring does not accept the connection.",
     "rank.missing macos.local_network_privacy firewall.drop_inbound",
     "ip route firewall tcp.connect", kNone, kNone, "mlx-ring"},
    {"demux park limit exceeded", "mccl",
     "One rank ran ahead of another one, or ranks disagree on the order.",
     "collective.mismatch collective.stalled", "config launch", kNone, kNone, "mccl", kRuns},
    {"world size mismatch", "any",
     "Two jobs share a port window, or ranks were started with different sizes.",
     "config.mismatch host.stale_process", "config host"},
    // ---- what ssh says, and what a shell says that it started: no probe looks at ssh, so these
    // rows
    // tell what to try by hand ----
    {"ssh: connect to host*timed out", "ssh",
     "No answer from the host's ssh port: the host is off, the address is another one, or a "
     "filter drops the packets.",
     "ssh.unreachable name.wrong_address firewall.drop_inbound", "", nullptr,
     "ssh -v HOST true (the address it tries); ping HOST; the same from another host"},
    {"ssh: connect to host*connection refused", "ssh",
     "The host is there and nothing accepts ssh connections on that port.",
     "ssh.refused firewall.reject_rst", "", nullptr,
     "ssh -v HOST true; on the host: systemctl status ssh sshd (macOS: Remote Login is on)"},
    {"ssh: connect to host*no route to host", "ssh",
     "The host cannot be reached: it is off, the address is another one, or a filter refuses.",
     "ssh.unreachable name.wrong_address route.missing firewall.reject_icmp", "", nullptr,
     "ssh -v HOST true (the address it tries); ping HOST; the same from another host"},
    {"kex_exchange_identification", "ssh",
     "The connection was accepted and ended before ssh's greeting: the ssh server refuses this "
     "host or has too many logins at once, or another program listens there.",
     "ssh.refused tcp.wrong_service", "", nullptr,
     "ssh -v HOST true, again after a minute; on the host: the ssh server's log, MaxStartups"},
    {"connection closed by* port ", "ssh",
     "The ssh server ended the connection before the login was done: it refuses this user, host "
     "or key, or has too many logins at once.",
     "ssh.auth ssh.refused", "", nullptr, "ssh -v HOST true; on the host: the ssh server's log"},
    {"permission denied (publickey", "ssh", "The host does not accept our key.",
     "ssh.auth ssh.key_permissions", "", nullptr, "ssh -v HOST true (the keys it offers)"},
    {"host key verification failed", "ssh", "The host's key is not the known one.", "ssh.host_key",
     "", nullptr, "ssh -v HOST true; ssh-keygen -F HOST (the key that is known)"},
    {"remote host identification has changed", "ssh",
     "The host's key changed since it was last seen.", "ssh.host_key", "", nullptr,
     "ssh -v HOST true; ssh-keygen -F HOST; remove it with -R only when the change is known"},
    {"unprotected private key file", "ssh", "Others may read the key file, so ssh ignores it.",
     "ssh.key_permissions", "", nullptr, "ls -l of the file that ssh names; chmod 600 FILE"},
    {"could not resolve hostname", "ssh", "The name of the host is not known.", "name.unresolved",
     "name"},
    {"exec format error", "any", "The program is built for another machine.", "ssh.wrong_binary",
     "", nullptr, "ssh HOST uname -m; file PROGRAM"},
    {"plumbline: command not found", "ssh",
     "plumbline is not in the PATH of a non-interactive shell there.", "ssh.no_binary", "", nullptr,
     "ssh HOST 'command -v plumbline; echo $PATH'"},
};

std::vector<std::string> ids_in(std::string_view words) {
  std::vector<std::string> ids = split_at(words, ' ');
  std::erase(ids, "");
  return ids;
}

}  // namespace

const std::vector<SymptomRow>& symptom_table() {
  static const std::vector<SymptomRow> kTable = [] {
    std::vector<SymptomRow> all;
    for (const SymptomText& row : kSymptoms) {
      all.push_back({row.pattern, row.source, row.meaning, ids_in(row.causes), ids_in(row.probes),
                     row.errno_name, row.by_hand, row.stack, row.runs});
    }
    return all;
  }();
  return kTable;
}

}  // namespace plumbline
