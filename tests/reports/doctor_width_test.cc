// `doctor` on a terminal: a line per probe whatever the number of hosts, what is not fine shown by
// itself, what was skipped in a sentence, and nothing wider than the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/record/tally.h"
#include "reports/doctor.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Check check(const std::string& key, CheckOutcome outcome, const std::string& reason) {
  Check out;
  out.key = key;
  out.id = key.substr(0, key.find('/'));
  out.outcome = outcome;
  out.reason = reason;
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A sound cluster: checks of hosts and of every direction.
DoctorReport cluster(int hosts) {
  DoctorReport report;
  report.probes = {{"link", "interfaces are there, up, have a signal, and count no errors"},
                   {"icmp", "echo between every two hosts: answers, round trip, loss"},
                   {"ssh", "the ssh login works"}};
  for (int i = 0; i < hosts; ++i) {
    const std::string host = "host" + std::to_string(i);
    report.hosts.push_back(host);
    report.checks.push_back(check("link/" + host, CheckOutcome::kPass, "up"));
  }
  for (const std::string& host : report.hosts) {
    report.checks.push_back(check("ssh/" + host, CheckOutcome::kSkipped, "reached without ssh"));
  }
  for (const std::string& from : report.hosts) {
    for (const std::string& to : report.hosts) {
      if (from == to) continue;
      report.checks.push_back(
          check("icmp/" + from + ">" + to, CheckOutcome::kPass, "answered in 81 us"));
    }
  }
  return report;
}

TEST(DoctorLines, OnePerProbeWithCounts) {
  EXPECT_EQ(doctor_text(cluster(2), 80, false),
            "link  2 pass     interfaces are there, up, have a signal, and count no errors\n"
            "ssh   2 skipped  the ssh login works\n"
            "icmp  2 pass     echo between every two hosts: answers, round trip, loss\n"
            "\n"
            "2 checks were skipped: reached without ssh (--verbose names them)\n"
            "\n"
            "verdict: ok (6 checks: 4 pass, 2 skipped)\n");
  for (const int hosts : {2, 8, 16, 64}) {
    EXPECT_EQ(lines_of(doctor_text(cluster(hosts), 80, false)).size(), 7u) << hosts;
  }
}

TEST(DoctorLines, WhatAProbeAsksIsCutAtAClauseOrLeftOut) {
  EXPECT_EQ(lines_of(doctor_text(cluster(2), 60, false))[0],
            "link  2 pass     interfaces are there, up, have a signal");
  EXPECT_EQ(lines_of(doctor_text(cluster(2), 60, false))[2],
            "icmp  2 pass     echo between every two hosts: answers");
  EXPECT_EQ(lines_of(doctor_text(cluster(2), 40, false))[2], "icmp  2 pass");
}

TEST(DoctorLines, WhatIsNotFineIsShownByItself) {
  DoctorReport report = cluster(4);
  report.checks[1].outcome = CheckOutcome::kFail;
  report.checks[1].reason = "down";
  report.checks[2].outcome = CheckOutcome::kWarn;
  report.checks[2].reason = "flaps";
  const std::string text = doctor_text(report, 80, false);
  EXPECT_THAT(text, HasSubstr("link  2 pass, 1 warn, 1 fail  "));
  EXPECT_THAT(text, HasSubstr("\n  FAIL  link/host1  down\n  warn  link/host2  flaps\n"));
  EXPECT_THAT(text, HasSubstr("verdict: fail (20 checks: 14 pass, 1 warn, 1 fail, 4 skipped)"));
}

