#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/filters/evaluate.h"
#include "probes/sources/parsers.h"
#include "probes/sources/source.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string state_of(const HostEvidence& host, const std::string& tool) {
  for (const FilterSource& source : host.filter_sources) {
    if (source.tool == tool) return source.state;
  }
  return "(not noted)";
}

std::vector<FilterRule> rules_of(const std::string& text) {
  HostEvidence host;
  EXPECT_TRUE(parse_pf_rules(text, host));
  return host.filters;
}

// What becomes of a first packet: "accept", or the first verdict.
std::string fate(const std::vector<FilterRule>& rules, FilterPacket packet) {
  packet.source_ip = "10.10.0.1";
  packet.destination_ip = "10.10.0.2";
  packet.interface = "bridge0";
  const auto verdicts = evaluate(rules, packet);
  return verdicts.empty() ? "accept" : verdicts[0].action;
}

std::string fate_in(const std::string& text, int port, const std::string& protocol = "tcp") {
  FilterPacket packet;
  packet.protocol = protocol;
  packet.destination_port = port;
  return fate(rules_of(text), packet);
}

TEST(PfInfo, OnAndOff) {
  HostEvidence host;
  ASSERT_TRUE(parse_pf_info(test::sample("macos/pf_info.txt"), host));
  EXPECT_EQ(state_of(host, "pf"), "enabled");
  ASSERT_TRUE(parse_pf_info("Status: Disabled                Debug: Urgent\n", host));
  EXPECT_EQ(state_of(host, "pf"), "disabled");
  for (const char* text :
       {"", "Status:\n", "Status: Enab", "pfctl: /dev/pf: Permission denied\n"}) {
    HostEvidence none;
    EXPECT_FALSE(parse_pf_info(text, none)) << text;
    EXPECT_THAT(none.filter_sources, IsEmpty());
  }
}

TEST(PfRules, TheLastMatchDecidesUnlessOneIsQuick) {
  const std::string block = "block drop in proto tcp from any to any port = 29600\n";
  const std::string quick = "block drop in quick proto tcp from any to any port = 29600\n";
  const std::string pass = "pass in proto tcp from any to any port = 29600 flags S/SA keep state\n";
  EXPECT_EQ(fate_in(block, 29600), "drop");
  EXPECT_EQ(fate_in(block, 29601), "accept");
  EXPECT_EQ(fate_in(block + pass, 29600), "accept");
  EXPECT_EQ(fate_in(pass + block, 29600), "drop");
  EXPECT_EQ(fate_in(quick + pass, 29600), "drop");
  EXPECT_EQ(fate_in("pass in quick all flags S/SA keep state\n" + block, 29600), "accept");
  EXPECT_EQ(fate_in("block drop all\npass in quick on lo0 all flags S/SA keep state\n", 29600),
            "drop");
}

TEST(PfRules, DirectionsInterfacesFamiliesAndNetworks) {
  EXPECT_EQ(fate_in("block drop out all\n", 29600), "accept");
  EXPECT_EQ(fate_in("block drop all\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in on en0 all\n", 29600), "accept");
  EXPECT_EQ(fate_in("block drop in on ! en0 all\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in on bridge all\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in inet6 all\n", 29600), "accept");
  EXPECT_EQ(fate_in("block drop in inet from 10.10.0.0/24 to any\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in inet from ! 10.10.0.0/24 to any\n", 29600), "accept");
  EXPECT_EQ(fate_in("block drop in inet from any to 10.10.0.9\n", 29600), "accept");
  EXPECT_EQ(fate_in("block return in log (all) proto tcp all label \"two words\"\n", 29600),
            "reject");
  EXPECT_EQ(fate_in("block return-icmp(port-unr, port-unr) in proto udp all\n", 5, "udp"),
            "reject");
}

TEST(PfRules, Ports) {
  const auto with = [](const std::string& port) {
    return fate_in("block drop in proto tcp from any to any port " + port + "\n", 29600);
  };
  EXPECT_EQ(with("= 29600"), "drop");
  EXPECT_EQ(with("!= 29600"), "accept");
  EXPECT_EQ(with("29500:29700"), "drop");
  EXPECT_EQ(with("29700:29800"), "accept");
  EXPECT_EQ(with("> 29600"), "accept");
  EXPECT_EQ(with(">= 29600"), "drop");
  EXPECT_EQ(with("< 29600"), "accept");
  EXPECT_EQ(with("<= 29600"), "drop");
  EXPECT_EQ(with("29000 >< 30000"), "unknown");
  EXPECT_EQ(with("= ssh"), "unknown");
  EXPECT_EQ(with("= 99999999999999999999"), "unknown");
}

TEST(PfRules, WhatIsNotKnownMayMatch) {
  EXPECT_EQ(fate_in("block drop in proto tcp from <bad> to any\n", 29600), "unknown");
  EXPECT_EQ(fate_in("block drop in proto tcp all user = 501\n", 29600), "unknown");
  EXPECT_EQ(fate_in("block drop in proto udp all user = 501\n", 29600), "accept");
  EXPECT_EQ(fate_in("block drop in from 10.0.0.1 - 10.0.0.9 to any\n", 29600), "unknown");
  EXPECT_EQ(fate_in("block drop in proto 132 all\n", 29600), "unknown");
}

