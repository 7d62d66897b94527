// The checklist of a scenario: every item with what decided it, never better than its worst part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "reports/content.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Check checked(const std::string& id, const std::string& host, CheckOutcome outcome,
              const std::string& reason) {
  Check out;
  out.id = id;
  out.key = id + "/" + host;
  out.host = host;
  out.outcome = outcome;
  out.reason = reason;
  return out;
}

std::string line_of(const ReportInput& input) {
  Document document;
  const View view = make_view(input.records);
  add_checklist(input, view, document);
  EXPECT_EQ(document.blocks.size(), 2u);  // the heading and one item
  return document.blocks.back().text;
}

ReportInput probed(const std::vector<Check>& checks) {
  ReportInput input;
  input.checks = checks;
  input.checklist = {{"The bridge is up", {"link"}, {}}};
  return input;
}

TEST(Checklist, NothingWithoutOne) {
  Document document;
  const ReportInput input;
  add_checklist(input, make_view({}), document);
  EXPECT_TRUE(document.blocks.empty());
}

TEST(Checklist, AnItemIsAsGoodAsItsWorstCheck) {
  const Check good = checked("link", "a", CheckOutcome::kPass, "up");
  const Check other = checked("ip", "a", CheckOutcome::kFail, "not this item's");
  const Check skipped = checked("link", "b", CheckOutcome::kSkipped, "both ends are this machine");
  const Check unknown = checked("link", "c", CheckOutcome::kUnknown, "not asked");
  const Check warning = checked("link", "d", CheckOutcome::kWarn, "errors are counted");
  const Check broken = checked("link", "e", CheckOutcome::kFail, "no carrier");
  EXPECT_EQ(line_of(probed({good, other})), "[ ok ] The bridge is up: 1 check: 1 pass");
  EXPECT_THAT(line_of(probed({good, skipped, unknown})), StartsWith("[ ok ]"));
  EXPECT_THAT(line_of(probed({good, skipped, unknown})), HasSubstr("1 skipped, 1 unknown"));
  EXPECT_THAT(line_of(probed({skipped})), StartsWith("[skip]"));
  EXPECT_THAT(line_of(probed({unknown})), StartsWith("[ -- ]"));
  EXPECT_THAT(line_of(probed({good, warning})), StartsWith("[warn]"));
  EXPECT_THAT(line_of(probed({good, warning, broken})), StartsWith("[FAIL]"));
  EXPECT_THAT(line_of(probed({good, warning, broken})), HasSubstr("link/e: no carrier"));
}

TEST(Checklist, WithoutAnyCheckItIsNotTicked) {
  EXPECT_EQ(line_of(probed({})),
            "[ -- ] The bridge is up: not checked: link (nothing was probed); plumbline doctor "
            "--hosts HOSTS.json --only link checks it");
  EXPECT_THAT(line_of(probed({checked("ip", "a", CheckOutcome::kPass, "")})), StartsWith("[skip]"));
}

// "SSH keys: ok" stood on the list of a run that had used no ssh.
TEST(Checklist, WhatWasNotLookedAtIsNotTicked) {
  ReportInput input;
  input.checks = {checked("ssh", "a", CheckOutcome::kSkipped, "it was reached without ssh"),
                  checked("launch", "a", CheckOutcome::kPass, "an agent answers")};
  input.checklist = {{"SSH keys", {"ssh"}, {}}};
  EXPECT_EQ(line_of(input),
            "[skip] SSH keys: not checked: ssh (ssh/a: it was reached without ssh); plumbline "
            "doctor --hosts HOSTS.json --only ssh checks it");
  // Nor does what another probe saw tick it.
  for (const CheckOutcome outcome : {CheckOutcome::kSkipped, CheckOutcome::kUnknown}) {
    input.checks[0].outcome = outcome;
    input.checklist = {{"SSH and the same plumbline", {"ssh", "launch"}, {}}};
    const std::string line = line_of(input);
    EXPECT_THAT(line, StartsWith("[part]"));
    EXPECT_THAT(line, HasSubstr("1 pass"));
    EXPECT_THAT(line, HasSubstr("not checked: ssh (ssh/a: it was reached without ssh)"));
  }
  // What is wrong is worse than what nobody looked at.
  input.checks[1].outcome = CheckOutcome::kFail;
  EXPECT_THAT(line_of(input), StartsWith("[FAIL]"));
  EXPECT_THAT(line_of(input), HasSubstr("not checked: ssh"));
  input.checks[0].outcome = input.checks[1].outcome = CheckOutcome::kPass;
  EXPECT_THAT(line_of(input), StartsWith("[ ok ]"));
}

