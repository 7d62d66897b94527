// The gbench-json report: entries as compare.py of Google Benchmark wants them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/json.h"
#include "core/record/record.h"
#include "tests/reports/exchange_samples.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using nlohmann::json;
using samples::input_of;
using samples::record;
using samples::report_text;

json document(const ReportInput& input) { return json::parse(report_text("gbench-json", input)); }

// Launches of a cell, as repetitions or as runs of their own, are repetitions of one benchmark.
TEST(GbenchJson, OneIterationEntryForEachLaunch) {
  std::vector<Record> records;
  for (int i = 0; i < 3; ++i) {
    Record r = record("latency", "allreduce", "ring", 2, 64, 1000.0 + 100 * i);
    r.cell.repeat = i;
    records.push_back(r);
    r.run_id = "run2";
    records.push_back(r);
  }
  records.push_back(record("latency", "allreduce", "ring", 2, 128, 2000));
  const json doc = document(input_of(records));
  ASSERT_EQ(doc["benchmarks"].size(), 7U);
  std::set<int> indices;
  for (int i = 0; i < 6; ++i) {
    const json& entry = doc["benchmarks"][static_cast<size_t>(i)];
    EXPECT_EQ(entry["name"], doc["benchmarks"][0]["name"]);
    EXPECT_EQ(entry["run_name"], entry["name"]);
    EXPECT_EQ(entry["run_type"], "iteration");
    EXPECT_EQ(entry["repetitions"], 6);
    indices.insert(entry["repetition_index"].get<int>());
    EXPECT_EQ(entry["time_unit"], "ns");
    EXPECT_TRUE(entry["real_time"].is_number());
    EXPECT_TRUE(entry["cpu_time"].is_number());
  }
  EXPECT_EQ(indices.size(), 6U);
  EXPECT_NE(doc["benchmarks"][6]["name"], doc["benchmarks"][0]["name"]);
}

TEST(GbenchJson, TimeIsTheMedianAndCpuTimeThatOfARank) {
  Record r = record("latency", "allreduce", "ring", 2, 64, 1000, 100);
  PerRank rank;
  rank.cpu_ns = 50'000;
  r.measurement.per_rank = {rank, rank};
  const json entry = document(input_of({r}))["benchmarks"][0];
  EXPECT_EQ(entry["real_time"], *r.time_ns.p50);
  EXPECT_EQ(entry["cpu_time"], 500.0);
  EXPECT_EQ(entry["iterations"], 100);
  EXPECT_EQ(entry["bytes_per_second"], *r.algbw_Bps);
}

// Processor time goes to operations that are not timed, too.
TEST(GbenchJson, CpuTimeIsThatOfAllMeasuredOperations) {
  Record r = record("latency", "allreduce", "ring", 2, 64, 1000, 100);
  PerRank rank;
  rank.cpu_ns = 50'000;
  r.measurement.per_rank = {rank, rank};
  r.measurement.extra[kMeasuredOperations] = 200;
  EXPECT_EQ(document(input_of({r}))["benchmarks"][0]["cpu_time"], 250.0);
  for (const double damaged : {-1.0, 0.0, 0.5, 1e300}) {
    r.measurement.extra[kMeasuredOperations] = damaged;
    EXPECT_EQ(document(input_of({r}))["benchmarks"][0]["cpu_time"], 500.0) << damaged;
  }
}

// compare.py would take a time of 0 for a result.
TEST(GbenchJson, FailedCellsAreNoEntries) {
  const json doc = document(input_of(samples::small_run()));
  for (const json& entry : doc["benchmarks"]) {
    EXPECT_GT(entry["real_time"].get<double>(), 0) << entry["name"];
    EXPECT_EQ(entry["name"].get<std::string>().find("kind:check"), std::string::npos);
  }
  EXPECT_EQ(doc["context"]["plumbline_failed"].size(), 3U);
  EXPECT_TRUE(document(input_of({samples::link_record("stream", 3)}))["benchmarks"].empty());
}

TEST(GbenchJson, ImportedAgainTheNumbersAreTheSame) {
  const std::vector<Record> before = samples::small_run();
  const json doc = document(input_of(before));
  const auto after = samples::import_of(report_text("gbench-json", input_of(before)));
  ASSERT_TRUE(after) << after.error().message();
  ASSERT_EQ(after->records.size(), doc["benchmarks"].size());
  const auto key = [](const Cell& cell) {
    return to_string(cell.kind) + cell.op + cell.algorithm + cell.placement + cell.dtype +
           std::to_string(cell.ranks) + "/" + std::to_string(cell.bytes) + "/" +
           std::to_string(cell.outstanding) + "/" + std::to_string(cell.count);
  };
  std::map<std::string, const Record*> by_cell;
  for (const Record& now : after->records) by_cell[key(now.cell)] = &now;
  size_t compared = 0;
  for (const Record& old : before) {
    const auto found = by_cell.find(key(old.cell));
    if (old.cell.kind == CellKind::kCheck || old.measurement.outcome != Outcome::kPassed) continue;
    if (old.cell.kind == CellKind::kRoof) continue;  // has no count by the operation table
    ASSERT_NE(found, by_cell.end()) << key(old.cell);
    EXPECT_EQ(found->second->measurement.reported->time_ns, old.time_ns.p50);
    EXPECT_EQ(found->second->measurement.reported->statistic, "median");
    EXPECT_EQ(found->second->algbw_Bps, old.algbw_Bps);
    EXPECT_EQ(found->second->busbw_Bps, old.busbw_Bps);
    ++compared;
  }
  EXPECT_EQ(compared, 28U);
}

// A mean that another tool printed stays one on its way through our files.
TEST(GbenchJson, WhatWasImportedKeepsItsStatistic) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({samples::sample_path("nccl_tests.txt")}, input));
  const auto again = samples::import_of(report_text("gbench-json", input));
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_EQ(again->records.size(), 5U);
  for (const Record& r : again->records) EXPECT_EQ(r.measurement.reported->statistic, "mean");
}

TEST(GbenchJson, ListsOfArraysAndGroupsStayApart) {
  Record one = record("latency", "allreduce", "ring", 2, 4096, 1000), list = one;
  list.cell.arrays = 64;
  Record groups = record("latency", "allreduce", "ring", 4, 4096, 1000);
  groups.cell.split = "mod:2";
  const auto again = samples::import_of(report_text("gbench-json", input_of({one, list, groups})));
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_EQ(again->records.size(), 3U);
  EXPECT_EQ(again->records[2].cell.split, "mod:2");
  EXPECT_EQ(again->records[0].cell.arrays, 1);
  EXPECT_EQ(again->records[1].cell.arrays, 64);
}

TEST(GbenchJson, HostileNamesStayJsonAndApart) {
  Record a = samples::hostile(record("latency", "allreduce", "ring", 2, 64, 1000));
  Record b = a;
  a.cell.params = {{"x", "1/bytes:2"}};
  b.cell.params = {{"x", "1"}, {"y", "/"}};
  const json doc = document(input_of({a, b}));
  ASSERT_EQ(doc["benchmarks"].size(), 2U);
  EXPECT_NE(doc["benchmarks"][0]["name"], doc["benchmarks"][1]["name"]);
}

}  // namespace
}  // namespace plumbline
