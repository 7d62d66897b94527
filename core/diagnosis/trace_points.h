// The points of a time-sequence plot: every segment and acknowledgement of one TCP connection of a
// packet trace, in the order of the trace and bounded in number. Made by the trace analyser
// (probes/trace), drawn by reports/trace_plot. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

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
