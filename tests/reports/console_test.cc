// The console and the Markdown report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>

#include "reports/report.h"
#include "reports/text.h"
#include "tests/reports/samples.h"
#include "tests/support/golden.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string report(const std::string& name, const ReportInput& input, int width = 0,
                   bool colour = false, const std::string& directory = {}) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  target.width = width;
  target.colour = colour;
  target.directory = directory;
  const auto written = find_report(name)->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  return out.str();
}

ReportInput input_with(std::vector<Record> records) {
  ReportInput input;
  input.records = std::move(records);
  return input;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Everything that came from outside, as bad as it can be.
ReportInput hostile() {
  Record r = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  r.question = "what | is `this`? \x1b[2J # größe 日本\n\n# heading";
  r.scenario = "a|b\r\nc";
  r.cell.dtype = "f|3<b>";
  r.cell.algorithm = "\xFF\xFE\x1b]0;title\x07";
  r.cell.params["x|y"] = "a\nb";
  r.measurement.outcome = Outcome::kError;
  r.measurement.reason = std::string(300, 'x') + " a|b \"quoted\", `code` \n second line";
  r.measurement.cause = "cause\x1b[0m";
  r.environment.hosts[0].hostname = "host\n|evil|";
  r.environment.command = {"plumbline", "run", "```\n$(reboot)"};
  Check check;
  check.reason = "\x1b[31m";
  Finding finding;
  finding.cause = "tcp.port_in_use";
  finding.remedy = "kill | it\n";
  finding.evidence.push_back({"h", "c", "text\twith tab"});
  ReportInput input = input_with({r});
  input.checks = {check};
  input.findings = {finding};
  input.notes = {"line 12 is torn\n| x |"};
  return input;
}

// A command is one line, whatever its words hold: none of them begins a line of its own.
TEST(Markdown, ACommandThatIsToldIsOneLine) {
  Record record = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  record.environment.command = {"plumbline", "run", "a\n$(reboot)\r\x7f\xc2\x85\xe2\x80\xae"};
  const std::string text = report("markdown", input_with({record}));
  EXPECT_THAT(lines_of(text),
              testing::Contains(R"(plumbline run 'a\x0a$(reboot)\x0d\x7f\x85\u202e')"));
}

TEST(Console, Golden) {
  const ReportInput input = input_with(samples::small_run());
  EXPECT_TRUE(equals_golden(report("console", input), "report_console.txt"));
  EXPECT_TRUE(equals_golden(report("console", input, 80), "report_console_80.txt"));
  EXPECT_TRUE(equals_golden(report("markdown", input), "report.md"));
}

TEST(Console, NoLineIsWiderThanTheTerminal) {
  for (const ReportInput& input : {input_with(samples::small_run()), hostile()}) {
    for (const int width : {40, 80, 120, 200}) {
      for (const std::string& line : lines_of(report("console", input, width))) {
        EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
      }
    }
  }
}

TEST(Console, NarrowTablesKeepSizeHeadlineAndVerdict) {
  const std::string text = report("console", input_with(samples::small_run()), 40);
  EXPECT_THAT(text, HasSubstr("INVALID [1]"));
  EXPECT_THAT(text, HasSubstr("ERROR [4]"));
  EXPECT_THAT(text, HasSubstr("Columns without room at 40 characters"));
  EXPECT_THAT(lines_of(text).back(), Not(testing::IsEmpty()));
}

TEST(Console, HostileTextNeitherMovesTheCursorNorBreaksLines) {
  const std::string text = report("console", hostile());
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
  }
  EXPECT_THAT(text, HasSubstr("größe 日本"));
  EXPECT_THAT(text, Not(HasSubstr("\n# heading")));
}

TEST(Console, ColourOnlyWhenAsked) {
  const ReportInput input = input_with(samples::small_run());
  EXPECT_THAT(report("console", input), Not(HasSubstr("\033")));
  EXPECT_THAT(report("console", input, 0, true), HasSubstr("\033[31;1m"));
}

