// What the tests of filters share: recorded rulesets, and packets between two hosts.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "probes/filters/evaluate.h"
#include "probes/filters/parse_filters.h"
#include "tests/support/places.h"

namespace plumbline::test {

inline std::string recorded(const std::string& name) {
  const std::string path = test::source_dir() + "/tests/probes/filters/recorded/" + name;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// What lets TCP between these two to these ports through, when nothing more is known.
inline Remedy remedy_for_rule(const FilterRule& rule, bool incoming, const std::string& own_ip,
                              const std::string& peer_ip, const std::vector<int>& ports) {
  return plumbline::remedy_for_rule(rule, {incoming, own_ip, peer_ip, ports, {}, nullptr, {}});
}

inline std::vector<FilterRule> nft(const std::string& text) {
  std::vector<FilterRule> rules;
  const Status done = parse_nft_json(text, rules);
  EXPECT_TRUE(done) << done.error().message();
  return rules;
}

inline std::vector<FilterRule> iptables(const std::string& text,
                                        const std::string& tool = "iptables") {
  std::vector<FilterRule> rules;
  const Status done = parse_iptables_save(text, tool, rules);
  EXPECT_TRUE(done) << done.error().message();
  return rules;
}

// A table filter with these lines; policies ACCEPT.
inline std::vector<FilterRule> filter_table(const std::string& lines,
                                            const std::string& chains = "") {
  return iptables("*filter\n:INPUT ACCEPT [0:0]\n:OUTPUT ACCEPT [0:0]\n" + chains + lines +
                  "COMMIT\n");
}

// One rule of nft in a chain "c" of the input hook, as JSON of its statements.
inline std::vector<FilterRule> nft_input(const std::string& statements,
                                         const std::string& more = "") {
  return nft(R"({"nftables": [{"table": {"family": "inet", "name": "t", "handle": 1}},)" + more +
             R"({"chain": {"family": "inet", "table": "t", "name": "c", "type": "filter",
                 "hook": "input", "prio": 0, "policy": "accept"}},
                {"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 7, "expr": [)" +
             statements + "]}}]}");
}

// A first packet from the peer to a port of this host.
inline FilterPacket to_port(int port, const std::string& from = "10.9.0.2") {
  FilterPacket packet;
  packet.source_ip = from;
  packet.destination_ip = from.find(':') == std::string::npos ? "10.9.0.1" : "fd00:9::1";
  packet.destination_port = port;
  packet.interface = "eth0";
  return packet;
}

// The answer of this host.
inline FilterPacket answer(int port) {
  FilterPacket packet;
  packet.incoming = false;
  packet.first = false;
  packet.reply = true;
  packet.source_ip = "10.9.0.1";
  packet.destination_ip = "10.9.0.2";
  packet.source_port = port;
  packet.destination_port = 40000;
  packet.interface = "eth0";
  return packet;
}

// "drop input 7; unknown input 9 0.5; ": action, hook, handle, share unless all.
inline std::string verdicts(const std::vector<FilterRule>& rules, const FilterPacket& packet) {
  std::ostringstream out;
  for (const FilterVerdict& verdict : evaluate(rules, packet)) {
    out << verdict.action << " " << verdict.hook << " "
        << (verdict.rule->is_policy ? "policy" : std::to_string(verdict.rule->handle));
    if (verdict.share < 1) out << " " << verdict.share;
    out << "; ";
  }
  return out.str();
}

}  // namespace plumbline::test
