#include "core/diagnosis/cause.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/text.h"

namespace plumbline {
namespace {

constexpr const char* kFail = "fail";
constexpr const char* kWarn = "warn";
constexpr const char* kNote = "note";
constexpr const char* kFailOrWarn = "fail; warn while it still works";
constexpr const char* kRdma =
    "fail when RDMA was asked for, warn in a run that goes on over TCP, else note";

constexpr CauseRow kTable[] = {
    // files and options
    {"config.mismatch",
     "ranks or agents have different options, or a host's environment other variables for ranks",
     "the keys that differ, with both values", "fail; note for chip and memory"},
    {"config.version_mismatch",
     "another version of plumbline, of the system, or of what ranks need, than on most hosts; or a "
     "release of macOS that does not fit the others' over RDMA",
     "both versions; those of plumbline are exchanged before anything else",
     "fail; warn for versions that neither plumbline nor the scenario names"},
    {"tcp.port_collision",
     "the window of ports and the master port overlap, or leave the port range",
     "the options alone", kFail},
    // names
    {"name.unresolved", "a host name that is needed gives no usable address",
     "the resolver's answer, IPv4 and IPv6 apart", kFail},
    {"name.loopback",
     "the host's own name gives a loopback address, so that stacks which publish it talk to "
     "themselves",
     "the resolver's answer on that host", kFail},
    {"name.wrong_address",
     "the host's own name gives an address of another network than the data one",
     "the resolver's answer beside the data address", kFail},
    // the way to the host
    {"ssh.unreachable", "the host cannot be reached to start an agent",
     "the first step of the control path that fails; a namespace that is not there counts", kFail},
    {"ssh.refused", "nothing accepts ssh connections there", "connection refused", kFail},
    {"ssh.auth", "ssh does not accept our key", "ssh's own words", kFail},
    {"ssh.host_key", "the host's key is not the known one", "ssh's own words", kFail},
    {"ssh.key_permissions", "the key file can be read by others, so ssh ignores it",
     "mode of the key file", kFail},
    {"ssh.no_binary", "plumbline is not there, or does not start",
     "exit status and output of the attempt", kFail},
    {"ssh.wrong_binary", "plumbline there is built for another machine", "exec format error",
     kFail},
    {"rank.missing", "a rank never came to the rendezvous", "the roll-call", kFail},
    {"rank.late", "a rank came after the time-out", "the roll-call", kFail},
    {"rank.dead", "a rank's process ended", "its exit status", kFail},
    {"rank.agent_lost", "a host's agent died, hangs or talks nonsense",
     "the request that it did not answer, and its last words", kFail},
    // the host
    {"host.overloaded", "other work keeps the host's cores busy", "load against usable cores",
     kWarn},
    {"host.oversubscribed", "more ranks on a host than it has cores", "ranks and usable cores",
     kWarn},
    {"host.sockbuf_clamped",
     "sockets get smaller buffers than the job asks for, or than a fast link needs",
     "bytes asked and granted, and how far the system's tuning goes", kWarn},
    {"host.conntrack_full", "the table of tracked connections is full: new ones are dropped",
     "entries against the limit", kFail},
    {"host.clock_skew", "the host's clock is off against the coordinator's",
     "offset by the fastest of several exchanges, with its uncertainty", kWarn},
    {"host.limits", "too few descriptors, or too little locked memory", "the process limits",
     kWarn},
    {"host.stale_process", "a leftover of an earlier run holds ports or devices",
     "its pid, age and ports", kWarn},
    // links
    {"link.missing",
     "the interface that the host file names does not exist, or none is left that could carry the "
     "data address",
     "the list of interfaces; a renamed one that carries the address: warn",
     "fail; warn when renamed"},
    {"link.down", "the interface is switched off", "administrative state (loopback too: warn)",
     "fail; warn for loopback"},
    {"link.no_carrier", "the interface is on, but has no signal: cable, or the other end's port",
     "carrier state", kFail},
    {"link.flapping", "the signal comes and goes",
     "the counter of carrier changes, before and after", kWarn},
    {"link.not_in_bridge",
     "a port that should belong to the bridge with the address does not, or does not forward",
     "bridge membership and port state on a host with an agent", kFail},
    {"link.speed", "the link runs slower than its hardware, or than the others of its kind, can",
     "negotiated speed", kWarn},
    {"link.duplex", "the link is half duplex", "negotiated duplex", kWarn},
    {"link.errors", "the interface counts errors while the check runs",
     "error counters, before and after", kWarn},
    // addresses
    {"ip.missing",
     "the data address is not on the host, or the coordinator's address not on the first host",
     "the host's addresses", kFail},
    {"ip.wrong_subnet",
     "the address lies outside the subnet of the peer, and no route joins the two",
     "both addresses with their prefixes; routed pairs that work are healthy", kFail},
    {"ip.mask_mismatch", "the two ends have different prefix lengths", "both prefixes",
     kFailOrWarn},
    {"ip.duplicate", "two machines have the same data address",
     "two hardware addresses answer for it", kFail},
    {"ip.link_local_only", "there is only a self-assigned address where another one is expected",
     "the host's addresses; a note when the host file asks for it, a warning behind an RDMA device "
     "of its matrix",
     kFail},
    {"ip.overlap", "a second interface of the host covers the same subnet",
     "both interfaces' prefixes", kFailOrWarn},
    // neighbours and routes
    {"neighbour.unresolved", "nobody, or the wrong one, answers for a peer's address on the link",
     "ARP or neighbour discovery, the neighbour table, flags of the interface", kFail},
    {"route.missing", "the host has no usable route to the peer's data address",
     "the error of a route lookup, and the route or rule behind it", kFail},
    {"route.wrong_interface",
     "packets to the peer leave through another interface than the data address's",
     "a route lookup with the data address as source", kFailOrWarn},
    {"route.default_leak", "the data interface took over the default route", "the routing table",
     kWarn},
    {"path.slower_used",
     "the peers talk over a slower network although a faster common link exists", "speeds of both",
     kWarn},
    {"route.asymmetric", "the way there and the way back differ",
     "route lookups on both ends; reverse-path filtering makes it fail",
     "warn; fail when filtered"},
    // echo and filters
    {"icmp.blocked", "echo fails though TCP works", "never a failure by itself", kNote},
    {"firewall.drop_inbound", "packets reach the host and its own filter drops them silently",
     "its capture sees the SYN arrive, a listener is up, nothing answers", kFail},
    {"firewall.drop_outbound", "packets that the host made are dropped before they reach its wire",
     "its capture sees nothing leave, though its stack sent", kFail},
    {"firewall.drop_path", "packets leave one host and never arrive at the other",
     "captures on both ends", kFail},
    {"firewall.reject_icmp", "a filter refuses with an ICMP error",
     "the ICMP packet and its sender", kFail},
    {"firewall.reject_rst", "a filter refuses with a TCP reset although somebody listens",
     "a reset, and a listener that never saw the connection", kFail},
    {"firewall.idle_timeout", "an idle connection dies silently after a while",
     "a connection used again after a pause (--idle, --deep)", kWarn},
    {"firewall.partial_range", "some ports of the job are blocked, others open",
     "the ports by name", kFail},
    // TCP
    {"tcp.no_listener", "nobody listens where somebody should", "a reset, and no listener", kFail},
    {"tcp.listener_wrong_address", "the listener is bound to another address", "the host's sockets",
     kFail},
    {"tcp.port_in_use", "another process holds a port that the job needs",
     "the process, where it can be seen", kFail},
    {"tcp.wrong_service", "something else answers on a port of the job", "its first bytes", kFail},
    // size, loss, rate
    {"mtu.mismatch", "the two ends of one link have different MTUs", "both values", kFailOrWarn},
    {"mtu.blackhole", "large packets vanish without a word",
     "a sweep of sizes with \"don't fragment\", and a transfer that stalls", kFail},
    {"loss.random", "packets are lost in both directions",
     "retransmissions and counts per direction; seen from 1 % on (0.05 % with --deep)",
     "warn; fail above 20 %"},
    {"loss.one_way", "packets are lost in one direction only", "as loss.random",
     "warn; fail above 20 %"},
    {"rate.below_link", "throughput below 70 % of the link speed, or of the median of like pairs",
     "streams, measured again alone", kWarn},
    {"rate.asymmetric", "one direction is more than 1.5 times as fast as the other",
     "streams, measured again alone", kWarn},
    {"rate.host_limited", "a host's CPU or buffers limit the throughput, not the network",
     "CPU share and TCP's own accounting", kWarn},
    {"latency.high", "the idle round trip is far above that of like pairs",
     "above 3 times the median and 1 ms; not while a rate limit explains it", kWarn},
    // RDMA
    {"rdma.no_library", "there is no verbs library", "loading it", kRdma},
    {"rdma.no_device", "there is no RDMA device", "the library's list", kRdma},
    {"rdma.unsupported_hardware", "the hardware cannot do RDMA", "model and link speed", kRdma},
    {"rdma.port_down", "the RDMA port is not active", "port state", kRdma},
    {"rdma.no_gid", "the port has no usable GID", "the GID table", kRdma},
    {"rdma.memlock", "too little memory may be locked", "the limit", kRdma},
    {"rdma.pd", "a protection domain cannot be made", "the verbs call", kRdma},
    {"rdma.cq_limit", "completion queues run out", "the verbs call", kRdma},
    {"rdma.qp_limit", "queue pairs run out", "the verbs call", kRdma},
    {"rdma.mr_limit", "memory regions run out", "the verbs call", kRdma},
    {"rdma.rtr", "a queue pair cannot be made ready to receive", "the verbs call", kRdma},
    {"rdma.path", "queue pairs are up, but nothing arrives", "an echo", kRdma},
    // wiring
    {"topology.bridge_loop", "bridges form a loop", "membership on all hosts", kFail},
    {"topology.not_mesh", "a pair that the scenario needs has no link",
     "addresses and routes of the pair", kFail},
    {"topology.rail_mismatch", "cables are crossed between interfaces",
     "which address answers on which link", kFail},
    // collectives
    {"collective.mismatch", "ranks called different operations", "the flight recorder", kFail},
    {"collective.stalled", "one rank stopped making progress", "the flight recorder", kFail},
    {"collective.wrong_data", "a result did not verify", "the verifier: rank and step", kFail},
    // somebody's own job
    {"stack.interface",
     "the job's stack takes an interface that the other hosts cannot reach: a container's bridge, "
     "a VPN, another network",
     "the address that it would publish, or that its sockets have, beside the other hosts' "
     "networks",
     kFail},
    {"stack.one_rank",
     "each process would be a world of one rank: it starts, agrees with nobody, and looks fine",
     "the variables that the launcher gives and the stack reads; of a job that runs also whose MPI "
     "it has loaded",
     "fail; warn of a job that runs and was told so: it may be meant"},
    {"job.stopped", "a process of the job is stopped: all others wait for it",
     "its state in two looks; it was told to stop (SIGSTOP, SIGTSTP), or a debugger holds it",
     kFail},
    {"job.not_reading", "a process of the job does not read what others have sent to it",
     "unread bytes that do not get fewer between two looks while the sender still waits with more; "
     "a stopped process is job.stopped",
     "fail; warn while it works on something else"},
    // what all hosts must have
    {"artifact.missing",
     "a folder or file that ranks need is not there, or parts that its own index names",
     "the host's own look; artifact.differs: it is there, and not as on most hosts", kFail},
    {"artifact.differs", "files of a model are not those of most hosts, or are cut off",
     "lengths and SHA-256, of large files by samples; a safetensors file's own header", kFail},
    // servers of language models
    {"endpoint.unreachable", "no connection to the server comes about",
     "connections from every host: refused or unanswered; from some alone: the way, not the server",
     kFail},
    {"endpoint.busy", "the server turns requests away because its queue is full",
     "status 429 or 503, while others are answered or it says that it is well", kWarn},
    {"endpoint.stalled",
     "the server takes a request and does not answer it to the end: a worker is gone, or not all "
     "ranks generate",
     "silence, status 502 or 504, or an answer that breaks off", kFail},
    {"endpoint.wrong_answer",
     "the server answers, but not what was asked for: another status, no such model, no JSON, or a "
     "sum that is wrong",
     "its status and what it said; the question is 2 + 2", kFail},
    {"macos.local_network_privacy", "macOS refuses the process, not the network",
     "the same target answers the system's own tool; who started the program is told", kFail},
};

// Do the parts of the pattern stand in the text, in their order? A part that begins or ends with a
// digit must not be a piece of a longer number.
bool fits(const std::string& text, const std::string& pattern) {
  const auto digit = [&](size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  size_t at = 0, begin = 0;
  while (begin <= pattern.size()) {
    const size_t end = std::min(pattern.find('*', begin), pattern.size());
    const std::string part = pattern.substr(begin, end - begin);
    size_t found = at;
    while (true) {
      found = text.find(part, found);
      if (found == std::string::npos) return false;
      const size_t after = found + part.size();
      const bool cut = !part.empty() && ((digit(found) && found > 0 && digit(found - 1)) ||
                                         (digit(after - 1) && digit(after)));
      if (!cut) break;
      ++found;
    }
    at = found + part.size();
    begin = end + 1;
  }
  return true;
}

// A name of errno, as a word of its own: "EPIPE" is no part of "thePipeline".
bool names(const std::string& text, const char* errno_name) {
  if (errno_name == nullptr) return false;
  const auto word = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  const std::string name = lower_case(errno_name);
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; ++at) {
    if ((at == 0 || !word(at - 1)) && !word(at + name.size())) return true;
  }
  return false;
}

}  // namespace

std::span<const CauseRow> cause_table() { return kTable; }

const CauseRow* find_cause(std::string_view id) {
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const CauseRow& r) { return id == r.id; });
  return row == std::end(kTable) ? nullptr : row;
}

std::vector<const SymptomRow*> explain(std::string_view message) {
  const std::string text = lower_case(message);
  std::vector<const SymptomRow*> out;
  for (const SymptomRow& row : symptom_table()) {
    if (fits(text, row.pattern) || names(text, row.errno_name)) out.push_back(&row);
  }
  const auto rank = [](const SymptomRow* row) {
    const bool anybody = std::strcmp(row->source, "any") == 0;
    return std::pair(anybody, -static_cast<int64_t>(std::strlen(row->pattern)));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const SymptomRow* a, const SymptomRow* b) { return rank(a) < rank(b); });
  return out;
}

}  // namespace plumbline
