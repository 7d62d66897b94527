// Host files written in another form: what stays, and what is said to be lost.
#include <tuple>

#include "tests/scenarios/host_file_support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

WrittenHostFile converted(const std::string& text, const char* to, int port = 0) {
  const HostFile file = read(text);
  if (file.row == nullptr) return {};
  const auto written = write_host_file(file, *find_host_file_format(to), port);
  EXPECT_TRUE(written) << (written ? "" : written.error().message());
  return written ? *written : WrittenHostFile{};
}

std::string refusal(const std::string& text, const char* to, int port = 0) {
  const auto written = write_host_file(read(text), *find_host_file_format(to), port);
  return written ? "" : written.error().message();
}

TEST(HostFiles, WrittenInTheirOwnFormTheyStayTheSame) {
  for (const char* text : {kMesh, kRails, kRing, kRingFile, kMpi, kOwn,
                           R"([[null, "rdma_en3"], [["rdma_en4", "rdma_en5"], null]])",
                           R"({"backend": "ring", "envs": ["A=b=c"], "coordinator": "10.9.0.1",
                               "hosts": [{"name": "a", "ssh": "a", "data": "10.0.0.1/24"},
                                         {"name": "b", "ssh": "b", "data": "10.0.0.2/24"}]})"}) {
    SCOPED_TRACE(text);
    const HostFile first = read(text);
    const WrittenHostFile once = converted(text, first.row->name);
    EXPECT_THAT(once.lost, IsEmpty());
    const HostFile second = read(once.text);
    EXPECT_EQ(second.row, first.row);
    ASSERT_EQ(second.hosts.size(), first.hosts.size());
    for (size_t i = 0; i < first.hosts.size(); ++i) {
      const ScenarioHost &a = first.hosts[i], &b = second.hosts[i];
      EXPECT_EQ(std::tie(a.name, a.local, a.netns, a.ssh, a.port, a.user, a.data, a.speed, a.group,
                         a.rdma, a.ring, a.ranks, a.data_interfaces),
                std::tie(b.name, b.local, b.netns, b.ssh, b.port, b.user, b.data, b.speed, b.group,
                         b.rdma, b.ring, b.ranks, b.data_interfaces));
    }
    EXPECT_EQ(std::tie(first.backend, first.envs, first.coordinator, first.ips, first.ports),
              std::tie(second.backend, second.envs, second.coordinator, second.ips, second.ports));
    EXPECT_EQ(converted(once.text, first.row->name).text, once.text);
  }
}

TEST(HostFiles, TheCoordinatorThatAFileNames) {
  EXPECT_EQ(named_coordinator(read(kMesh)), "192.168.4.11");
  EXPECT_EQ(named_coordinator(read(R"({"coordinator": "10.9.0.1", "hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24"}]})")),
            "10.9.0.1");
  // What the ring uses is under test, and nobody else has said one.
  for (const char* text : {kRing, kRingFile, kMpi, kOwn}) {
    EXPECT_EQ(named_coordinator(read(text)), "") << text;
  }
  EXPECT_EQ(named_coordinator(HostFile{}), "");
}

TEST(HostFiles, MatrixAlone) {
  const WrittenHostFile out = converted(kMesh, "jaccl-matrix");
  EXPECT_EQ(out.text,
            "[\n"
            "  [null,\"rdma_en3\",\"rdma_en4\",\"rdma_en5\"],\n"
            "  [\"rdma_en4\",null,\"rdma_en3\",\"rdma_en5\"],\n"
            "  [\"rdma_en3\",\"rdma_en5\",null,\"rdma_en4\"],\n"
            "  [\"rdma_en5\",\"rdma_en4\",\"rdma_en3\",null]\n"
            "]\n");
  EXPECT_THAT(out.lost,
              ElementsAre("backend", "envs",
                          "how to reach the hosts (mac1.local, mac2.local, mac3.local, "
                          "mac4.local)",
                          "user (mac2.local)", "ips (the coordinator's address) (mac1.local)"));
}

TEST(HostFiles, OursFromJaccl) {
  const WrittenHostFile out = converted(kRails, "ours");
  EXPECT_THAT(out.text,
              HasSubstr(R"({"name":"a","ssh":"a","rdma":[null,["rdma_en3","rdma_en4"],null,)"));
  EXPECT_THAT(out.lost, IsEmpty());
  EXPECT_EQ(read(out.text).coordinator, "10.1.0.1");
  EXPECT_EQ(read(out.text).hosts[3].rdma, read(kRails).hosts[3].rdma);
}

