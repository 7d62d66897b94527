#include "reports/doctor.h"

#include <gmock/gmock.h>

#include <sstream>

#include "core/json.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

Check check(const std::string& key, CheckOutcome outcome, const std::string& reason = "seen") {
  Check out;
  out.key = key;
  out.id = key.substr(0, key.find('/'));
  out.host = "local0";
  out.outcome = outcome;
  out.reason = reason;
  return out;
}

Finding finding(Severity severity, std::vector<std::string> explains = {}) {
  Finding out;
  out.cause = "tcp.port_in_use";
  out.outcome = severity;
  out.host = "local0";
  out.port = 29600;
  out.ports = {29600};
  out.evidence = {{"local0", "ports/local0:29600", "held by PID 7 (x)"}};
  out.remedy = "choose free ports: --port-base 20000";
  out.explains = std::move(explains);
  return out;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  return keys;
}

TEST(Doctor, Verdict) {
  const auto verdict = [](std::vector<Check> checks, std::vector<Finding> findings) {
    return std::string(doctor_verdict({{"local0"}, std::move(checks), std::move(findings)}));
  };
  EXPECT_EQ(verdict({}, {}), "ok");
  EXPECT_EQ(verdict({check("a/h", CheckOutcome::kPass)}, {}), "ok");
  EXPECT_EQ(
      verdict({check("a/h", CheckOutcome::kSkipped), check("b/h", CheckOutcome::kUnknown)}, {}),
      "ok");
  EXPECT_EQ(verdict({check("a/h", CheckOutcome::kWarn)}, {}), "warn");
  EXPECT_EQ(verdict({check("a/h", CheckOutcome::kWarn), check("b/h", CheckOutcome::kFail)}, {}),
            "fail");
  EXPECT_EQ(verdict({}, {finding(Severity::kNote)}), "ok");
  EXPECT_EQ(verdict({}, {finding(Severity::kWarn)}), "warn");
  EXPECT_EQ(verdict({}, {finding(Severity::kNote), finding(Severity::kFail)}), "fail");
  // A failing check that a finding explains is as bad as that finding, no worse.
  EXPECT_EQ(verdict({check("a/h", CheckOutcome::kFail)}, {finding(Severity::kNote, {"a/h"})}),
            "ok");
  EXPECT_EQ(verdict({check("a/h", CheckOutcome::kFail)}, {finding(Severity::kWarn, {"b/h"})}),
            "fail");
}

TEST(Doctor, JsonHasExactlyTheFixedKeys) {
  const DoctorReport report = {{"local0", "local1"},
                               {check("ports/local0:29600", CheckOutcome::kFail)},
                               {finding(Severity::kFail, {"ports/local0:29600"})}};
  const std::string text = doctor_json(report);
  EXPECT_EQ(text.back(), '\n');
  const auto json = nlohmann::json::parse(text);
  EXPECT_THAT(keys_of(json), UnorderedElementsAre("schema", "verdict", "hosts", "findings",
                                                  "checks", "stack", "job"));
  EXPECT_TRUE(json["stack"].is_null() && json["job"].is_null());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["verdict"], "fail");
  EXPECT_EQ(json["hosts"], nlohmann::json({"local0", "local1"}));
  EXPECT_THAT(keys_of(json["findings"][0]),
              UnorderedElementsAre("cause", "outcome", "host", "peer", "port", "ports",
                                   "confidence", "evidence", "remedy", "commands", "explains"));
  EXPECT_THAT(keys_of(json["findings"][0]["evidence"][0]),
              UnorderedElementsAre("host", "check", "text"));
  EXPECT_THAT(keys_of(json["checks"][0]),
              UnorderedElementsAre("key", "id", "host", "peer", "port", "outcome", "reason"));
  EXPECT_TRUE(json["checks"][0]["port"].is_null());
  EXPECT_TRUE(json["findings"][0]["peer"].is_null());
}

TEST(Doctor, EmptyJsonHasListsNotNulls) {
  const auto json = nlohmann::json::parse(doctor_json({}));
  for (const char* key : {"hosts", "findings", "checks"}) EXPECT_TRUE(json[key].is_array()) << key;
}

TEST(Doctor, BytesThatAreNoTextMakeNoBrokenJson) {
  const DoctorReport report = {{"\xff"}, {check("a/h", CheckOutcome::kFail, "\xc3\x28 \x01")}, {}};
  EXPECT_TRUE(nlohmann::json::accept(doctor_json(report)));
}

