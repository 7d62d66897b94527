// Tail distributions, boxes per rank, strips and bars as data, and as gnuplot draws them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/charts/picture.h"
#include "reports/charts/view_charts.h"
#include "reports/view.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

// n operations, of which the slowest `slow` took ten times as long.
Record with_tail(int n, int slow) {
  Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000, 0);
  for (int i = 0; i < n; ++i) {
    const int64_t ns = i < slow ? 10'000 + i : 1000 + i % 100;
    record.measurement.samples_ns.push_back(ns);
    record.measurement.hist.add(ns);
  }
  recompute(record);
  return record;
}

TEST(TailCharts, SharesThatTookAtLeastSoLong) {
  const std::vector<Record> records = {with_tail(1000, 20)};
  const View view = make_view(records);
  const std::vector<Chart> charts = tail_charts(view, 8);
  ASSERT_EQ(charts.size(), 1U);
  ASSERT_EQ(charts[0].series.size(), 1U);
  const ChartSeries& series = charts[0].series[0];
  EXPECT_DOUBLE_EQ(series.points.front().y, 1);
  EXPECT_DOUBLE_EQ(series.points.front().x, 1);  // us
  // 2 % took 10 us or longer; of those the last nine are carried by fewer than ten samples.
  const auto at_ten = std::find_if(series.points.begin(), series.points.end(),
                                   [](const ChartPoint& point) { return point.x >= 10; });
  ASSERT_NE(at_ten, series.points.end());
  EXPECT_DOUBLE_EQ(at_ten->y, 0.02);
  ASSERT_FALSE(series.faint.empty());
  EXPECT_LT(series.faint.front().y, 0.01);
  EXPECT_GE(series.points.back().y, 0.01);
  EXPECT_DOUBLE_EQ(series.faint.back().y, 0.001);
  EXPECT_THAT(at_ten->says, HasSubstr("2 % of 1000 operations took 10 us or longer"));
  double before = 2;
  for (const ChartPoint& point : series.points) {
    EXPECT_LT(point.y, before);
    before = point.y;
  }
}

TEST(TailCharts, MoreOperationsThanSamplesComeFromTheHistogram) {
  Record record = with_tail(1000, 20);
  record.measurement.samples_ns.resize(10);
  const std::vector<Record> records = {record};
  const std::vector<Chart> charts = tail_charts(make_view(records), 8);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_NEAR(charts[0].series[0].faint.back().x, 10.019, 0.02);
  EXPECT_LT(charts[0].series[0].faint.back().y, 0.01);  // a bucket holds neighbours
}

TEST(TailCharts, NothingWithoutEnoughOrValidOperations) {
  Record few = with_tail(99, 1);
  Record wrong = with_tail(1000, 1);
  wrong.cell.bytes = 128;
  wrong.measurement.wrong = 1;
  const std::vector<Record> records = {few, wrong};
  EXPECT_TRUE(tail_charts(make_view(records), 8).empty());
  const std::vector<Record> one = {with_tail(1000, 1)};
  EXPECT_TRUE(tail_charts(make_view(one), 0).empty());
}

TEST(TailCharts, BoundedCurvesAndPoints) {
  std::vector<Record> records;
  for (unsigned i = 0; i < 40; ++i) {
    Record record = samples::record("latency", "allreduce", "ring", 2, 64U << (i % 20), 1000, 0);
    record.cell.dtype = i < 20 ? "f32" : "f64";
    for (int k = 1; k <= 5000; ++k) {
      const auto ns = static_cast<int64_t>(std::pow(1.003, k)) + k;
      record.measurement.samples_ns.push_back(ns);
      record.measurement.hist.add(ns);
    }
    records.push_back(record);
  }
  const std::vector<Chart> charts = tail_charts(make_view(records), 8);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_LE(charts[0].series.size(), 5U);
  for (const ChartSeries& series : charts[0].series) {
    EXPECT_LT(series.points.size() + series.faint.size(), 1200U);
  }
}

Record with_ranks(uint64_t bytes, const std::vector<double>& p50) {
  Record record =
      samples::record("latency", "allreduce", "ring", static_cast<int>(p50.size()), bytes, 1000);
  for (size_t rank = 0; rank < p50.size(); ++rank) {
    PerRank one;
    one.rank = static_cast<int>(rank);
    one.host = "host" + std::to_string(rank);
    one.p50 = p50[rank];
    one.cpu_ns = 1000;
    record.measurement.per_rank.push_back(one);
  }
  return record;
}

