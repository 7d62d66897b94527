// What a result should have taken, and what limited it: from records alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "core/json.h"
#include "reports/content.h"
#include "reports/report.h"
#include "reports/rules.h"
#include "reports/view.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::record;
using testing::HasSubstr;
using testing::Not;

Record with_cost(Record result, const OperationCost& cost) {
  auto& extra = result.measurement.extra;
  extra[kCostDepth] = cost.depth;
  extra[kCostWire] = cost.wire_bytes;
  extra[kCostReduce] = cost.reduce_bytes;
  extra[kCostCopy] = cost.copy_bytes;
  return result;
}

Record array_roof(const char* op, uint64_t bytes, double ns, const char* cache = "cold") {
  Record roof = record("roof", op, "auto", 2, bytes, ns);
  roof.cell.transport = "tcp";
  roof.cell.cache = cache;
  roof.cell.dtype = std::string(op) == "reduce_kernel" ? "f32" : "u8";
  roof.cell.redop = std::string(op) == "reduce_kernel" ? "sum" : "none";
  return roof;
}

// Both ways 2 GB/s, a reduction 8 GB/s, memcpy 11.2 GB/s, half a round trip 4.9 us.
std::vector<Record> all_roofs() {
  std::vector<Record> records = samples::roofs();
  records.push_back(array_roof("array_duplex", 4 << 20, (4 << 20) / 2.0));
  records.push_back(array_roof("reduce_kernel", 4 << 20, (4 << 20) / 8.0));
  return records;
}

Record result(double ns) {
  return with_cost(record("bandwidth", "allreduce", "ring", 2, 4 << 20, ns),
                   {2, 4 << 20, 2 << 20, 0});
}

View view_of(std::vector<Record>& records, const Record& last) {
  records.push_back(last);
  return make_view(records);
}

PerRank rank_with(double total, double sync, double reduce) {
  PerRank rank;
  rank.split = TimeSplit{10, total, 0, sync, reduce, total - sync - reduce};
  return rank;
}

std::string shown_with_speeds(const char* name, const std::vector<Record>& records, int width = 0) {
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  target.width = width;
  EXPECT_TRUE(find_report(name)->write(input, target)) << name;
  return out.str();
}

TEST(Predictions, FollowFromTheRoofsOfTheRun) {
  std::vector<Record> records = all_roofs();
  const View view = view_of(records, result(3'000'000));
  const Item& item = view.items.back();
  ASSERT_TRUE(item.predicted_ns);
  // 2 x 4.9 us, 4 MiB at 2 GB/s, 2 MiB at 8 GB/s
  EXPECT_NEAR(*item.predicted_ns, 9.8e3 + 2.097e6 + 2.62e5, 2e4);
  EXPECT_EQ(item.limit, Term::kBandwidth);
  EXPECT_NEAR(*item.of_bandwidth, 2.097 / 3, 0.02) << "of the arrays, not of one buffer";
  EXPECT_THAT(item.no_roof, "");
}