TEST(HostFiles, RingFromOurs) {
  // A cable with a /30 between every two neighbours: each rank waits where the one before it dials.
  const char* own = R"({"hosts": [
    {"name": "a", "ssh": "a", "data": ["10.0.0.1/30", "10.0.3.2/30"]},
    {"name": "b", "ssh": "b", "data": ["10.0.0.2/30", "10.0.1.1/30"]},
    {"name": "c", "ssh": "c", "data": ["10.0.1.2/30", "10.0.2.1/30"]},
    {"name": "d", "ssh": "d", "data": ["10.0.2.2/30", "10.0.3.1/30"]}]})";
  EXPECT_EQ(converted(own, "ring", 5000).text,
            "[\n  [\"10.0.3.2:5000\"],\n  [\"10.0.0.2:5001\"],\n  [\"10.0.1.2:5002\"],\n"
            "  [\"10.0.2.2:5003\"]\n]\n");
  const HostFile mlx = read(converted(own, "mlx").text);
  EXPECT_THAT(mlx.ips[2], ElementsAre("10.0.1.2"));
  EXPECT_THAT(refusal(own, "ring", 65534), HasSubstr("past 65535"));
  EXPECT_THAT(
      refusal(R"({"hosts": [{"name": "a", "ssh": "a"}, {"name": "b", "ssh": "b"}]})", "ring"),
      HasSubstr("no address is known of a"));
  EXPECT_THAT(
      refusal(R"({"hosts": [{"name": "a", "ssh": "a", "data": ["10.0.0.1/30", "10.0.9.1/30"]},
                                    {"name": "b", "ssh": "b", "data": ["10.7.0.1/30"]}]})",
              "ring"),
      HasSubstr("no data address of a shares a subnet with b"));
}

TEST(HostFiles, PortsOfARing) {
  EXPECT_EQ(converted(kRing, "ring").text,
            "[\n  [\"10.0.3.2:32323\"],\n  [\"10.0.0.2:32324\"],\n  [\"10.0.1.2:32325\"],\n"
            "  [\"10.0.2.2:32326\"]\n]\n");
  EXPECT_THAT(converted(kRingFile, "ring").text, HasSubstr("10.0.2.2:40001"));
  EXPECT_THAT(converted(kRingFile, "ring", 7000).text, HasSubstr("10.0.2.2:7003"));
  EXPECT_THAT(converted(kRingFile, "mlx-array").lost, Contains(HasSubstr("ports")));
}

TEST(HostFiles, MpiFromOthers) {
  const char* own = R"({"hosts": [{"name": "hub", "ssh": "me@hub.local", "ranks": 4},
                                  {"name": "here", "local": true}]})";
  const WrittenHostFile out = converted(own, "mpi");
  EXPECT_EQ(out.text, "hub.local slots=4\nlocalhost slots=1\n");
  EXPECT_THAT(out.lost, ElementsAre("name (hub)", "user (hub)"));
}

TEST(HostFiles, WhatAFormCannotHoldIsRefused) {
  const char* matrix = R"([[null, "rdma_en3"], ["rdma_en3", null]])";
  for (const char* to : {"ours", "mlx", "mlx-array", "mpi"}) {
    EXPECT_THAT(refusal(matrix, to), HasSubstr("names no machines")) << to;
  }
  EXPECT_THAT(refusal(matrix, "ring"), HasSubstr("no address is known of rank0"));
  EXPECT_THAT(refusal(kOwn, "mlx"), HasSubstr("r is a network namespace"));
  EXPECT_THAT(refusal(kOwn, "mpi"), HasSubstr("r is a network namespace"));
  EXPECT_THAT(refusal(R"([["10.0.0.1:5"], ["10.0.0.1:6"]])", "ours"),
              HasSubstr("rank0 and rank1 have the same address 10.0.0.1"));
  EXPECT_THAT(refusal(R"([{"ssh": "ssh://me@h:22"}])", "mpi"), HasSubstr("is no host name there"));
  EXPECT_THAT(refusal(kMpi, "jaccl-matrix"), HasSubstr("the row of node1 has 0 cells for 4 hosts"));
}

// mlx.launch dials ips[0] of the first host (launch.py, launch_jaccl), whatever else stands there.
TEST(HostFiles, MlxFromOursHasTheCoordinatorFirst) {
  const char* own = R"({"backend": "jaccl", "coordinator": "192.168.4.11", "hosts": [
    {"name": "a", "ssh": "a", "data": "10.0.0.1/30", "rdma": [null, "rdma_en3"]},
    {"name": "b", "ssh": "b", "data": "10.0.0.2/30", "rdma": ["rdma_en3", null]}]})";
  const HostFile mlx = read(converted(own, "mlx").text);
  EXPECT_THAT(mlx.ips[0], ElementsAre("192.168.4.11", "10.0.0.1"));
  EXPECT_THAT(mlx.ips[1], ElementsAre("10.0.0.2"));
  EXPECT_EQ(mlx.backend, "jaccl");
  EXPECT_THAT(converted(own, "ours").text, HasSubstr(R"("coordinator": "192.168.4.11")"));
  EXPECT_THAT(converted(own, "jaccl-matrix").lost,
              testing::Contains("ips (the coordinator's address) (a)"));
}

TEST(HostFiles, EveryFormatIsThereAndBack) {
  // What every form can say survives the way through each of them.
  const char* text = R"([{"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null, "rdma_en3"]},
                         {"ssh": "b", "ips": ["10.0.0.2"], "rdma": ["rdma_en4", null]}])";
  for (const char* way : {"ours", "mlx", "mlx-array"}) {
    const HostFile back = read(converted(converted(text, way).text, "jaccl-matrix").text);
    EXPECT_EQ(back.hosts[1].rdma, (Cells{{"rdma_en4"}, {}})) << way;
  }
}

}  // namespace
}  // namespace plumbline::scenario_test
