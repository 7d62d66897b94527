// What nccl-tests writes: its JSON and its table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
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

TEST(Import, NcclTestsJson) {
  const ImportResult out = imported("nccl_tests.json");
  ASSERT_EQ(out.records.size(), 3U);  // the in-place side of the second row is "nan"
  const Record& first = out.records[0];
  EXPECT_EQ(first.cell.op, "allgather");
  EXPECT_EQ(first.cell.ranks, 4);
  EXPECT_EQ(first.cell.kind, CellKind::kLatency);
  EXPECT_EQ(first.cell.root, -1);
  EXPECT_EQ(first.cell.dtype, "f32");
  EXPECT_EQ(first.measurement.samples_ns, (std::vector<int64_t>{25250, 20000, 19500, 21000}));
  EXPECT_EQ(first.time_ns.p50, 20500);    // of the samples
  EXPECT_EQ(told(first).time_ns, 20480);  // what it printed
  EXPECT_EQ(told(first).statistic, "mean");
  EXPECT_EQ(first.measurement.wrong, 0U);
  const Record& wrong = out.records[1];
  EXPECT_EQ(wrong.cell.placement, "in");
  EXPECT_EQ(wrong.measurement.outcome, Outcome::kFailed);
  EXPECT_EQ(wrong.measurement.wrong, 2U);
  const Record& large = out.records[2];
  EXPECT_EQ(large.cell.kind, CellKind::kBandwidth);
  EXPECT_FALSE(large.measurement.wrong);  // not checked is not right
  EXPECT_FALSE(large.measurement.verified);
  EXPECT_DOUBLE_EQ(*large.algbw_Bps, 9.998341e9);
  EXPECT_DOUBLE_EQ(*large.busbw_Bps, 7.498756e9);
}

// One device a process is listed, whatever a process drives.
TEST(Import, NcclTestsRanksFromItsDevices) {
  const std::string text = samples::file_text(sample_path("nccl_tests.json"));
  const auto ranks_of = [&](const std::string& devices, int gpus) {
    nlohmann::json doc = nlohmann::json::parse(text);
    doc["config"]["devices"] = nlohmann::json::parse(devices);
    doc["config"]["ngpus"] = gpus;
    const auto out = import_of(doc.dump());
    return out ? out->records.at(0).cell.ranks : -1;
  };
  EXPECT_EQ(ranks_of(R"([{"rank":0}])", 8), 8);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":1},{"rank":2}])", 1), 3);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":4}])", 4), 8);
  EXPECT_EQ(ranks_of(R"([{"rank":0},{"rank":-4}])", 4), 2);
  EXPECT_EQ(ranks_of("[]", 4), 0);
}

TEST(Import, NcclTestsTable) {
  const ImportResult out = imported("nccl_tests.txt");
  ASSERT_EQ(out.records.size(), 5U);
  EXPECT_TRUE(out.notes.empty());
  const Record& first = out.records[0];
  EXPECT_EQ(first.cell.op, "allreduce");
  EXPECT_EQ(first.cell.redop, "sum");
  EXPECT_EQ(first.cell.ranks, 2);
  EXPECT_EQ(first.measurement.iterations, 20U);
  EXPECT_EQ(told(first).version, "2.19.6");
  EXPECT_EQ(told(first).time_ns, 10000);
  EXPECT_DOUBLE_EQ(*first.algbw_Bps, 8e5);  // the table has 0.00
  EXPECT_FALSE(out.records[3].measurement.wrong);
  EXPECT_DOUBLE_EQ(*out.records[4].busbw_Bps, 134217728 / 6710.9e3 * 1e9);
}

// A table of ours: whose rows are of lists stands before them.
TEST(Import, RowsOfListsOfArraysStayApart) {
  const std::string text = samples::file_text(sample_path("nccl_tests.txt"));
  const size_t row = text.find("           8 ");  // the first one, by its size
  ASSERT_NE(row, std::string::npos) << text;
  const auto arrays_with = [&](const std::string& line) {
    const auto out = import_of(text.substr(0, row) + line + "\n" + text.substr(row));
    EXPECT_TRUE(out) << out.error().message();
    return out ? out->records.at(0).cell.arrays : -1;
  };
  EXPECT_EQ(arrays_with("# arrays 64"), 64);
  EXPECT_EQ(arrays_with("# arrays 64\n# arrays 1"), 1);
  for (const char* other : {"# arrays", "# arrays 0", "# arrays -4", "# arrays 65537",
                            "# arrays 99999999999999999999", "# arrays 4 5", "# 64 arrays"}) {
    EXPECT_EQ(arrays_with(other), 1) << other;
  }
}

// The factor is that of one group.
TEST(Import, GroupsOfATableOfOursAreReadBack) {
  const std::string text = samples::file_text(sample_path("nccl_tests.txt"));
  const size_t second = text.find("#  Rank  1 ");
  ASSERT_NE(second, std::string::npos);
  std::string four = text;
  for (const char* rank : {"3", "2"}) {
    four.insert(second,
                std::string("#  Rank  ") + rank + " Group  0 Pid 1 on host1 device 0 [0] x\n");
  }
  const auto busbw_of = [&](const std::string& split) {
    const auto out = import_of("# plumbline 1 algorithm auto transport tcp" + split + "\n" + four);
    EXPECT_TRUE(out) << out.error().message();
    EXPECT_EQ(out->records.at(0).cell.ranks, 4);
    return *out->records.at(0).busbw_Bps / *out->records.at(0).algbw_Bps;
  };
  EXPECT_DOUBLE_EQ(busbw_of(""), 1.5);
  EXPECT_DOUBLE_EQ(busbw_of(" split mod:2"), 1);
  for (const char* wrong : {" split", " split mod:9", " split mod:0", " split x"}) {
    EXPECT_DOUBLE_EQ(busbw_of(wrong), 1.5) << wrong;
  }
}

TEST(Import, NcclTestsTableWithoutItsPreamble) {
  const std::string text = samples::file_text(sample_path("nccl_tests.txt"));
  const std::string table = text.substr(text.find("#       size"));
  EXPECT_THAT(error_of(table), HasSubstr("say --assume op="));
  const auto out = import_of(table, *parse_assumptions({"op=broadcast", "ranks=8"}));
  ASSERT_TRUE(out) << out.error().message();
  EXPECT_EQ(out->records.at(0).cell.op, "broadcast");
  EXPECT_EQ(out->records.at(0).cell.ranks, 8);
  EXPECT_THAT(import_of(table, *parse_assumptions({"op=reduce"}))->notes.at(0),
              HasSubstr("--assume ranks=N"));
}

}  // namespace
}  // namespace plumbline
