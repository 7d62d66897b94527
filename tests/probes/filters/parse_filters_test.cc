#include "probes/filters/parse_filters.h"

#include <gmock/gmock.h>

#include "core/json.h"
#include "filters_helpers.h"
#include "probes/filters/evaluate.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using test::filter_table;
using test::iptables;
using test::nft_input;
using test::to_port;
using test::verdicts;
using testing::HasSubstr;

std::string matches_of(const FilterRule& rule) {
  std::string text;
  for (const FilterMatch& match : rule.matches) {
    text += match.key + (match.negated ? "!=" : "=");
    for (const std::string& value : match.values) text += value + "|";
    text += " ";
  }
  return text;
}

TEST(ParseNft, ConditionsInNormalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"payload": {"protocol": "tcp", "field": "dport"}}, "right": 29600)",
       "protocol=tcp| dport=29600| "},
      {R"({"payload": {"protocol": "tcp", "field": "dport"}}, "right": {"set": [5, {"range": [7, 9]}]})",
       "protocol=tcp| dport=5|7-9| "},
      {R"({"payload": {"protocol": "ip", "field": "saddr"}}, "right": {"prefix": {"addr": "10.0.0.0", "len": 8}})",
       "family=ip| saddr=10.0.0.0/8| "},
      {R"({"payload": {"protocol": "ip6", "field": "daddr"}}, "right": {"range": ["fd00::1", "fd00::9"]})",
       "family=ip6| daddr=fd00::1-fd00::9| "},
      {R"({"&": [{"payload": {"protocol": "tcp", "field": "flags"}}, ["fin", "syn"]]}, "right": "syn")",
       "protocol=tcp| tcp_flags=syn/fin,syn| "},
      {R"({"payload": {"protocol": "tcp", "field": "flags"}}, "right": 18)",
       "protocol=tcp| tcp_flags=syn,ack/fin,syn,rst,psh,ack,urg,ecn,cwr| "},
      {R"({"meta": {"key": "iifname"}}, "right": "eth*")", "iif=eth*| "},
      {R"({"meta": {"key": "nfproto"}}, "right": "ipv6")", "family=ip6| "},
      {R"({"meta": {"key": "l4proto"}}, "right": 58)", "protocol=icmpv6| "},
      {R"({"&": [{"meta": {"key": "mark"}}, 255]}, "right": 16)", "mark=16/255| "},
      {R"({"fib": {"result": "type", "flags": ["daddr"]}}, "right": "local")",
       "daddr_type=local| "},
      {R"({"payload": {"base": "th", "offset": 16, "len": 16}}, "right": 5)", "dport=5| "},
  };
  for (const auto& [left, wanted] : cases) {
    const auto rules = nft_input(std::string(R"({"match": {"op": "==", "left": )") + left +
                                 R"(}}, {"drop": null})");
    ASSERT_EQ(rules.size(), 2u) << left;
    EXPECT_EQ(matches_of(rules[0]), wanted) << left;
    EXPECT_EQ(rules[0].action, "drop");
    EXPECT_EQ(rules[0].handle, 7);
    EXPECT_TRUE(rules[1].is_policy);
  }
}

TEST(ParseNft, WhatIsNotUnderstoodIsKeptAsOther) {
  for (const char* left :
       {R"({"meta": {"key": "skuid"}}, "right": 0)", R"({"ct": {"key": "mark"}}, "right": 4)",
        R"({"fib": {"result": "oif", "flags": ["saddr", "iif"]}}, "right": false)",
        R"({"new thing": {"key": "x"}}, "right": 4)",
        R"({"meta": {"key": "iif"}}, "right": {"x": 1})",
        R"({"payload": {"protocol": "tcp", "field": "dport"}}, "right": "@nobody")",
        R"([], "right": [])", R"(7, "right": {"set": {}})"}) {
    const auto rules = nft_input(std::string(R"({"match": {"op": "==", "left": )") + left +
                                 R"(}}, {"drop": null})");
    ASSERT_EQ(rules.size(), 2u) << left;
    EXPECT_THAT(matches_of(rules[0]), HasSubstr("other=")) << left;
    EXPECT_EQ(verdicts(rules, to_port(29600)), "unknown input 7; ") << left;
  }
}

