// Tables of MPI benchmarks: OSU and IMB.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

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

TEST(Import, OsuTables) {
  EXPECT_THAT(error_of(samples::file_text(sample_path("osu.txt"))),
              HasSubstr("FILE:6: OSU's table does not say how many ranks took part"));
  const ImportResult out = imported("osu.txt", {"ranks=4"});
  ASSERT_EQ(out.records.size(), 9U);
  const Record& small = out.records[0];
  EXPECT_EQ(small.cell.op, "allreduce");
  EXPECT_EQ(small.cell.dtype, "f32");
  EXPECT_EQ(small.cell.count, 1U);
  EXPECT_EQ(told(small).time_ns, 7930);
  EXPECT_EQ(told(small).statistic, "mean over ranks");
  EXPECT_EQ(small.measurement.extra.at("slowest_rank_mean_ns"), 9120);
  EXPECT_EQ(small.measurement.iterations, 1000U);
  EXPECT_EQ(out.records[1].cell.kind, CellKind::kBandwidth);
  EXPECT_EQ(out.records[2].cell.bytes, 4096U);  // 1024 of each of four ranks
  EXPECT_EQ(out.records[3].cell.op, "barrier");
  EXPECT_EQ(told(out.records[3]).time_ns, 8320);
  EXPECT_EQ(told(out.records[5]).time_ns, 3000);  // half a round trip was printed
  EXPECT_THAT(told(out.records[5]).note, HasSubstr("doubled"));
  EXPECT_EQ(out.records[5].cell.ranks, 2);
  EXPECT_DOUBLE_EQ(*out.records[6].algbw_Bps, 12254.16e6);
  EXPECT_DOUBLE_EQ(*out.records[7].algbw_Bps, 10000e6);  // of both directions
  EXPECT_EQ(out.records[8].cell.op, "multiple_bandwidth_message_rate");
  EXPECT_EQ(out.records[8].measurement.extra.at("messages_per_s"), 5e6);
}

// Old versions do not print the type.
TEST(Import, OsuReducesFloatsAndMovesBytes) {
  const char* table = "# OSU MPI %s Latency Test v5.8\n# Size       Avg Latency(us)\n1024  5.0\n";
  for (const auto& [name, type, count] :
       {std::tuple{"Allreduce", "f32", 256U}, {"Broadcast", "u8", 1024U}}) {
    std::string text = table;
    text.replace(text.find("%s"), 2, name);
    const auto out = import_of(text, *parse_assumptions({"ranks=2"}));
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_EQ(out->records.at(0).cell.dtype, type);
    EXPECT_EQ(out->records.at(0).cell.count, count);
  }
}

TEST(Import, ImbTables) {
  const ImportResult out = imported("imb.txt");
  ASSERT_EQ(out.records.size(), 5U);
  EXPECT_EQ(told(out.records[1]).time_ns, 25000);  // the slowest rank
  EXPECT_EQ(told(out.records[1]).statistic, "mean of the slowest rank");
  EXPECT_EQ(out.records[1].cell.ranks, 4);
  EXPECT_EQ(told(out.records[1]).version, "2021.3");
  EXPECT_EQ(told(out.records[2]).time_ns, 3000);  // doubled
  EXPECT_EQ(out.records[2].cell.ranks, 2);
  EXPECT_EQ(out.records[4].cell.op, "barrier");
  EXPECT_EQ(told(out.records[4]).time_ns, 4000);
}

}  // namespace
}  // namespace plumbline
