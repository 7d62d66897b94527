// Whatever comes from another tool is named with tool and statistic wherever it is shown: in
// legends, axes, tiles, titles and notes. It was not: means stood as "median of the slowest rank"
// of a series called "auto".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "reports/charts/picture.h"
#include "reports/charts/view_charts.h"
#include "tests/reports/html_scan.h"
#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::input_of;
using samples::report_text;
using samples::sample_path;
using testing::HasSubstr;
using testing::Not;

bool has_gnuplot() { return std::system("command -v gnuplot >/dev/null 2>&1") == 0; }

ReportInput input_of_files(const std::vector<std::string>& names) {
  ReportInput input;
  std::vector<std::string> paths;
  for (const std::string& name : names) paths.push_back(sample_path(name));
  const Status read = read_report_input(paths, input, *parse_assumptions({"ranks=4", "unit=Gb/s"}));
  EXPECT_TRUE(read) << read.error().message();
  return input;
}

// The picture of this name, or one without series.
Picture picture_of(const ReportInput& input, const std::string& name) {
  const View view = make_view(input.records);
  for (const Picture& picture : plan_pictures(view)) {
    if (picture.name == name) return picture;
  }
  ADD_FAILURE() << "no picture " << name;
  return {};
}

std::vector<std::string> labels_of(const Picture& picture) {
  std::vector<std::string> labels;
  for (const Series& series : picture.series) labels.push_back(series.label);
  return labels;
}

TEST(ImportShown, APlotOfMeansSaysMeans) {
  const Picture picture = picture_of(input_of_files({"osu.txt"}), "latency_allreduce_4r");
  EXPECT_THAT(labels_of(picture), testing::ElementsAre("osu (mean over ranks)"));
  const Chart chart = chart_of(picture);
  EXPECT_EQ(chart.y.label, "time per operation, mean over ranks (us)");
  EXPECT_TRUE(chart.always_legend);
  for (const std::string& text : {chart.subtitle, script_text(picture)}) {
    EXPECT_THAT(text, Not(HasSubstr("median")));
    EXPECT_THAT(text, Not(HasSubstr("CI")));
    EXPECT_THAT(text, Not(HasSubstr("sync none")));
    EXPECT_THAT(text, Not(HasSubstr("auto")));
  }
  EXPECT_THAT(script_text(picture), HasSubstr("title 'osu (mean over ranks)'"));
}