TEST(Checklist, SkippedCellsAreNotChecked) {
  ReportInput input;
  Record record = samples::record("check", "allreduce", "ring", 2, 64, 1000);
  record.measurement.outcome = Outcome::kSkipped;
  record.measurement.reason = "leaves of a star";
  input.records = {record};
  input.checklist = {{"Sums are right", {}, {cell_id(record.cell)}}};
  EXPECT_THAT(line_of(input), StartsWith("[skip]"));
  EXPECT_THAT(line_of(input), HasSubstr("not checked"));
}

TEST(Checklist, ACheckThatAWarningExplainsIsAWarning) {
  ReportInput input = probed({checked("link", "e", CheckOutcome::kFail, "slow")});
  Finding finding;
  finding.cause = "link.speed";
  finding.outcome = Severity::kWarn;
  finding.explains = {"link/e"};
  input.findings = {finding};
  EXPECT_THAT(line_of(input), StartsWith("[warn]"));
  input.findings[0].outcome = Severity::kNote;
  EXPECT_THAT(line_of(input), StartsWith("[note]"));
}

TEST(Checklist, NumbersAreThoseOfCleanCells) {
  Record clean = samples::record("latency", "allreduce", "ring", 2, 64, 30'000);
  Record noisy = samples::record("latency", "allreduce", "ring", 2, 128, 10'000);
  noisy.noise = {"noisy", {"load"}};
  ReportInput input;
  input.records = {clean, noisy};
  input.checklist = {{"Latency", {}, {cell_id(clean.cell), cell_id(noisy.cell)}}};
  EXPECT_THAT(line_of(input), HasSubstr("at 64 B"));
  EXPECT_THAT(line_of(input), Not(HasSubstr("noisy")));
}

TEST(Checklist, AFailureNamesItsCauseAndRemedy) {
  ReportInput input = probed({checked("link", "e", CheckOutcome::kFail, "no carrier")});
  Finding finding;
  finding.cause = "link.no_carrier";
  finding.remedy = "plug the cable in";
  finding.evidence = {{"e", "link/e", "no carrier"}};
  input.findings = {finding};
  EXPECT_THAT(line_of(input), HasSubstr("link.no_carrier: plug the cable in"));
}

ReportInput measured(const std::vector<Record>& records, size_t planned) {
  ReportInput input;
  input.records = records;
  ChecklistItem item{"Bandwidth", {}, {}};
  for (const Record& record : records) item.cells.insert(cell_id(record.cell));
  while (item.cells.size() < planned) item.cells.insert(std::to_string(item.cells.size()));
  input.checklist = {item};
  return input;
}

TEST(Checklist, CellsTellTheirBestNumbers) {
  const Record small = samples::record("bandwidth", "allreduce", "ring", 2, 1 << 20, 1e6);
  const Record large = samples::record("bandwidth", "allreduce", "ring", 2, 16 << 20, 4e6);
  const std::string line = line_of(measured({small, large}, 2));
  EXPECT_THAT(line, StartsWith("[ ok ] Bandwidth: 2 cells: 2 pass over tcp"));
  EXPECT_THAT(line, HasSubstr("at 16 MiB"));
  EXPECT_THAT(line, HasSubstr("Gb/s"));
  const Record latency = samples::record("latency", "allreduce", "ring", 2, 8, 25e3);
  EXPECT_THAT(line_of(measured({latency}, 1)), HasSubstr("median 25"));
}

TEST(Checklist, CellsThatAreMissingOrFailedAreNotTicked) {
  const Record good = samples::record("check", "allreduce", "ring", 2, 4096, 1e6);
  EXPECT_THAT(line_of(measured({}, 1)), StartsWith("[ -- ] Bandwidth: not measured"));
  const std::string cut = line_of(measured({good}, 2));
  EXPECT_THAT(cut, StartsWith("[warn]"));
  EXPECT_THAT(cut, HasSubstr("1 cell: 1 pass; 1 not measured"));
  Record wrong = samples::record("check", "allreduce", "ring", 2, 8192, 1e6);
  wrong.measurement.outcome = Outcome::kFailed;
  wrong.measurement.reason = "7 wrong elements";
  const std::string failed = line_of(measured({good, wrong}, 2));
  EXPECT_THAT(failed, StartsWith("[FAIL]"));
  EXPECT_THAT(failed, HasSubstr("7 wrong elements"));
  Record skipped = wrong;
  skipped.measurement.outcome = Outcome::kSkipped;
  skipped.measurement.reason = "leaves of a star";
  EXPECT_THAT(line_of(measured({skipped}, 1)), StartsWith("[skip]"));
  EXPECT_THAT(line_of(measured({good, skipped}, 2)), Not(HasSubstr("leaves")));
}

}  // namespace
}  // namespace plumbline
