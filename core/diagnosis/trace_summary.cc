#include "core/diagnosis/trace_summary.h"

#include "core/json.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(TraceRtt, samples, min_ns, p50_ns, p99_ns, max_ns)
PLUMBLINE_JSON_FIELDS(TraceDirection, packets, payload_bytes, syn, syn_ack, fin, rst,
                      retransmissions, retransmissions_timeout, retransmissions_fast,
                      retransmissions_spurious, out_of_order, gaps, unseen_acked, duplicate_acks,
                      zero_windows, closed_ns, window_full, window_probes, keepalives, mss,
                      window_scale, sack_permitted, max_window, max_payload, max_acked_payload,
                      unacked_bytes, rtt, outgoing, incoming, first_ns, last_ns, ttl)
PLUMBLINE_JSON_FIELDS(TraceRateBin, at_ns, a_bytes, b_bytes)
PLUMBLINE_JSON_FIELDS(TraceIcmp, at_ns, from, type, code, text, v6, about_a)
PLUMBLINE_JSON_FIELDS(TraceFlow, protocol, a_ip, b_ip, a_port, b_port, handshake, answer_ns, ended,
                      a, b, rtt, copies, icmp, rate, problems)
PLUMBLINE_JSON_FIELDS(TraceSummary, file, format, link, first_time, duration_ns, packets, bytes,
                      undecoded, other_ip, copies, fragments, incomplete_datagrams, arp_requests,
                      arp_replies, truncated, problems, flows)

}  // namespace plumbline
