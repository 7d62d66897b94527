// Nothing in a record, a check or a finding steers the terminal, or turns the writing, of whoever
// reads a report: every row of the table of reports is fed hostile strings in every field that
// holds one, and its bytes are looked at.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "reports/compare/compare.h"
#include "reports/doctor.h"
#include "reports/report.h"
#include "reports/soak/soak_data.h"
#include "tests/reports/link_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// C0 with ESC, DEL, C1 as UTF-8, and what turns the direction of writing.
const std::string kEvil =
    "e\x01\x07\x08\x0c\r\n\x1b[2J\x1b]0;t\x07\x7f\xC2\x85\xC2\x9B"
    "31m\xD8\x9C\xE2\x80\x8E\xE2\x80\x8F"
    "\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xE2\x80\xAE\xE2\x81\xA6\xE2\x81\xA9z";

// Calls `use` with every text of the value, as deep as it lies.
void each_text(json& value, const std::function<void(json&)>& use) {
  if (value.is_string()) return use(value);
  if (!value.is_structured()) return;
  for (json& inner : value) each_text(inner, use);
}

// Every text of the record that may be anything is hostile; kinds, outcomes and the like, which the
// reader checks, stay.
Record spoilt(const Record& record) {
  json whole = json::parse(to_line(record));
  size_t spoilt = 0;
  each_text(whole, [&](json& text) {
    const json before = text;
    text = before.get<std::string>() + kEvil;
    const bool readable = record_from_line(whole.dump()).has_value();
    spoilt += readable ? 1 : 0;
    if (!readable) text = before;
  });
  EXPECT_GT(spoilt, 15u);
  // What reports choose their tables by stays as it is, so that something lands in them.
  if (whole["cell"].contains("measure")) whole["cell"]["measure"] = record.cell.measure;
  whole["cell"]["params"][kEvil] = kEvil;
  whole["environment"]["options"][kEvil] = {{"value", kEvil}, {"origin", kEvil}};
  const auto read = record_from_line(whole.dump());
  EXPECT_TRUE(read) << read.error().message();
  return read ? *read : record;
}