TEST(ParseNft, OperatorsAndShares) {
  const auto dport = [](const std::string& op) {
    return nft_input(
        R"({"match": {"op": ")" + op +
        R"(", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 100}}, {"drop": null})");
  };
  for (const auto& [op, below, at, above] : {std::tuple{"==", false, true, false},
                                             {"!=", true, false, true},
                                             {"<", true, false, false},
                                             {"<=", true, true, false},
                                             {">", false, false, true},
                                             {">=", false, true, true}}) {
    const auto rules = dport(op);
    EXPECT_EQ(!verdicts(rules, to_port(99)).empty(), below) << op;
    EXPECT_EQ(!verdicts(rules, to_port(100)).empty(), at) << op;
    EXPECT_EQ(!verdicts(rules, to_port(101)).empty(), above) << op;
  }
  const auto share = [](const std::string& op, const std::string& right) {
    return nft_input(
               R"({"match": {"op": ")" + op +
               R"(", "left": {"numgen": {"mode": "random", "mod": 100, "offset": 0}}, "right": )" +
               right + R"(}}, {"drop": null})")[0]
        .share;
  };
  EXPECT_DOUBLE_EQ(share("<", "30"), 0.3);
  EXPECT_DOUBLE_EQ(share(">=", "70"), 0.3);
  EXPECT_DOUBLE_EQ(share("==", "0"), 0.01);
  EXPECT_DOUBLE_EQ(share("!=", "0"), 0.99);
  EXPECT_DOUBLE_EQ(share("==", R"({"set": [1, {"range": [4, 8]}]})"), 0.06);
  EXPECT_DOUBLE_EQ(share("<", "3000000"), 1);
}

TEST(ParseNft, MapsAndTuplesBecomeRules) {
  const auto rules = nft_input(
      R"({"vmap": {"key": {"payload": {"protocol": "tcp", "field": "dport"}}, "data": "@m"}})",
      R"({"map": {"family": "inet", "name": "m", "table": "t", "type": "inet_service", "map": "verdict",
          "elem": [["*", {"return": null}], [1, {"drop": null}],
                   [{"elem": {"val": {"range": [2, 4]}, "comment": "x"}}, {"jump": {"target": "u"}}]]}},)");
  ASSERT_EQ(rules.size(), 5u);
  EXPECT_EQ(rules[0].action, "drop");
  EXPECT_EQ(rules[1].target, "u");
  EXPECT_EQ(matches_of(rules[1]), "protocol=tcp| dport=2-4| ");
  EXPECT_EQ(rules[2].action, "return") << "the rest comes last";
  const auto tuples = nft_input(
      R"({"match": {"op": "==", "left": {"concat": [{"payload": {"protocol": "ip", "field": "saddr"}},
          {"payload": {"protocol": "tcp", "field": "dport"}}]},
          "right": {"set": [{"concat": ["10.9.0.2", 80]}, {"concat": [{"prefix": {"addr": "10.0.0.0", "len": 24}}, {"range": [81, 90]}]}]}}},
         {"drop": null})");
  ASSERT_EQ(tuples.size(), 3u);
  EXPECT_EQ(matches_of(tuples[1]), "family=ip| saddr=10.0.0.0/24| protocol=tcp| dport=81-90| ");
  EXPECT_EQ(verdicts(tuples, to_port(80)), "drop input 7; ");
  EXPECT_EQ(verdicts(tuples, to_port(81)), "");
}