TEST(Console, EmptyInput) {
  EXPECT_EQ(report("console", {}), "= Summary\nno records\n");
  EXPECT_EQ(report("markdown", {}), "# plumbline report\n\n# Summary\n\nno records\n\n");
}

TEST(Console, OnlyErrors) {
  Record error = samples::record("bandwidth", "allreduce", "ring", 2, 64, 1, 0);
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "rank 1 is gone";
  const std::string text = report("console", input_with({error}));
  EXPECT_THAT(text, HasSubstr("ERROR [1]"));
  EXPECT_THAT(text, HasSubstr("[1] error: rank 1 is gone"));
  EXPECT_THAT(text, HasSubstr("\n1 cell: 1 error\n"));
  EXPECT_EQ(lines_of(text).back(), "Verdict: Not sound");
}

TEST(Console, OneRecord) {
  const std::string text =
      report("console", input_with({samples::record("latency", "allreduce", "ring", 2, 8, 9810)}));
  EXPECT_THAT(text, HasSubstr("== allreduce ring, 2 ranks, tcp"));
  EXPECT_THAT(text, HasSubstr("9.81"));
  EXPECT_THAT(text, Not(HasSubstr("in-place")));  // no column without a value
}

TEST(Console, TooFewSamplesSayNotAvailable) {
  const Record few = samples::record("latency", "allreduce", "ring", 2, 8, 9810, 5);
  const Record many = samples::record("latency", "allreduce", "ring", 2, 64, 9810, 2000);
  const std::string text = report("console", input_with({few, many}));
  EXPECT_TRUE(std::regex_search(text, std::regex("n/a +n/a +clean"))) << text;
  EXPECT_THAT(text, HasSubstr("p99"));
}

// A column that no row can fill says nothing.
TEST(Console, AColumnInWhichNoRowHasAnAnswerIsLeftOut) {
  const Record one = samples::record("latency", "allreduce", "ring", 2, 8, 9810, 200);
  const Record two = samples::record("latency", "allreduce", "ring", 2, 64, 9810, 200);
  for (const char* format : {"console", "markdown"}) {
    const std::string text = report(format, input_with({one, two}));
    EXPECT_THAT(text, Not(HasSubstr("p99"))) << format;
    EXPECT_THAT(text, Not(HasSubstr("n/a"))) << format;
    EXPECT_THAT(text, HasSubstr("p50 95% CI")) << format;
  }
}