ReportInput hostile_input() {
  ReportInput input;
  std::vector<Record> records = samples::small_run();
  for (const char* measure : {"latency", "stream", "duplex", "udp"}) {
    records.push_back(samples::link_record(measure, 3));
  }
  for (size_t i = 0; i < records.size(); ++i) {
    Record record = spoilt(records[i]);
    record.measurement.reason += kEvil;
    record.noise.causes.push_back(kEvil);
    for (LinkResult& link : record.measurement.links) {
      if (link.to == 0)
        link.error = link.cause = link.skipped = "";  // an error leaves no numbers to show
    }
    input.records.push_back(std::move(record));
  }
  for (const CheckOutcome outcome : {CheckOutcome::kFail, CheckOutcome::kWarn, CheckOutcome::kPass,
                                     CheckOutcome::kSkipped, CheckOutcome::kUnknown}) {
    const std::string key = kEvil + "/" + std::to_string(static_cast<int>(outcome));
    input.checks.push_back({key, kEvil, kEvil, kEvil, 1, "", outcome, kEvil});
  }
  for (const Severity severity : {Severity::kFail, Severity::kWarn, Severity::kNote}) {
    Finding finding;
    finding.cause = finding.host = finding.peer = kEvil;
    finding.remedy = "rm " + kEvil + "\n" + kEvil;
    finding.outcome = severity;
    finding.evidence = {{kEvil, kEvil, kEvil}};
    finding.explains = {kEvil};
    input.findings.push_back(finding);
  }
  input.checklist = {{kEvil, {kEvil}, {}}, {kEvil, {}, {kEvil}}};
  input.rules = {{kEvil, kEvil, false, kEvil, {}, {}, kEvil},
                 {kEvil, kEvil, true, kEvil, {}, {}, kEvil}};
  input.rule_sources = input.notes = input.incomplete = {kEvil};
  input.scenario_text = kEvil;
  SoakCollector collector;
  for (int64_t round = 1; round <= 3; ++round) {
    Record record = input.records.front();
    record.soak = SoakMark{round, round * 1'000'000'000, 0, 20u << 20};
    static_cast<void>(collector.take(record));
    SoakEvent event;
    event.run_id = record.run_id;
    event.host = event.kind = event.subject = event.text = event.time = kEvil;
    event.round = round;
    collector.take(event);
  }
  input.soaks = collector.finish();
  return input;
}

// The first character that a reader's terminal would obey, with where it is; "" when there is none.
// Newlines, and tabs where a format has them, are the report's own.
std::string control_in(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = code_point(text, i);
    const bool own = text[i] == '\n' || text[i] == '\t';
    const bool c1 = !point.valid && (static_cast<unsigned char>(text[i]) & 0xE0U) == 0x80U;
    if (!own && (c1 || (point.valid && is_control(point.value)))) {
      return "character " + std::to_string(point.value) +
             " in: " + printable(text.substr(i < 60 ? 0 : i - 60, 120));
    }
    i += point.bytes;
  }
  return {};
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ControlCharacters, NoReportLetsOneThrough) {
  const ReportInput input = hostile_input();
  for (const ReportRow& row : report_table()) {
    SCOPED_TRACE(row.descriptor.name);
    const TemporaryFolder folder;
    std::ostringstream out;
    ReportTarget target;
    target.out = &out;
    target.directory = folder.path().string();
    target.width = row.descriptor.name == "terminal" ? 100 : 0;
    const auto written = row.write(input, target);
    if (!written) {
      ASSERT_EQ(written.error().code, ErrorCode::kUnsupported) << written.error().message();
      continue;
    }
    EXPECT_EQ(control_in(out.str()), "");
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      ASSERT_EQ(control_in(entry.path().filename().string()), "");
      if (!entry.is_regular_file() || entry.path().extension() == ".png") continue;
      ++files;
      EXPECT_EQ(control_in(bytes_of(entry.path())), "") << entry.path().filename();
    }
    EXPECT_TRUE(files > 0 || !out.str().empty());
    for (const std::string& path : *written) EXPECT_TRUE(fs::exists(path)) << path;
  }
}

TEST(ControlCharacters, DoctorPrintsNone) {
  const ReportInput input = hostile_input();
  DoctorReport report = {{kEvil, "h"}, input.checks, input.findings, {kEvil}};
  for (int i = 0; i < 9; ++i) report.checks.push_back(input.checks.front());
  for (const int width : {0, 40, 120}) {
    for (const bool all : {false, true}) {
      EXPECT_EQ(control_in(doctor_text(report, width, false, all)), "");
    }
  }
  EXPECT_EQ(control_in(doctor_json(report)), "");
  EXPECT_EQ(control_in(doctor_fix_plan(report)), "");
  const json parsed = json::parse(doctor_json(report));
  EXPECT_EQ(parsed.at("hosts").at(0), kEvil);  // escaped, not lost
}

TEST(ControlCharacters, AComparisonHasNone) {
  CompareCollector collector(CompareRule{});
  for (const Record& record : hostile_input().records) {
    collector.take(0, record);
    collector.take(1, record);
  }
  Comparison comparison = collector.finish();
  comparison.name_a = comparison.name_b = kEvil;
  comparison.notes = {kEvil};
  std::ostringstream text, markdown;
  render_text(compare_document(comparison), 100, false, text);
  render_markdown(compare_document(comparison), markdown);
  EXPECT_EQ(control_in(text.str()), "");
  EXPECT_EQ(control_in(markdown.str()), "");
  EXPECT_EQ(control_in(compare_json(comparison)), "");
  EXPECT_EQ(control_in(compare_plot_data(comparison) + compare_plot_script(comparison, "x")), "");
}

}  // namespace
}  // namespace plumbline