TEST(ImportShown, APlotOfOursAndTheirsSaysWhichIsWhich) {
  ReportInput input = input_of_files({"osu.txt", "imb.txt"});
  for (const uint64_t bytes : {4U, 64U, 512U}) {
    input.records.push_back(samples::record("latency", "allreduce", "ring", 4, bytes, 20'000));
  }
  const Picture picture = picture_of(input, "latency_allreduce_4r");
  EXPECT_THAT(labels_of(picture), testing::UnorderedElementsAre("osu (mean over ranks)",
                                                                "imb (mean of the slowest rank)",
                                                                "native (median), ring"));
  EXPECT_EQ(chart_of(picture).y.label, "time per operation, statistic as the legend says (us)");
  EXPECT_THAT(picture.subtitle, HasSubstr("where there are samples"));
}

// Ours alone: as ever.
TEST(ImportShown, OursAloneIsTheMedianOfTheSlowestRank) {
  ReportInput input = input_of(samples::small_run());
  const Chart chart = chart_of(picture_of(input, "latency_allreduce"));
  EXPECT_EQ(chart.y.label, "time per operation, median of the slowest rank (us)");
  EXPECT_FALSE(chart.always_legend);
}

// Every label was "..., import-~".
TEST(ImportShown, SeveralFilesOfOneToolAreToldApart) {
  const Picture picture =
      picture_of(input_of_files({"iperf3_tcp.json", "iperf3_reverse.json", "iperf3_server.json",
                                 "perftest_bw.json", "perftest_bw.txt", "osu.txt"}),
                 "bandwidth_stream_2r");
  const std::vector<std::string> labels = labels_of(picture);
  EXPECT_THAT(labels, testing::Contains("osu (mean)"));
  EXPECT_THAT(labels, testing::Contains(HasSubstr("iperf3 (mean over the test), streams=2")));
  const std::set<std::string> different(labels.begin(), labels.end());
  EXPECT_EQ(different.size(), labels.size());
  for (const std::string& label : labels) EXPECT_THAT(label, Not(HasSubstr("~")));
}

// The roofs were looked up for the first record, whosever it was.
TEST(ImportShown, TheRoofOfOurRunIsDrawnWhateverComesFirst) {
  ReportInput input = input_of_files({"osu.txt"});
  for (Record& record : samples::roofs()) input.records.push_back(std::move(record));
  input.records.push_back(samples::record("bandwidth", "stream", "direct", 2, 1 << 20, 400'000));
  EXPECT_EQ(picture_of(input, "bandwidth_stream_2r").guides.size(), 1U);
  EXPECT_TRUE(picture_of(input_of_files({"osu.txt"}), "bandwidth_stream_2r").guides.empty());
}

TEST(ImportShown, ThePageNamesToolAndStatistic) {
  const std::string page = report_text("html", input_of_files({"osu.txt"}));
  const samples::HtmlScan scan = samples::scan_html(page);
  EXPECT_EQ(scan.error, "");
  EXPECT_THAT(page, HasSubstr("<h1>Results of osu</h1>"));
  EXPECT_THAT(page, HasSubstr("<dt>Lowest latency, osu (mean"));
  EXPECT_THAT(page, HasSubstr("<dt>Highest bus bandwidth, osu (mean"));
  EXPECT_THAT(scan.text, Not(HasSubstr("the median over iterations")));
  EXPECT_THAT(scan.text, Not(HasSubstr("floor")));
  EXPECT_THAT(scan.text, Not(HasSubstr("bare socket")));
  EXPECT_THAT(scan.text, Not(HasSubstr("add --seed")));
  EXPECT_THAT(scan.text, HasSubstr("allreduce, 4 ranks, mpi, imported from osu"));
  if (!has_gnuplot()) GTEST_SKIP() << "needs gnuplot";
  EXPECT_THAT(page, HasSubstr("<span>osu (mean over ranks)</span></button>"));
}

// "Highest bus bandwidth 123 GB/s" was NCCL's. Ours comes first where there is any.
TEST(ImportShown, TilesPreferOursAndNameTheirs) {
  ReportInput input = input_of_files({"nccl_tests.txt"});
  EXPECT_THAT(report_text("html", input),
              HasSubstr("<dt>Highest bus bandwidth, nccl-tests (mean)</dt>"));
  input.records.push_back(samples::record("bandwidth", "allreduce", "ring", 2, 1 << 20, 9e8));
  EXPECT_THAT(report_text("html", input), HasSubstr("<dt>Highest bus bandwidth</dt>"));
}

// Above tables without such columns stood what their time and their share of the roof mean.
TEST(ImportShown, LegendsOnlyOfColumnsThatAreThere) {
  const std::string theirs = report_text("console", input_of_files({"iperf3_tcp.json"}));
  EXPECT_THAT(theirs, Not(HasSubstr("time: median")));
  EXPECT_THAT(theirs, Not(HasSubstr("of roof:")));
  EXPECT_THAT(theirs, HasSubstr("busbw = algbw"));
  EXPECT_THAT(theirs, HasSubstr("the note below a table says which tool and statistic"));
  const std::string ours = report_text("console", input_of(samples::small_run()));
  EXPECT_THAT(ours, HasSubstr("time: median over iterations of the slowest rank; of roof:"));
  EXPECT_THAT(ours, Not(HasSubstr("imported")));
}

TEST(ImportShown, NotesNameTheStatisticOfRatesToo) {
  EXPECT_THAT(report_text("markdown", input_of_files({"perftest_bw.txt"})),
              HasSubstr("imported from perftest: the rate is the mean that it printed"));
  EXPECT_THAT(report_text("markdown", input_of_files({"iperf3_bidirectional.json"})),
              HasSubstr("the rate is the mean over the test that it printed; of the slower"));
}

// Lost datagrams were only in `extra`.
TEST(ImportShown, LossOfIperf3IsSaid) {
  ReportInput input = input_of_files({"iperf3_udp.json"});
  input.records.at(0).measurement.extra["lost_datagrams"] = 2;
  EXPECT_THAT(report_text("console", input),
              HasSubstr("lost 2 of 191 datagrams (1.0 %), jitter 7.09 us"));
}

// "Order of the cells: seed 0, plan " of results that no plan of ours made.
TEST(ImportShown, NoSeedAndPlanOfOthers) {
  EXPECT_THAT(report_text("markdown", input_of_files({"gbench.json"})),
              Not(HasSubstr("Order of the cells")));
  EXPECT_THAT(report_text("markdown", input_of(samples::small_run())),
              HasSubstr("Order of the cells: seed "));
}

// "TCP bbr" was the system's default; the connections used reno.
TEST(ImportShown, CongestionControlOfTheConnections) {
  ReportInput input = input_of_files({"iperf3_tcp.json"});
  EXPECT_THAT(report_text("console", input),
              HasSubstr("TCP congestion control of the connections: bbr (iperf3)\n"));
  Record ours = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  ours.measurement.resolved.congestion_control = "reno";
  ours.environment.hosts.resize(1);
  ours.environment.hosts[0].congestion_control = "cubic";
  input.records.push_back(ours);
  for (const char* report : {"console", "markdown", "html"}) {
    EXPECT_THAT(report_text(report, input),
                HasSubstr("of the connections: bbr (iperf3) in 1 cells, reno in 1 cells"))
        << report;
  }
  EXPECT_THAT(report_text("console", input), HasSubstr("TCP default cubic"));
  EXPECT_THAT(report_text("html", input), HasSubstr("TCP by default"));
}

}  // namespace
}  // namespace plumbline
