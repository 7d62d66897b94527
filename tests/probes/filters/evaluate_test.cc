#include "probes/filters/evaluate.h"

#include <gmock/gmock.h>

#include "filters_helpers.h"

namespace plumbline {
namespace {

using test::answer;
using test::filter_table;
using test::iptables;
using test::nft;
using test::recorded;
using test::to_port;
using test::verdicts;
using testing::HasSubstr;

FilterRule rule(const std::string& chain, const std::string& hook, const std::string& action,
                int priority = 0, int64_t handle = 1) {
  FilterRule made;
  made.tool = "nftables";
  made.family = "inet";
  made.table = "t";
  made.chain = chain;
  made.hook = hook;
  made.action = action;
  made.priority = priority;
  made.handle = handle;
  return made;
}

TEST(Evaluate, NoRulesLetAllPass) { EXPECT_EQ(verdicts({}, to_port(29600)), ""); }

TEST(Evaluate, AcceptEndsOneChainOnlyAndDropIsFinal) {
  EXPECT_EQ(
      verdicts({rule("a", "input", "accept", -5), rule("b", "input", "drop", 5, 9)}, to_port(1)),
      "drop input 9; ");
  EXPECT_EQ(
      verdicts({rule("b", "input", "accept", 5), rule("a", "input", "drop", -5, 9)}, to_port(1)),
      "drop input 9; ");
  EXPECT_EQ(
      verdicts({rule("a", "input", "drop", 0, 1), rule("b", "input", "reject", 0, 2)}, to_port(1)),
      "reject input 2; ")
      << "of equal priorities the chain that was made last is asked first";
  EXPECT_EQ(verdicts({rule("a", "forward", "drop"), rule("b", "output", "drop")}, to_port(1)), "");
}

TEST(Evaluate, HooksInTheKernelsOrder) {
  std::vector<FilterRule> rules;
  for (const char* hook : {"input", "prerouting", "ingress"}) {
    FilterRule one = rule(hook, hook, "drop");
    one.share = 0.5;
    one.device = "eth0";
    rules.push_back(one);
  }
  FilterRule tc = rule("0", "ingress", "drop");
  tc.tool = "tc";
  tc.device = "eth0";
  tc.handle = 3;
  tc.share = 0.5;
  rules.push_back(tc);
  EXPECT_EQ(
      verdicts(rules, to_port(1)),
      "drop ingress 3 0.5; drop ingress 1 0.25; drop prerouting 1 0.125; drop input 1 0.0625; ");
}

TEST(Evaluate, JumpGotoReturn) {
  const std::string chains = ":u - [0:0]\n:v - [0:0]\n";
  const auto judged = [&](const std::string& lines, int port = 29600) {
    return verdicts(filter_table(lines, chains), to_port(port));
  };
  EXPECT_EQ(judged("-A INPUT -j u\n-A INPUT -j DROP\n-A u -j ACCEPT\n"), "");
  EXPECT_EQ(judged("-A INPUT -j u\n-A INPUT -j DROP\n-A u -j RETURN\n-A u -j ACCEPT\n"),
            "drop input 2; ");
  EXPECT_EQ(judged("-A INPUT -g u\n-A INPUT -j DROP\n-A u -p udp -j ACCEPT\n"), "");
  EXPECT_EQ(judged("-A INPUT -j u\n-A INPUT -j DROP\n-A u -g v\n-A u -j ACCEPT\n-A v -p udp\n"),
            "drop input 2; ");
  EXPECT_EQ(judged("-A INPUT -j u\n"), "") << "an empty chain";
}

TEST(Evaluate, ReturnInABaseChainMeetsThePolicy) {
  const std::string text =
      "*filter\n:INPUT DROP\n-A INPUT -p tcp -j RETURN\n-A INPUT -j ACCEPT\nCOMMIT\n";
  const auto rules = iptables(text);
  const auto found = evaluate(rules, to_port(1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].rule->is_policy);
  ASSERT_NE(found[0].left_by, nullptr);
  EXPECT_EQ(found[0].left_by->handle, 1);
}

TEST(Evaluate, LoopsAndDepthAreBounded) {
  const std::string chains = ":u - [0:0]\n:v - [0:0]\n";
  EXPECT_EQ(verdicts(filter_table("-A INPUT -j u\n-A u -j u\n", chains), to_port(1)),
            "unknown input 1; ");
  EXPECT_THAT(
      verdicts(filter_table("-A INPUT -j u\n-A u -j v\n-A u -j v\n-A v -j u\n-A v -j u\n", chains),
               to_port(1)),
      HasSubstr("unknown input"));
  // Each chain calls the next one twice: 2^60 ways without a bound.
  std::string names, lines;
  for (int i = 0; i < 60; ++i) {
    names += ":c" + std::to_string(i) + " - [0:0]\n";
    const std::string call = "-A c" + std::to_string(i) + " -j c" + std::to_string(i + 1) + "\n";
    lines += call + call;
  }
  names += ":c60 - [0:0]\n";
  EXPECT_THAT(
      verdicts(filter_table("-A INPUT -j c0\n-A c60 -p udp -j DROP\n" + lines, names), to_port(1)),
      HasSubstr("unknown input"));
}

TEST(Evaluate, WhatCannotBeDecidedNeverPassesNorBlocksByItself) {
  const auto judged = [](const std::string& lines) {
    return verdicts(filter_table(lines, ":u - [0:0]\n"), to_port(29600));
  };
  const std::string maybe = " -m owner --uid-owner 0 ";
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j DROP\n"), "unknown input 1; ");
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j DROP\n-A INPUT -j DROP\n"),
            "unknown input 1; drop input 2; ");
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j ACCEPT\n-A INPUT -j DROP\n"), "unknown input 2; ");
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j ACCEPT\n-A INPUT -j ACCEPT\n-A INPUT -j DROP\n"), "");
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j u\n-A u -j DROP\n-A INPUT -j ACCEPT\n"),
            "unknown input 1; ");
  EXPECT_EQ(judged("-A INPUT" + maybe + "-j u\n-A u -j ACCEPT\n-A INPUT -j DROP\n"),
            "unknown input 2; ");
  EXPECT_EQ(judged("-A INPUT -j u\n-A u" + maybe + "-j RETURN\n-A u -j ACCEPT\n-A INPUT -j DROP\n"),
            "unknown input 2; ");
  EXPECT_EQ(judged("-A INPUT -j u\n-A u" + maybe +
                   "-j RETURN\n-A u -p udp -j ACCEPT\n-A INPUT -j DROP\n"),
            "drop input 2; ")
      << "either way it comes back";
}

