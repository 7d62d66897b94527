// iperf3 -J and --json-stream; with --json-stream-full-output the same test stands there twice, as
// events and as a whole, and is counted once. A test becomes one record of kind bandwidth,
// operation stream (or bidirectional), whose rate is what the receiver counted over the whole test;
// its size is the block that was written at a time. Counters go to `extra`.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "reports/import/foreign.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool is_iperf3(std::string_view start) {
  return has_all(start, {"{", "\"start\""}) &&
         (has_any(start, {"\"test_start\"", "\"connected\""}) ||
          has_all(start, {"\"event\"", "\"data\""}));
}

// One test, as -J writes it or gathered from the lines of --json-stream.
struct Test {
  const json& start;
  const json& end;
  const std::string& error;
  size_t line;
};

struct TestSums {
  const json* sent = nullptr;
  const json* received = nullptr;
};

// The side that counted what arrived, or what was sent where nothing else is known.
std::optional<double> bits_of(const TestSums& sums) {
  for (const json* sum : {sums.received, sums.sent}) {
    if (sum == nullptr) continue;
    const std::optional<double> bits = foreign_number(*sum, "bits_per_second");
    if (bits && *bits > 0) return bits;
  }
  return std::nullopt;
}

void put(const json* object, const char* key, const char* name, double unit, Record& record) {
  if (object == nullptr) return;
  if (const auto value = foreign_number(*object, key))
    record.measurement.extra[name] = *value * unit;
}

void take_counters(const json& end, const TestSums& sums, Record& record) {
  put(sums.sent, "retransmits", "retransmits_segments", 1, record);
  const json* sum = foreign_field(end, "sum");
  const json* udp =
      sums.received != nullptr && foreign_field(*sums.received, "jitter_ms") != nullptr
          ? sums.received
          : sum;
  put(udp, "jitter_ms", "jitter_ns", 1e6, record);
  put(udp, "lost_packets", "lost_datagrams", 1, record);
  put(udp, "packets", "sent_datagrams", 1, record);
  const std::string congestion = foreign_text(end, "sender_tcp_congestion");
  record.measurement.resolved.congestion_control = clean(congestion.substr(0, 64));
  const json* cpu = foreign_field(end, "cpu_utilization_percent");
  put(cpu, "host_total", "cpu_host_percent", 1, record);
  put(cpu, "remote_total", "cpu_remote_percent", 1, record);
  const json& streams = foreign_list(end, "streams");
  if (streams.empty()) return;
  const json* sender = foreign_field(streams.front(), "sender");
  put(sender, "mean_rtt", "rtt_mean_ns", 1e3, record);  // microseconds
}

void take_connections(const json& start, Record& record) {
  for (const json& one : foreign_list(start, "connected")) {
    if (record.measurement.resolved.address_pairs.size() >= 1024) return;
    const auto side = [&](const char* host, const char* port) {
      return fmt::format("{}:{}", foreign_text(one, host), foreign_count(one, port).value_or(0));
    };
    record.measurement.resolved.address_pairs.push_back("0-1 " + side("local_host", "local_port") +
                                                        ">" + side("remote_host", "remote_port"));
  }
}

void take_setup(const json& start, Record& record) {
  Cell& cell = record.cell;
  cell.kind = CellKind::kBandwidth;
  cell.ranks = 2;
  cell.transport = "tcp";
  const json* test = foreign_field(start, "test_start");
  if (test != nullptr) {
    if (foreign_text(*test, "protocol") == "UDP") cell.transport = "udp";
    if (foreign_text(*test, "protocol") == "SCTP") cell.transport = "sctp";
    set_bytes(foreign_count(*test, "blksize").value_or(0), record);
    const uint64_t streams = foreign_count(*test, "num_streams").value_or(1);
    if (streams > 1) cell.params["streams"] = fmt::format("{}", streams);
    if (foreign_count(*test, "reverse").value_or(0) == 1) cell.params["reverse"] = "1";
    const uint64_t target = foreign_count(*test, "target_bitrate").value_or(0);
    if (target > 0) cell.params["target_bitrate"] = fmt::format("{}", target);
    record.measurement.resolved.streams = static_cast<int>(std::min<uint64_t>(streams, 1 << 20));
  }
  if (const json* stamp = foreign_field(start, "timestamp")) {
    const uint64_t seconds = foreign_count(*stamp, "timesecs").value_or(0);
    if (seconds > 0) record.time = utc_text(static_cast<int64_t>(seconds));
  }
  take_connections(start, record);
}

std::string version_of(const json& start) {
  const std::string text = foreign_text(start, "version");  // "iperf 3.12"
  return text.rfind("iperf ", 0) == 0 ? text.substr(6) : text;
}