TEST(PfRules, AnswersPassByAState) {
  FilterPacket answer;
  answer.first = false;
  answer.reply = true;
  const std::string block = "block drop in all\n";
  EXPECT_EQ(fate(rules_of(block), answer), "drop");
  EXPECT_EQ(fate(rules_of(block + "pass out all flags S/SA keep state\n"), answer), "unknown");
  EXPECT_EQ(fate(rules_of(block + "pass out all no state\n"), answer), "drop");
}

TEST(PfRules, AnchorsAreLookedInto) {
  const auto rules = rules_of(test::sample("macos/pf_rules.txt"));
  FilterPacket packet;
  packet.destination_port = 29600;
  EXPECT_EQ(fate(rules, packet), "drop");
  ASSERT_FALSE(rules.empty());
  EXPECT_EQ(rules[0].tool, "pf");
  EXPECT_THAT(rules[0].text, HasSubstr("(anchor com.apple/*)"));
  EXPECT_EQ(fate_in("anchor \"a\" in on en0 {\n  block drop all\n}\n", 29600), "accept");
  EXPECT_EQ(fate_in("anchor \"a\" out all {\n  block drop all\n}\n", 29600), "accept");
  EXPECT_EQ(fate_in("anchor \"a\" quick {\n block drop all\n}\npass all\n", 29600), "accept");
  EXPECT_EQ(fate_in("anchor \"a\" all {\n}\nblock drop all\n", 29600), "drop");
}

TEST(PfRules, AnchorsThatAreNotShownAreNoted) {
  HostEvidence host;
  ASSERT_TRUE(parse_pf_rules("anchor \"com.apple/*\" all\nanchor \"com.apple/*\" all\n", host));
  EXPECT_EQ(host.unreadable.size(), 1U);
  EXPECT_THAT(host.unreadable, Contains(HasSubstr("com.apple/*")));
}

TEST(PfRules, OfASwitchedOffFilterDoNotCount) {
  HostEvidence host;
  ASSERT_TRUE(parse_pf_info("Status: Disabled\n", host));
  ASSERT_TRUE(parse_pf_rules("block drop all\n", host));
  EXPECT_THAT(host.filters, IsEmpty());
}

TEST(PfRules, BracketsWithoutEnd) {
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "anchor \"x\" all {\n";
  EXPECT_EQ(fate_in(deep + "block drop in all\n", 29600), "unknown");
  EXPECT_EQ(fate_in("}\n}\n}\nblock drop in all\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in log (all\n", 29600), "drop");
  EXPECT_EQ(fate_in("block drop in label \"no end\n", 29600), "drop");
  std::string many;
  for (int i = 0; i < 30'000; ++i) many += "block drop all\n";
  HostEvidence host;
  EXPECT_FALSE(parse_pf_rules(many, host));
}

TEST(Alf, NumberBeforeWords) {
  const auto state = [](const std::string& text) {
    HostEvidence host;
    EXPECT_TRUE(parse_alf_state(text, host)) << text;
    return state_of(host, "alf");
  };
  EXPECT_EQ(state("Firewall is disabled. (State = 0)\n"), "disabled");
  EXPECT_EQ(state("Firewall is enabled. (State = 1)\n"), "enabled");
  EXPECT_EQ(state("Firewall is blocking all. (State = 2)\n"), "enabled, blocks all");
  EXPECT_EQ(state("Die Firewall ist aktiviert. (State = 1)\n"), "enabled");
  EXPECT_EQ(state("Firewall is disabled. (State = 1)\n"), "enabled");
  EXPECT_EQ(state("Firewall is enabled\n"), "enabled");
  EXPECT_EQ(state("Firewall is off\n"), "disabled");
}

TEST(Alf, WhatSaysNeitherIsAnError) {
  for (const char* text :
       {"", "Die Firewall ist aktiviert.\n", "(State = 7)", "(State = 99999999999999999999)",
        "(State = ", "Firewall settings cannot be modified from command line on managed Macs.\n"}) {
    HostEvidence host;
    EXPECT_FALSE(parse_alf_state(text, host)) << text;
    EXPECT_FALSE(parse_alf_block_all(text, host)) << text;
    EXPECT_FALSE(parse_alf_stealth(text, host)) << text;
    EXPECT_THAT(host.filter_sources, IsEmpty()) << text;
  }
}

TEST(Alf, WhatElseIsOnCountsOnlyWhenItIsOn) {
  HostEvidence host;
  ASSERT_TRUE(parse_alf_state("Firewall is enabled. (State = 1)\n", host));
  ASSERT_TRUE(parse_alf_block_all("Firewall has block all state set to enabled.\n", host));
  ASSERT_TRUE(parse_alf_stealth("Firewall stealth mode is on\n", host));
  EXPECT_EQ(state_of(host, "alf"), "enabled, blocks all, stealth");
  HostEvidence off;
  ASSERT_TRUE(parse_alf_state("Firewall is disabled. (State = 0)\n", off));
  ASSERT_TRUE(parse_alf_block_all("Firewall has block all state set to enabled.\n", off));
  ASSERT_TRUE(parse_alf_stealth("Stealth mode enabled\n", off));
  EXPECT_EQ(state_of(off, "alf"), "disabled");
}

}  // namespace
}  // namespace plumbline