TEST(Doctor, TextPutsFindingsFirst) {
  const DoctorReport report = {{"local0"},
                               {check("ports/local0:29600", CheckOutcome::kFail, "held"),
                                check("ip/local0", CheckOutcome::kPass, "127.0.0.1/8 on lo")},
                               {finding(Severity::kFail, {"ports/local0:29600"})}};
  EXPECT_EQ(doctor_text(report, 0, false),
            "FAIL  tcp.port_in_use on local0, port 29600\n"
            "      seen: held by PID 7 (x) (ports/local0:29600)\n"
            "      do:   choose free ports: --port-base 20000\n"
            "\n"
            "ports  1 fail\n"
            "  FAIL  ports/local0:29600  held\n"
            "ip     1 pass\n"
            "\n"
            "verdict: fail (2 checks: 1 pass, 1 fail)\n");
  EXPECT_THAT(doctor_text(report, 0, false, true),
              HasSubstr("FAIL  ports/local0:29600  held\n"
                        "pass  ip/local0           127.0.0.1/8 on lo\n"
                        "\n"
                        "verdict: fail (2 checks: 1 pass, 1 fail)\n"));
}

// A reader had the same three lines for each of four hosts that lacked a model.
TEST(Doctor, AFaultOfManyHostsIsReadOnce) {
  const auto on = [](const std::string& host, const std::string& text) {
    Finding out = finding(Severity::kFail);
    out.host = host;
    out.evidence = {{host, "ports/" + host + ":29600", text}};
    return out;
  };
  const DoctorReport report = {
      {"a", "b", "c", "peer"},
      {},
      {on("a", "held"), on("b", "held by PID 7"), on("c", "held"), on("peer", "held")}};
  const std::string text = doctor_text(report, 0, false);
  EXPECT_THAT(text, StartsWith("FAIL  tcp.port_in_use on a, c, the peer, port 29600\n"
                               "      seen: held (ports/a:29600)\n"
                               "      do:   choose free ports: --port-base 20000\n"
                               "\n"
                               "FAIL  tcp.port_in_use on b, port 29600\n"
                               "      seen: held by PID 7 (ports/b:29600)\n"));
  EXPECT_EQ(nlohmann::json::parse(doctor_json(report))["findings"].size(), 4U);
  EXPECT_THAT(doctor_fix_plan(report), HasSubstr("---- on c"));
}

// Neither another peer nor another remedy is the same fault, and one without a host stays alone.
TEST(Doctor, WhatDiffersIsNotPutTogether) {
  std::vector<Finding> findings(5, finding(Severity::kWarn));
  for (size_t i = 0; i < findings.size(); ++i) findings[i].host = "h" + std::to_string(i);
  findings[1].peer = "h0";
  findings[2].remedy = "something else";
  findings[3].confidence = 0.5;
  findings[4].host.clear();
  const std::string text = doctor_text({{"h0"}, {}, findings}, 0, false);
  EXPECT_THAT(text, HasSubstr("tcp.port_in_use on h0, port"));
  EXPECT_THAT(text, HasSubstr("tcp.port_in_use on h1, towards h0, port"));
  EXPECT_THAT(text, HasSubstr("tcp.port_in_use on h2, port"));
  EXPECT_THAT(text, HasSubstr("tcp.port_in_use on h3, port 29600, confidence 50 %"));
  EXPECT_THAT(text, HasSubstr("warn  tcp.port_in_use, port"));
}

// A new user saw a line that ended in "()".
TEST(Doctor, EvidenceWithoutACheckHasNoEmptyBrackets) {
  DoctorReport report = {{"here", "peer"}, {}, {finding(Severity::kFail)}};
  report.findings[0].evidence = {{"here", "", "nobody knows"}};
  const std::string text = doctor_text(report, 0, false);
  EXPECT_NE(text.find("      seen: nobody knows\n"), std::string::npos) << text;
}

TEST(Doctor, TheTwoHostsOfAOneSidedCheckReadWell) {
  DoctorReport report = {{"here", "peer"}, {}, {finding(Severity::kFail)}};
  report.findings[0].host = "here";
  report.findings[0].peer = "peer";
  EXPECT_NE(doctor_text(report, 0, false).find(" on here, towards the peer"), std::string::npos);
  report.findings[0].host = "mini1";
  report.findings[0].peer = "mini2";
  EXPECT_NE(doctor_text(report, 0, false).find(" on mini1, towards mini2"), std::string::npos);
}

TEST(Doctor, TextKeepsToTheWidthButNeverBreaksACommand) {
  DoctorReport report = {{"local0"},
                         {check("ports/local0:29600", CheckOutcome::kFail,
                                "one two three four five six seven eight nine ten eleven twelve"),
                          check("tcp.connect/" + std::string(60, 'a') + ":1", CheckOutcome::kPass)},
                         {finding(Severity::kFail)}};
  report.findings[0].remedy =
      Command{"sudo",
              "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
              "xxxxxxxxxxxxxxxx"};
  for (const int width : {40, 60, 80}) {
    std::istringstream lines(doctor_text(report, width, false));
    for (std::string line; std::getline(lines, line);) {
      const bool whole = line.find("do:") != std::string::npos ||
                         line.find("aaaa") != std::string::npos;  // commands and keys stay whole
      if (whole) continue;
      EXPECT_LE(display_width(line), static_cast<size_t>(width)) << line;
    }
    EXPECT_THAT(doctor_text(report, width, false), HasSubstr("sudo " + std::string(100, 'x')));
  }
}

