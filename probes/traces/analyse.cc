#include "probes/traces/analyse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/json.h"
#include "probes/traces/analysis.h"
#include "probes/traces/trace_file.h"

namespace plumbline {
namespace {

constexpr size_t kMaxPoints = 20'000;   // data and acknowledgements
constexpr size_t kMaxSpecial = 20'000;  // everything that is out of the ordinary

bool is_plain(TracePointKind kind) {
  return kind == TracePointKind::kData || kind == TracePointKind::kAck;
}

// The points of a time-sequence plot, thinned out evenly where there are too many.
class PointCollector {
 public:
  explicit PointCollector(int64_t flow) : flow_(flow) {}

  void add(const FlowState& flow, int side, const Packet& packet, const SegmentEvent& event) {
    if (flow.index != flow_) return;
    if (is_plain(event.kind)) {
      if (seen_++ % stride_ != 0) return;
      if (++plain_ > kMaxPoints) halve();
    } else if (++special_ > kMaxSpecial) {
      points_.thinned = true;
      return;
    }
    points_.points.push_back(point_of(flow, side, packet, event));
  }

  // Times become relative to the trace's first packet.
  TracePoints finish(const FlowState& flow, int64_t origin_ns) {
    points_.a = endpoint_text(ip_text(flow.a.ip), flow.a.port);
    points_.b = endpoint_text(ip_text(flow.b.ip), flow.b.port);
    for (TracePoint& point : points_.points) point.at_ns -= origin_ns;
    return std::move(points_);
  }

 private:
  static TracePoint point_of(const FlowState& flow, int side, const Packet& packet,
                             const SegmentEvent& event) {
    const SideState& me = flow.side[static_cast<size_t>(side)];
    const SideState& peer = flow.side[static_cast<size_t>(1 - side)];
    TracePoint point;
    point.at_ns = packet.at_ns;
    point.kind = event.kind;
    point.from_a = side == 0;
    point.begin = event.begin;
    point.end = event.end;
    point.has_ack = (packet.tcp.flags & kFlagAck) != 0 && me.acks;
    if (point.has_ack) {
      const int scale = (packet.tcp.flags & kFlagSyn) != 0 ? 0 : scale_of(me, peer);
      point.ack = me.last_ack - peer.first_seq;
      point.window_end = point.ack + (int64_t{packet.tcp.window} << std::max(scale, 0));
    }
    return point;
  }

  void halve() {
    points_.thinned = true;
    stride_ *= 2;
    bool keep = false;
    plain_ = 0;
    std::erase_if(points_.points, [&](const TracePoint& point) {
      if (!is_plain(point.kind)) return false;
      keep = !keep;
      plain_ += keep ? 1U : 0U;
      return !keep;
    });
  }

  int64_t flow_;
  TracePoints points_;
  size_t plain_ = 0, special_ = 0, seen_ = 0, stride_ = 1;
};

}  // namespace

Expected<AnalysedFile> read_trace(const TraceSource& source, const TraceLimits& limits,
                                  Analysis::Observer observer, Analysis::TimeObserver times) {
  Expected<ByteReader> reader =
      source.bytes != nullptr ? ByteReader::over(*source.bytes) : ByteReader::open(source.path);
  if (!reader) return fail(reader.error());
  Expected<std::unique_ptr<TraceFile>> file = open_trace_file(std::move(*reader), source.path);
  if (!file) return fail(file.error());
  AnalysedFile result{std::move(*file),
                      std::make_unique<Analysis>(limits, std::move(observer), std::move(times))};
  result.analysis->read(*result.file);
  return result;
}

Expected<TraceSummary> analyse_trace_file(const std::string& path, const TraceLimits& limits) {
  const Expected<AnalysedFile> read = read_trace({path, nullptr}, limits);
  if (!read) return fail(read.error());
  return read->analysis->summary(*read->file, std::filesystem::path(path).filename().string());
}

Expected<TraceSummary> analyse_trace(const std::string& bytes, const std::string& name,
                                     const TraceLimits& limits) {
  const Expected<AnalysedFile> read = read_trace({name, &bytes}, limits);
  if (!read) return fail(read.error());
  return read->analysis->summary(*read->file, name);
}

Expected<TracePoints> trace_points(const std::string& path, int64_t flow,
                                   const TraceLimits& limits) {
  PointCollector collector(flow);
  const Expected<AnalysedFile> read =
      read_trace({path, nullptr}, limits,
                 [&](const FlowState& state, int side, const Packet& packet,
                     const SegmentEvent& event) { collector.add(state, side, packet, event); });
  if (!read) return fail(read.error());
  const std::deque<FlowState>& flows = read->analysis->flows();
  if (flow < 0 || flow >= static_cast<int64_t>(flows.size())) {
    return fail(ErrorCode::kUsage,
                fmt::format("{} has no flow {}, it has {}", path, flow + 1, flows.size()));
  }
  const FlowState& state = flows[static_cast<size_t>(flow)];
  if (state.protocol != kProtocolTcp) {
    return fail(ErrorCode::kUsage, fmt::format("flow {} of {} is not TCP", flow + 1, path),
                "only TCP has sequence numbers to plot");
  }
  return collector.finish(state, read->analysis->origin_ns());
}

std::string trace_json(const std::vector<TraceSummary>& traces, const TraceComparison& comparison) {
  constexpr int kSchema = 1;
  const nlohmann::json json = {{"schema", kSchema},
                               {"traces", traces},
                               {"overlap", comparison.overlap},
                               {"pairs", comparison.flows},
                               {"other_flows", comparison.other_flows}};
  return json_text(json, 2);
}

}  // namespace plumbline
