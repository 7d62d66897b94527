// What lies beside the records: an old run's page tells the same story as the live one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/file.h"
#include "core/json.h"
#include "reports/doctor.h"
#include "reports/read_input.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

ReportInput read_folder(const TemporaryFolder& folder) {
  ReportInput input;
  read_run_folder(folder.path().string(), input);
  return input;
}

DoctorReport diagnosis() {
  DoctorReport report;
  report.hosts = {"h1", "h2"};
  Check check;
  check.key = "tcp.connect/h1>h2:29600";
  check.id = "tcp.connect";
  check.host = "h1";
  check.peer = "h2";
  check.port = 29600;
  check.outcome = CheckOutcome::kFail;
  check.reason = "refused \"it\"";
  Finding finding;
  finding.cause = "tcp.port_in_use";
  finding.outcome = Severity::kWarn;
  finding.host = "h2";
  finding.port = 29600;
  finding.ports = {29600, 29601};
  finding.confidence = 0.75;
  finding.evidence = {{"h2", check.key, "text"}};
  finding.remedy = Remedy("kill it").say("now");
  finding.explains = {check.key};
  report.checks = {check};
  report.findings = {finding};
  return report;
}

TEST(RunFolder, WhatDoctorWroteComesBack) {
  const TemporaryFolder folder;
  write_text(folder.path() / kDoctorFile, doctor_json(diagnosis()));
  write_text(folder.path() / kScenarioFile, "// mine\n{}\n");
  const std::vector<ChecklistItem> list = {{"item \"one\"", {"host"}, {}},
                                           {"two", {}, {"ab", "cd"}}};
  write_text(folder.path() / kChecklistFile, checklist_json(list));
  const ReportInput input = read_folder(folder);
  EXPECT_TRUE(input.notes.empty());
  DoctorReport again = diagnosis();
  again.checks = input.checks;
  again.findings = input.findings;
  EXPECT_EQ(doctor_json(again), doctor_json(diagnosis()));
  EXPECT_EQ(input.scenario_text, "// mine\n{}\n");
  ASSERT_EQ(input.checklist.size(), 2U);
  EXPECT_EQ(input.checklist[0].item, "item \"one\"");
  EXPECT_EQ(input.checklist[0].probes, std::vector<std::string>{"host"});
  EXPECT_EQ(input.checklist[1].cells, (std::set<std::string>{"ab", "cd"}));
}

TEST(RunFolder, AnEmptyFolderIsNoRemark) {
  const TemporaryFolder folder;
  const ReportInput input = read_folder(folder);
  EXPECT_TRUE(input.notes.empty() && input.checks.empty() && input.scenario_text.empty());
  ReportInput none;
  read_run_folder("/proc/nonexistent/folder", none);
  EXPECT_TRUE(none.notes.empty());
}

TEST(RunFolder, BrokenFilesAreARemarkAndNothingMore) {
  const std::string good = doctor_json(diagnosis());
  std::vector<std::string> broken = {"",
                                     "null",
                                     "[]",
                                     "7",
                                     "{}",
                                     "{\"checks\": 7, \"findings\": []}",
                                     "{\"checks\": [], \"findings\": [7]}",
                                     "{\"checks\": [{\"port\": -1.5e99}], \"findings\": []}",
                                     "{\"checks\": [{\"port\": 65536}], \"findings\": []}",
                                     "{\"checks\": [{\"key\": 1}], \"findings\": []}",
                                     "{\"checks\": [], \"findings\": [{\"ports\": [true]}]}",
                                     "{\"checks\": [], \"findings\": [{\"evidence\": {}}]}",
                                     "{\"checks\": [], \"findings\": [{\"confidence\": \"high\"}]}",
                                     std::string("\xFF\xFE\0{", 4),
                                     std::string(100'000, '[')};
  for (size_t n = 1; n + 2 < good.size(); n += 7) broken.push_back(good.substr(0, n));
  for (const std::string& text : broken) {
    const TemporaryFolder folder;
    write_text(folder.path() / kDoctorFile, text);
    const ReportInput input = read_folder(folder);
    ASSERT_EQ(input.notes.size(), 1U) << text;
    EXPECT_THAT(input.notes[0], HasSubstr("doctor.json: left out"));
    EXPECT_TRUE(input.checks.empty() && input.findings.empty());
  }
}

TEST(RunFolder, UnknownWordsAreNeverAPass) {
  const TemporaryFolder folder;
  write_text(
      folder.path() / kDoctorFile,
      R"({"checks": [{"outcome": "splendid", "new": 1}, {}], "findings": [{"confidence": 7}]})");
  const ReportInput input = read_folder(folder);
  ASSERT_EQ(input.checks.size(), 2U);
  EXPECT_EQ(input.checks[0].outcome, CheckOutcome::kUnknown);
  EXPECT_EQ(input.checks[1].outcome, CheckOutcome::kUnknown);
  EXPECT_EQ(input.findings[0].outcome, Severity::kNote);
  EXPECT_EQ(input.findings[0].confidence, 1);
}

TEST(RunFolder, BrokenChecklistsToo) {
  for (const char* text : {"{}", "[7]", "[{}]", "[{\"item\": 1, \"probes\": [], \"cells\": []}]"}) {
    const TemporaryFolder folder;
    write_text(folder.path() / kChecklistFile, text);
    const ReportInput input = read_folder(folder);
    EXPECT_EQ(input.notes.size(), 1U) << text;
    EXPECT_TRUE(input.checklist.empty());
  }
}

TEST(RunFolder, FoldersAndHugeFilesInTheirPlaceAreOverread) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / kDoctorFile);
  write_text(folder.path() / kScenarioFile, "");
  std::filesystem::resize_file(folder.path() / kScenarioFile, 5 << 20);
  const ReportInput input = read_folder(folder);
  EXPECT_EQ(input.scenario_text, "");
  ASSERT_EQ(input.notes.size(), 1U);
  EXPECT_THAT(input.notes[0], HasSubstr("larger than 4 MiB"));
}

}  // namespace
}  // namespace plumbline
