// The trace analyser on arbitrary bytes: as they are, as two captures that are compared, and as one
// packet of every link type, so that the packet decoders are reached without a valid file around
// them. Whatever comes out must add up.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/json.h"
#include "fuzz_bytes.h"
#include "probes/traces/analyse.h"
#include "probes/traces/packet.h"

namespace plumbline {
namespace {

void check_direction(const TraceDirection& direction) {
  require(direction.retransmissions == direction.retransmissions_timeout +
                                           direction.retransmissions_fast +
                                           direction.retransmissions_spurious);
  require(direction.retransmissions_timeout >= 0 && direction.retransmissions_fast >= 0);
  require(direction.unseen_acked >= 0 && direction.gaps >= direction.unseen_acked);
  require(direction.closed_ns >= 0 && direction.unacked_bytes >= 0);
  require(direction.rtt.min_ns <= direction.rtt.p50_ns);
  require(direction.rtt.p99_ns <= direction.rtt.max_ns);
}

void check_summary(const TraceSummary& summary) {
  int64_t packets = summary.undecoded + summary.other_ip + summary.copies;
  for (const TraceFlow& flow : summary.flows) {
    check_direction(flow.a);
    check_direction(flow.b);
    require(flow.rate.size() <= 200 && flow.answer_ns >= 0);
    packets += flow.a.packets + flow.b.packets;
  }
  require(packets <= summary.packets + summary.fragments);
  const nlohmann::json json = summary;
  require(nlohmann::json(json.get<TraceSummary>()) == json);
  for (const char c : trace_text(summary, 80)) require(c == '\n' || (c >= ' ' && c <= '~'));
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto summary = plumbline::analyse_trace(bytes, "fuzz");
  if (summary) plumbline::check_summary(*summary);
  // Against its own first half: a flow that one end saw longer than the other.
  if (summary && size > 64) {
    const std::string second = bytes.substr(0, size / 2);
    const auto pairs = plumbline::compare_traces(bytes, second);
    if (pairs) plumbline::compare_text(*pairs, 80);
  }
  for (const uint32_t link : {0U, 1U, 9U, 101U, 113U, 276U}) {
    plumbline::RawPacket raw;
    raw.link = link;
    raw.data = data;
    raw.captured = size;
    raw.wire_len = static_cast<uint32_t>(size);
    plumbline::decode_packet(raw);
  }
  return 0;
}
