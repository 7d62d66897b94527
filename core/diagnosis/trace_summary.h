// What a packet trace says, as values: who spoke with whom, how each TCP connection began, went on
// and ended, and what went wrong in between; and the points of a time-sequence plot. Made by the
// trace analyser (probes/trace), read by the rules of the doctor and by reports. Times are
// nanoseconds since the first packet of the trace unless they say otherwise; counts are packets as
// captured (with segmentation offload one captured packet can be many on the wire). JSON both ways.
// Plain values.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

struct TraceRtt {
  int64_t samples = 0;
  int64_t min_ns = 0, p50_ns = 0, p99_ns = 0, max_ns = 0;
};

// One direction of a connection: what its sender put on the wire, as this trace saw it.
struct TraceDirection {
  int64_t packets = 0, payload_bytes = 0;  // payload as captured, retransmissions included
  int64_t syn = 0, syn_ack = 0, fin = 0, rst = 0;
  // Segments sent again, the sum of the three behind. `timeout`: a timer sent it, no news had come;
  // `fast`: duplicate or selective acknowledgements asked for it; `spurious`: the receiver had it
  // already, as its acknowledgement or a duplicate SACK says.
  int64_t retransmissions = 0, retransmissions_timeout = 0, retransmissions_fast = 0,
          retransmissions_spurious = 0;
  int64_t out_of_order = 0;  // arrived behind later bytes, not sent again
  // Places where bytes were skipped (they may come later: out of order, or sent again) or were
  // acknowledged although this trace never saw them; the latter alone are `unseen_acked`.
  int64_t gaps = 0, unseen_acked = 0;
  int64_t duplicate_acks = 0;
  int64_t zero_windows = 0;  // acknowledgements that close the window
  int64_t closed_ns = 0;     // how long its window stayed closed
  int64_t window_full = 0;   // segments that filled the other's window to its last byte
  int64_t window_probes = 0;
  int64_t keepalives = 0;
  std::optional<int> mss, window_scale;  // options of its SYN
  bool sack_permitted = false;
  int64_t max_window = 0;         // bytes, scaled
  int64_t max_payload = 0;        // bytes, largest segment seen
  int64_t max_acked_payload = 0;  // bytes, largest segment that was acknowledged
  int64_t unacked_bytes = 0;      // seen and not acknowledged when the trace ended
  TraceRtt rtt;                   // of its data and SYN to their acknowledgement, see TraceFlow
  // Packets that the machine with the capture sent, or received; 0 where the file does not tell.
  int64_t outgoing = 0, incoming = 0;
  int64_t first_ns = 0, last_ns = 0;
  int ttl = 0;  // of its first packet (hop limit for IPv6)
};

struct TraceIcmp {
  int64_t at_ns = 0;
  std::string from;        // who sent it
  int type = 0, code = 0;  // as in the packet
  std::string text;        // "administratively prohibited", "fragmentation needed, MTU 1400"
  bool v6 = false;
  bool about_a = true;  // it complains about a packet of `a`
};

struct TraceRateBin {
  int64_t at_ns = 0;                 // beginning of the bin
  int64_t a_bytes = 0, b_bytes = 0;  // payload sent by a and by b in it, without retransmissions
};

struct TraceFlow {
  std::string protocol = "tcp";  // "tcp" | "udp" | "icmp"
  std::string a_ip, b_ip;        // a = who sent the first SYN, or the first packet seen
  int a_port = 0, b_port = 0;    // 0 for icmp
  // "complete", "no_answer" (SYN, nothing came back), "refused" (RST answers the SYN), "icmp" (an
  // ICMP error answers it), "half_open" (SYN and SYN-ACK, no third packet), "unseen" (begins in the
  // middle), "none" (not TCP).
  std::string handshake = "none";
  int64_t answer_ns = 0;   // first SYN to its answer, 0 = none
  std::string ended = "";  // "fin", "rst by a", "rst by b", "open"
  TraceDirection a, b;     // sent by a, sent by b
  TraceRtt rtt;            // data or SYN to its acknowledgement, as seen at the point of capture
  int64_t copies = 0;      // packets seen once more on another interface, counted nowhere else
  std::vector<TraceIcmp> icmp;
  std::vector<TraceRateBin> rate;     // at most 200 equal bins
  std::vector<std::string> problems;  // one line each, worst first
};

struct TraceSummary {
  std::string file;        // name without its folder; may be empty
  std::string format;      // "pcap", "pcap-ns", "pcapng"
  std::string link;        // "ethernet", "linux-sll2", "raw", "null" ...
  std::string first_time;  // RFC 3339 UTC of the first packet
  int64_t duration_ns = 0;
  int64_t packets = 0, bytes = 0;  // in the file, bytes on the wire
  int64_t undecoded = 0;           // packets that are no IP, ARP or are cut too short
  int64_t other_ip = 0;            // IP, but neither TCP, UDP nor ICMP
  int64_t copies = 0;              // seen once more on another interface of the capture
  int64_t fragments = 0, incomplete_datagrams = 0;  // fragments; datagrams that lack some
  int64_t arp_requests = 0, arp_replies = 0;
  bool truncated = false;             // the file ends in the middle of a packet
  std::vector<std::string> problems;  // of the file itself, one line each
  std::vector<TraceFlow> flows;       // in order of their first packet, at most 10000
};

void to_json(nlohmann::json& json, const TraceSummary& summary);
void from_json(const nlohmann::json& json, TraceSummary& summary);
void to_json(nlohmann::json& json, const TraceIcmp& icmp);
void from_json(const nlohmann::json& json, TraceIcmp& icmp);
void to_json(nlohmann::json& json, const TraceFlow& flow);
void from_json(const nlohmann::json& json, TraceFlow& flow);

// ---- every segment and acknowledgement of one TCP connection, in the order of the trace and
// bounded in number, for reports/trace_plot ----

enum class TracePointKind {
  kData,            // new bytes
  kAck,             // no bytes, or nothing new in it but the acknowledgement
  kRetransmission,  // sent again
  kOutOfOrder,
  kDuplicateAck,
  kZeroWindow,
  kProbe,  // keepalive or window probe
  kSyn,
  kFin,
  kRst,
};

struct TracePoint {
  int64_t at_ns = 0;  // since the trace's first packet
  TracePointKind kind = TracePointKind::kAck;
  bool from_a = true;
  // Of the sender's bytes; 0 is its SYN, or the first byte seen. `end` is exclusive.
  int64_t begin = 0, end = 0;
  bool has_ack = false;
  int64_t ack = 0;         // of the other side's bytes
  int64_t window_end = 0;  // ack + scaled window: what the other side may send up to
};

struct TracePoints {
  std::string a, b;  // "10.10.0.1:40000"
  std::vector<TracePoint> points;
  bool thinned = false;  // plain data and acknowledgements were left out evenly
};

}  // namespace plumbline