TEST(Doctor, ColourOnlyWhenAskedFor) {
  const DoctorReport report = {
      {"local0"}, {check("a/h", CheckOutcome::kWarn)}, {finding(Severity::kWarn)}};
  EXPECT_THAT(doctor_text(report, 80, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(doctor_text(report, 80, true), HasSubstr("\x1b[33mwarn\x1b[0m  "));
}

TEST(Doctor, NothingFromAHostMovesTheCursor) {
  DoctorReport report = {{"x"},
                         {check("a/\x1b[2J", CheckOutcome::kFail, "line\nbreak \x1b[31m")},
                         {finding(Severity::kFail)}};
  report.findings[0].host = "evil\x1b[2J";
  report.findings[0].cause = "c\x1b";
  report.findings[0].remedy = "do\nthat\x1b";
  report.findings[0].evidence[0].text = "t\r\x1b";
  for (const int width : {0, 20}) {
    const std::string text = doctor_text(report, width, false);
    EXPECT_THAT(text, Not(HasSubstr("\x1b")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
  }
}

// `--only name` showed the machine's load below checks that had all passed.
TEST(Doctor, OnlyLeavesOutCausesOfOtherProbes) {
  Finding loaded = finding(Severity::kWarn, {"host/local0#load"});
  loaded.cause = "host.overloaded";
  loaded.evidence = {{"local0", "host/local0#load", "load 9"}};
  const DoctorReport all = {{"local0"}, {check("name/local0", CheckOutcome::kPass)}, {loaded}};
  const DoctorReport report = only_asked(all, {"name"});
  EXPECT_TRUE(report.findings.empty());
  EXPECT_STREQ(doctor_verdict(report), "ok");
  EXPECT_EQ(doctor_text(report, 0, false),
            "name  1 pass\n\nverdict: ok (1 check: 1 pass)\n"
            "not asked for, and not in this verdict: host.overloaded on local0; without --only "
            "doctor says more\n");
  EXPECT_THAT(doctor_fix_plan(report), HasSubstr("Nothing to heal"));
  // Asked for, also among others, it is there; and without --only.
  for (const std::vector<std::string>& asked :
       std::vector<std::vector<std::string>>{{"host"}, {"name", "host"}, {}}) {
    EXPECT_EQ(only_asked(all, asked).findings.size(), 1u);
    EXPECT_TRUE(only_asked(all, asked).left_out.empty());
    EXPECT_STREQ(doctor_verdict(only_asked(all, asked)), "warn");
  }
}

TEST(Doctor, OnlyKeepsTheCauseOfWhatTheProbeSaw) {
  Finding down = finding(Severity::kFail, {"mtu/local0>local1"});
  down.cause = "link.down";
  down.evidence = {{"local0", "link/local0#eth1", "down"}};
  const DoctorReport all = {
      {"local0", "local1"}, {check("mtu/local0>local1", CheckOutcome::kUnknown)}, {down}};
  EXPECT_EQ(only_asked(all, {"mtu"}).findings.size(), 1u);
  EXPECT_STREQ(doctor_verdict(only_asked(all, {"mtu"})), "fail");
  // It says nothing of what another probe saw.
  EXPECT_TRUE(only_asked(all, {"name"}).findings.empty());
}

// What a cause is called and what decided it may differ: the ports probe sees who holds a port.
TEST(Doctor, OnlyKeepsWhatACheckOfTheProbeDecided) {
  const DoctorReport all = {{"local0"}, {}, {finding(Severity::kFail)}};
  EXPECT_EQ(only_asked(all, {"ports"}).findings.size(), 1u);
  EXPECT_EQ(only_asked(all, {"tcp.connect"}).findings.size(), 1u);
  EXPECT_EQ(only_asked(all, {"mtu"}).findings.size(), 0u);
}

TEST(Doctor, NotesOfOtherProbesAreNotEvenNamed) {
  const DoctorReport all = {{"local0"}, {}, {finding(Severity::kNote)}};
  EXPECT_TRUE(only_asked(all, {"mtu"}).left_out.empty());
}

TEST(Doctor, AVerdictOverNothingSaysSo) {
  EXPECT_EQ(doctor_text({{"local0"}, {}, {}}, 0, false),
            "\nverdict: ok (0 checks: there was nothing to ask)\n");
}

}  // namespace
}  // namespace plumbline