TEST(Evaluate, Shares) {
  const std::string half = " -m statistic --mode random --probability 0.5 ";
  EXPECT_EQ(verdicts(filter_table("-A INPUT" + half + "-j DROP\n-A INPUT" + half +
                                  "-j ACCEPT\n-A INPUT -j DROP\n"),
                     to_port(1)),
            "drop input 1 0.5; drop input 3 0.25; ");
}

TEST(Evaluate, ConnectionTrackingByHookAndPacket) {
  const auto raw = iptables(
      "*raw\n:PREROUTING ACCEPT\n-A PREROUTING -m conntrack --ctstate NEW -j DROP\nCOMMIT\n");
  EXPECT_EQ(verdicts(raw, to_port(1)), "") << "it has not been asked yet";
  const auto output =
      filter_table("-A OUTPUT -p tcp --sport 29600 -m conntrack --ctstate ESTABLISHED -j DROP\n");
  EXPECT_EQ(verdicts(output, answer(29600)), "drop output 1; ");
  EXPECT_EQ(verdicts(output, to_port(29600)), "");
  const auto untracked = iptables(
      "*raw\n:PREROUTING ACCEPT\n-A PREROUTING -p tcp -j CT --notrack\nCOMMIT\n*filter\n:INPUT "
      "DROP\n-A INPUT -m conntrack --ctstate NEW -j ACCEPT\nCOMMIT\n");
  EXPECT_EQ(verdicts(untracked, to_port(1)), "drop input policy; ");
}

TEST(Evaluate, MarksAreZeroUntilARuleSetsThem) {
  const std::string drop = "-A INPUT -m mark --mark 0x8000/0x8000 -j DROP\n";
  EXPECT_EQ(verdicts(filter_table(drop), to_port(1)), "");
  EXPECT_EQ(
      verdicts(filter_table("-A INPUT -j MARK --set-xmark 0x1/0xffffffff\n" + drop), to_port(1)),
      "unknown input 2; ");
}

