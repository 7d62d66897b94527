// Evidence: everything that the doctor knows before it judges. Facts only, no opinions: what each
// host said about itself, and what was seen between each ordered pair of hosts when one tried to
// reach the other. Agents, the shell script collect.sh and recorded files all end as an
// EvidenceSet, and the rules (probes/rules) are pure functions of it, so that a diagnosis can be
// repeated, tested and sent to somebody else. What could not be seen is absent (nullopt, empty, or
// a line in `unreadable`), never guessed. Plain values; times in nanoseconds, rates in bits per
// second.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnosis/trace_summary.h"
#include "core/error.h"
#include "probes/filters/filter_rule.h"
#include "probes/job_evidence.h"
#include "probes/stacks/plan.h"

namespace plumbline {

// ---- what the job needs: from the host file, the scenario and the options ----

struct JobHost {
  std::string name;
  std::vector<std::string> data;  // addresses under test as written, "10.10.0.1/24"
  std::string interface;          // expected carrier; empty = any
  std::string speed;              // "40Gbit"; empty = as the system says
  std::string reached_by;         // "local" | "netns" | "ssh"; empty = not at all
  std::string ssh;                // what stands behind `ssh`: "-p 2222 me@mini1"; empty = no ssh
  std::string where;              // "hosts.json:7", for causes that lie in the file
  // Hosts that it is not supposed to talk to, by name, and why (leaves of a star, a ring's far
  // side).
  std::map<std::string, std::string> apart;
  // On which of the job's ports this host waits; absent = on all of them. `samples` are those that
  // stand for a range of which any may be taken.
  std::optional<std::vector<int>> ports = {};
  std::vector<PortSample> samples = {};
  // Of these, the ones on which the hosts named here never call.
  std::map<std::string, std::vector<int>> uncalled = {};
  std::vector<std::string> rdma_devices = {};  // that the host file names (a JACCL matrix)
  // Those that face each other host, rail by rail.
  std::map<std::string, std::vector<std::string>> rdma_towards = {};
};

struct Job {
  std::string file;
  std::vector<JobHost> hosts;  // in file order
  int ranks = 2;
  // Where rank 0 coordinates, as the host file says: an address; empty = it does not say.
  std::string coordinator = {};
  int port_base = 29600, master_port = 29500;
  std::vector<int> ports;        // every port of the job: window and master port, ascending
  std::vector<int> extra_ports;  // asked for in addition, not of the job
  bool rdma = false;             // the job asks for RDMA, or its host file names devices
  bool rdma_or_tcp = false;      // and goes on over TCP where that does not work
  bool deep = false;             // slow probes were allowed
  int64_t idle_s = 0;            // so long a connection lies idle and is used again; 0 = none does
  std::map<std::string, std::string> config;  // options that all ranks must share
  std::vector<std::string> problems;  // of the files themselves, "hosts.json:7: what is wrong"
  std::vector<std::string> names;     // that ranks look up, beside those of the hosts
  std::vector<std::string> packages;  // whose versions must be equal, as the scenario says
};

// ---- one host ----

struct AddressEvidence {
  std::string ip;
  int prefix = 0;
  std::string scope;               // "global" | "link" | "host"
  std::vector<std::string> flags;  // "tentative", "dadfailed", "deprecated", "secondary" ...
};

struct InterfaceEvidence {
  std::string name;
  int index = 0;
  std::string kind;  // "loopback" | "ethernet" | "wifi" | "thunderbolt" | "bridge" | "bond" |
                     // "vlan" | "veth" | "tunnel" | "virtual" | "unknown"
  std::string mac;
  int mtu = 0;
  bool up = false;                       // administratively
  std::optional<bool> carrier;           // signal on the wire
  std::string state;                     // the system's word: "UP", "DOWN", "LOWERLAYERDOWN" ...
  std::optional<int64_t> speed_bps;      // negotiated; absent where it means nothing (veth, bridge)
  std::optional<int64_t> speed_max_bps;  // what the hardware could
  std::string duplex;                    // "full" | "half" | ""
  std::string master, master_kind;       // bridge or bond it belongs to
  std::string port_state;  // as a bridge port: "forwarding", "disabled", "blocking" ...
  bool isolated = false;   // as a bridge port: may not talk to other isolated ports
  std::string parent;      // lower interface of a VLAN, macvlan, tunnel
  std::string receptacle;  // number of its Thunderbolt socket, "2"; empty = none is told
  bool arp = true;         // false: NOARP
  bool promiscuous = false;
  bool xdp = false;                                         // an XDP program sits on it
  std::optional<int64_t> carrier_changes;                   // since it exists
  std::optional<int64_t> carrier_changes_later;             // the same at the end of the check
  std::map<std::string, int64_t> counters, counters_later;  // "rx_packets", "rx_errors" ...
  std::vector<AddressEvidence> addresses;
};

struct RouteEvidence {
  std::string destination;  // "default", "10.10.0.0/24"
  std::string type;         // "unicast" | "blackhole" | "unreachable" | "prohibit" | "throw" | ...
  std::string dev, via, source, table, scope, protocol;
  int64_t metric = 0;
  std::vector<std::string> flags;  // "linkdown", "onlink", macOS letters
};

struct PolicyRule {  // routing policy ("ip rule")
  int64_t priority = 0;
  std::string from, to, action, table;
  std::string text;  // as the system prints it
};

struct NeighbourEvidence {
  std::string ip, dev, mac;
  std::string state;  // "REACHABLE", "STALE", "FAILED", "INCOMPLETE", "PERMANENT" ...
};

struct SocketEvidence {
  std::string protocol;  // "tcp" | "udp"
  std::string ip;        // bound to; "0.0.0.0", "::"
  int port = 0;
  std::string state;             // "LISTEN", "ESTABLISHED", "TIME-WAIT" ...
  std::string peer;              // "10.10.0.2:29600"; empty for listeners
  int64_t pid = 0;               // 0 = cannot be seen
  std::string process;           // "python3"
  std::optional<int64_t> age_s;  // of the process
  // "waiting agent" = plumbline agent --listen, "busy agent" = the agent of a diagnosis or run that
  // goes on now, both of the user who asks; "busy rank" = belongs to a run whose coordinator lives;
  // empty = not known to be any of these
  std::string role = {};
  std::string run = {};  // id of the run that started the process; empty = none is known
};

struct NameEvidence {
  std::string name;
  std::string role;                 // "own" | "peer" | "ssh"
  std::string of;                   // for "peer" and "ssh": the host it stands for
  std::vector<std::string> v4, v6;  // addresses, each once
  std::string error;                // of the resolver; "no answer in time"
  int64_t took_ns = 0;
};

struct FilterSource {
  std::string tool;  // "nftables" | "iptables" | "ip6tables" | "ebtables" | "tc" | "firewalld" |
                     // "ufw" | "pf" | "alf" (macOS application firewall)
  bool present = false;  // the tool (or its kernel part) exists
  bool readable = false;
  std::string why;    // when not readable
  std::string state;  // "active", "inactive", "enabled", ... in its own words; may be empty
};

struct BufferEvidence {                      // socket buffers, bytes
  int64_t asked = 0, send = 0, receive = 0;  // asked 0 = left to the system
  std::string error;
};

struct RdmaDevice {
  std::string name, netdev, link_layer, transport;
  int port = 1;
  std::string state;  // "ACTIVE", "DOWN", "INIT"
  int64_t active_mtu = 0;
  std::vector<std::string> gids;  // by index; empty string = empty entry
};
// One step of setting up a queue pair, as the library answered.
struct RdmaRung {
  std::string name;   // of rdma_rungs() (probes/rdma_rungs.h)
  std::string error;  // empty = it was done
  std::string text;   // what was found, "::ffff:10.0.0.1 at index 1"
};
// The steps on one device up to a queue pair that would wait for its peer, each in turn as far as
// it went; all of it was given back.
struct RdmaClimb {
  std::string device, profile;
  int port = 1;
  std::string peer;   // with which host; empty = alone
  std::string error;  // why nothing could be tried
  std::vector<RdmaRung> rungs;
};
struct RdmaEvidence {
  std::string library;  // name of the verbs library that was loaded; empty = none
  std::string library_error;
  std::string hardware;  // why the hardware cannot, as far as it can be told; empty = may
  std::vector<RdmaDevice> devices;
  std::vector<RdmaClimb> climbs;    // where the job asks for RDMA
  std::vector<RdmaClimb> meetings;  // the same, with each other host once
};

// A computer at the other end of a Thunderbolt socket.
struct ThunderboltPeer {
  std::string domain;  // UUID of the end there
  int hubs = 0;        // hubs and docks on the way
};
// A Thunderbolt socket, as the host tells of it. Ends are joined by their UUIDs alone.
struct ThunderboltPort {
  std::string receptacle;  // as it is numbered, "2"; empty = not told, or one of several
  std::string interface;   // "en3", "thunderbolt0"; empty = not told which
  std::string domain;      // UUID of this end
  std::vector<ThunderboltPeer> peers;  // one, or several behind a hub
  std::optional<int64_t> speed_bps;    // of the link, or of the empty socket; absent = not told
};

struct CommandEvidence {
  std::string label;  // of the probe call
  std::string command;
  int status = 0;
  std::string out;    // cut at 64 KiB
  std::string error;  // why it did not run
};

// One request to a server of language models, from this host.
struct EndpointTry {
  std::string what;               // "health" | "models" | "chat" | "chat stream" | "completions" |
                                  // "completions stream"
  std::string end = "not_tried";  // or how it ended: a word of AnswerEnd (http/completion.h)
  int status = 0;                 // of HTTP; 0 = there was none
  std::string error = {};         // why it is not answered
  std::string text = {};          // what the model said, cut
  std::string model = {};         // which one says so
  bool cut_short = false;         // it had more to say than it was allowed to
  int64_t took_ns = 0, tokens = 0;
  std::optional<int64_t> first_token_ns = {};
};

struct EndpointEvidence {
  std::string url, model;           // as asked for; no model = the first that it has
  std::string error = {};           // why nothing could be asked
  std::vector<std::string> models;  // that it says it has
  std::vector<EndpointTry> tries;
};

// What is installed on a host, and what a process that is started there finds in its environment.
struct SoftwareEvidence {
  std::string error = {};         // why nobody could be asked; then the rest is empty
  std::string python = {};        // the interpreter, by its path; empty = it is not there
  std::string python_error = {};  // why it told nothing, or not all
  std::map<std::string, std::string> versions = {};   // by row of software_table(), or package
  std::map<std::string, std::string> variables = {};  // those of alike_variables() that are set
  std::vector<std::string> untold = {};  // of these, the ones whose values are not fit to be told
};

// A file of a model, or of whatever all hosts must have.
struct ArtifactFile {
  std::string name;          // within the folder, "model-00001-of-00002.safetensors"
  int64_t bytes = 0;         // as long as it is
  std::string digest;        // SHA-256, of all of it or of the samples; empty = it was not read
  bool sampled = false;      // spread samples were read, not all of it
  std::string problem = {};  // what is wrong with it by itself; empty = nothing that is known
};
struct ArtifactEvidence {
  std::string path = {};                  // as asked for, "~/models/Qwen3-4B-4bit"
  std::string folder = {};                // where that is on this host
  std::optional<bool> found = {};         // absent = it could not be looked at
  std::string error = {};                 // why not, or why not all of it
  bool listed = false;                    // all files that are there are told
  std::vector<ArtifactFile> files = {};   // ascending by name
  std::vector<std::string> missing = {};  // files that its index names, and that are not there
};

struct HostEvidence {
  std::string name;
  // "agent": asked live; "collected": from a file of collect.sh; "none": nothing could be asked,
  // and `agent_cause` (ssh.unreachable, rank.agent_lost ...) and `agent_error` say why.
  std::string source = "none";
  std::string agent_cause, agent_error;
  std::string version, build;  // of the agent's plumbline
  int64_t agent_pid = 0;       // of the agent's process; 0 = not known
  // Names of the agent's process and its parents, outwards: "plumbline", "zsh", "tmux", "launchd";
  // of an application "iTerm.app". "?" = a name that is not told. Only of a Mac that refused it
  // connections (probes/process_chain.h); empty = nobody asked.
  std::vector<std::string> started_by = {};
  std::map<std::string, std::string> config;  // options as the agent sees them (environment!)
  std::string system;                         // "linux" | "macos"
  std::string os, kernel, hostname, boot_id, model;
  int64_t uid = -1;
  std::vector<std::string> privileges;  // "capture", "raw", "filters": what it may do
  std::vector<std::string> unreadable;  // "nftables: Operation not permitted", one line each

