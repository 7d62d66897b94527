// Shared by the tests of the lab: topologies drawn from a number, and a look at the commands that a
// plan would run.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lab/create.h"
#include "lab/lab.h"

namespace plumbline {

inline LabTopology drawn_topology(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto pick = [&](std::vector<std::string> words) { return words[random() % words.size()]; };
  for (;;) {
    LabTopology topology;
    topology.shape = pick({"star", "star", "mesh", "routed"});
    topology.size = 2 + static_cast<int>(random() % 7);
    topology.family = pick({"ipv4", "ipv4", "ipv6", "link_local", "link_local6"});
    topology.carrier = pick({"direct", "direct", "bridge", "macvlan"});
    topology.rate = pick({"", "1Gbit", "250Mbit"});
    topology.control = pick({"", "10.251.3.0/24"});
    topology.mtu = random() % 2 == 0 ? 1500 : 9000;
    topology.firewall = pick({"", "default_deny", "firewalld"});
    topology.ping = pick({"answered", "blocked"});
    if (random() % 3 == 0) topology.others = {"docker", "vpn", "second_nic"};
    if (topology_problem(topology).empty()) return topology;
  }
}

// Every namespace that the commands name belongs to the lab (or to `more`), and nothing is run
// outside of them but what makes and removes namespaces, files of names and files of the lab.
inline void check_commands(const Lab& lab, const std::vector<std::string>& more,
                           const std::string& script) {
  std::set<std::string> own(more.begin(), more.end());
  for (const std::string& netns : lab_namespaces(lab)) own.insert(netns);
  static const std::regex kNamed("(?:-n|netns exec|netns add|netns del| netns) (pl-[^ \n;)]+)");
  for (auto it = std::sregex_iterator(script.begin(), script.end(), kNamed);
       it != std::sregex_iterator(); ++it) {
    EXPECT_EQ(own.count((*it)[1].str()), 1U) << (*it)[1].str() << " in " << script;
  }
  // What stands in quotes is text, not commands.
  std::string bare = std::regex_replace(script, std::regex("<<'END'"), "<<END");
  bare = std::regex_replace(bare, std::regex("'[^']*'"), "");
  std::istringstream lines(bare);
  bool in_document = false;
  for (std::string line; std::getline(lines, line);) {
    if (in_document) {
      in_document = line.rfind("END", 0) != 0;
      continue;
    }
    in_document = line.find("<<END") != std::string::npos;
    static const std::regex kAllowed(
        "^(\\[ -n \"\\$\\()?((ip|tc|bridge) -n pl-|ip netns (exec|add|del) pl-|ip link add [^ ]+ "
        "(mtu [0-9]+ )?(address [0-9a-f:]+ )?netns pl-|mkdir -p /etc/netns/pl-|printf |chmod 755 |"
        "rm -f |for i in )");
    EXPECT_TRUE(std::regex_search(line, kAllowed)) << line;
  }
}

}  // namespace plumbline