TEST(ParseNft, ExtensionsOfIptablesAreNotGuessed) {
  EXPECT_EQ(verdicts(nft_input(R"({"xt": null}, {"accept": null})"), to_port(1)), "");
  EXPECT_EQ(verdicts(nft_input(R"({"xt": null})"), to_port(1)), "unknown input 7; ");
  EXPECT_EQ(verdicts(nft_input(R"({"xt": {"type": "match", "name": "mac"}}, {"drop": null})"),
                     to_port(1)),
            "unknown input 7; ");
  EXPECT_EQ(verdicts(nft_input(R"({"xt": {"type": "target", "name": "REJECT"}})"), to_port(1)),
            "reject input 7; ");
  EXPECT_EQ(verdicts(nft_input(R"({"xt": {"type": "target", "name": "LOG"}})"), to_port(1)), "");
  EXPECT_EQ(verdicts(nft_input(R"({"xt": {"type": "target", "name": "NEW"}})"), to_port(1)),
            "unknown input 7; ");
}

TEST(ParseNft, TextAddsDevicesAndDormantTables) {
  std::vector<FilterRule> rules = test::nft(
      R"({"nftables": [{"table": {"family": "netdev", "name": "n", "flags": "ip"}},
      {"chain": {"family": "netdev", "table": "n", "name": "i", "type": "filter", "hook": "ingress", "prio": 0, "policy": "drop"}},
      {"table": {"family": "inet", "name": "z", "flags": "ip"}},
      {"chain": {"family": "inet", "table": "z", "name": "x", "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}}]})");
  EXPECT_EQ(verdicts(rules, to_port(1)), "unknown ingress policy; unknown input policy; ");
  ASSERT_TRUE(parse_nft_text(
      "table netdev n {\n\tchain i {\n\t\ttype filter hook ingress devices = { eth0, eth1 } "
      "priority filter; policy drop;\n\t}\n}\ntable inet z {\n\tflags dormant\n\n\tchain x {\n"
      "\t\ttype filter hook input priority filter; policy drop;\n\t}\n}\n",
      rules));
  EXPECT_EQ(verdicts(rules, to_port(1)), "drop ingress policy; ");
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].device, "eth0 eth1");
  FilterPacket elsewhere = to_port(1);
  elsewhere.interface = "eth2";
  EXPECT_EQ(verdicts(rules, elsewhere), "");
}

TEST(ParseNft, BrokenTextIsAnErrorAndAddsNothing) {
  const std::string whole = test::recorded("nft_server.json");
  std::vector<FilterRule> rules;
  for (size_t size = 0; size + 3 < whole.size(); size += 97) {
    const Status done = parse_nft_json(whole.substr(0, size), rules);
    EXPECT_FALSE(done) << size;
    EXPECT_TRUE(rules.empty());
  }
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[]"), std::string("{\"nftables\": 7}"),
        std::string("Operation not permitted (you must be root)"), std::string(64, '\0'),
        std::string("{\"nftables\": [{\"rule\": {\"expr\": [\"\xff\xfe\"]}}]}"),
        "{\"nftables\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"}) {
    EXPECT_FALSE(parse_nft_json(text, rules)) << text.substr(0, 40);
    EXPECT_TRUE(rules.empty());
  }
  EXPECT_FALSE(parse_nft_json(std::string((64u << 20) + 1, ' '), rules));
}

TEST(ParseNft, WrongTypesEverywhereDoNotCrash) {
  const nlohmann::json good = nlohmann::json::parse(test::recorded("nft_server.json"));
  const nlohmann::json flat = good.flatten();
  const nlohmann::json wrong[] = {nullptr, -1, 1e300, "@x", nlohmann::json::object()};
  for (const auto& [path, value] : flat.items()) {
    for (const nlohmann::json& other : wrong) {
      nlohmann::json bad = good;
      bad[nlohmann::json::json_pointer(path)] = other;
      std::vector<FilterRule> rules;
      if (!parse_nft_json(bad.dump(), rules)) {
        EXPECT_TRUE(rules.empty());
      } else {
        evaluate(rules, to_port(29600));
      }
    }
  }
}