// A swap is what a small message of a two-way operation takes; half a round trip does not bound it.
TEST(Predictions, TheLatencyOfATwoWayOperationIsASwap) {
  std::vector<Record> records = all_roofs();
  records.push_back(record("roof", "raw_exchange", "auto", 2, 8, 8'000));
  Record small =
      with_cost(record("latency", "allreduce", "exchange:2", 2, 8, 10'000), {1, 8, 0, 0});
  const View view = view_of(records, small);
  EXPECT_NEAR(*view.items.back().predicted_ns, 8'000, 100);
  EXPECT_EQ(view.items.back().limit, Term::kLatency);
}

TEST(Predictions, WaitingForOneAnotherIsNamedWhereItIsTheMost) {
  Record waits = result(6'000'000);
  waits.measurement.per_rank = {rank_with(8e6, 4e6, 1e5), rank_with(8e6, 4e6, 1e5)};
  std::vector<Record> records = all_roofs();
  const View view = view_of(records, waits);
  EXPECT_EQ(view.items.back().limit, Term::kSync) << "half of 6 ms";
  EXPECT_NEAR(*view.items.back().predicted_ns, 2.37e6, 3e4) << "it is no part of what is predicted";
  // What a message needs to come is nobody's lateness.
  waits.measurement.per_rank = {rank_with(8e6, 1e4, 1e5)};
  records = all_roofs();
  EXPECT_EQ(view_of(records, waits).items.back().limit, Term::kBandwidth);
}

TEST(Predictions, TheKernelIsThatOfTypeReductionAndCache) {
  for (const char* field : {"dtype", "redop", "cache"}) {
    std::vector<Record> records = all_roofs();
    Record other = result(3'000'000);
    if (std::string(field) == "dtype") other.cell.dtype = "f16";
    if (std::string(field) == "redop") other.cell.redop = "max";
    if (std::string(field) == "cache") other.cell.cache = "hot";
    EXPECT_FALSE(view_of(records, other).items.back().predicted_ns) << field;
  }
  // Of other sizes the nearest one does.
  std::vector<Record> records = all_roofs();
  records.push_back(array_roof("reduce_kernel", 4096, 4096 / 40.0));
  const View view = view_of(records, result(3'000'000));
  EXPECT_NEAR(*view.items.back().predicted_ns, 2.37e6, 3e4);
}

TEST(Predictions, NothingIsPredictedWhereNothingIsKnown) {
  std::vector<Record> records = samples::roofs();
  EXPECT_FALSE(view_of(records, record("bandwidth", "allreduce", "ring", 2, 4 << 20, 3e6))
                   .items.back()
                   .predicted_ns)
      << "a record of a version that wrote no costs";
  records = {};
  EXPECT_FALSE(view_of(records, result(3e6)).items.back().predicted_ns) << "no roofs";
  records = samples::roofs();
  EXPECT_FALSE(view_of(records, result(3e6)).items.back().predicted_ns) << "no reduce_kernel";
}

// What a file claims is not believed beyond what can be.
TEST(Predictions, HostileNumbersAreNone) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const char* key : {kCostDepth, kCostWire, kCostReduce, kCostCopy}) {
    for (const double bad : {-1.0, 0.5, 1e300, kInf}) {
      Record hostile = result(3e6);
      hostile.measurement.extra[key] = bad;
      std::vector<Record> records = all_roofs();
      EXPECT_FALSE(view_of(records, hostile).items.back().predicted_ns) << key << " " << bad;
    }
  }
  Record hostile = result(3e6);
  hostile.measurement.per_rank = {rank_with(5e-324, 1e308, 0), rank_with(1e308, 1e308, 1e308)};
  hostile.measurement.per_rank[0].counters.emplace().received_bytes = UINT64_MAX;
  hostile.measurement.per_rank[1].counters = RankCounters{};
  hostile.measurement.per_rank[1].cpu_ns = INT64_MIN;
  std::vector<Record> records = all_roofs();
  const View view = view_of(records, hostile);
  EXPECT_TRUE(view.items.back().limit);
  for (const char* name : {"console", "markdown", "csv", "html", "openmetrics"}) {
    const std::string text = shown_with_speeds(name, records);
    EXPECT_THAT(text, Not(HasSubstr("nan"))) << name;
    EXPECT_THAT(text, Not(HasSubstr(" inf"))) << name;
  }
  // Negative and null parts are no record.
  nlohmann::json json = hostile.measurement;
  for (const nlohmann::json& bad :
       {nlohmann::json(-1.0), nlohmann::json(nullptr), nlohmann::json("1")}) {
    json["per_rank"][0]["split"]["sync"] = bad;
    EXPECT_ANY_THROW(json.get<Measurement>()) << bad;
  }
}

// Without it rows of a list of arrays and of one array looked alike.
TEST(Predictions, RowsOfWorkSayWhatTellsThemApart) {
  Record one = result(3'000'000);
  one.measurement.per_rank = {rank_with(3e6, 1e5, 4e5), rank_with(3e6, 1e5, 4e5)};
  Record list = one;
  list.cell.arrays = 64;
  const auto work_of = [](const std::vector<Record>& records) {
    const std::string text = shown_with_speeds("markdown", records);
    const size_t begin = text.find("# Work");
    return begin == std::string::npos ? text : text.substr(begin);
  };
  EXPECT_THAT(work_of({one, list}), HasSubstr("arrays=64"));
  EXPECT_THAT(work_of({one}), testing::Not(HasSubstr("variant")));
}

TEST(Predictions, StandInEveryReportThatShowsRows) {
  std::vector<Record> records = all_roofs();
  Record full = result(3'000'000);
  full.measurement.per_rank = {rank_with(3e6, 1e5, 4e5), rank_with(3e6, 1e5, 4e5)};
  for (PerRank& rank : full.measurement.per_rank) {
    rank.wire_bytes = 1000;
    rank.cpu_ns = 500;
    rank.counters.emplace().received_bytes = 1000;
    rank.counters->in_place_bytes = 250;
    rank.counters->write_calls = 200;
  }
  records.push_back(full);
  for (const char* name : {"console", "markdown", "html"}) {
    const std::string text = shown_with_speeds(name, records);
    EXPECT_THAT(text, HasSubstr("predicted")) << name;
    EXPECT_THAT(text, HasSubstr("bandwidth")) << name;
  }
  EXPECT_THAT(shown_with_speeds("markdown", records), HasSubstr("# Work"));
  EXPECT_THAT(shown_with_speeds("html", records), HasSubstr("Where the time went"));
  const std::string csv = shown_with_speeds("csv", records);
  for (const char* column : {"predicted_ns", "limit", "time_mean_ns", "peak_bytes_per_s", "errors",
                             "queue_ns", "sync_ns", "network_ns", "reduce_ns", "cpu_ns_per_byte",
                             "received_bytes_all_ranks", "park_full_stalls_all_ranks"}) {
    EXPECT_THAT(csv, HasSubstr(column));
  }
  const View view = make_view(records);
  const Measurement& m = view.items.back().record->measurement;
  EXPECT_DOUBLE_EQ(*cpu_ns_per_byte(m), 0.25);
  EXPECT_EQ(sum_counters(m)->write_calls, 400u);
  EXPECT_NEAR(*peak_Bps(view.items.back()), (4 << 20) / 2.85e6 * 1e9, 1e7);
  EXPECT_NEAR(*mean_ns(view.items.back()), 3.03e6, 3e4);
}

// A narrow terminal keeps what it had.
TEST(Predictions, ANarrowTerminalLosesThemFirst) {
  std::vector<Record> records = all_roofs();
  records.push_back(result(3'000'000));
  const std::string narrow = shown_with_speeds("console", records, 60);
  EXPECT_THAT(narrow, HasSubstr("busbw"));
  std::istringstream lines(narrow);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 60u) << line;
}

TEST(Errors, AreWrongOperationsOrOneForACellThatEndedInOne) {
  Measurement m;
  EXPECT_EQ(errors_of(m), 0u);
  m.extra[kWrongOperations] = 3;
  EXPECT_EQ(errors_of(m), 3u);
  m.extra[kWrongOperations] = -3;
  EXPECT_EQ(errors_of(m), 0u);
  m.outcome = Outcome::kError;
  EXPECT_EQ(errors_of(m), 1u);
}

TEST(MetricsOfMccl, AreMetricsOfRules) {
  for (const char* name :
       {"mean", "p50", "p99", "peak", "errors", "sent", "received", "queue", "sync", "network",
        "reduce", "cpu_per_byte", "calls", "in_place", "of_predicted"}) {
    EXPECT_TRUE(find_metric(name)) << name;
  }
}

}  // namespace
}  // namespace plumbline
