// The nccl-json report: fields and types of nccl-tests' version 3, its own definitions, and the way
// back through the importer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "core/json.h"
#include "tests/reports/exchange_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using samples::input_of;
using samples::record;
using testing::HasSubstr;

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& item : object.items()) keys.insert(item.key());
  return keys;
}

class NcclJson : public testing::Test {
 public:
  NcclJson() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("plumbline_nccl_json_") + test->name());
    fs::remove_all(folder_);
  }
  ~NcclJson() override { fs::remove_all(folder_); }

 protected:
  std::vector<std::string> write(const ReportInput& input) {
    ReportTarget target;
    target.directory = folder_.string();
    const auto written = find_report("nccl-json")->write(input, target);
    EXPECT_TRUE(written) << written.error().message();
    return written ? *written : std::vector<std::string>{};
  }
  json document(const std::string& path) { return json::parse(samples::file_text(path)); }

  fs::path folder_;
};

TEST_F(NcclJson, AFileForEachOperationRanksAndKind) {
  const std::vector<std::string> paths = write(input_of(samples::small_run()));
  std::set<std::string> names;
  for (const std::string& path : paths) names.insert(fs::path(path).filename().string());
  EXPECT_EQ(names,
            (std::set<std::string>{
                "bandwidth_allreduce_ring_2r_tcp.json", "bandwidth_broadcast_tree_2r_tcp.json",
                "latency_allreduce_auto_2r_tcp.json", "latency_allreduce_ring_4r_tcp.json",
                "latency_barrier_dissemination_2r_tcp.json",
                "latency_barrier_dissemination_4r_tcp.json"}));
}

