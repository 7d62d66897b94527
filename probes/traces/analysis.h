// One pass over a capture: packets in, flows out. What analyse.h offers is built on it. Belongs to
// one thread; memory is bounded by the limits.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "core/diagnosis/trace_summary.h"
#include "probes/traces/analyse.h"
#include "probes/traces/copies_and_fragments.h"
#include "probes/traces/flow.h"
#include "probes/traces/trace_file.h"

namespace plumbline {

class Analysis {
 public:
  // Told of every TCP and UDP packet and every ICMP echo that was followed, copies excluded; what
  // is not TCP has no numbers in its event.
  using Observer =
      std::function<void(const FlowState&, int side, const Packet&, const SegmentEvent&)>;

  // Told the absolute time of every packet of the file, before it is followed.
  using TimeObserver = std::function<void(int64_t at_ns)>;

  Analysis(const TraceLimits& limits, Observer observer, TimeObserver times)
      : limits_(limits), observer_(std::move(observer)), time_observer_(std::move(times)) {}

  // Reads all packets of the file.
  void read(TraceFile& file);
  TraceSummary summary(const TraceFile& file, const std::string& name) const;

  const std::deque<FlowState>& flows() const { return flows_; }
  // Absolute time of the first packet.
  int64_t origin_ns() const { return origin_ns_; }
  // The earliest and the latest time of a packet, absolute; of a file without packets 0.
  int64_t first_ns() const { return first_ns_; }
  int64_t last_ns() const { return last_ns_; }
  int64_t packets() const { return totals_.packets; }
  // Addresses that sent or were asked for, the first few thousand.
  const std::set<IpAddress>& addresses() const { return addresses_; }

 private:
  void follow(const RawPacket& raw, bool places);
  void follow_packet(Packet& packet, bool places);
  void follow_conversation(const Packet& packet, bool places);
  void follow_icmp(const Packet& packet, bool places);
  void note_address(const IpAddress& address);
  // nullptr when there are too many flows; then the packet is counted as one without a flow.
  FlowState* flow_of(const FlowKey& key, const Packet& packet, const Endpoint& from,
                     const Endpoint& to);
  FlowState* new_flow(const FlowKey& key, const Endpoint& a, const Endpoint& b, int64_t now);

  TraceLimits limits_;
  Observer observer_;
  TimeObserver time_observer_;
  std::deque<FlowState> flows_;
  std::unordered_map<FlowKey, FlowState*, FlowKeyHash> by_key_;
  Fragments fragments_;
  Copies copies_;
  std::set<IpAddress> addresses_;
  int64_t segments_ = 0;  // of all flows
  int64_t origin_ns_ = 0, first_ns_ = 0, last_ns_ = 0, previous_ns_ = 0;
  int64_t backwards_ = 0, flowless_ = 0;
  TraceSummary totals_;  // the counts of packets, as they grow
  bool stopped_ = false;
};

// An open file, read to its end.
struct AnalysedFile {
  std::unique_ptr<TraceFile> file;
  std::unique_ptr<Analysis> analysis;
};
// A file by its path, or the bytes of one.
struct TraceSource {
  std::string path;
  const std::string* bytes = nullptr;  // when set, `path` is only a name for messages
};
Expected<AnalysedFile> read_trace(const TraceSource& source, const TraceLimits& limits,
                                  Analysis::Observer observer = {},
                                  Analysis::TimeObserver times = {});

// RFC 3339 UTC with microseconds.
std::string trace_time(int64_t ns);

}  // namespace plumbline
