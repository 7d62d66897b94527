// What iperf3 writes (-J, --json-stream), field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::error_of;
using samples::imported;
using samples::sample_path;
using samples::told;
using testing::HasSubstr;

TEST(Import, Iperf3TcpIsTheReceiversRate) {
  const ImportResult out = imported("iperf3_tcp.json");
  ASSERT_EQ(out.records.size(), 1U);
  const Record& r = out.records[0];
  EXPECT_EQ(r.cell.kind, CellKind::kBandwidth);
  EXPECT_EQ(r.cell.op, "stream");
  EXPECT_EQ(r.cell.engine, "iperf3");
  EXPECT_EQ(r.cell.transport, "tcp");
  EXPECT_EQ(r.cell.bytes, 131072U);
  EXPECT_EQ(r.cell.params.at("streams"), "2");
  EXPECT_DOUBLE_EQ(*r.algbw_Bps, 22207476296.885555 / 8);
  EXPECT_EQ(r.busbw_Bps, r.algbw_Bps);
  EXPECT_FALSE(r.time_ns.p50);  // no samples: nothing becomes a median
  EXPECT_EQ(told(r).version, "3.12");
  EXPECT_EQ(told(r).statistic, "mean over the test");
  EXPECT_EQ(r.measurement.resolved.congestion_control, "bbr");
  EXPECT_EQ(r.measurement.elapsed_ns, 2'001'256'000);
  EXPECT_EQ(r.noise.verdict, "unknown");
  EXPECT_EQ(r.time.substr(0, 11), "2026-11-22T");
  EXPECT_EQ(r.measurement.resolved.address_pairs.size(), 2U);
  EXPECT_TRUE(r.measurement.extra.contains("retransmits_segments"));
  EXPECT_TRUE(r.measurement.extra.contains("rtt_mean_ns"));
}

TEST(Import, Iperf3OtherForms) {
  const Record udp = imported("iperf3_udp.json").records.at(0);
  EXPECT_EQ(udp.cell.transport, "udp");
  EXPECT_EQ(udp.cell.params.at("target_bitrate"), "50000000");
  EXPECT_EQ(udp.measurement.extra.at("sent_datagrams"), 191);
  EXPECT_EQ(udp.measurement.extra.at("lost_datagrams"), 0);
  EXPECT_NEAR(udp.measurement.extra.at("jitter_ns"), 7093.36, 0.01);
  const Record both = imported("iperf3_bidirectional.json").records.at(0);
  EXPECT_EQ(both.cell.op, "bidirectional");
  EXPECT_DOUBLE_EQ(*both.algbw_Bps, 8908233561.35475 / 8);  // the slower direction
  const Record refused = imported("iperf3_refused.json").records.at(0);
  EXPECT_EQ(refused.measurement.outcome, Outcome::kError);
  EXPECT_THAT(refused.measurement.reason, HasSubstr("Connection refused"));
  EXPECT_EQ(imported("iperf3_reverse.json").records.at(0).cell.params.at("reverse"), "1");
  // The server's file of the same test knows only what it sent.
  EXPECT_NEAR(*imported("iperf3_server.json").records.at(0).algbw_Bps, 23273336885.9 / 8, 1);
  const Record stream = imported("iperf3_stream.jsonl").records.at(0);
  EXPECT_DOUBLE_EQ(*stream.algbw_Bps, 999000000);
  EXPECT_EQ(stream.measurement.extra.at("rtt_mean_ns"), 123000);
  EXPECT_EQ(stream.measurement.extra.at("cpu_host_percent"), 50.5);
}

TEST(Import, Iperf3StreamWithoutItsEndSaysSo) {
  std::string text = samples::file_text(sample_path("iperf3_stream.jsonl"));
  text.resize(text.find("{\"event\":\"end\""));
  EXPECT_THAT(error_of(text), HasSubstr("was the test stopped?"));
  EXPECT_THAT(error_of(text + "{\"event\":\"end\",\"data\":{\"sum_"),
              HasSubstr("FILE:3: the JSON that begins here is cut off"));
}

}  // namespace
}  // namespace plumbline
