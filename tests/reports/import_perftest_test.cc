// What perftest writes: its JSON and its tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::error_of;
using samples::import_of;
using samples::imported;
using samples::sample_path;
using samples::told;
using testing::HasSubstr;

TEST(Import, PerftestJsonNeedsTheUnit) {
  const std::string text = samples::file_text(sample_path("perftest_bw.json"));
  EXPECT_THAT(error_of(text), HasSubstr("say --assume unit=MiB/s"));
  const ImportResult gb = imported("perftest_bw.json", {"unit=Gb/s"});
  EXPECT_DOUBLE_EQ(*gb.records.at(0).algbw_Bps, 92.25e9 / 8);
  EXPECT_EQ(gb.records.at(0).cell.op, "stream");
  EXPECT_EQ(gb.records.at(0).cell.params.at("verb"), "write");
  EXPECT_EQ(gb.records.at(0).cell.params.at("device"), "dev0");
  EXPECT_THAT(gb.notes.at(0), HasSubstr("text before the JSON"));
  const ImportResult mib = imported("perftest_bw.json", {"unit=MiB/s"});
  EXPECT_DOUBLE_EQ(*mib.records.at(0).algbw_Bps, 92.25 * 1048576);
  const Record latency = imported("perftest_lat.json").records.at(0);  // microseconds: no question
  EXPECT_EQ(told(latency).statistic, "median");
  EXPECT_EQ(told(latency).time_ns, 1600);  // half a round trip was printed
  EXPECT_EQ(latency.cell.op, "pingpong");
  EXPECT_EQ(latency.measurement.extra.at("p99_ns"), 2500);
}

TEST(Import, PerftestTables) {
  const ImportResult rates = imported("perftest_bw.txt");
  ASSERT_EQ(rates.records.size(), 3U);
  EXPECT_DOUBLE_EQ(*rates.records[0].algbw_Bps, 4020.54 * 1048576);
  EXPECT_EQ(rates.records[0].cell.params.at("connection"), "RC");
  EXPECT_EQ(rates.records[0].cell.params.at("device"), "dev0");
  EXPECT_EQ(rates.records[0].cell.params.at("link"), "Ethernet");
  EXPECT_DOUBLE_EQ(rates.records[1].measurement.extra.at("peak_Bps"), 11030.78 * 1048576);
  EXPECT_EQ(rates.records[2].cell.op, "bidirectional");
  EXPECT_DOUBLE_EQ(*rates.records[2].algbw_Bps, 184e9 / 8 / 2);
  EXPECT_EQ(rates.records[2].cell.params.at("device"), "dev1");
  const ImportResult times = imported("perftest_lat.txt");
  ASSERT_EQ(times.records.size(), 2U);
  EXPECT_EQ(times.records[0].cell.op, "rdma_read");
  EXPECT_EQ(told(times.records[0]).time_ns, 1700);  // a read is measured by one side: all of it
  EXPECT_EQ(times.records[0].measurement.extra.at("p999_ns"), 7250);
  EXPECT_EQ(told(times.records[1]).statistic, "mean");
  EXPECT_EQ(told(times.records[1]).time_ns, 1800);
}

TEST(Import, PerftestServiceLevelColumn) {
  const auto out = import_of(
      " RDMA_Write BW Test\n"
      " #bytes    #sl      #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
      " 64        3        1000           10.00              8.00                 0.131072\n");
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_DOUBLE_EQ(*out->records.at(0).algbw_Bps, 8 * 1048576.0);
  EXPECT_EQ(out->records.at(0).measurement.iterations, 1000U);
  EXPECT_THAT(
      error_of(" #bytes #iterations BW peak[kB] BW average[kB/s] MsgRate[Mpps]\n 1 1 1 1 1\n"),
      HasSubstr("unknown unit"));
}

}  // namespace
}  // namespace plumbline