TEST(ParseNft, OneOddRuleDoesNotHideTheOthers) {
  const auto rules = nft_input(R"({"match": {"op": 7}}, {"accept": null})");
  EXPECT_EQ(verdicts(rules, to_port(1)), "unknown input 7; ");
  EXPECT_EQ(verdicts(nft_input(R"({"limit": {"inv": "x"}}, {"drop": null})"), to_port(1)),
            "unknown input 7; ");
}

TEST(ParseNft, ManyRulesAndLargeSetsAreBounded) {
  if (test::kSanitized) GTEST_SKIP() << "25 MB of rules take half a minute under a sanitizer";
  std::string rule =
      R"(,{"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 7, "expr": [{"drop": null}]}})";
  std::string text = R"({"nftables": [{"chain": {"family": "inet", "table": "t", "name": "c"}})";
  for (int i = 0; i < 250'001; ++i) text += rule;
  std::vector<FilterRule> rules;
  EXPECT_FALSE(parse_nft_json(text + "]}", rules));
  EXPECT_TRUE(rules.empty());
  std::string elements = "1";
  for (int i = 2; i < 70'000; ++i) elements += "," + std::to_string(i);
  rules = nft_input(
      R"({"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": {"set": [)" +
      elements + R"(]}}}, {"drop": null})");
  EXPECT_EQ(verdicts(rules, to_port(29600)), "unknown input 7; ");
  EXPECT_LT(rules[0].text.size(), 500u);
}

TEST(ParseIptables, ConditionsInNormalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"-p tcp -m tcp --dport 80:90", "protocol=tcp| dport=80-90| "},
      {"! -s 10.0.0.0/8 -i eth+", "saddr!=10.0.0.0/8| iif=eth*| "},
      {"-p tcp -m multiport --dports 1,5:7 -m comment --comment \"-j DROP ! x\"",
       "protocol=tcp| dport=1|5-7| "},
      {"-m conntrack ! --ctstate RELATED,ESTABLISHED", "state!=related|established| "},
      {"-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN",
       "protocol=tcp| tcp_flags=syn/fin,syn,rst,ack| "},
      {"-m iprange --src-range 10.9.0.2-10.9.0.3", "saddr=10.9.0.2-10.9.0.3| "},
      {"-m mark --mark 0x8000/0x8000", "mark=0x8000/0x8000| "},
      {"-m addrtype --dst-type LOCAL", "daddr_type=local| "},
      {"-m set --match-set bad src", "other=--match-set bad src| "},
      {"-m socket --transparent", "other=-m socket| other=--transparent| "},
      {"-m physdev ! --physdev-in eth1", "other=! --physdev-in eth1| "},
      {"-m limit --limit 5/sec --limit-burst 7", "limit=5/sec| "},
      {"-p ipv6-icmp", "protocol=icmpv6| "},
  };
  for (const auto& [condition, wanted] : cases) {
    const auto rules = filter_table(std::string("-A INPUT ") + condition + " -j DROP\n");
    ASSERT_EQ(rules.size(), 3u) << condition;
    EXPECT_EQ(matches_of(rules[0]), wanted);
    EXPECT_EQ(rules[0].action, "drop");
  }
}

