#include <gmock/gmock.h>

#include <map>

#include "evidence_builder.h"
#include "probes/judges/judges.h"
#include "rules/packet_stop.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

std::map<std::string, Check> by_key(std::vector<Check> checks) {
  std::map<std::string, Check> out;
  for (Check& check : checks) {
    EXPECT_FALSE(check.reason.empty()) << check.key;
    const std::string key = check.key;
    EXPECT_TRUE(out.emplace(key, std::move(check)).second) << key << " twice";
  }
  return out;
}

TEST(JudgePair, HealthyPairsPass) {
  const EvidenceSet set = test::healthy_star(3);
  for (const auto judge : {judge_icmp, judge_firewall, judge_tcp_connect}) {
    const auto checks = by_key(judge(set, {}));
    EXPECT_GE(checks.size(), 6u);
    for (const auto& [key, check] : checks) {
      EXPECT_EQ(check.outcome, CheckOutcome::kPass) << key << ": " << check.reason;
    }
  }
  const auto connects = by_key(judge_tcp_connect(set, {}));
  EXPECT_EQ(connects.count("tcp.connect/mini1>mini2:29600"), 1u);
}

TEST(JudgePair, OnePerResult) {
  struct Row {
    const char *result, *listener, *answer;
    bool accepted;
    CheckOutcome outcome;
    const char* text;
  };
  const Row rows[] = {
      {"connected", "up", "ours", true, CheckOutcome::kPass, "connected in"},
      {"connected", "absent", "silent", false, CheckOutcome::kUnknown,
       "plumbline does not listen there"},
      {"connected", "up", "stranger", false, CheckOutcome::kFail, "something else"},
      {"connected", "up", "silent", true, CheckOutcome::kFail, "nothing came back"},
      {"connected", "in_use", "stranger", false, CheckOutcome::kFail,
       "held by a process that cannot be seen"},
      {"refused", "up", "", false, CheckOutcome::kFail, "though plumbline listens"},
      {"refused", "absent", "", false, CheckOutcome::kFail, "plumbline does not listen"},
      {"refused", "in_use", "", false, CheckOutcome::kFail, "held by"},
      {"timeout", "up", "", false, CheckOutcome::kFail, "no answer within"},
      {"unreachable", "up", "", false, CheckOutcome::kFail, "cannot be reached"},
      {"reset", "up", "", false, CheckOutcome::kFail, "then reset"},
      {"denied", "up", "", false, CheckOutcome::kFail, "the host's own system did not send it"},
      {"error", "up", "", false, CheckOutcome::kUnknown, "could not be tried"},
      {"not_tried", "up", "", false, CheckOutcome::kUnknown, "could not be tried"},
      {"a word of tomorrow", "up", "", false, CheckOutcome::kUnknown, "could not be tried"},
  };
  for (const Row& row : rows) {
    EvidenceSet set = test::healthy_star(2);
    PortTry& attempt = test::port_try(set, "mini1", "mini2", 29600);
    attempt.result = row.result;
    attempt.listener = row.listener;
    attempt.answer = row.answer;
    attempt.accepted = row.accepted;
    const Check check = by_key(judge_tcp_connect(set, {})).at("tcp.connect/mini1>mini2:29600");
    EXPECT_EQ(check.outcome, row.outcome)
        << row.result << " " << row.listener << ": " << check.reason;
    EXPECT_THAT(check.reason, HasSubstr(row.text)) << row.result << " " << row.listener;
  }
}

TEST(JudgePair, WhatWasNotTriedIsNoPass) {
  EvidenceSet set = test::healthy_star(2);
  set.pairs[0].skipped = "no agent on mini1";
  set.pairs[1].skipped = "both ends are this machine, as for a and b";
  for (const auto judge : {judge_icmp, judge_tcp_connect, judge_mtu, judge_quality}) {
    const std::vector<Check> checks = judge(set, {});
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(checks[0].outcome, CheckOutcome::kUnknown);
    EXPECT_EQ(checks[1].outcome, CheckOutcome::kSkipped);
  }
  set = test::healthy_star(2);
  for (PairEvidence& pair : set.pairs) {
    pair.ports.clear();
    pair.ping.reset();
    pair.mtu.reset();
    pair.quality.reset();
  }
  for (const auto judge : {judge_icmp, judge_tcp_connect, judge_mtu, judge_quality}) {
    for (const Check& check : judge(set, {})) EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
  }
}

