#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/record/record.h"
#include "reports/report.h"
#include "reports/text.h"
#include "tests/reports/samples.h"
#include "tests/support/golden.h"

namespace plumbline {
namespace {

std::string csv_of(std::vector<Record> records) {
  std::ostringstream out;
  ReportInput input;
  input.records = std::move(records);
  ReportTarget target;
  target.out = &out;
  EXPECT_TRUE(find_report("csv")->write(input, target));
  return out.str();
}

// A reader that follows RFC 4180, with LF as the end of a line.
std::vector<std::vector<std::string>> parse(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += c;
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',' || c == '\n') {
      row.push_back(std::exchange(field, {}));
      if (c == '\n') rows.push_back(std::exchange(row, {}));
    } else {
      field += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_TRUE(row.empty());
  return rows;
}

std::string value(const std::vector<std::vector<std::string>>& rows, size_t row,
                  const std::string& name) {
  for (size_t c = 0; c < rows[0].size(); ++c) {
    if (rows[0][c] == name) return rows[row][c];
  }
  ADD_FAILURE() << "no column " << name;
  return {};
}

TEST(Csv, Golden) { EXPECT_TRUE(equals_golden(csv_of(samples::small_run()), "report.csv")); }

TEST(Csv, OneRowPerRecordAndNoColumnTwice) {
  const auto rows = parse(csv_of(samples::small_run()));
  EXPECT_EQ(rows.size(), samples::small_run().size() + 1);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(std::set<std::string>(rows[0].begin(), rows[0].end()).size(), rows[0].size());
}

TEST(Csv, HeaderAloneWithoutRecords) { EXPECT_EQ(parse(csv_of({})).size(), 1U); }

TEST(Csv, TextSurvivesButForControlCharacters) {
  Record r = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
  const std::string reason = "a,\"b\"\r\nc\n,,\"\"größe 日本 | x";
  r.measurement.reason = reason;
  r.scenario = "\"";
  r.cell.params = {{"a", "1,2"}, {"b", "\n"}};
  const auto rows = parse(csv_of({r}));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(value(rows, 1, "reason"), clean(reason));
  EXPECT_EQ(value(rows, 1, "scenario"), "\"");
  EXPECT_EQ(value(rows, 1, "params"), "a=1,2;b= ");
}

// A spreadsheet runs what begins like a formula, whoever wrote it.
TEST(Csv, NamesOfARecordAreNoFormulas) {
  for (const std::string& evil :
       {std::string("=cmd|' /C calc'!A0"), std::string("+1+1"), std::string("-1+1"),
        std::string("@SUM(A1)"), std::string("\t=1"), std::string("\r=1"), std::string("\n=1"),
        std::string("\uFF1D1+1"), std::string("\uFF0B1"), std::string("\uFF0D1"),
        std::string("\uFF20x"), std::string("-"), std::string("+1e5e"), std::string("-0x1p3")}) {
    Record r = samples::record("latency", "allreduce", "ring", 2, 64, 1000);
    r.run_id = r.scenario = r.cell.hosts = r.cell.dtype = r.measurement.reason = evil;
    r.measurement.stop_reason = r.measurement.resolved.kernel = r.noise.verdict = evil;
    const auto rows = parse(csv_of({r}));
    ASSERT_EQ(rows.size(), 2U);
    for (const std::string& cell : rows[1]) EXPECT_NE(cell, evil);
    for (const char* name : {"run_id", "scenario", "hosts", "dtype", "reason", "stop_reason"}) {
      EXPECT_EQ(value(rows, 1, name), "'" + clean(evil)) << name;
    }
    EXPECT_EQ(value(rows, 1, "root"), "-1");  // a number stays one
  }
}

TEST(Csv, ValuesAreInTheUnitOfTheHeader) {
  Record r = samples::record("bandwidth", "allreduce", "ring", 4, 4'000'000, 2'000'000);
  PerRank rank;
  rank.cpu_ns = 5;
  rank.retransmits = 2;
  r.measurement.per_rank = {rank, rank};
  const auto rows = parse(csv_of({r}));
  EXPECT_EQ(value(rows, 1, "size_bytes"), "4000000");
  EXPECT_NEAR(std::stod(value(rows, 1, "time_p50_ns")), 2'000'000, 20'000);
  EXPECT_NEAR(std::stod(value(rows, 1, "algbw_bytes_per_s")), 2e9, 3e7);
  EXPECT_NEAR(std::stod(value(rows, 1, "busbw_bytes_per_s")), 3e9, 4e7);
  EXPECT_EQ(value(rows, 1, "cpu_all_ranks_ns"), "10");
  EXPECT_EQ(value(rows, 1, "retransmits_segments"), "4");
  EXPECT_EQ(value(rows, 1, "clock_error_ns"), "");  // without window timing
  r.measurement.extra = {{kClockError, 4200}, {kLateSamples, 0}};
  const auto windows = parse(csv_of({r}));
  EXPECT_EQ(value(windows, 1, "clock_error_ns"), "4200");
  EXPECT_EQ(value(windows, 1, "late_samples"), "0");
}

TEST(Csv, AbsentIsEmptyNotZero) {
  Record r = samples::record("latency", "barrier", "dissemination", 4, 0, 2000, 4);
  r.measurement.wrong.reset();
  const auto rows = parse(csv_of({r}));
  for (const char* name : {"time_p50_ci95_low_ns", "time_p99_ns", "busbw_bytes_per_s",
                           "wrong_elements", "of_latency_roof_ratio", "cpu_all_ranks_ns"}) {
    EXPECT_EQ(value(rows, 1, name), "") << name;
  }
}

template <typename Owner>
void expect_columns(const std::string& header) {
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.column == nullptr) continue;
    EXPECT_NE(header.find(std::string(",") + field.column + ","), std::string::npos)
        << field.column;
  }
}

// What a table of fields calls a column is one.
TEST(Csv, EveryColumnThatATableTellsIsThere) {
  const std::string text = csv_of({});
  const std::string header = "," + text.substr(0, text.find('\n')) + ",";
  expect_columns<Record>(header);
  expect_columns<Cell>(header);
  expect_columns<Measurement>(header);
  expect_columns<Resolved>(header);
  expect_columns<Noise>(header);
  expect_columns<TimeSummary>(header);
}

}  // namespace
}  // namespace plumbline
