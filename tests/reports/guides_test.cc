// Measured roofs in plots, and what the page says of how they are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "reports/charts/picture.h"
#include "tests/reports/exchange_samples.h"
#include "tests/reports/html_scan.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::input_of;
using samples::report_text;
using testing::HasSubstr;
using testing::Not;

bool has_gnuplot() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

std::vector<Record> with_roofs(std::initializer_list<Record> records) {
  std::vector<Record> all = samples::roofs();
  all.insert(all.end(), records);
  return all;
}

Chart only_chart(const std::vector<Record>& records) {
  const View view = make_view(records);
  const std::vector<Picture> pictures = plan_pictures(view);
  EXPECT_EQ(pictures.size(), 1U);
  return pictures.empty() ? Chart{} : chart_of(pictures[0]);
}

// The legend named a roof, and no line was drawn: it went from 1 MiB to 1 MiB.
TEST(Guides, OneSizeHasALineFromEdgeToEdge) {
  for (const char* kind : {"bandwidth", "latency"}) {
    const uint64_t bytes = kind == std::string("latency") ? 8 : 4 << 20;
    const Chart chart =
        only_chart(with_roofs({samples::record(kind, "allreduce", "ring", 2, bytes, 400'000)}));
    ASSERT_EQ(chart.series.size(), 2U) << kind;
    const ChartSeries& guide = chart.series[1];
    EXPECT_EQ(guide.mark, ChartMark::kGuide);
    ASSERT_EQ(guide.points.size(), 2U) << kind;
    EXPECT_EQ(guide.points[0].x, chart.x.low);
    EXPECT_EQ(guide.points[1].x, chart.x.high);
    EXPECT_EQ(guide.points[0].y, guide.points[1].y);
    EXPECT_THAT(chart_script(chart), HasSubstr("lines dt 2"));
  }
}

// A floor that was measured at one size of many is a cross there: nobody knows it elsewhere.
TEST(Guides, AFloorOfOneSizeOfManyIsACross) {
  const std::vector<Record> records =
      with_roofs({samples::record("latency", "allreduce", "ring", 2, 8, 20'000),
                  samples::record("latency", "allreduce", "ring", 2, 4096, 40'000)});
  const Chart chart = only_chart(records);
  ASSERT_EQ(chart.series.size(), 2U);
  EXPECT_EQ(chart.series[1].points.size(), 1U);
  if (!has_gnuplot()) GTEST_SKIP() << "needs gnuplot";
  const std::string page = report_text("html", input_of(records));
  EXPECT_THAT(page, HasSubstr("The floor (a cross) is half the round trip of a bare socket"));
}

TEST(Guides, ThePageSaysDashedOnlyWhereSomethingIsDashed) {
  if (!has_gnuplot()) GTEST_SKIP() << "needs gnuplot";
  const Record latency = samples::record("latency", "allreduce", "ring", 2, 8, 20'000);
  const Record bandwidth = samples::record("bandwidth", "allreduce", "ring", 2, 1 << 20, 400'000);
  const std::string bare = report_text("html", input_of({latency, bandwidth}));
  EXPECT_THAT(bare, Not(HasSubstr("The floor")));
  EXPECT_THAT(bare, Not(HasSubstr("The roof (")));
  const std::string full = report_text("html", input_of(with_roofs({latency, bandwidth})));
  EXPECT_THAT(full, HasSubstr("The floor (dashed) is half"));
  EXPECT_THAT(full, HasSubstr("The roof (a cross) is what a bare socket carried"));
}

// A line went from the least to the largest result, wherever the roof had been measured.
TEST(Guides, TheRoofStandsOnlyAtTheSizesAtWhichItWasMeasured) {
  std::vector<Record> records = with_roofs({});
  for (const uint64_t bytes : {1U << 18, 1U << 20, 4U << 20, 16U << 20}) {
    records.push_back(samples::record("bandwidth", "allreduce", "ring", 2, bytes, 400'000));
  }
  const Chart one = only_chart(records);
  ASSERT_EQ(one.series.size(), 2U);
  ASSERT_EQ(one.series[1].points.size(), 1U);
  EXPECT_EQ(one.series[1].points[0].x, 4 << 20);
  EXPECT_EQ(one.series[1].label, "roof: bare socket, both ways at once, at 4 MiB");
  EXPECT_FALSE(is_joined(one.series[1]));
  EXPECT_THAT(chart_script(one), Not(HasSubstr("dt 2")));
  // Two neighbours are a line, and a third one beyond an unmeasured size is a cross.
  for (const uint64_t bytes : {1U << 18, 16U << 20}) {
    Record roof = samples::record("roof", "raw_duplex", "auto", 2, bytes, 1'300'000);
    roof.cell.transport = "tcp";
    records.push_back(roof);
  }
  const Chart three = only_chart(records);
  const std::vector<ChartPoint>& points = three.series[1].points;
  ASSERT_EQ(points.size(), 3U);
  EXPECT_TRUE(points[1].apart);
  EXPECT_FALSE(points[2].apart);
  EXPECT_TRUE(is_joined(three.series[1]));
  EXPECT_TRUE(has_lonely(three.series[1]));
}

TEST(Guides, AFloorIsNotJoinedOverASizeWithoutOne) {
  std::vector<Record> records = with_roofs({});
  for (const uint64_t bytes : {8U, 4096U, 65536U}) {
    records.push_back(samples::record("latency", "allreduce", "ring", 2, bytes, 60'000));
  }
  const Chart chart = only_chart(records);
  ASSERT_EQ(chart.series.size(), 2U);
  ASSERT_EQ(chart.series[1].points.size(), 2U);  // at 8 B and 64 KiB, not at 4 KiB
  EXPECT_TRUE(chart.series[1].points[1].apart);
  EXPECT_FALSE(is_joined(chart.series[1]));
}

// What bounds two ranks need not bound four.
TEST(Guides, OneForEachNumberOfRanksAndNoMoreThanCanBeToldApart) {
  std::vector<Record> records;
  for (const int ranks : {2, 3, 4, 5}) {
    Record roof = samples::record("roof", "raw_pingpong", "auto", ranks, 8, 1000.0 * ranks);
    roof.cell.transport = "tcp";
    records.push_back(roof);
    records.push_back(samples::record("latency", "allreduce", "ring", ranks, 8, 60'000));
    const Chart chart = only_chart(records);
    const auto results = static_cast<size_t>(ranks - 1);
    ASSERT_EQ(chart.series.size(), results + (ranks < 5 ? results : 1));
    const std::string& label = chart.series.back().label;
    const std::string what = "floor: bare socket, the same messages";
    EXPECT_EQ(label, what + (ranks == 2   ? ""
                             : ranks == 5 ? ", the least of all"
                                          : ", " + std::to_string(ranks) + " ranks"));
  }
}

}  // namespace
}  // namespace plumbline