Status take_test(const ImportFile& file, const Test& test, ImportResult& out) {
  Record record = imported_record("iperf3", version_of(test.start));
  Reported& told = *record.measurement.reported;
  set_op("stream", record);
  take_setup(test.start, record);
  Measurement& m = record.measurement;
  if (!test.error.empty()) {
    m.outcome = Outcome::kError;
    m.reason = "iperf3: " + test.error.substr(0, 1000);
    return add_record(file, std::move(record), out);
  }
  const json& end = test.end;
  const TestSums sums{foreign_field(end, "sum_sent"), foreign_field(end, "sum_received")};
  const TestSums back{foreign_field(end, "sum_sent_bidir_reverse"),
                      foreign_field(end, "sum_received_bidir_reverse")};
  std::optional<double> bits = bits_of(sums);
  if (!bits) bits = bits_of({foreign_field(end, "sum"), nullptr});  // of old versions with UDP
  if (!bits) {
    add_note(file, test.line, "no rate in its end: was the test stopped?", out);
    return {};
  }
  if (const std::optional<double> other = bits_of(back)) {
    set_op("bidirectional", record);
    record.measurement.extra["forward_Bps"] = *bits / 8;
    record.measurement.extra["reverse_Bps"] = *other / 8;
    bits = std::min(*bits, *other);
    told.note = "of the slower direction";
  }
  told.statistic = "mean over the test";
  if (record.cell.bytes == 0) set_bytes(1, record);  // a rate needs a size to stand beside
  told.algbw_Bps = *bits / 8;
  const json* sum = sums.received != nullptr ? sums.received : foreign_field(end, "sum");
  if (sum != nullptr) {
    const double seconds = foreign_number(*sum, "seconds").value_or(0);
    if (seconds > 0 && seconds < 1e9) m.elapsed_ns = static_cast<int64_t>(seconds * 1e9);
  }
  take_counters(end, sums, record);
  return add_record(file, std::move(record), out);
}

class Tests {
 public:
  Tests(const ImportFile& file, ImportResult& out) : file_(file), out_(out) {}

  Status take(const json& object, size_t line) {
    const std::string event = foreign_text(object, "event");
    const json* data = foreign_field(object, "data");
    if (event.empty() || data == nullptr) return take_whole(object, line);
    if (event == "start" && begun_ > 0) {  // the one before had no end
      if (Status taken = take_streamed(); !taken) return taken;
    }
    if (begun_ == 0) begun_ = line;
    if (event == "start") start_ = *data;
    if (event == "error") error_ = data->is_string() ? data->get<std::string>() : "unknown";
    if (event != "end") return {};
    end_ = *data;
    return take_streamed();
  }
  // A stream that breaks off.
  Status finish() { return begun_ > 0 ? take_streamed() : Status(); }

 private:
  Status take_streamed() {
    Status taken = take_test(file_, {start_, end_, error_, begun_}, out_);
    streamed_ = std::move(start_);
    start_ = end_ = json();
    error_.clear();
    begun_ = 0;
    return taken;
  }

  // Events break off before their end when there was an error; the whole says that too.
  Status take_whole(const json& object, size_t line) {
    const json none;
    const json* start = foreign_field(object, "start");
    const json* end = foreign_field(object, "end");
    const json& begin = start != nullptr ? *start : none;
    if (begun_ > 0 && same_test(start_, begin)) {
      start_ = end_ = none;
      error_.clear();
      begun_ = 0;
    } else if (begun_ > 0) {
      if (Status taken = take_streamed(); !taken) return taken;
    } else if (same_test(streamed_, begin)) {
      streamed_ = none;
      add_note(file_, line,
               "the summary of the test whose events come before it is left out: both are one run",
               out_);
      return {};
    }
    return take_test(
        file_, {begin, end != nullptr ? *end : none, foreign_text(object, "error"), line}, out_);
  }

  // Every test has a cookie of its own; where none is told, its time and its ports.
  static bool same_test(const json& streamed, const json& whole) {
    if (!streamed.is_object() || streamed.empty()) return false;
    const std::string cookie = foreign_text(streamed, "cookie");
    if (!cookie.empty()) return cookie == foreign_text(whole, "cookie");
    for (const char* key : {"timestamp", "connected"}) {
      const json* ours = foreign_field(streamed, key);
      const json* theirs = foreign_field(whole, key);
      if (ours == nullptr || theirs == nullptr || *ours != *theirs) return false;
    }
    return true;
  }

  const ImportFile& file_;
  ImportResult& out_;
  json start_, end_;  // of a test that is being streamed
  std::string error_;
  size_t begun_ = 0;  // its first line; 0 = there is none
  json streamed_;     // the start of the one that was streamed last
};

Status read_iperf3(const ImportFile& file, ImportResult& out) {
  Tests tests(file, out);
  const Status status = each_json(
      file, out, [&](const json& object, size_t line) { return tests.take(object, line); });
  return status ? tests.finish() : status;
}

}  // namespace

ImportRow iperf3_import() {
  return {{"iperf3", "iperf3 -J or --json-stream"}, is_iperf3, read_iperf3};
}

}  // namespace plumbline
