#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/json.h"
#include "lab/address.h"
#include "lab/lab.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Topology, TheFormOfTheContract) {
  const auto topology = parse_topology(
      R"({"plumbline_lab":1, "name":"star4", "shape":"star", "hosts":4, "data":"10.10.0.0/24",
          "control":"10.99.0.0/24", "rate":"1Gbit", "mtu":1500} // a comment)",
      "star4.json");
  ASSERT_TRUE(topology) << topology.error().message();
  EXPECT_EQ(topology->size, 4);
  EXPECT_EQ(topology->control, "10.99.0.0/24");
  const auto named = parse_topology(R"({"plumbline_lab":1, "hosts":["a","b"]})", "x");
  ASSERT_TRUE(named);
  EXPECT_EQ(named->hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(named->size, 2);
}

TEST(Topology, EveryFileThatShipsIsRight) {
  int seen = 0;
  std::set<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() + "/scenarios/labs")) {
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto topology = parse_topology(text, entry.path().filename());
    ASSERT_TRUE(topology) << topology.error().message();
    EXPECT_EQ(topology->name, entry.path().stem());
    EXPECT_TRUE(names.insert(topology->name).second);
    ++seen;
  }
  EXPECT_GE(seen, 4);
}

struct WrongFile {
  const char *text, *problem;
};

TEST(Topology, WhatIsWrongIsNamedWithItsPath) {
  const WrongFile table[] = {
      {"", "there is no value in this file"},
      {"{", "the '{' of line 1 is not closed"},
      {"[]", "no topology"},
      {"{}", "no topology"},
      {R"({"hosts": []})", "no topology"},
      {R"({"plumbline_lab": 2})", "$.plumbline_lab"},
      {R"({"plumbline_lab": "1"})", "$.plumbline_lab"},
      {R"({"plumbline_lab": 1, "hosst": 3})", "did you mean 'hosts'"},
      {R"({"plumbline_lab": 1, "hosts": 1})", "2 to 12"},
      {R"({"plumbline_lab": 1, "hosts": 13})", "2 to 12"},
      {R"({"plumbline_lab": 1, "hosts": 99999999999999999999})", "$.hosts"},
      {R"({"plumbline_lab": 1, "hosts": "four"})", "$.hosts"},
      {R"({"plumbline_lab": 1, "hosts": []})", "$.hosts"},
      {R"({"plumbline_lab": 1, "hosts": ["a", 2]})", "$.hosts[1]"},
      {R"({"plumbline_lab": 1, "hosts": ["a", "a"]})", "$.hosts[1]: 'a' twice"},
      {R"({"plumbline_lab": 1, "hosts": ["a", "b; reboot"]})", "$.hosts[1]"},
      {R"({"plumbline_lab": 1, "hosts": ["a", "../b"]})", "$.hosts[1]"},
      {R"({"plumbline_lab": 1, "hosts": ["a", "-b"]})", "$.hosts[1]"},
      {R"({"plumbline_lab": 1, "name": "../../etc"})", "$.name"},
      {R"({"plumbline_lab": 1, "name": ""})", "$.name"},
      {R"({"plumbline_lab": 1, "name": "a b"})", "$.name"},
      {R"({"plumbline_lab": 1, "name": ".lock"})", "$.name"},
      {R"({"plumbline_lab": 1, "name": "x123456789012345678901234567890123"})", "$.name"},
      {R"({"plumbline_lab": 1, "shape": "ring"})", "none of: star, mesh, routed"},
      {R"({"plumbline_lab": 1, "shape": 1})", "$.shape"},
      {R"({"plumbline_lab": 1, "data": "10.10.0.1/24"})", "10.10.0.0/24"},
      {R"({"plumbline_lab": 1, "data": "10.10.0.0/30", "hosts": 4})", "too small"},
      {R"({"plumbline_lab": 1, "data": "fd00::/64"})", "no ipv4 subnet"},
      {R"({"plumbline_lab": 1, "data": "10.0.0.0/24", "family": "ipv6"})", "no ipv6 subnet"},
      {R"({"plumbline_lab": 1, "data": "10.0.0.0/24", "family": "link_local"})", "fixed"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "family": "link_local"})", "$.family"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "hosts": 12, "data": "10.0.0.0/25"})", "66 cables"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "hosts": 3, "cables": 3, "data": "10.0.0.0/27"})",
       "9 cables"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "cables": 0})", "$.cables"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "cables": 5})", "1 to 4"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "cables": "two"})", "$.cables"},
      {R"({"plumbline_lab": 1, "cables": 2})", "need a mesh"},
      {R"({"plumbline_lab": 1, "shape": "mesh", "carrier": "bridge"})", "$.carrier"},
      {R"({"plumbline_lab": 1, "shape": "routed", "data": "10.0.0.0/30"})", "$.data"},
      {R"({"plumbline_lab": 1, "control": "10.10.0.0/24", "data": "10.10.0.0/16"})", "overlaps"},
      {R"({"plumbline_lab": 1, "control": "10.10.0.0/31"})", "$.control"},
      {R"({"plumbline_lab": 1, "control": "here"})", "$.control"},
      {R"({"plumbline_lab": 1, "rate": "fast"})", "$.rate"},
      {R"({"plumbline_lab": 1, "rate": "0Gbit"})", "$.rate"},
      {R"({"plumbline_lab": 1, "rate": "1Gbit; reboot"})", "$.rate"},
      {R"({"plumbline_lab": 1, "mtu": 100})", "$.mtu"},
      {R"({"plumbline_lab": 1, "mtu": 70000})", "$.mtu"},
      {R"({"plumbline_lab": 1, "mtu": 1500.5})", "$.mtu"},
      {R"({"plumbline_lab": 1, "mtu": 1000, "family": "ipv6"})", "$.mtu"},
      {R"({"plumbline_lab": 1, "others": ["docker", "toaster"]})", "$.others"},
      {R"({"plumbline_lab": 1, "others": "docker"})", "$.others"},
      {R"({"plumbline_lab": 1, "others": [1]})", "$.others[0]"},
      {R"({"plumbline_lab": 1, "unprivileged": 1})", "$.unprivileged"},
      {R"({"plumbline_lab": 1, "ports": "29500-"})", "$.ports"},
      {R"({"plumbline_lab": 1, "ports": "70000"})", "$.ports"},
  };
  for (const WrongFile& row : table) {
    const auto topology = parse_topology(row.text, "lab.json");
    ASSERT_FALSE(topology) << row.text;
    EXPECT_THAT(topology.error().message(), StartsWith("lab.json:1:")) << row.text;
    EXPECT_THAT(topology.error().message(), HasSubstr(row.problem)) << row.text;
  }
}

TEST(Ports, AsPeopleWriteThem) {
  EXPECT_EQ(*parse_ports("29600-29602,29500"), (std::vector<int>{29500, 29600, 29601, 29602}));
  EXPECT_EQ(*parse_ports("1,1,1"), (std::vector<int>{1}));
  for (const char* text : {"", ",", "0", "65536", "5-3", "a", "1-2-3", "-5", "1,,2", " 1"}) {
    EXPECT_FALSE(parse_ports(text)) << text;
  }
  EXPECT_EQ(port_words({29500, 29600, 29601, 29603}), "29500,29600-29601,29603");
  EXPECT_EQ(port_words({1, 2}, ", ", ":"), "1:2");
  EXPECT_EQ(port_words({}), "");
}

}  // namespace
}  // namespace plumbline