TEST_F(NcclJson, FieldsAndTypesAreThoseOfVersion3) {
  Record out = record("bandwidth", "allreduce", "ring", 2, 1 << 20, 500'000, 60);
  Record in = out;
  in.cell.placement = "in";
  PerRank rank;
  rank.host = "node1";
  out.measurement.per_rank = {rank};
  const std::vector<std::string> paths = write(input_of({out, in}));
  ASSERT_EQ(paths.size(), 1U);
  const json doc = document(paths[0]);
  const std::set<std::string> root = {"version", "start_time",    "args",
                                      "env",     "nccl_version",  "config",
                                      "results", "out_of_bounds", "average_bus_bandwidth",
                                      "errors",  "end_time",      "plumbline"};
  EXPECT_EQ(keys_of(doc), root);
  EXPECT_EQ(doc["version"], 3);
  EXPECT_EQ(doc["start_time"], "2025-03-01 12:00:00");
  for (const char* key : {"blocking_collectives", "per_iter_timing", "parallel_init"}) {
    EXPECT_EQ(doc["config"][key], "true") << key;  // texts, not booleans
  }
  EXPECT_EQ(doc["out_of_bounds"], json({{"count", 0}, {"okay", "true"}}));
  EXPECT_EQ(doc["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_EQ(doc["config"]["devices"].size(), 2U);
  EXPECT_EQ(doc["config"]["devices"][0]["hostname"], "node1");
  EXPECT_FALSE(doc["config"]["devices"][1].contains("hostname"));  // not known
  const json& result = doc["results"][0];
  EXPECT_EQ(keys_of(result),
            (std::set<std::string>{"size", "count", "type", "redop", "root", "out_of_place",
                                   "out_of_place_per_iter", "in_place", "in_place_per_iter",
                                   "actual_iterations", "experiment_name"}));
  EXPECT_EQ(result["root"], "    -1");
  EXPECT_EQ(result["type"], "float");
  EXPECT_EQ(result["experiment_name"], "AllReduce");
  EXPECT_EQ(keys_of(result["out_of_place"]),
            (std::set<std::string>{"time", "alg_bw", "bus_bw", "nwrong"}));
  EXPECT_DOUBLE_EQ(result["out_of_place"]["time"].get<double>(), *out.time_ns.p50 / 1e3);
  EXPECT_DOUBLE_EQ(result["out_of_place"]["bus_bw"].get<double>(), *out.busbw_Bps / 1e9);
  const json& per_iteration = result["out_of_place_per_iter"];
  EXPECT_EQ(keys_of(per_iteration),
            (std::set<std::string>{"skipped_iterations", "min_us", "max_us", "avg_us", "p50_us",
                                   "p95_us", "p99_us", "stdev_us", "cv_pct", "times_us"}));
  EXPECT_EQ(per_iteration["times_us"].size(), 60U);
}

// nccl-tests' ranks, not ours: p50 is element n/2, p95 and p99 element ceil(n p / 100).
TEST_F(NcclJson, PercentilesAreDefinedAsNcclTestsDoes) {
  Record r = record("latency", "allreduce", "ring", 2, 64, 1000, 0);
  r.measurement.hist = {};
  for (int i = 20; i >= 1; --i) {
    r.measurement.samples_ns.push_back(i * 1000);
    r.measurement.hist.add(i * 1000);
  }
  const json per_iteration =
      document(write(input_of({r})).at(0))["results"][0]["out_of_place_per_iter"];
  EXPECT_EQ(per_iteration["p50_us"], 11.0);
  EXPECT_EQ(per_iteration["p95_us"], 19.0);
  EXPECT_EQ(per_iteration["p99_us"], 20.0);
  EXPECT_EQ(per_iteration["avg_us"], 10.5);
  EXPECT_NEAR(per_iteration["stdev_us"].get<double>(), 5.7662813, 1e-6);
  EXPECT_EQ(per_iteration["times_us"][0], 20.0);  // in time order
}

TEST_F(NcclJson, WhatFailedIsNamedAndHasNoNumbers) {
  const auto paths = write(input_of(samples::small_run()));
  const json doc = document((folder_ / "latency_allreduce_ring_4r_tcp.json").string());
  ASSERT_GE(doc["errors"].size(), 3U);  // wrong data, skipped, error
  EXPECT_EQ(doc["out_of_bounds"], json({{"count", 1}, {"okay", "false"}}));
  size_t without = 0;
  for (const json& result : doc["results"]) without += result["out_of_place"].is_null() ? 1 : 0;
  EXPECT_EQ(without, 3U);
}

TEST_F(NcclJson, SeveralRunsAreSeveralFiles) {
  Record a = record("latency", "allreduce", "ring", 2, 64, 1000);
  Record b = a;
  b.run_id = "run2";
  EXPECT_EQ(write(input_of({a, b})).size(), 2U);
}

// What comes back through the importer is what the table showed before.
TEST_F(NcclJson, ImportedAgainTheNumbersAreTheSame) {
  const std::vector<Record> before = samples::small_run();
  ReportInput after;
  ASSERT_TRUE(read_report_input(write(input_of(before)), after));
  size_t compared = 0;
  for (const Record& old : before) {
    if (old.cell.kind != CellKind::kLatency && old.cell.kind != CellKind::kBandwidth) continue;
    if (old.measurement.outcome != Outcome::kPassed) continue;
    for (const Record& now : after.records) {
      const Cell &a = old.cell, &b = now.cell;
      if (a.kind != b.kind || a.op != b.op || a.ranks != b.ranks || a.bytes != b.bytes ||
          a.placement != b.placement || a.algorithm != b.algorithm) {
        continue;
      }
      ++compared;
      EXPECT_EQ(now.measurement.samples_ns, old.measurement.samples_ns);
      EXPECT_EQ(now.time_ns.p50, old.time_ns.p50);
      EXPECT_EQ(now.time_ns.p50_ci95, old.time_ns.p50_ci95);
      EXPECT_EQ(now.algbw_Bps, old.algbw_Bps);
      EXPECT_EQ(now.busbw_Bps, old.busbw_Bps);
      EXPECT_EQ(now.measurement.wrong, old.measurement.wrong);
      EXPECT_EQ(b.count, a.count);
      EXPECT_EQ(b.dtype, a.dtype);
      EXPECT_EQ(b.redop, a.redop);
      EXPECT_EQ(b.root, a.root);
      EXPECT_EQ(b.engine, "nccl-tests");  // whoever measured, this is a file of that format
    }
  }
  EXPECT_EQ(compared, 25U);
}

// A mean that another tool printed stays one on its way through our files.
TEST_F(NcclJson, WhatWasImportedKeepsItsStatistic) {
  ReportInput input, again;
  ASSERT_TRUE(read_report_input({samples::sample_path("nccl_tests.txt")}, input));
  ASSERT_TRUE(read_report_input(write(input), again));
  ASSERT_EQ(again.records.size(), 5U);
  for (const Record& r : again.records) {
    EXPECT_EQ(r.measurement.reported->statistic, "mean");
    EXPECT_EQ(r.cell.transport, "nccl");
  }
}

TEST_F(NcclJson, HostileNamesStayInTheFolderAndTheTextStaysJson) {
  Record r = samples::hostile(record("latency", "allreduce", "ring", 2, 64, 1000));
  r.cell.op = "../../../etc/passwd";
  r.measurement.resolved.transport = "/x/../y";
  const auto paths = write(input_of({r}));
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(fs::path(paths[0]).parent_path(), folder_);
  EXPECT_EQ(document(paths[0])["results"].size(), 1U);
}

TEST_F(NcclJson, SaysWhenThereIsNothingToWrite) {
  ReportTarget target;
  target.directory = folder_.string();
  const auto written =
      find_report("nccl-json")->write(input_of({record("check", "x", "", 1, 1, 1)}), target);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("none of the 1 records"));
}

}  // namespace
}  // namespace plumbline
