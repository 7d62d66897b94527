// What Google Benchmark writes.
#include <gtest/gtest.h>

#include <set>

#include "core/json.h"
#include "reports/view.h"
#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::import_of;
using samples::imported;
using samples::sample_path;
using samples::told;

TEST(Import, GoogleBenchmarkRepetitions) {
  const ImportResult out = imported("gbench.json");
  ASSERT_EQ(out.records.size(), 6U);  // three repetitions of two; aggregates are left out
  const nlohmann::json doc = nlohmann::json::parse(samples::file_text(sample_path("gbench.json")));
  std::set<std::string> ids;
  for (size_t i = 0; i < 6; ++i) {
    const Record& r = out.records[i];
    EXPECT_EQ(r.cell.op, "pattern_fill");
    EXPECT_EQ(r.cell.repeat, static_cast<int>(i % 3));
    EXPECT_EQ(told(r).statistic, "mean");
    ids.insert(cell_id(r));
  }
  EXPECT_EQ(ids.size(), 6U);
  EXPECT_EQ(out.records[0].cell.params.at("arguments"), "f32/32KiB");
  EXPECT_EQ(told(out.records[0]).time_ns, doc["benchmarks"][0]["real_time"].get<double>());
  EXPECT_EQ(out.records[0].algbw_Bps, doc["benchmarks"][0]["bytes_per_second"].get<double>());
}

TEST(Import, GoogleBenchmarkNamesUnitsErrorsAndNaN) {
  const auto out = import_of(R"({"context":{"caches":[]},"benchmarks":[
    {"name":"copy/bytes:4096/threads:2","run_type":"iteration","iterations":10,"real_time":1.5,
     "cpu_time":-nan,"time_unit":"ms","bytes_per_second":Infinity},
    {"name":"broken","run_type":"iteration","error_occurred":true,"error_message":"no device",
     "real_time":0,"cpu_time":0,"time_unit":"ns"},
    {"name":"empty","run_type":"iteration","real_time":NaN,"time_unit":"ns"}]})");
  ASSERT_TRUE(out) << out.error().message();
  ASSERT_EQ(out->records.size(), 3U);
  EXPECT_EQ(out->records[0].cell.bytes, 4096U);
  EXPECT_EQ(out->records[0].cell.ranks, 2);
  EXPECT_EQ(told(out->records[0]).time_ns, 1.5e6);
  EXPECT_FALSE(out->records[0].algbw_Bps);  // Infinity is no rate
  EXPECT_FALSE(out->records[0].measurement.extra.contains("cpu_time_ns"));
  EXPECT_EQ(out->records[1].measurement.reason, "no device");
  EXPECT_EQ(out->records[2].measurement.outcome, Outcome::kError);
}

// What kernels_bench writes: a counter of its own says how much of memcpy's rate was attained.
TEST(Import, GoogleBenchmarkCounterOfRoof) {
  const auto out = import_of(R"({"context":{"caches":[]},"benchmarks":[
    {"name":"reduce_sum/type:f32/algorithm:AVX2/bytes:262144/min_time:0.050",
     "run_type":"iteration","real_time":6700,"time_unit":"ns","of_roof":0.9712},
    {"name":"reduce_sum/type:f64/algorithm:AVX2/bytes:262144/min_time:0.050",
     "run_type":"iteration","real_time":6800,"time_unit":"ns","of_roof":-1}]})");
  ASSERT_TRUE(out) << out.error().message();
  ASSERT_EQ(out->records.size(), 2U);
  EXPECT_EQ(out->records[0].cell.dtype, "f32");
  EXPECT_EQ(out->records[0].cell.algorithm, "AVX2");
  const View view = make_view(out->records);
  ASSERT_EQ(view.items.size(), 2U);
  EXPECT_EQ(view.items[0].of_bandwidth, 0.9712);
  EXPECT_EQ(view.items[1].of_bandwidth, std::nullopt);
}

// "/" parts a name, so values hold it as "%2F".
TEST(Import, GoogleBenchmarkNamesHoldEscapedValues) {
  const auto out = import_of(R"({"context":{"caches":[]},"benchmarks":[
    {"name":"copy%3Aall/set:path=a%2Fb&amp;c","run_type":"iteration","real_time":1}]})");
  ASSERT_TRUE(out) << out.error().message();
  ASSERT_EQ(out->records.size(), 1U);
  EXPECT_EQ(out->records[0].cell.op, "copy:all");
  EXPECT_EQ(out->records[0].cell.params.at("path"), "a/b&amp;c");
}

}  // namespace
}  // namespace plumbline