TEST(DoctorLines, ManyThatFailedAreBounded) {
  DoctorReport report = cluster(16);
  Finding finding;
  finding.cause = "link.down";
  for (size_t i = 0; i < report.checks.size(); ++i) {
    Check& each = report.checks[i];
    if (each.id == "icmp") each.outcome = CheckOutcome::kFail;
    if (each.id == "icmp" && i % 2 == 0) finding.explains.push_back(each.key);
  }
  const auto shown = [&] {
    size_t count = 0;
    for (const std::string& line : lines_of(doctor_text(report, 80, false))) {
      count += line.rfind("  FAIL  icmp/", 0) == 0 ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(shown(), 10u);
  EXPECT_THAT(doctor_text(report, 80, false), HasSubstr("... and 230 more (--verbose)\n"));
  report.findings = {finding};
  // What nobody explains comes first.
  EXPECT_THAT(doctor_text(report, 80, false), Not(HasSubstr(finding.explains[0] + " ")));
  report.findings[0].explains.clear();
  for (const Check& each : report.checks) {
    if (each.id == "icmp") report.findings[0].explains.push_back(each.key);
  }
  EXPECT_THAT(doctor_text(report, 80, false),
              HasSubstr("... and 230 more, explained above (--verbose)\n"));
}

TEST(DoctorLines, SkippedOnesAreASentence) {
  DoctorReport report = cluster(2);
  for (const Check& each : report.checks) {
    if (each.outcome == CheckOutcome::kSkipped) report.one_machine.insert(each.key);
  }
  std::string text = doctor_text(report, 80, false);
  EXPECT_THAT(text,
              HasSubstr("\n\n2 checks make no sense on one machine (--verbose names them)\n"));
  EXPECT_THAT(text, Not(HasSubstr("reached without ssh")));
  report.one_machine.erase(report.one_machine.begin());
  text = doctor_text(report, 80, false);
  EXPECT_THAT(text, HasSubstr("1 check makes no sense on one machine"));
  EXPECT_THAT(text, HasSubstr("1 check was skipped: reached without ssh"));
  // Several reasons are listed, the most frequent first, and only so many.
  report.one_machine.clear();
  for (int i = 0; i < 9; ++i) {
    report.checks.push_back(
        check("rdma/h" + std::to_string(i), CheckOutcome::kSkipped, "reason " + std::to_string(i)));
  }
  text = doctor_text(report, 80, false);
  EXPECT_THAT(text, HasSubstr("11 checks were skipped (--verbose names them)\n"
                              "     2  reached without ssh\n     1  reason 0\n"));
  EXPECT_THAT(text, HasSubstr("     4  for other reasons\n"));
  EXPECT_THAT(doctor_text(report, 80, false, true), Not(HasSubstr("were skipped")));
}

TEST(DoctorLines, WhatIsUnknownIsAWordWithItsReasons) {
  DoctorReport report = cluster(4);
  for (Check& each : report.checks) {
    if (each.id != "icmp") continue;
    each.outcome = CheckOutcome::kUnknown;
    each.reason = each.key.find(">host0") != std::string::npos ? "not asked" : "no permission";
  }
  const std::string text = doctor_text(report, 80, false);
  EXPECT_THAT(text, HasSubstr("icmp  12 unknown"));
  EXPECT_THAT(text, HasSubstr("\n  unknown  host0>host1 and 8 more: no permission\n"
                              "  unknown  host1>host0 and 2 more: not asked\n"));
  for (const bool all : {false, true}) {
    EXPECT_THAT(doctor_text(report, 80, false, all), Not(HasSubstr("?")));
  }
}

TEST(DoctorLines, NothingIsWiderThanTheTerminal) {
  DoctorReport report = cluster(8);
  constexpr CheckOutcome kOutcomes[] = {CheckOutcome::kPass, CheckOutcome::kWarn,
                                        CheckOutcome::kFail, CheckOutcome::kSkipped,
                                        CheckOutcome::kUnknown};
  for (size_t i = 0; i < report.checks.size(); ++i) {
    report.checks[i].outcome = kOutcomes[i % 5];
    report.checks[i].reason += " with many more words than one line of a terminal can hold, " +
                               std::to_string(i % 13) + " of them or so";
  }
  Finding finding;
  finding.cause = "rate.asymmetric";
  finding.host = "host1";
  finding.evidence = {{"host1", "icmp/host1>host2", "slow, " + std::string(90, 'x')}};
  finding.remedy.say(
      "# between host1 and host2: negotiated speed of both ends and of the ports between, cable, "
      "shaping, other traffic");
  report.findings = {finding};
  for (const int width : {60, 80, 120}) {
    for (const bool all : {false, true}) {
      for (const std::string& line : lines_of(doctor_text(report, width, false, all))) {
        EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
      }
    }
  }
  // Advice that is a comment stays one on every line.
  EXPECT_THAT(doctor_text(report, 80, false), HasSubstr("\n            # "));
}

TEST(DoctorLines, NothingFromAHostMovesTheCursor) {
  DoctorReport report = cluster(2);
  report.checks.push_back(check("a\x1b[2J/\r\n", CheckOutcome::kUnknown, "b\x1b[2J\r"));
  report.checks.push_back(check("\n/c", CheckOutcome::kSkipped, "\x1b]0;x\n"));
  report.probes["a\x1b[2J"] = "d\x1b\n";
  for (const bool all : {false, true}) {
    const std::string text = doctor_text(report, 80, false, all);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
  }
}

}  // namespace
}  // namespace plumbline
