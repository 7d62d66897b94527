// Host files of MLX as its own programs write them. The shapes are those of
// python/mlx/_distributed_utils/common.py (Hostfile.to_json: backend, envs, hosts with ssh, ips and
// rdma; a bare list before that) and config.py (prepare_ethernet_hostfile: one address of the LAN
// for each host and no backend; configure_ring: the addresses that face the host before).
#include <gmock/gmock.h>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

// mlx.distributed_config --over ethernet, four hosts.
std::string ethernet(const std::string& backend) {
  std::string out = R"({"backend": ")" + backend + R"(", "envs": ["A=1"], "hosts": [)";
  for (int i = 1; i <= 4; ++i) {
    const std::string n = std::to_string(i);
    out += (i == 1 ? "" : ", ") + std::string(R"({"ssh": "mac)") + n +
           R"(", "ips": ["192.168.1.1)" + n + R"("], "rdma": []})";
  }
  return out + "]}";
}

constexpr const char* kJaccl = R"({"backend": "jaccl", "envs": ["TOKEN=s3cret"], "hosts": [
  {"ssh": "mac1", "ips": ["192.168.4.11"], "rdma": [null, "rdma_en3"]},
  {"ssh": "mac2", "ips": [], "rdma": ["rdma_en4", null]}]})";

class MlxHosts : public testing::Test {
 protected:
  Finished hosts(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "hosts");
    return run_program(plumbline_argv(arguments));
  }
  std::string file(const std::string& text) { return folder_.write("hosts.json", text); }
  std::string converted(const std::string& text, const std::string& to) {
    const Finished done = hosts({"convert", folder_.write("from", text), "--to", to});
    EXPECT_EQ(done.status, 0) << done.err;
    lost_ = done.err;
    return done.out;
  }
  nlohmann::json shown(const std::string& text) {
    const Finished done = hosts({"show", folder_.write("shown", text), "--json"});
    EXPECT_EQ(done.status, 0) << done.err;
    return done.status == 0 ? nlohmann::json::parse(done.out) : nlohmann::json::object();
  }
  std::string checked(const std::string& text) {
    const Finished done = hosts({"check", file(text)});
    EXPECT_EQ(done.status, 1) << done.out;
    return done.out;
  }
  ScratchFolder folder_;
  std::string lost_;
};

TEST_F(MlxHosts, OverEthernetAllFourReachOneAnother) {
  for (const char* backend : {"", "ring", "any"}) {
    const nlohmann::json all = shown(ethernet(backend));
    EXPECT_EQ(all["apart"].size(), 0u) << backend << all["apart"];
    EXPECT_EQ(all["groups"].size(), 1u) << backend;
    EXPECT_EQ(all["hosts"][2]["data"], nlohmann::json({"192.168.1.13"})) << backend;
  }
  // Before there were backends: a bare list, without `rdma`.
  EXPECT_EQ(shown(R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b", "ips": ["10.0.0.2"]},
                      {"ssh": "c", "ips": ["10.0.0.3"]}, {"ssh": "d", "ips": ["10.0.0.4"]}])")
                ["apart"]
                    .size(),
            0u);
}

// In our own form the subnets are said, and with them the cables.
TEST_F(MlxHosts, ARingOfCablesIsKnownByItsSubnets) {
  const nlohmann::json all = shown(R"({"backend": "ring", "hosts": [
    {"name": "a", "ssh": "a", "data": ["10.0.0.1/30", "10.0.3.2/30"]},
    {"name": "b", "ssh": "b", "data": ["10.0.0.2/30", "10.0.1.1/30"]},
    {"name": "c", "ssh": "c", "data": ["10.0.1.2/30", "10.0.2.1/30"]},
    {"name": "d", "ssh": "d", "data": ["10.0.2.2/30", "10.0.3.1/30"]}]})");
  EXPECT_EQ(all["apart"].size(), 2u) << all["apart"];
  EXPECT_EQ(all["groups"].size(), 4u);
}

TEST_F(MlxHosts, AConversionNeverChangesTheBackend) {
  for (const char* backend : {"", "ring", "any", "nccl"}) {
    for (const char* to : {"mlx", "ours"}) {
      const std::string text = converted(ethernet(backend), to);
      EXPECT_EQ(shown(text)["backend"], backend) << to << text;
      EXPECT_EQ(shown(converted(text, "mlx"))["backend"], backend) << to;
      EXPECT_THAT(lost_, Not(HasSubstr("backend")));
    }
  }
  // Where a form cannot say it, that is told.
  converted(ethernet("ring"), "mlx-array");
  EXPECT_THAT(lost_, HasSubstr("lost, format mlx-array cannot express it: backend"));
  converted(ethernet("nccl"), "ring");
  EXPECT_THAT(lost_, HasSubstr("lost, format ring cannot express it: backend"));
  converted(ethernet("ring"), "ring");
  EXPECT_THAT(lost_, Not(HasSubstr("backend")));
}

TEST_F(MlxHosts, OurOwnFormKeepsBackendEnvsAndCoordinator) {
  const std::string own = converted(kJaccl, "ours");
  EXPECT_EQ(lost_, "");
  const auto json = nlohmann::json::parse(own);
  EXPECT_EQ(json["backend"], "jaccl");
  EXPECT_EQ(json["envs"], nlohmann::json({"TOKEN=s3cret"}));
  EXPECT_EQ(json["coordinator"], "192.168.4.11");
  const auto back = nlohmann::json::parse(converted(own, "mlx"));
  EXPECT_EQ(back, nlohmann::json::parse(kJaccl));
  EXPECT_EQ(lost_, "");
  // What the backend's processes get is the same from both.
  const auto written = [&](const std::string& text) {
    const std::string dir = folder_.path("out");
    EXPECT_EQ(hosts({"write", file(text), "--backend", "jaccl", "--dir", dir}).status, 0);
    return read_file(dir + "/devices.json") + read_file(dir + "/rank1.env");
  };
  EXPECT_EQ(written(own), written(kJaccl));
  EXPECT_THAT(written(own), HasSubstr("192.168.4.11:32323"));
}