TEST(RankView, EachRankBesideTheMiddleOne) {
  const std::vector<Record> records = {with_ranks(8, {100, 100, 200}),
                                       with_ranks(64, {50, 100, 400}),
                                       with_ranks(512, {100, 100, 300})};
  const View view = make_view(records);
  const std::vector<RankWorld> worlds = rank_worlds(view);
  ASSERT_EQ(worlds.size(), 1U);
  EXPECT_EQ(worlds[0].cells, 3U);
  EXPECT_EQ(worlds[0].standings[2].p50_ratios, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ(worlds[0].standings[2].slowest_in, 3U);
  EXPECT_EQ(worlds[0].standings[0].fastest_in, 3U);
  EXPECT_EQ(worlds[0].standings[1].cpu_ns, 3000);
  const std::vector<Chart> charts = rank_charts(view, 4);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_THAT(charts[0].says,
              HasSubstr("Longest times: rank 2 on host2, typically 3.000 of the middle"));
  ASSERT_TRUE(charts[0].series[0].points[2].box);
  EXPECT_DOUBLE_EQ((*charts[0].series[0].points[2].box)[1], 2.5);
}

TEST(RankView, OnlyWhereAllRanksDoTheSame) {
  Record rooted = with_ranks(8, {100, 900});
  rooted.cell.op = "broadcast";
  Record missing = with_ranks(64, {100, 900});
  missing.measurement.per_rank[1].p50.reset();
  Record zero = with_ranks(512, {0, 900});
  Record fewer = with_ranks(4096, {100, 900, 100});
  fewer.measurement.per_rank.pop_back();
  const std::vector<Record> records = {rooted, missing, zero, fewer};
  EXPECT_TRUE(rank_worlds(make_view(records)).empty());
}

TEST(StripCharts, TheCellsThatVariedMostInTimeOrder) {
  Record steady = samples::record("latency", "barrier", "dissemination", 2, 0, 1000, 100);
  Record wild = with_tail(100, 3);
  const std::vector<Record> records = {steady, wild};
  const std::vector<Chart> charts = strip_charts(make_view(records), 1);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_THAT(charts[0].title, HasSubstr("allreduce ring"));
  const std::vector<ChartPoint>& dots = charts[0].series[0].points;
  ASSERT_EQ(dots.size(), 100U);
  for (size_t i = 0; i < dots.size(); ++i) {
    EXPECT_DOUBLE_EQ(dots[i].x, static_cast<double>(i + 1));
    EXPECT_DOUBLE_EQ(dots[i].y, static_cast<double>(wild.measurement.samples_ns[i]) / 1e3);
  }
}

// "0.992 .. 1" had decimals that differ.
TEST(RankView, RatiosKeepTheirDecimals) {
  EXPECT_EQ(ratio_text(0.992), "0.992");
  EXPECT_EQ(ratio_text(1), "1.000");
  EXPECT_EQ(ratio_text(12.34), "12.3");
}

TEST(StripCharts, ManyOperationsKeepTheirSpikes) {
  Record record = with_tail(10'000, 0);
  record.measurement.samples_ns[7777] = 5'000'000;
  record.measurement.hist.add(5'000'000);
  const std::vector<Record> records = {record};
  const std::vector<Chart> charts = strip_charts(make_view(records), 4);
  ASSERT_EQ(charts.size(), 1U);
  const std::vector<ChartPoint>& dots = charts[0].series[0].points;
  EXPECT_LE(dots.size(), 401U);
  EXPECT_TRUE(std::any_of(dots.begin(), dots.end(),
                          [](const ChartPoint& dot) { return dot.x == 7778 && dot.y == 5000; }));
  EXPECT_THAT(charts[0].subtitle, HasSubstr("the first 10000 of 10001 operations"));
}

TEST(RoofCharts, TheBestSizeOfEachOperation) {
  const std::vector<Record> records = samples::small_run();
  const View view = make_view(records);
  const std::vector<Chart> charts = roof_charts(view, 1);
  ASSERT_EQ(charts.size(), 1U);
  EXPECT_EQ(charts[0].series[0].points.size(), 2U);
  EXPECT_GE(charts[0].series[0].points[0].x, charts[0].series[0].points[1].x);
  EXPECT_THAT(charts[0].y.tics[0].label, HasSubstr("2 ranks"));
}

// The quickstart measures allreduce over TCP and through shared memory: two bars had one name.
TEST(RoofCharts, OneOperationOverTwoTransportsIsTwoNames) {
  std::vector<Record> records;
  for (Record record : samples::small_run()) {
    for (const char* transport : {"tcp", "shm"}) {
      record.cell.transport = record.measurement.resolved.transport = transport;
      records.push_back(record);
    }
  }
  const View view = make_view(records);
  const std::vector<Chart> charts = roof_charts(view, 1);
  ASSERT_EQ(charts.size(), 1U);
  std::set<std::string> labels;
  for (const ChartTic& tic : charts[0].y.tics) labels.insert(tic.label);
  EXPECT_EQ(labels.size(), 4U);
  EXPECT_THAT(labels, testing::Contains(testing::EndsWith("2 ranks, shm")));
}

TEST(PlotCharts, NamesDifferAndAreFileNames) {
  std::vector<Record> records;
  for (const char* op : {"a/b", "a b", "a;b"}) {
    Record record = with_tail(1000, 5);
    record.cell.op = op;
    records.push_back(record);
  }
  std::set<std::string> names;
  for (const Chart& chart : plot_charts(make_view(records))) {
    EXPECT_TRUE(names.insert(chart.name).second) << chart.name;
    EXPECT_EQ(chart.name.find_first_not_of(
                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
              std::string::npos)
        << chart.name;
  }
  EXPECT_GE(names.size(), 9U);
}

TEST(Charts, PixelsAreWhereTheFrameSays) {
  Chart chart;
  chart.x = {"", "", ChartAxis::Scale::kLog10, 1, 100, {}};
  chart.y = {"", "", ChartAxis::Scale::kLinear, 0, 10, {}};
  chart.series.resize(1);
  const ChartFrame frame{100, 200, 0.1, 0.9, 0.2, 0.8};
  const auto [x, y] = pixel_of(chart, frame, {10, 5, {}, {}, {}});
  EXPECT_NEAR(x, 50, 1e-9);
  EXPECT_NEAR(y, 100, 1e-9);
}

TEST(Charts, HostileLabelsAreOneLiteral) {
  Chart chart;
  chart.name = "x";
  chart.title = "'\n!touch /tmp/evil\n\"`id`";
  chart.x =
      chart.y = {"'; system('id'); '", "c", ChartAxis::Scale::kLinear, 0, 1, {{0.5, "'\nexit\n'"}}};
  chart.series = {{"'\n!id", ChartMark::kLine, {{0, 0, {}, {}, {}}}, {}}};
  for (const std::string& script :
       {chart_script(chart), inline_script(chart, {}, "/tmp/a'b\n!id")}) {
    EXPECT_THAT(script, Not(HasSubstr("\n!")));
    EXPECT_THAT(script, Not(HasSubstr("\nexit")));
  }
  EXPECT_THAT(chart_data(chart), Not(HasSubstr("\n!")));
  EXPECT_EQ(gnuplot_literal("a'b\n\x1b`$x`\xE2\x80\xAE"), "'a''b \\x1b`$x`\\u202e'");
}

TEST(Charts, HugeAndTinyNumbersHaveBoundedTics) {
  EXPECT_LE(power_tics(1, 1.8446744073709552e19, [](double) { return std::string("x"); }).size(),
            20U);
  EXPECT_LE(decade_tics(1e-300, 1e300).size(), 700U);
  EXPECT_LE(linear_tics(0, 1e300).size(), 12U);
  EXPECT_TRUE(linear_tics(5, 5).empty());
  Record record = samples::record("latency", "barrier", "ring", 2, 0, 1000);
  Record many = record;
  many.cell.ranks = 2'000'000'000;
  const std::vector<Record> records = {record, many};
  const View view = make_view(records);
  for (const Picture& picture : plan_pictures(view))
    EXPECT_LE(chart_of(picture).x.tics.size(), 64U);
}

}  // namespace
}  // namespace plumbline
