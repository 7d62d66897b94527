// The iperf3-json report: streams and links in iperf3's fields, rates that follow from bytes and
// seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/reports/exchange_samples.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using nlohmann::json;
using samples::input_of;
using samples::link_record;
using samples::record;
using samples::report_text;
using testing::HasSubstr;

std::vector<json> documents(const ReportInput& input) {
  std::istringstream lines(report_text("iperf3-json", input));
  std::vector<json> out;
  for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line));
  return out;
}

void expect_consistent(const json& sum) {
  EXPECT_NEAR(sum["bits_per_second"].get<double>(),
              sum["bytes"].get<double>() * 8 / sum["seconds"].get<double>(),
              1e-4 * sum["bits_per_second"].get<double>());
}

TEST(Iperf3Json, StreamCellsAsBandwidthAndAsThroughput) {
  Record bandwidth = record("bandwidth", "stream", "direct", 2, 1 << 20, 400'000, 50);
  bandwidth.measurement.resolved.address_pairs = {"0-1 10.0.0.1:40000>10.0.0.2:29601"};
  Record throughput = samples::throughput("stream", "direct", 2, 65536, 4, 50'000);
  throughput.measurement.elapsed_ns = 2'000'000'000;
  const std::vector<json> docs = documents(input_of({bandwidth, throughput}));
  ASSERT_EQ(docs.size(), 2U);
  const json& first = docs[0];
  EXPECT_EQ(first["start"]["test_start"]["protocol"], "TCP");
  EXPECT_EQ(first["start"]["test_start"]["blksize"], 1 << 20);
  EXPECT_EQ(first["start"]["timestamp"]["timesecs"], 1740830400);
  EXPECT_EQ(first["start"]["timestamp"]["time"], "Sat, 01 Mar 2025 12:00:00 GMT");
  EXPECT_EQ(first["start"]["connected"][0], json({{"socket", 1},
                                                  {"local_host", "10.0.0.1"},
                                                  {"local_port", 40000},
                                                  {"remote_host", "10.0.0.2"},
                                                  {"remote_port", 29601}}));
  EXPECT_EQ(first["end"]["sum_received"]["bytes"], 50U << 20);
  EXPECT_FALSE(first["end"].contains("cpu_utilization_percent"));  // not known
  const json& second = docs[1]["end"]["sum_received"];
  EXPECT_DOUBLE_EQ(second["bits_per_second"].get<double>(), 8 * 65536.0 * 50'000);
  EXPECT_DOUBLE_EQ(second["seconds"].get<double>(), 2);
  for (const json& doc : docs) {
    expect_consistent(doc["end"]["sum_sent"]);
    expect_consistent(doc["end"]["sum_received"]);
  }
}

TEST(Iperf3Json, LinksOneDocumentForEachDirection) {
  const std::vector<json> docs =
      documents(input_of({link_record("stream", 3), link_record("udp", 2)}));
  ASSERT_EQ(docs.size(), 8U);
  const json& udp = docs[6];
  EXPECT_EQ(udp["start"]["test_start"]["protocol"], "UDP");
  EXPECT_EQ(udp["start"]["test_start"]["target_bitrate"], 50'000'000);
  EXPECT_EQ(udp["end"]["sum"]["packets"], 2600);
  EXPECT_EQ(udp["end"]["sum"]["lost_packets"], 0);
  EXPECT_DOUBLE_EQ(udp["end"]["sum"]["jitter_ms"].get<double>(), 0.002);
  EXPECT_THAT(docs[0]["title"].get<std::string>(), HasSubstr("a > b"));
}

TEST(Iperf3Json, IntervalsAreTheSeriesOfTheConnections) {
  Record r = link_record("stream", 2, [](LinkResult& link) {
    link.interval_ns = 500'000'000;
    link.elapsed_ns = 1'000'000'000;
    link.streams = {{3000, 1, {1000, 2000}}, {500, 2, {500}}};
    link.rate_Bps = 3500;
  });
  const json doc = documents(input_of({r}))[0];
  ASSERT_EQ(doc["intervals"].size(), 2U);
  EXPECT_EQ(doc["intervals"][0]["sum"]["bytes"], 1500);
  EXPECT_EQ(doc["intervals"][1]["streams"].size(), 1U);
  EXPECT_EQ(doc["intervals"][1]["sum"]["start"], 0.5);
  EXPECT_EQ(doc["end"]["sum_sent"]["retransmits"], 3);
  EXPECT_EQ(doc["end"]["sum_received"]["bits_per_second"], 28000.0);
}

TEST(Iperf3Json, ImportedAgainTheRateIsTheSame) {
  Record stream = record("bandwidth", "stream", "direct", 2, 1 << 20, 400'000, 50);
  Record both = record("bandwidth", "bidirectional", "direct", 2, 1 << 20, 800'000, 50);
  const auto after = samples::import_of(report_text("iperf3-json", input_of({stream, both})));
  ASSERT_TRUE(after) << after.error().message();
  ASSERT_EQ(after->records.size(), 2U);
  const auto mean_rate = [](const Record& r) {
    return static_cast<double>(r.measurement.hist.n() * r.cell.bytes) * 1e9 /
           static_cast<double>(r.measurement.hist.sum());
  };
  EXPECT_DOUBLE_EQ(*after->records[0].algbw_Bps, mean_rate(stream));
  EXPECT_DOUBLE_EQ(*after->records[1].algbw_Bps, mean_rate(both));
  EXPECT_EQ(after->records[1].cell.op, "bidirectional");
  EXPECT_EQ(after->records[0].cell.bytes, 1U << 20);
  EXPECT_EQ(after->records[0].time, "2025-03-01T12:00:00Z");
}

// An imported test can be handed on: the same rate for the same time.
TEST(Iperf3Json, WhatIperf3SaidGoesOutAsItCameIn) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({samples::sample_path("iperf3_tcp.json")}, input));
  const json doc = documents(input).at(0);
  const json original = json::parse(samples::file_text(samples::sample_path("iperf3_tcp.json")));
  EXPECT_EQ(doc["start"]["timestamp"], original["start"]["timestamp"]);
  EXPECT_DOUBLE_EQ(doc["end"]["sum_received"]["bits_per_second"].get<double>(),
                   original["end"]["sum_received"]["bits_per_second"].get<double>());
  EXPECT_NEAR(doc["end"]["sum_received"]["seconds"].get<double>(),
              original["end"]["sum_received"]["seconds"].get<double>(), 1e-8);
}

TEST(Iperf3Json, HostileTextAndNothingToWrite) {
  Record r = samples::hostile(record("bandwidth", "stream", "direct", 2, 64, 1000));
  EXPECT_EQ(documents(input_of({r})).size(), 1U);
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report("iperf3-json")
                           ->write(input_of({record("latency", "barrier", "x", 2, 0, 1)}), target);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("none of the 1 records is a stream"));
}

}  // namespace
}  // namespace plumbline