// "Ping works, below 1 ms": the fastest echo decides, because the first may wait for an address.
TEST(JudgePair, EchoSlowerThanAsked) {
  EvidenceSet set = test::healthy_star(2);
  PingEvidence ping;
  ping.sent = ping.received = 3;
  ping.rtt_ns = {9'000'000, 1'200'000, 1'500'000};
  test::pair(set, "mini1", "mini2").ping = ping;
  const auto verdict = [&](const ProbeParams& params) {
    return by_key(judge_icmp(set, params)).at("icmp/mini1>mini2");
  };
  EXPECT_EQ(verdict({}).outcome, CheckOutcome::kPass);
  EXPECT_EQ(verdict({{"max_ms", "1.3"}}).outcome, CheckOutcome::kPass);
  EXPECT_EQ(verdict({{"max_ms", "1"}}).outcome, CheckOutcome::kWarn);
  EXPECT_NE(verdict({{"max_ms", "1"}}).reason.find("longer than 1 ms"), std::string::npos);
}

TEST(JudgePair, Echo) {
  const auto outcome = [](int sent, int received, int duplicates, const char* unavailable,
                          bool tcp) {
    EvidenceSet set = test::healthy_star(2);
    PairEvidence& pair = test::pair(set, "mini1", "mini2");
    pair.ping->sent = sent;
    pair.ping->received = received;
    pair.ping->duplicates = duplicates;
    pair.ping->unavailable = unavailable;
    if (!tcp) {
      for (PortTry& attempt : pair.ports) attempt.result = "timeout";
    }
    return by_key(judge_icmp(set, {})).at("icmp/mini1>mini2").outcome;
  };
  EXPECT_EQ(outcome(10, 10, 0, "", true), CheckOutcome::kPass);
  EXPECT_EQ(outcome(10, 9, 0, "", true), CheckOutcome::kPass) << "the first waits for ARP";
  EXPECT_EQ(outcome(10, 10, 3, "", true), CheckOutcome::kWarn);
  EXPECT_EQ(outcome(10, 0, 0, "", true), CheckOutcome::kWarn);
  EXPECT_EQ(outcome(10, 0, 0, "", false), CheckOutcome::kFail);
  EXPECT_EQ(outcome(0, 0, 0, "", true), CheckOutcome::kUnknown);
  EXPECT_EQ(outcome(10, 0, 0, "not permitted", true), CheckOutcome::kUnknown);
}

TEST(JudgePair, LostEchoesWarnUnlessTcpIsKnownToLoseNothing) {
  EvidenceSet set = test::healthy_star(2);
  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  pair.ping->sent = 10;
  pair.ping->received = 7;
  const auto outcome = [&] { return by_key(judge_icmp(set, {})).at("icmp/mini1>mini2").outcome; };
  EXPECT_EQ(outcome(), CheckOutcome::kUnknown) << "echo is rationed, or only the job let through";
  test::pair(set, "mini2", "mini1").quality->streams.back().retransmitted = 5;
  EXPECT_EQ(outcome(), CheckOutcome::kWarn);
  test::pair(set, "mini2", "mini1").quality.reset();
  EXPECT_EQ(outcome(), CheckOutcome::kWarn) << "one direction of TCP is not known";
}

TEST(JudgePair, FiltersThatStopTheJobAreNamed) {
  EvidenceSet set = test::healthy_star(3);
  test::StopModel(set, {{test::PacketStop::kIn, "mini2", {"mini3"}}}, test::Sight::kAll).apply();
  const auto checks = by_key(judge_firewall(set, {}));
  EXPECT_EQ(checks.at("firewall/mini2>mini3").outcome, CheckOutcome::kFail);
  EXPECT_THAT(checks.at("firewall/mini2>mini3").reason, HasSubstr("nftables inet filter input"));
  EXPECT_EQ(checks.at("firewall/mini2>mini1").outcome, CheckOutcome::kPass);
  EXPECT_EQ(checks.at("firewall/mini3>mini2").outcome, CheckOutcome::kPass);
}

TEST(JudgePair, FiltersThatCannotBeReadAreUnknown) {
  EvidenceSet set = test::healthy_star(2);
  for (FilterSource& source : test::host(set, "mini1").filter_sources) {
    source.readable = false;
    source.why = "Operation not permitted";
  }
  test::host(set, "mini2").filter_sources.clear();
  const auto checks = by_key(judge_firewall(set, {}));
  EXPECT_EQ(checks.at("firewall/mini1>mini2").outcome, CheckOutcome::kUnknown);
  EXPECT_THAT(checks.at("firewall/mini1>mini2").reason, HasSubstr("Operation not permitted"));
  EXPECT_EQ(checks.at("firewall/mini2>mini1").outcome, CheckOutcome::kUnknown);
}

}  // namespace
}  // namespace plumbline