  std::vector<InterfaceEvidence> interfaces;
  std::vector<RouteEvidence> routes;
  std::vector<PolicyRule> policy_rules;
  std::vector<NeighbourEvidence> neighbours;
  std::vector<SocketEvidence> sockets;
  std::vector<NameEvidence> names;
  std::vector<FilterSource> filter_sources;
  std::vector<FilterRule> filters;
  std::vector<std::string> forwarding_loops;  // bridges that form a loop, in words

  // Kernel values by their system's name ("net.ipv4.conf.eth0.rp_filter", "kern.ipc.maxsockbuf").
  std::map<std::string, std::string> sysctls;
  std::optional<int64_t> conntrack_count, conntrack_max;
  std::optional<int64_t> descriptors,
      locked_memory;  // soft limits; locked memory in bytes, -1 none
  std::optional<double> load1;
  int cores_usable = 0;
  BufferEvidence buffers;
  // Clock of the host minus the coordinator's, from the fastest of several exchanges; ± half of the
  // exchange's duration.
  std::optional<int64_t> clock_offset_ns;
  int64_t clock_uncertainty_ns = 0;
  std::optional<RdmaEvidence> rdma;
  std::optional<std::vector<ThunderboltPort>> thunderbolt;  // absent = nobody could be asked
  std::vector<CommandEvidence> commands;
  std::vector<EndpointEvidence> endpoints;
  std::optional<SoftwareEvidence> software;  // absent = nobody asked
  std::vector<ArtifactEvidence> artifacts;
};

// ---- one ordered pair of hosts, by one pair of data addresses ----

// What the kernel says when asked for the route to the peer.
struct RouteLookup {
  bool with_source = false;  // asked with the data address as source
  std::string error;         // errno name, "ENETUNREACH"; empty = found
  std::string type;          // "unicast", "local", "blackhole" ...
  std::string dev, via, source, table;
};

struct NeighbourProbe {
  std::string dev;
  std::string method;                    // "arp" (own requests) | "kernel" (its own resolution)
  bool on_link = true;                   // false: the peer lies behind a router, nothing was asked
  std::vector<std::string> macs;         // who answered, each once; empty = nobody
  std::string kernel_state, kernel_mac;  // what the kernel believes
  // Packets of the two ends' interfaces while the kernel asked in vain: "tx_packets", "rx_packets".
  // Only where the other end does know this one's address; else empty.
  std::map<std::string, int64_t> asker, asked;
  std::string error;  // why nothing could be asked
};

struct PingEvidence {
  int sent = 0, received = 0, duplicates = 0;
  std::vector<int64_t> rtt_ns;
  std::vector<std::string> errors;  // "from 10.10.0.2: administratively prohibited", each once
  std::string unavailable;          // why no echo could be sent at all
};

// One attempt to connect to a port on which the other end's agent listens.
struct PortTry {
  int port = 0;
  // "connected" | "refused" | "timeout" | "unreachable" | "reset" | "denied" | "error" |
  // "not_tried"
  std::string result = "not_tried";
  std::string error;  // errno name of the failing call
  int64_t took_ns = 0;
  std::optional<TraceIcmp> icmp;  // the ICMP error that ended it, where the system tells
  // Who answered after connecting: "ours" (the listener's answer to our nonce), "stranger",
  // "silent", "closed"; empty when not connected.
  std::string answer, stranger_bytes;
  // The listener of the peer's agent on this port and address: "up" | "in_use" | "failed" |
  // "absent" (no agent there). `holder` says who has it, when in use, `role` what that is there
  // for.
  std::string listener = "absent", listener_error, holder, role;
  std::string run;         // the holder's, as in SocketEvidence
  bool accepted = false;   // the listener saw this very connection
  bool half_open = false;  // the peer's kernel held it in SYN_RECV for a while
  // On the wire of both ends, where captures were possible: this connection's flow.
  bool captured_here = false, captured_there = false;
  std::optional<TraceFlow> here, there;
};

// Without captures: counters around a burst of connection attempts to one port.
struct BurstEvidence {
  int port = 0, attempts = 0;  // SYNs that the sender's stack produced
  // Differences over the burst; "tcp.out_segments", "ip.in_receives", "ip.in_delivers",
  // "ip.in_discards", "if.eth0.rx_packets" ...
  std::map<std::string, int64_t> sender, receiver;
};

struct MtuEvidence {
  int interface_mtu = 0;      // of the sender's egress
  int largest_delivered = 0;  // bytes of an IP packet with DF that the peer got; 0 = none did
  int smallest_lost = 0;      // smallest that vanished without an error; 0 = none
  int told = 0;               // MTU that an ICMP error or the kernel told; 0 = none
  // How often `smallest_lost` was sent in vain, and how packets of the smallest size fared: where
  // these get lost too, a large one may be missing by chance. 0 = not counted.
  int lost_tries = 0, small_sent = 0, small_lost = 0;
  std::string method;  // "udp" | "icmp" | "tcp"
  // A transfer of `transfer_bytes` over TCP: how far it came until it was done or stalled.
  int64_t transfer_bytes = 0, transferred = 0, stalled_ns = 0;
  std::string error;
};

// One stream of a few hundred ms over TCP, from -> to.
struct StreamEvidence {
  std::string kind;    // "one_way" | "two_way" | "paced" (for loss) | "reference" (another pair's)
  bool alone = false;  // repeated with nothing else going on
  int64_t bytes = 0, duration_ns = 0;
  int64_t segments_out = 0, retransmitted = 0, duplicate_reports = 0;  // TCP_INFO of the sender
  // Segments with data that the receiver's stack saw, duplicates too, at least all that were not
  // sent again; 0 = not told. Less than `segments_out`: lost on this way, also on the sender's own
  // egress, which is no retransmission.
  int64_t segments_in = 0;
  int64_t rtt_ns = 0, rtt_min_ns = 0;
  int64_t receive_window = 0, send_buffer = 0;            // bytes; the limits seen
  double limited_by_receiver = 0, limited_by_buffer = 0;  // share of busy time, by TCP_INFO
  double cpu_sender = 0, cpu_receiver = 0;                // CPU seconds of the process per second
  std::string error;
};

// One stream of small numbered datagrams at a steady pace, from -> to. What was sent and neither
// received nor in `overflow` got lost on the way from the sender's socket to the receiver's.
struct DatagramEvidence {
  bool alone = false;  // repeated with nothing else going on, and slower
  int64_t sent = 0, received = 0, duplicates = 0;  // `received`: distinct numbers
  int64_t refused = 0;   // of `sent`: the sender's own system turned them away (EPERM, ENOBUFS)
  int64_t overflow = 0;  // thrown away by the receiver's socket, whose buffer was full
  int64_t rate_per_s = 0, duration_ns = 0;
  std::string error;
};

struct QualityEvidence {
  std::vector<StreamEvidence> streams;
  std::vector<DatagramEvidence> datagrams;
  std::vector<int64_t> round_trips_ns;  // small request and answer over TCP, idle
  std::vector<int64_t> busy_round_trips_ns;
  std::string error;
};

struct PairEvidence {
  std::string from, to;        // host names
  std::string from_ip, to_ip;  // the data addresses under test
  bool same_machine = false;   // both ends are this very machine
  std::string skipped;         // why nothing was tried; empty = it was
  std::vector<RouteLookup> routes;
  std::optional<NeighbourProbe> neighbour;
  std::optional<PingEvidence> ping;
  std::vector<PortTry> ports;
  std::optional<BurstEvidence> burst;
  std::optional<MtuEvidence> mtu;
  std::optional<QualityEvidence> quality;
  std::optional<PortTry> idle;  // a connection used again after `idle_s` seconds
  int64_t idle_s = 0;
};

struct EvidenceSet {
  int schema = 1;
  std::string suite_version, time;  // RFC 3339 UTC
  Job job;
  std::vector<HostEvidence> hosts;      // as in job.hosts
  std::vector<PairEvidence> pairs;      // every ordered pair that should talk
  std::optional<StackPlan> stack = {};  // what the user's own stack would do; the job is its
  std::optional<JobEvidence> job_seen;  // somebody's own job, where one was looked at
};

const HostEvidence* find_host(const EvidenceSet& evidence, const std::string& name);
const PairEvidence* find_pair(const EvidenceSet& evidence, const std::string& from,
                              const std::string& to);

void to_json(nlohmann::json& json, const EvidenceSet& evidence);
void from_json(const nlohmann::json& json, EvidenceSet& evidence);
void to_json(nlohmann::json& json, const HostEvidence& host);
void from_json(const nlohmann::json& json, HostEvidence& host);
void to_json(nlohmann::json& json, const InterfaceEvidence& interface);
void from_json(const nlohmann::json& json, InterfaceEvidence& interface);
void to_json(nlohmann::json& json, const RouteLookup& lookup);
void from_json(const nlohmann::json& json, RouteLookup& lookup);
void to_json(nlohmann::json& json, const NeighbourProbe& probe);
void from_json(const nlohmann::json& json, NeighbourProbe& probe);
void to_json(nlohmann::json& json, const PingEvidence& ping);
void from_json(const nlohmann::json& json, PingEvidence& ping);
void to_json(nlohmann::json& json, const PortTry& attempt);
void from_json(const nlohmann::json& json, PortTry& attempt);
void to_json(nlohmann::json& json, const MtuEvidence& mtu);
void from_json(const nlohmann::json& json, MtuEvidence& mtu);
void to_json(nlohmann::json& json, const StreamEvidence& stream);
void from_json(const nlohmann::json& json, StreamEvidence& stream);
void to_json(nlohmann::json& json, const DatagramEvidence& datagrams);
void from_json(const nlohmann::json& json, DatagramEvidence& datagrams);
void to_json(nlohmann::json& json, const RdmaEvidence& rdma);
void from_json(const nlohmann::json& json, RdmaEvidence& rdma);
void to_json(nlohmann::json& json, const CommandEvidence& command);
void from_json(const nlohmann::json& json, CommandEvidence& command);
void to_json(nlohmann::json& json, const RdmaClimb& climb);
void from_json(const nlohmann::json& json, RdmaClimb& climb);
void to_json(nlohmann::json& json, const EndpointEvidence& endpoint);
void from_json(const nlohmann::json& json, EndpointEvidence& endpoint);
void to_json(nlohmann::json& json, const SoftwareEvidence& software);
void from_json(const nlohmann::json& json, SoftwareEvidence& software);
void to_json(nlohmann::json& json, const ArtifactEvidence& artifact);
void from_json(const nlohmann::json& json, ArtifactEvidence& artifact);
void to_json(nlohmann::json& json, const BurstEvidence& burst);
void from_json(const nlohmann::json& json, BurstEvidence& burst);
void to_json(nlohmann::json& json, const QualityEvidence& quality);
void from_json(const nlohmann::json& json, QualityEvidence& quality);
void to_json(nlohmann::json& json, const NeighbourEvidence& neighbour);
void from_json(const nlohmann::json& json, NeighbourEvidence& neighbour);
void to_json(nlohmann::json& json, const PairEvidence& pair);
void from_json(const nlohmann::json& json, PairEvidence& pair);

// Without control characters: those in names, addresses and all other words of foreign hosts and
// files are written out, "\\x1b"; only the output of programs keeps its lines.
EvidenceSet shown_evidence(EvidenceSet evidence);

// The text of a file of evidence, and back: a file that is no evidence (truncated, wrong types,
// another schema, larger than kMostEvidenceBytes) gives an Error that says where it breaks.
std::string evidence_text(const EvidenceSet& evidence);
Expected<EvidenceSet> parse_evidence(const std::string& text);

}  // namespace plumbline