TEST(Evaluate, InterfacesAndAddressesThatAreNotKnown) {
  FilterPacket packet = to_port(1);
  packet.interface.clear();
  EXPECT_EQ(verdicts(filter_table("-A INPUT -i eth0 -j DROP\n"), packet), "unknown input 1; ");
  EXPECT_EQ(verdicts(filter_table("-A INPUT -i + -j DROP\n"), packet), "drop input 1; ");
  packet.source_ip = "nonsense";
  EXPECT_EQ(verdicts(filter_table("-A INPUT -s 10.0.0.0/8 -j DROP\n"), packet),
            "unknown input 1; ");
}

TEST(Evaluate, FamiliesDoNotMix) {
  EXPECT_EQ(verdicts(filter_table("-A INPUT -j DROP\n"), to_port(1, "fd00:9::2")), "");
  const auto six = iptables("*filter\n:INPUT DROP\nCOMMIT\n", "ip6tables");
  EXPECT_EQ(verdicts(six, to_port(1, "fd00:9::2")), "drop input policy; ");
  EXPECT_EQ(verdicts(six, to_port(1)), "");
  FilterRule arp = rule("c", "input", "drop");
  arp.family = "arp";
  EXPECT_EQ(verdicts({arp}, to_port(1)), "");
  FilterPacket request = to_port(0);
  request.protocol = "arp";
  EXPECT_EQ(verdicts({arp}, request), "drop input 1; ");
  EXPECT_EQ(verdicts({rule("c", "input", "drop")}, request), "") << "inet sees no ARP";
}

TEST(Evaluate, IptablesTablesInNftAreJudgedOnce) {
  std::vector<FilterRule> rules = iptables(
      "# Generated by iptables-save v1.8.9 (nf_tables)\n*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -m "
      "mac --mac-source 00:11:22:33:44:55 -j DROP\nCOMMIT\n");
  FilterRule shown = rule("INPUT", "input", "drop");
  shown.family = "ip";
  shown.table = "filter";
  rules.push_back(shown);
  EXPECT_EQ(verdicts(rules, to_port(1)), "unknown input 1; ");
  ASSERT_EQ(evaluate(rules, to_port(1))[0].rule->tool, "iptables");
}

TEST(EvaluateRecorded, NftServerWithTheRightRule) {
  const auto rules = nft(recorded("nft_server.json"));
  EXPECT_EQ(verdicts(rules, to_port(29600)), "");
  EXPECT_EQ(verdicts(rules, to_port(29500)), "");
  EXPECT_EQ(verdicts(rules, answer(29600)), "");
  EXPECT_EQ(verdicts(rules, to_port(29604)), "drop input policy; ");
  EXPECT_EQ(verdicts(rules, to_port(29600, "10.9.0.99")), "drop input policy; ");
  EXPECT_EQ(verdicts(rules, to_port(29600, "fd00:9::2")), "drop input policy; ");
  EXPECT_EQ(verdicts(rules, to_port(22, "192.168.1.1")), "");
}

TEST(EvaluateRecorded, FirewalldRejectsAtTheEndOfTheZone) {
  const auto rules = nft(recorded("firewalld.json"));
  const auto found = evaluate(rules, to_port(29600));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].action, "reject");
  EXPECT_EQ(found[0].hook, "input");
  EXPECT_EQ(found[0].rule->chain, "filter_IN_public");
  EXPECT_EQ(found[0].rule->reject_with, "icmpx admin-prohibited");
  EXPECT_EQ(verdicts(rules, to_port(22)), "");
  EXPECT_EQ(verdicts(rules, answer(29600)), "");
  FilterPacket established = to_port(29600);
  established.first = false;
  EXPECT_EQ(verdicts(rules, established), "");
}

TEST(EvaluateRecorded, UfwDropsByPolicy) {
  const auto rules = iptables(recorded("ufw.rules"));
  const auto found = evaluate(rules, to_port(29600));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(describe(*found[0].rule), "iptables-nft filter INPUT: policy drop");
  EXPECT_EQ(found[0].left_by, nullptr);
  EXPECT_EQ(verdicts(rules, answer(29600)), "");
  FilterPacket outgoing = answer(40000);
  outgoing.first = true;
  outgoing.reply = false;
  EXPECT_EQ(verdicts(rules, outgoing), "");
}

TEST(EvaluateRecorded, DockerStealsAPublishedPort) {
  const auto rules = iptables(recorded("docker.rules"));
  const auto found = evaluate(rules, to_port(29601));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].action, "redirect");
  EXPECT_EQ(found[0].rule->target, "172.17.0.2:80");
  EXPECT_EQ(verdicts(rules, to_port(29600)), "") << "FORWARD's policy is no matter of this host";
}

}  // namespace
}  // namespace plumbline