TEST(ParseIptables, TargetsVariantsAndNumbers) {
  const auto rules = iptables(
      "# Generated by iptables-save v1.8.9 (nf_tables) on Fri\n*filter\n:INPUT DROP [0:0]\n:u - "
      "[0:0]\n"
      "[1:2] -A INPUT -j REJECT --reject-with icmp-host-prohibited\n-A INPUT -g u\n"
      "-A u -m statistic --mode nth --every 4 --packet 0 -j DROP\n-A u -j WHATEVER\nCOMMIT\n");
  ASSERT_EQ(rules.size(), 5u);
  EXPECT_EQ(rules[0].variant, "nft");
  EXPECT_EQ(rules[0].reject_with, "icmp host-prohibited");
  EXPECT_EQ(rules[1].action, "goto");
  EXPECT_EQ(rules[1].handle, 2);
  EXPECT_EQ(rules[2].action, "drop");
  EXPECT_TRUE(rules[2].is_policy);
  EXPECT_DOUBLE_EQ(rules[3].share, 0.25);
  EXPECT_EQ(matches_of(rules[4]), "other=target WHATEVER| ");
  EXPECT_EQ(
      iptables("# Generated by iptables-save v1.8.9 on Fri\n*raw\n:OUTPUT ACCEPT\nCOMMIT\n")[0]
          .variant,
      "legacy");
  EXPECT_EQ(
      iptables("# Generated by iptables-save v1.6.1 on Fri\n*raw\n:OUTPUT ACCEPT\nCOMMIT\n")[0]
          .variant,
      "");
  EXPECT_TRUE(iptables("").empty());
}

TEST(ParseIptables, TheSameTableTwiceIsReadOnce) {
  std::vector<FilterRule> rules;
  const std::string text = test::recorded("docker.rules");
  ASSERT_TRUE(parse_iptables_save(text, "iptables", rules));
  const size_t once = rules.size();
  ASSERT_TRUE(parse_iptables_save(text, "iptables", rules));
  EXPECT_EQ(rules.size(), once);
}

TEST(ParseIptables, BrokenTextIsAnErrorAndAddsNothing) {
  std::vector<FilterRule> rules;
  for (const std::string& text :
       {std::string("*filter\n:INPUT ACCEPT [0:0]\n"), std::string("-A INPUT -j DROP\n"),
        std::string("*filter\n-A INPUT -j DROP\nCOMMIT\n"), std::string("hello\n"),
        std::string("*filter\n:INPUT ACCEPT\n-A\nCOMMIT\n"), std::string("*filter\n:\nCOMMIT\n"),
        std::string("*filter\n:INPUT ACCEPT\n-D INPUT -j DROP\nCOMMIT\n"),
        std::string("*filter\n:INPUT ACCEPT\n*nat\nCOMMIT\n"), std::string("\0\0\n\0", 4)}) {
    EXPECT_FALSE(parse_iptables_save(text, "iptables", rules)) << text;
    EXPECT_TRUE(rules.empty());
  }
  const std::string whole = test::recorded("ufw.rules");
  for (size_t size = 0; size < whole.size(); size += 13) {
    rules.clear();
    if (!parse_iptables_save(whole.substr(0, size), "iptables", rules)) {
      EXPECT_TRUE(rules.empty());
    }
  }
}

TEST(ParseIptables, OddLinesDoNotCrash) {
  for (const char* line :
       {"-j", "-m", "!", "! !", "-p", "--dport", "-p tcp --tcp-flags", "-j DROP -j ACCEPT -j",
        "--comment \"unterminated", "-m statistic --probability zero -j DROP", "\"\"",
        "-m statistic --every 0 -j DROP", "--ports 1,2 -j DROP", "! --ports 1 -j DROP",
        "-p tcp --dport : -j DROP", "-s / -j DROP", "-s 10.0.0.0/99 -j DROP"}) {
    const auto rules = filter_table(std::string("-A INPUT ") + line + "\n");
    evaluate(rules, to_port(29600));
  }
  EXPECT_EQ(verdicts(filter_table("-A INPUT -s 10.0.0.0/99 -j DROP\n"), to_port(1)),
            "unknown input 1; ");
  EXPECT_EQ(
      verdicts(filter_table("-A INPUT -p tcp -m multiport --ports 1,2 -j DROP\n"), to_port(2)),
      "drop input 1; ");
  EXPECT_EQ(
      verdicts(filter_table("-A INPUT -p tcp -m multiport ! --ports 1,2 -j DROP\n"), to_port(2)),
      "");
}

