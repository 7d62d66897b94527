// Importers: how files are recognised, what is refused, and where their results stand. The tools
// have tests of their own (import_iperf3_test.cc ...). Samples named iperf3_* (but _stream) and
// gbench.json are real output of Debian's iperf3 3.12 and of our kernels_bench; the others are
// written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "reports/charts/picture.h"
#include "reports/view.h"
#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using samples::import_of;
using samples::sample_path;
using testing::HasSubstr;

TEST(Import, EverySampleIsRecognisedByItsOwnRowAlone) {
  const std::map<std::string, std::string> rows = {{"iperf3_tcp.json", "iperf3"},
                                                   {"iperf3_udp.json", "iperf3"},
                                                   {"iperf3_bidirectional.json", "iperf3"},
                                                   {"iperf3_reverse.json", "iperf3"},
                                                   {"iperf3_server.json", "iperf3"},
                                                   {"iperf3_refused.json", "iperf3"},
                                                   {"iperf3_stream.jsonl", "iperf3"},
                                                   {"nccl_tests.json", "nccl-tests-json"},
                                                   {"nccl_tests.txt", "nccl-tests"},
                                                   {"gbench.json", "google-benchmark"},
                                                   {"osu.txt", "osu"},
                                                   {"imb.txt", "imb"},
                                                   {"perftest_bw.json", "perftest-json"},
                                                   {"perftest_lat.json", "perftest-json"},
                                                   {"perftest_bw.txt", "perftest"},
                                                   {"perftest_lat.txt", "perftest"}};
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(sample_path(""))) {
    const std::string name = entry.path().filename().string();
    ASSERT_TRUE(rows.contains(name)) << name;
    const std::string text = samples::file_text(entry.path().string());
    for (const ImportRow& row : import_table()) {
      EXPECT_EQ(row.recognise(text), row.descriptor.name == rows.at(name))
          << name << " by " << row.descriptor.name;
    }
    ++files;
  }
  EXPECT_EQ(files, rows.size());
}

TEST(Import, UnknownContentListsTheFormats) {
  const std::string path = testing::TempDir() + "plumbline_import_unknown";
  for (const std::string& text : {std::string("hello\n"), std::string("{\"a\":1}\n"),
                                  std::string("\x7f"
                                              "ELF\0\0",
                                              6),
                                  std::string("<html>")}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto out = import_file(path, {});
    ASSERT_FALSE(out) << text;
    EXPECT_THAT(out.error().message(), HasSubstr(path + ": holds no results"));
    for (const ImportRow& row : import_table()) {
      EXPECT_THAT(out.error().message(), HasSubstr(row.descriptor.help));
    }
  }
  // Our own records, also broken ones, and nothing at all are left to the reader of records.
  Record ours = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  for (const std::string& text :
       {to_line(ours) + "\n", to_line(ours).substr(0, 300), std::string(), std::string("\n\n")}) {
    std::ofstream(path, std::ios::binary) << text;
    const auto out = import_file(path, {});
    ASSERT_TRUE(out) << out.error().message();
    EXPECT_FALSE(*out);
  }
  fs::remove(path);
}

TEST(Import, AssumptionsAreChecked) {
  EXPECT_THAT(parse_assumptions({"size=1"}).error().message(), HasSubstr("ranks, unit, op"));
  for (const char* bad : {"ranks=0", "ranks=", "ranks=4x", "ranks=99999999999999999999", "unit=GB",
                          "op=nothing", "ranks"}) {
    EXPECT_FALSE(parse_assumptions({bad})) << bad;
  }
}

// A result that came in goes through our own record format and out again unchanged.
TEST(Import, RecordsReportAndReaderKeepWhatWasReported) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({sample_path("osu.txt"), sample_path("iperf3_tcp.json")}, input,
                                *parse_assumptions({"ranks=4"})));
  ASSERT_EQ(input.records.size(), 10U);
  const std::string path = testing::TempDir() + "plumbline_imported.jsonl";
  std::ofstream(path) << samples::report_text("records", input);
  std::vector<std::string> warnings;
  const auto again = read_records(path, &warnings);
  fs::remove(path);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  ASSERT_EQ(again->size(), 10U);
  for (size_t i = 0; i < again->size(); ++i) {
    EXPECT_EQ(to_line((*again)[i]), to_line(input.records[i]));
    EXPECT_EQ((*again)[i].algbw_Bps, input.records[i].algbw_Bps);
  }
}

// The purpose of it all: another tool's points beside ours, under its name and statistic.
TEST(Import, StandsInTheSameTableAndPictureAsOurs) {
  ReportInput input;
  ASSERT_TRUE(read_report_input({sample_path("osu.txt")}, input, *parse_assumptions({"ranks=4"})));
  for (const uint64_t bytes : {4U, 64U, 512U}) {
    input.records.push_back(samples::record("latency", "allreduce", "ring", 4, bytes, 20'000));
  }
  const View view = make_view(input.records);
  bool found = false;
  for (const Picture& picture : plan_pictures(view)) {
    if (picture.name != "latency_allreduce_4r") continue;
    ASSERT_EQ(picture.series.size(), 2U);
    std::string labels;
    for (const Series& series : picture.series) labels += series.label + ";";
    EXPECT_THAT(labels, HasSubstr("osu (mean over ranks)"));
    EXPECT_THAT(labels, HasSubstr("native"));
    found = true;
  }
  EXPECT_TRUE(found);
  const std::string text = samples::report_text("console", input);
  EXPECT_THAT(text,
              HasSubstr("imported from osu 7.1: time is the mean over ranks that it printed"));
  EXPECT_THAT(text, HasSubstr("7.93"));
  // Nobody watched the machine: no report says that it was clean.
  ReportInput foreign;
  ASSERT_TRUE(read_report_input({sample_path("imb.txt")}, foreign));
  for (const char* name : {"console", "markdown", "csv", "openmetrics"}) {
    const std::string shown = samples::report_text(name, foreign);
    EXPECT_THAT(shown, HasSubstr("imported")) << name;
    EXPECT_THAT(shown, testing::Not(HasSubstr("clean"))) << name;
  }
}

TEST(Import, TheSameCellTwiceIsARepetition) {
  const std::string table = "# OSU MPI Latency Test v7\n# Size  Latency (us)\n8  1.0\n8  2.0\n";
  const auto out = import_of(table);
  ASSERT_TRUE(out);
  ASSERT_EQ(out->records.size(), 2U);
  EXPECT_EQ(out->records[1].cell.repeat, 1);
  EXPECT_EQ(make_view(out->records).items.size(), 2U);
}

}  // namespace
}  // namespace plumbline
