// Measured roofs in plots, and what the page says of how they are drawn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "reports/picture.h"
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
    const uint64_t bytes = kind == std::string("latency") ? 8 : 1 << 20;
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
  EXPECT_THAT(bare, Not(HasSubstr("Dashed: what")));
  const std::string full = report_text("html", input_of(with_roofs({latency, bandwidth})));
  EXPECT_THAT(full, HasSubstr("The floor (dashed) is half"));
  EXPECT_THAT(full, HasSubstr("Dashed: what a bare socket carried"));
}

}  // namespace
}  // namespace plumbline