TEST(ParseEbtables, RulesOfBridges) {
  std::vector<FilterRule> rules;
  ASSERT_TRUE(
      parse_ebtables_save("# Generated by ebtables-save v1.8.9 (nf_tables) on Fri\n*filter\n:INPUT "
                          "ACCEPT\n:FORWARD ACCEPT\n:u DROP\n"
                          "-A INPUT -p IPv4 -i eth+ --ip-proto tcp --ip-dport 29600:29603 -j "
                          "DROP\n-A INPUT -p ARP -j u\n",
                          rules));
  FilterPacket packet = to_port(29601);
  EXPECT_EQ(verdicts(rules, packet), "") << "it came by no bridge";
  packet.interface = "br0";
  packet.bridge = true;
  packet.lower = {"eth1"};
  EXPECT_EQ(verdicts(rules, packet), "drop input 1; ");
  packet.protocol = "arp";
  EXPECT_EQ(verdicts(rules, packet), "drop input policy; ");
  EXPECT_FALSE(parse_ebtables_save("-A INPUT -j DROP\n", rules));
}

std::vector<FilterRule> tc(const std::string& filters, const std::string& direction = "ingress") {
  std::vector<FilterRule> rules;
  const Status done = parse_tc_filters("[" + filters + "]", "eth0", direction, rules);
  EXPECT_TRUE(done) << done.error().message();
  return rules;
}

constexpr const char* kDrop =
    R"("actions":[{"order":1,"kind":"gact","control_action":{"type":"drop"},"prob":{"random_type":"none","control_action":{"type":"pass"},"val":0},"index":1,"ref":1,"bind":1}])";

TEST(ParseTc, FlowerMatchallAndU32) {
  const std::string head = R"({"protocol":"ip","pref":5,"kind":"flower","chain":0},)";
  const auto flower = tc(
      head +
      R"({"protocol":"ip","pref":5,"kind":"flower","chain":0,"options":{"handle":1,"keys":{"eth_type":"ipv4","ip_proto":"tcp","src_ip":"10.9.0.0/24","dst_port":{"start":29600,"end":29603}},"not_in_hw":true,)" +
      std::string(kDrop) + "}}");
  ASSERT_EQ(flower.size(), 1u);
  EXPECT_EQ(flower[0].id, "0x1");
  EXPECT_EQ(verdicts(flower, to_port(29603)), "drop ingress 5; ");
  EXPECT_EQ(verdicts(flower, to_port(29604)), "");
  // As iproute2 6.1 prints it: the key "match" several times in one object.
  const auto u32 = tc(
      R"({"protocol":"ip","pref":7,"kind":"u32","chain":0},{"protocol":"ip","pref":7,"kind":"u32","chain":0,"options":{"fh":"800:","ht_divisor":1}},{"protocol":"ip","pref":7,"kind":"u32","chain":0,"options":{"fh":"800::800","order":2048,"key_ht":"800","bkt":"0","not_in_hw":true,"match":{"value":"73a0","mask":"ffff","offmask":"","off":20},"match":{"value":"a090000","mask":"ffff0000","offmask":"","off":12},"match":{"value":"60000","mask":"ff0000","offmask":"","off":8},)" +
      std::string(kDrop) + "}}");
  ASSERT_EQ(u32.size(), 1u);
  EXPECT_EQ(matches_of(u32[0]), "family=ip| dport=29600| saddr=10.9.0.0/16| protocol=tcp| ");
  EXPECT_EQ(verdicts(u32, to_port(29600)), "drop ingress 7; ");
  const auto v6 = tc(
      R"({"protocol":"ipv6","pref":8,"kind":"u32","chain":0,"options":{"fh":"801::800","match":{"value":"73a0","mask":"ffff","offmask":"","off":40},"match":{"value":"fd000009","mask":"ffffffff","offmask":"","off":8},"match":{"value":"2","mask":"ffffffff","offmask":"","off":20},)" +
      std::string(kDrop) + "}}");
  EXPECT_EQ(verdicts(v6, to_port(29600, "fd00:9::2")), "drop ingress 8; ");
  EXPECT_EQ(verdicts(v6, to_port(29600, "fd00:9::3")), "");
}