TEST_F(MlxHosts, WhatOurOwnFormDoesNotKeepIsTold) {
  // config.py's configure_jaccl writes an address for every host; JACCL dials the first one's only.
  converted(R"([{"ssh": "a", "ips": ["10.9.0.1"], "rdma": [null, "rdma_en3"]},
                {"ssh": "b", "ips": ["10.9.0.2"], "rdma": ["rdma_en3", null]}])",
            "ours");
  EXPECT_THAT(lost_, HasSubstr("ips beside the coordinator's (b)"));
  converted(ethernet(""), "ours");
  EXPECT_THAT(lost_, HasSubstr("that its ips may face the host before it only (mac1, mac2, mac3"));
}

TEST_F(MlxHosts, CheckFindsARingFileThatDoesNotFitRing) {
  EXPECT_THAT(checked(R"([["10.0.0.1:5", "10.0.1.1:6"], ["10.0.0.2:7"]])"),
              HasSubstr("rank1 has 1 addresses towards the host before it, the first one has 2"));
  EXPECT_THAT(checked(R"([["[fd00::1]:5"], ["[fd00::2]:5"]])"),
              HasSubstr("is IPv6, which MLX's ring cannot parse"));
  EXPECT_THAT(checked(R"([["10.0.0.1:5"]])"), HasSubstr("has one rank only"));
}

TEST_F(MlxHosts, CheckFindsTwoRanksAtOneAddressAndPort) {
  EXPECT_THAT(checked(R"([["10.0.0.1:5000"], ["10.0.0.2:5000"], ["10.0.0.1:5000"]])"),
              HasSubstr("$[2][0]: rank2 waits at 10.0.0.1 port 5000, as rank0 does"));
  EXPECT_THAT(checked(R"([["127.0.0.1:5000"], ["127.0.0.1:5000"]])"), HasSubstr("port 5000"));
  const Finished apart = hosts({"check", file(R"([["127.0.0.1:5000"], ["127.0.0.1:5001"]])")});
  EXPECT_EQ(apart.status, 0) << apart.out;
  EXPECT_THAT(apart.out, HasSubstr("no problems for ring"));
}

TEST_F(MlxHosts, CheckFindsAPortInSsh) {
  EXPECT_THAT(checked(R"([{"ssh": "mac1.local:2222"}, {"ssh": "mac2.local"}])"),
              HasSubstr("$[0].ssh: 'mac1.local:2222' names a port"));
  EXPECT_THAT(checked(R"({"hosts": [{"name": "a", "ssh": "me@a:22", "data": "10.0.0.1/24"}]})"),
              HasSubstr("write ssh://me@a:22"));
  for (const char* right : {"fd00::1", "ssh://me@a:22", "me@a"}) {
    EXPECT_EQ(hosts({"check", file(std::string(R"([{"ssh": ")") + right + R"("}])")}).status, 0)
        << right;
  }
}

TEST_F(MlxHosts, AnEmptyListOnTheDiagonalIsAsGoodAsNull) {
  for (const char* text : {R"([[[], "rdma_en3"], ["rdma_en4", []]])",
                           R"([{"ssh": "a", "ips": ["10.9.0.1"], "rdma": [[], "rdma_en3"]},
            {"ssh": "b", "ips": [], "rdma": ["rdma_en4", []]}])",
                           R"({"backend": "jaccl", "coordinator": "10.9.0.1", "hosts": [
            {"name": "a", "ssh": "a", "rdma": [[], "rdma_en3"]},
            {"name": "b", "ssh": "b", "rdma": ["rdma_en4", []]}]})"}) {
    const Finished done = hosts({"check", file(text), "--backend", "jaccl"});
    EXPECT_EQ(done.status, 0) << text << done.out;
    EXPECT_EQ(converted(text, "jaccl-matrix"),
              "[\n  [null,\"rdma_en3\"],\n  [\"rdma_en4\",null]\n]\n");
  }
}

// Without slots a host of an MPI list has one rank per core, which nobody here can count.
TEST_F(MlxHosts, RanksThatOnlyTheMachineCanCountAreShownAsThat) {
  const Finished done = hosts({"show", file("node1 slots=2\nnode2\nnode3 max_slots=3\n")});
  EXPECT_THAT(done.out, HasSubstr("0-1           node1"));
  EXPECT_THAT(done.out, HasSubstr("one per core  node2"));
  EXPECT_THAT(done.out, HasSubstr("3 more        node3"));
  const nlohmann::json all = shown("node1 slots=2\nnode2\nnode3\n");
  EXPECT_EQ(all["hosts"][1]["first_rank"], 2);
  EXPECT_EQ(all["hosts"][1]["ranks"], "cores");
  EXPECT_TRUE(all["hosts"][2]["first_rank"].is_null());
  EXPECT_TRUE(all["ranks"].is_null());
}

TEST_F(MlxHosts, AByteOrderMarkAndAMissingPortAreSaidToBeThat) {
  EXPECT_THAT(checked("\xef\xbb\xbf" + ethernet("ring")), HasSubstr("byte order mark (UTF-8)"));
  EXPECT_THAT(checked(R"([["10.0.0.1"], ["10.0.0.2"]])"), HasSubstr("the port is missing"));
}

}  // namespace
}  // namespace plumbline
