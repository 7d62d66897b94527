// Streams as iperf3 -J writes them, one document a line: cells of the operations stream and
// bidirectional, and each ordered pair of link cells that moved data. Rates are bits of payload per
// second over the whole timed part (bytes and seconds stand beside them, so that they can be
// checked), not medians. Fields that our records do not have are left out.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/op.h"
#include "core/text.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/view.h"

namespace plumbline {
namespace {

using OrderedJson = nlohmann::ordered_json;

// One direction of one connection, or of all.
struct Flow {
  double bytes = 0, seconds = 0;
  std::optional<uint64_t> retransmits;
  bool sender = true;

  OrderedJson json(double start = 0) const {
    OrderedJson object = {{"start", start},
                          {"end", start + seconds},
                          {"seconds", seconds},
                          {"bytes", static_cast<uint64_t>(std::clamp(bytes, 0.0, 9e18))},
                          {"bits_per_second", seconds > 0 ? bytes * 8 / seconds : 0}};
    if (retransmits) object["retransmits"] = *retransmits;
    object["sender"] = sender;
    return object;
  }
  Flow as_receiver() const { return {bytes, seconds, std::nullopt, false}; }
};

// "0-1 127.0.0.1:40000>[::1]:29601" into the two addresses and ports.
OrderedJson connected_json(const std::string& pair, int socket) {
  const size_t space = pair.find(' ');
  const size_t arrow = pair.find('>', space == std::string::npos ? 0 : space);
  if (space == std::string::npos || arrow == std::string::npos) return nullptr;
  OrderedJson object = {{"socket", socket}};
  const auto add = [&](const char* name, const std::string& address) {
    const size_t colon = address.rfind(':');
    std::string host = address.substr(0, colon);
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    object[std::string(name) + "_host"] = host;
    int port = 0;
    for (size_t i = colon + 1; colon != std::string::npos && i < address.size(); ++i) {
      if (address[i] < '0' || address[i] > '9' || port > 65535) return;
      port = port * 10 + (address[i] - '0');
    }
    if (port > 0 && port <= 65535) object[std::string(name) + "_port"] = port;
  };
  add("local", pair.substr(space + 1, arrow - space - 1));
  add("remote", pair.substr(arrow + 1));
  return object;
}

OrderedJson start_json(const Record& record, const std::vector<std::string>& pairs,
                       OrderedJson test) {
  OrderedJson connected = OrderedJson::array();
  for (const std::string& pair : pairs) {
    OrderedJson one = connected_json(pair, static_cast<int>(connected.size()) + 1);
    if (!one.is_null()) connected.push_back(std::move(one));
  }
  OrderedJson start = {{"connected", std::move(connected)},
                       {"version", "plumbline " + record.suite_version}};
  if (!record.environment.hosts.empty()) {
    start["system_info"] = record.environment.hosts.front().kernel;
  }
  if (const auto ms = epoch_ms(record.time)) {
    start["timestamp"] = {{"time", http_date_text(*ms / 1000)}, {"timesecs", *ms / 1000}};
  }
  if (record.cell.bytes == 0) test.erase("blksize");  // link cells write what fits
  start["test_start"] = std::move(test);
  return start;
}

OrderedJson test_json(const Record& record, const char* protocol, size_t streams, double seconds) {
  return {{"protocol", protocol},
          {"num_streams", streams},
          {"blksize", record.cell.bytes},
          {"omit", 0},
          {"duration", seconds},
          {"bytes", 0},
          {"blocks", 0},
          {"reverse", 0},
          {"bidir", record.cell.op == "bidirectional" ? 1 : 0}};
}

OrderedJson document_of(const Record& record, OrderedJson start, OrderedJson intervals,
                        OrderedJson end) {
  return {{"start", std::move(start)},
          {"intervals", std::move(intervals)},
          {"end", std::move(end)},
          {"title", describe(record)},
          {"extra_data", cell_id(record)}};
}

// All that a cell of stream or bidirectional moved in one direction.
Flow flow_of(const Record& record) {
  const Measurement& m = record.measurement;
  const auto size = static_cast<double>(record.cell.bytes);
  Flow flow;
  if (m.reported && m.hist.n() == 0) {
    flow.seconds = static_cast<double>(m.elapsed_ns) / 1e9;
    flow.bytes = m.reported->algbw_Bps.value_or(0) * flow.seconds;
  } else if (m.ops_per_s) {
    flow.seconds = static_cast<double>(m.elapsed_ns) / 1e9;
    flow.bytes = *m.ops_per_s * flow.seconds * size;
  } else {
    flow.seconds = static_cast<double>(m.hist.sum()) / 1e9;
    flow.bytes = static_cast<double>(m.hist.n()) * size;
  }
  if (!m.per_rank.empty()) {
    flow.retransmits = 0;
    for (const PerRank& rank : m.per_rank) *flow.retransmits += rank.retransmits;
  }
  return flow;
}

OrderedJson cell_json(const Record& record) {
  const Flow flow = flow_of(record);
  OrderedJson end = {
      {"streams", {{{"sender", flow.json()}, {"receiver", flow.as_receiver().json()}}}},
      {"sum_sent", flow.json()},
      {"sum_received", flow.as_receiver().json()}};
  if (record.cell.op == "bidirectional") {
    end["sum_sent_bidir_reverse"] = Flow{flow.bytes, flow.seconds, {}, true}.json();
    end["sum_received_bidir_reverse"] = flow.as_receiver().json();
  }
  const Resolved& resolved = record.measurement.resolved;
  if (!resolved.congestion_control.empty()) {
    end["sender_tcp_congestion"] = end["receiver_tcp_congestion"] = resolved.congestion_control;
  }
  const size_t streams = resolved.streams > 0 ? static_cast<size_t>(resolved.streams) : 1;
  const char* protocol = transport_of(record) == "udp" ? "UDP" : "TCP";
  return document_of(record,
                     start_json(record, resolved.address_pairs,
                                test_json(record, protocol, streams, flow.seconds)),
                     OrderedJson::array(), std::move(end));
}

// The series of all connections, interval by interval.
OrderedJson intervals_json(const LinkResult& link) {
  OrderedJson intervals = OrderedJson::array();
  const double seconds = static_cast<double>(link.interval_ns) / 1e9;
  size_t count = 0;
  for (const LinkStream& stream : link.streams) count = std::max(count, stream.series.size());
  for (size_t i = 0; i < count && seconds > 0; ++i) {
    const double start = static_cast<double>(i) * seconds;
    OrderedJson streams = OrderedJson::array();
    Flow sum{0, seconds, {}, false};
    for (const LinkStream& stream : link.streams) {
      if (i >= stream.series.size()) continue;
      const Flow one{static_cast<double>(stream.series[i]), seconds, {}, false};
      streams.push_back(one.json(start));
      sum.bytes += one.bytes;
    }
    intervals.push_back({{"streams", std::move(streams)}, {"sum", sum.json(start)}});
  }
  return intervals;
}

void add_udp(const LinkUdp& udp, double seconds, OrderedJson& end) {
  const uint64_t lost = udp.lost();
  OrderedJson sum = {{"start", 0}, {"end", seconds}, {"seconds", seconds}};
  sum["bits_per_second"] = udp.sent_Bps * 8;
  if (udp.jitter_ns) sum["jitter_ms"] = *udp.jitter_ns / 1e6;
  sum["lost_packets"] = lost;
  sum["packets"] = udp.sent;
  sum["lost_percent"] =
      udp.sent > 0 ? 100.0 * static_cast<double>(lost) / static_cast<double>(udp.sent) : 0;
  sum["out_of_order"] = udp.reordered;
  sum["sender"] = true;
  end["sum"] = std::move(sum);
}

OrderedJson link_json(const Record& record, const LinkResult& link) {
  const double seconds = static_cast<double>(link.elapsed_ns) / 1e9;
  Flow flow;
  flow.seconds = seconds;
  for (const LinkStream& stream : link.streams) {
    if (stream.retransmits) flow.retransmits = flow.retransmits.value_or(0) + *stream.retransmits;
  }
  flow.bytes = link.rate_Bps.value_or(0) * seconds;
  OrderedJson end = OrderedJson::object();
  OrderedJson streams = OrderedJson::array();
  for (const LinkStream& stream : link.streams) {
    const Flow one{static_cast<double>(stream.bytes), seconds, stream.retransmits, true};
    streams.push_back({{"sender", one.json()}, {"receiver", one.as_receiver().json()}});
  }
  end["streams"] = std::move(streams);
  if (link.rate_Bps) {
    end["sum_sent"] = flow.json();
    end["sum_received"] = flow.as_receiver().json();
  }
  if (link.udp) add_udp(*link.udp, seconds, end);
  const std::string pair = fmt::format("{}-{} {}>{}", link.from, link.to, link.local, link.remote);
  const char* protocol = link.udp ? "UDP" : "TCP";
  OrderedJson test = test_json(record, protocol, std::max<size_t>(1, link.streams.size()), seconds);
  if (record.cell.rate_bps > 0) test["target_bitrate"] = record.cell.rate_bps;
  OrderedJson start = start_json(record, {}, std::move(test));
  // Addresses of links have no ports; IPv6 ones would be cut at a colon.
  start["connected"].push_back(
      {{"socket", 1}, {"local_host", link.local}, {"remote_host", link.remote}});
  OrderedJson document =
      document_of(record, std::move(start), intervals_json(link), std::move(end));
  document["title"] = fmt::format("{} > {}, {}", link.from_host, link.to_host, describe(record));
  return document;
}

bool is_stream(const Item& item) {
  const Cell& cell = item.record->cell;
  const bool measured = cell.kind == CellKind::kBandwidth || cell.kind == CellKind::kThroughput;
  return measured && item.valid() && (cell.op == "stream" || cell.op == "bidirectional") &&
         cell.bytes > 0;
}

Expected<std::vector<std::string>> write_iperf3_json(const ReportInput& input,
                                                     const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the iperf3-json report needs an output stream");
  const View view = make_view(input.records);
  size_t written = 0;
  const auto print = [&](const OrderedJson& document) {
    *target.out << printable_json(
                       document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace))
                << "\n";
    ++written;
  };
  for (const Item& item : view.items) {
    if (is_stream(item)) print(cell_json(*item.record));
    for (const LinkResult& link : item.record->measurement.links) {
      if (link.measured() && (link.rate_Bps || link.udp)) print(link_json(*item.record, link));
    }
  }
  if (written == 0) {
    return fail(ErrorCode::kConfig,
                fmt::format("none of the {} records is a stream (operations stream and "
                            "bidirectional, link cells): nothing to write as iperf3 does",
                            input.records.size()));
  }
  return std::vector<std::string>{};
}

}  // namespace

ReportRow iperf3_json_report() {
  return {{"iperf3-json", "streams and links as iperf3 -J writes them, one document a line"},
          "iperf3.jsonl",
          write_iperf3_json};
}

}  // namespace plumbline