TEST(Console, WindowTimingShowsItsErrorWhereItMatters) {
  Record r = samples::record("latency", "allreduce", "ring", 2, 64, 100'000, 30);
  r.cell.sync = "window";
  r.measurement.extra = {{kClockError, 4200}, {kLateSamples, 3}};
  EXPECT_THAT(report("console", input_with({r})),
              HasSubstr("sync window +-4.20 us (3 of 33 late)"));
  r.measurement.extra = {{kClockError, 500}, {kLateSamples, 0}};  // half a percent, nothing lost
  EXPECT_THAT(report("console", input_with({r})), HasSubstr("sync window "));
  EXPECT_THAT(report("console", input_with({r})), Not(HasSubstr("+-")));
}

TEST(Console, WrongDataIsNeverShownAsARoofAttained) {
  std::vector<Record> records = samples::roofs();
  Record wrong = samples::record("latency", "allreduce", "ring", 2, 8, 9810);
  wrong.measurement.wrong = 3;
  wrong.measurement.outcome = Outcome::kFailed;
  records.push_back(wrong);
  const std::string text = report("console", input_with(records));
  EXPECT_THAT(text, HasSubstr("INVALID [1]"));
  EXPECT_THAT(text, Not(HasSubstr("of roof  ")));
}

TEST(Console, NoNanWhateverTheRecordHolds) {
  Record odd = samples::throughput("allreduce", "ring", 2, 64, 2, 1000);
  odd.measurement.ops_per_s = std::nan("");
  odd.measurement.bytes_per_s = std::numeric_limits<double>::infinity();
  odd.environment.hosts[0].load1.reset();
  Record none = samples::record("latency", "allreduce", "ring", 2, 64, 0, 0);
  Record zero = samples::record("latency", "allreduce", "ring", 2, 64, 0, 100);
  zero.run_id = "run2";
  std::vector<Record> records = samples::roofs();
  records.insert(records.end(), {odd, none, zero});
  const std::regex bad("\\b(nan|inf)\\b", std::regex::icase);
  for (const char* name : {"console", "markdown", "csv"}) {
    const std::string text = report(name, input_with(records));
    EXPECT_FALSE(std::regex_search(text, bad)) << text;
  }
}

TEST(Console, FailuresOfAHugeCheckAreCutShort) {
  std::vector<Record> records;
  for (int i = 0; i < 80; ++i) {
    Record r = samples::record("check", "allreduce", "ring", 2, 64, 1000, 1);
    r.cell.repeat = i;
    r.measurement.outcome = Outcome::kFailed;
    r.measurement.wrong = 1;
    records.push_back(r);
  }
  EXPECT_THAT(report("console", input_with(records)), HasSubstr("... and 30 more"));
}

TEST(Console, NeedsAnOutputStream) {
  for (const char* name : {"console", "markdown", "csv"}) {
    const auto written = find_report(name)->write({}, {});
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kUsage);
  }
}

TEST(Markdown, HostileTextKeepsTablesAndFences) {
  const std::string text = report("markdown", hostile());
  EXPECT_THAT(text, Not(HasSubstr("\n# heading")));
  EXPECT_THAT(text, HasSubstr("````sh\nplumbline run '```\\x0a$(reboot)'\n````"));
  EXPECT_THAT(text, Not(HasSubstr("<b>")));
  const std::regex bar("(^|[^\\\\])\\|");
  size_t expected = 0;
  for (const std::string& line : lines_of(text)) {
    if (line.empty() || line[0] != '|') {
      expected = 0;
      continue;
    }
    const auto bars =
        static_cast<size_t>(std::distance(std::sregex_iterator(line.begin(), line.end(), bar), {}));
    if (expected) {
      EXPECT_EQ(bars, expected) << line;
    }
    expected = bars;
  }
}

TEST(Markdown, LinksWhatLiesBesideIt) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "plumbline_markdown_links";
  fs::remove_all(folder);
  const ReportInput input = input_with(samples::small_run());
  EXPECT_THAT(report("markdown", input, 0, false, folder.string()), Not(HasSubstr("plots/")));
  fs::create_directories(folder / "plots");
  std::ofstream(folder / "plots" / "latency_allreduce.svg") << "<svg/>";
  std::ofstream(folder / "records.jsonl") << "{}\n";
  const std::string text = report("markdown", input, 0, false, folder.string());
  EXPECT_THAT(text, HasSubstr("](plots/latency_allreduce.svg)"));
  EXPECT_THAT(text, Not(HasSubstr("bandwidth_allreduce_2r.svg")));  // not there, not linked
  EXPECT_THAT(text, HasSubstr("](records.jsonl)"));
  fs::remove_all(folder);
}

TEST(ReportTable, RowsAreCompleteAndFound) {
  for (const ReportRow& row : report_table()) {
    EXPECT_FALSE(row.descriptor.name.empty());
    EXPECT_FALSE(row.descriptor.help.empty());
    EXPECT_NE(row.file_name, nullptr);
    EXPECT_NE(row.write, nullptr);
    EXPECT_EQ(find_report(row.descriptor.name), &row);
  }
  EXPECT_EQ(find_report("nothing"), nullptr);
}

}  // namespace
}  // namespace plumbline