TEST(ParseTc, OrderAndActions) {
  const std::string drop =
      R"({"protocol":"all","pref":9,"kind":"matchall","chain":0,"options":{"handle":1,)" +
      std::string(kDrop) + "}}";
  const auto with = [&](const std::string& action) {
    return verdicts(
        tc(drop +
           R"(,{"protocol":"all","pref":3,"kind":"matchall","chain":0,"options":{"handle":1,"actions":[)" +
           action + "]}}"),
        to_port(1));
  };
  EXPECT_EQ(with(R"({"kind":"gact","control_action":{"type":"pass"}})"), "");
  EXPECT_EQ(with(R"({"kind":"gact","control_action":{"type":"continue"}})"), "drop ingress 9; ");
  EXPECT_EQ(
      with(
          R"({"kind":"mirred","mirred_action":"mirror","to_dev":"x","control_action":{"type":"pipe"}},{"kind":"gact","control_action":{"type":"drop"}})"),
      "drop ingress 3; ");
  EXPECT_EQ(
      with(
          R"({"kind":"mirred","mirred_action":"redirect","to_dev":"x","control_action":{"type":"stolen"}})"),
      "redirect ingress 3; ");
  EXPECT_EQ(
      with(
          R"({"kind":"gact","control_action":{"type":"continue"},"prob":{"random_type":"netrand","control_action":{"type":"drop"},"val":4}})"),
      "drop ingress 3 0.25; drop ingress 9 0.75; ");
  EXPECT_EQ(
      with(
          R"({"kind":"police","rate":"1Mbit","control_action":{"type":"drop"},"control_action":{"type":"continue"}})"),
      "unknown ingress 3; drop ingress 9; ");
  const auto bpf = tc(
      R"({"protocol":"all","pref":1,"kind":"bpf","chain":0,"options":{"handle":1,"bpf_name":"x"}})");
  EXPECT_EQ(verdicts(bpf, to_port(1)), "unknown ingress 1; ");
  const auto chained = tc(
      R"({"protocol":"all","pref":1,"kind":"matchall","chain":0,"options":{"handle":1,"actions":[{"kind":"gact","control_action":{"type":"goto","chain":4}}]}},{"protocol":"all","pref":1,"kind":"matchall","chain":4,"options":{"handle":1,)" +
      std::string(kDrop) + "}}");
  EXPECT_EQ(verdicts(chained, to_port(1)), "drop ingress 1; ");
}

TEST(ParseTc, BrokenTextIsAnErrorAndAddsNothing) {
  std::vector<FilterRule> rules;
  EXPECT_TRUE(parse_tc_filters("", "eth0", "ingress", rules));
  EXPECT_TRUE(parse_tc_filters("[]", "eth0", "ingress", rules));
  EXPECT_TRUE(parse_tc_filters("[7, {}, {\"options\": 5}]", "eth0", "ingress", rules));
  for (const std::string& text :
       {std::string("{}"), std::string("[{"), std::string("Cannot find device"),
        std::string(5000, '['), std::string("\"match\":{\"match\":{")}) {
    EXPECT_FALSE(parse_tc_filters(text, "eth0", "ingress", rules)) << text.substr(0, 20);
  }
  EXPECT_TRUE(rules.empty());
}

TEST(FilterRuleJson, GoesThereAndBack) {
  for (const FilterRule& rule : test::nft(test::recorded("firewalld.json"))) {
    const nlohmann::json json = rule;
    EXPECT_EQ(nlohmann::json(json.get<FilterRule>()), json);
  }
}

}  // namespace
}  // namespace plumbline
