// What each backend needs of a host file, what its processes get, and who may talk to whom.
#include <gmock/gmock.h>

#include <set>

#include "scenarios/host_files/backends.h"
#include "scenarios/host_files/find_data.h"
#include "scenarios/placement.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

HostFile file_of(const std::string& text) {
  const TempFolder folder;
  auto file = load_host_file(folder.write("h", text));
  EXPECT_TRUE(file) << text << "\n" << (file ? "" : all_lines(file.error()));
  if (!file) return {};
  file->file = "FILE";
  return std::move(*file);
}

std::string host_problems(const std::string& text, const char* backend = nullptr) {
  const BackendRow* row = backend == nullptr ? nullptr : find_backend(backend);
  EXPECT_EQ(row == nullptr, backend == nullptr);
  return all_lines(check_host_file(file_of(text), row));
}

// MLX entries by name, address of rank 0, matrix.
std::string mlx(const std::vector<std::string>& rows, const std::string& ip = "192.168.4.11") {
  std::string out = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    out += (i == 0 ? "" : ",") + std::string("{\"ssh\": \"m") + std::to_string(i) +
           "\", \"ips\": [" + (i == 0 && !ip.empty() ? "\"" + ip + "\"" : "") +
           "], \"rdma\": " + rows[i] + "}";
  }
  return out + "]";
}

const std::vector<std::string> kTriangle = {R"([null, "rdma_en3", "rdma_en4"])",
                                            R"(["rdma_en5", null, "rdma_en3"])",
                                            R"(["rdma_en3", "rdma_en4", null])"};

// The triangle with one row replaced.
std::string with_row(size_t i, const std::string& row) {
  std::vector<std::string> rows = kTriangle;
  rows[i] = row;
  return mlx(rows);
}

std::string full_mesh(int n) {
  std::vector<std::string> rows;
  for (int i = 0; i < n; ++i) {
    std::string row = "[";
    for (int j = 0; j < n; ++j) {
      row += (j == 0 ? "" : ",") +
             (i == j ? std::string("null") : "\"mlx5_" + std::to_string(j) + "\"");
    }
    rows.push_back(row + "]");
  }
  return mlx(rows);
}

TEST(HostCheck, SoundFilesHaveNoProblems) {
  EXPECT_EQ(host_problems(mlx(kTriangle)), "");
  EXPECT_EQ(host_problems(mlx(kTriangle), "jaccl"), "");
  EXPECT_EQ(host_problems(mlx(kTriangle), "jaccl-ring"), "");
  EXPECT_EQ(host_problems(mlx(kTriangle), "nccl"), "");
  EXPECT_EQ(host_problems(mlx(kTriangle), "mpi"), "");
  EXPECT_EQ(host_problems(R"([["10.0.0.1:5"], ["10.0.0.2:6"]])", "ring"), "");
  EXPECT_EQ(host_problems(R"([["127.0.0.1:5"], ["127.0.0.1:6"]])", "ring"), "");
  EXPECT_EQ(host_problems(R"([[null, "rdma_en3"], ["rdma_en3", null]])", "jaccl"), "");
  EXPECT_EQ(host_problems("localhost slots=4", "mpi"), "");
  EXPECT_EQ(host_problems(full_mesh(8), "jaccl"), "");
}

struct WrongFile {
  const char* name;
  const char* backend;
  std::string text;
  const char* words;
};

TEST(HostCheck, WhatIsWrongIsSaid) {
  const WrongFile files[] = {
      {"short row", nullptr, with_row(1, R"(["rdma_en5", null])"),
       "$[1]: the row of m1 has 2 cells, but there are 3 hosts"},
      {"no row", nullptr, with_row(2, "[]"), "$[2]: m2 has no row of the device matrix"},
      {"diagonal", nullptr, with_row(0, R"(["rdma_en6", "rdma_en3", "rdma_en4"])"),
       "$[0].rdma[0]: names a device that faces the host itself"},
      {"one way", nullptr, with_row(1, R"(["rdma_en5", null, null])"),
       "$[1].rdma[2]: m1 has no device towards m2, which has 1 device towards m1"},
      {"rails", nullptr, with_row(0, R"([null, ["rdma_en3", "rdma_en6"], "rdma_en4"])"),
       "$[0].rdma[1]: m0 has 2 devices towards m1, which has 1 device towards m0"},
      {"one cable to two hosts", nullptr, with_row(0, R"([null, "rdma_en3", "rdma_en3"])"),
       "'rdma_en3' of m0 faces m1 already"},
      {"one device twice", nullptr, with_row(0, R"([null, ["rdma_en3", "rdma_en3"], "rdma_en4"])"),
       "names 'rdma_en3' twice"},
      {"matrix alone", nullptr, R"([["rdma_en3", null], ["rdma_en3", null]])",
       "$[0][0]: names a device"},
      {"machine twice", nullptr,
       R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "x@a", "ips": ["10.0.0.2"]}])",
       "$[1].ssh: 'x@a' is the machine of $[0] too"},
      {"address twice", nullptr,
       R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b", "ips": ["10.0.0.1"]}])",
       "$[1].ips: '10.0.0.1' belongs to a too"},
      {"loopback", nullptr, R"([{"ssh": "a", "ips": ["127.0.0.1"]}, {"ssh": "b"}])",
       "'127.0.0.1' is the loopback address: no other host reaches a by it"},
      {"families", nullptr,
       R"([{"ssh": "a", "ips": ["fd00::1"]}, {"ssh": "b", "ips": ["10.0.0.1"]}])",
       "b has IPv4 addresses only, a has IPv6 addresses only"},
      {"backend", nullptr, R"({"backend": "jacl", "hosts": [{"ssh": "a"}]})",
       "$.backend: unknown backend 'jacl'; did you mean 'jaccl'?"},

      {"hole in the mesh", "jaccl",
       mlx({R"([null, "rdma_en3", null])", R"(["rdma_en3", null, "rdma_en4"])",
            R"([null, "rdma_en3", null])"}),
       "$[0].rdma[2]: m0 has no device towards m2"},
      {"nine hosts", "jaccl", full_mesh(9), "JACCL's mesh takes at most 8"},
      {"no coordinator", "jaccl", mlx(kTriangle, ""), "$[0]: no address of rank 0 is known"},
      {"IPv6 coordinator", "jaccl", mlx(kTriangle, "fd00::1"),
       "'fd00::1' is IPv6, which JACCL cannot"},
      {"any address", "jaccl", mlx(kTriangle, "0.0.0.0"),
       "'0.0.0.0' of rank 0 is no address that the others"},
      {"no matrix", "jaccl", R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b"}])",
       "has no device matrix"},
      {"ranks", "jaccl", R"({"hosts": [
          {"name": "a", "ssh": "a", "data": "10.0.0.1/24", "ranks": 2, "rdma": [null, "rdma_en3"]},
          {"name": "b", "ssh": "b", "data": "10.0.0.2/24", "rdma": ["rdma_en3", null]}]})",
       "$.hosts[0]: a has 2 ranks"},
      {"one host", "jaccl", mlx({"[null]"}), "has one rank only"},
      {"this machine twice", "jaccl",
       R"([{"ssh": "127.0.0.1", "ips": ["127.0.0.1"], "rdma": [null, "rdma_en3"]},
           {"ssh": "127.0.0.1", "ips": [], "rdma": ["rdma_en4", null]}])",
       "names this machine more than once"},

      {"cables differ", "jaccl-ring",
       mlx({R"([null, ["rdma_en3", "rdma_en6"], "rdma_en4"])",
            R"([["rdma_en5", "rdma_en6"], null, "rdma_en3"])",
            R"(["rdma_en3", "rdma_en4", null])"}),
       "m0 has 1 devices towards its neighbour m2, the first two hosts have 2"},
      {"five cables", "jaccl-ring",
       mlx({R"([null, ["a", "b", "c", "d", "e"]])", R"([["a", "b", "c", "d", "e"], null])"}),
       "the same number of cables, 1 to 4"},
      {"no cable at all", "jaccl-ring", mlx({"[null, null]", "[null, null]"}),
       "m0 has 0 devices towards its neighbour m1"},

      {"no address", "ring", R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b"}])",
       "no address is known of b"},
      {"sockets differ", "ring",
       R"([{"ssh": "a", "ips": ["10.0.0.1", "10.0.1.1"]}, {"ssh": "b", "ips": ["10.0.0.2"]}])",
       "b has 1 addresses towards the host before it, the first one has 2"},
      {"IPv6 ring", "ring", R"([["[fd00::1]:5"], ["[fd00::2]:5"]])",
       "is IPv6, which MLX's ring cannot parse"},
      {"no rank 0", "nccl", "a\nb\n", "no address of rank 0 is known"},
      {"namespace", "mpi", R"({"hosts": [{"name": "a", "netns": "a"}, {"name": "b", "ssh": "b"}]})",
       "mpirun cannot reach a"},
      {"matrix for mpi", "mpi", R"([[null, "rdma_en3"], ["rdma_en3", null]])",
       "mpirun cannot reach rank0"},
  };
  for (const WrongFile& wrong : files) {
    SCOPED_TRACE(wrong.name);
    EXPECT_THAT(host_problems(wrong.text, wrong.backend), HasSubstr(wrong.words));
  }
}

TEST(HostCheck, AProblemIsSaidOnce) {
  const std::string lines = host_problems(with_row(1, R"(["rdma_en5", null])"), "jaccl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << lines;
}

TEST(HostCheck, AJacclRingNeedsNeighboursOnly) {
  const std::string text =
      mlx({R"([null, "rdma_en3", null, "rdma_en4"])", R"(["rdma_en3", null, "rdma_en4", null])",
           R"([null, "rdma_en3", null, "rdma_en4"])", R"(["rdma_en3", null, "rdma_en4", null])"});
  EXPECT_EQ(host_problems(text, "jaccl-ring"), "");
  EXPECT_THAT(host_problems(text, "jaccl"), HasSubstr("m0 has no device towards m2"));
}

// ---- what processes get ----

LaunchFiles launch_files(const std::string& text, const char* backend, int port = 0) {
  const HostFile file = file_of(text);
  EXPECT_THAT(check_host_file(file, find_backend(backend)), IsEmpty());
  auto files = find_backend(backend)->files(file, {"/cluster", port});
  EXPECT_TRUE(files) << (files ? "" : files.error().message());
  return files ? *files : LaunchFiles{};
}

std::string triangle_with_envs() {
  return R"({"backend": "jaccl", "envs": ["MLX_METAL_FAST_SYNCH=1"], "hosts": )" + mlx(kTriangle) +
         "}";
}

TEST(HostFilesToStart, JacclMesh) {
  const LaunchFiles out = launch_files(triangle_with_envs(), "jaccl");
  ASSERT_EQ(out.files.size(), 1u);
  EXPECT_EQ(out.files[0].name, "devices.json");
  EXPECT_EQ(out.files[0].text,
            "[\n  [null,\"rdma_en3\",\"rdma_en4\"],\n  [\"rdma_en5\",null,\"rdma_en3\"],\n"
            "  [\"rdma_en3\",\"rdma_en4\",null]\n]\n");
  ASSERT_EQ(out.environment.size(), 3u);
  EXPECT_THAT(out.environment[2], ElementsAre(Pair("MLX_METAL_FAST_SYNCH", "1"),
                                              Pair("MLX_IBV_DEVICES", "/cluster/devices.json"),
                                              Pair("MLX_JACCL_COORDINATOR", "192.168.4.11:32323"),
                                              Pair("JACCL_IBV_DEVICES", "/cluster/devices.json"),
                                              Pair("JACCL_COORDINATOR", "192.168.4.11:32323"),
                                              Pair("JACCL_RANK", "2"), Pair("MLX_RANK", "2")));
}

TEST(HostFilesToStart, JacclRing) {
  const LaunchFiles out = launch_files(mlx(kTriangle), "jaccl-ring", 9000);
  EXPECT_THAT(
      out.environment[0],
      ElementsAre(Pair("MLX_IBV_DEVICES", "/cluster/devices.json"),
                  Pair("MLX_JACCL_COORDINATOR", "192.168.4.11:9000"), Pair("MLX_JACCL_RING", "1"),
                  Pair("JACCL_IBV_DEVICES", "/cluster/devices.json"),
                  Pair("JACCL_COORDINATOR", "192.168.4.11:9000"), Pair("JACCL_RING", "1"),
                  Pair("JACCL_RANK", "0"), Pair("MLX_RANK", "0")));
}

TEST(HostFilesToStart, Ring) {
  const LaunchFiles out = launch_files(R"({"hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24", "ranks": 2},
      {"name": "b", "ssh": "b", "data": "10.0.0.2/24"}]})",
                                       "ring");
  EXPECT_EQ(out.files[0].name, "ring.json");
  EXPECT_EQ(out.files[0].text,
            "[\n  [\"10.0.0.1:32323\"],\n  [\"10.0.0.1:32324\"],\n  [\"10.0.0.2:32325\"]\n]\n");
  ASSERT_EQ(out.environment.size(), 3u);
  EXPECT_THAT(out.environment[1],
              ElementsAre(Pair("MLX_HOSTFILE", "/cluster/ring.json"), Pair("MLX_RANK", "1")));
}

TEST(HostFilesToStart, Nccl) {
  const LaunchFiles out = launch_files(R"({"hosts": [
      {"name": "a", "ssh": "a", "data": "10.0.0.1/24"},
      {"name": "b", "ssh": "b", "data": "10.0.0.2/24", "ranks": 2}]})",
                                       "nccl");
  EXPECT_THAT(out.files, IsEmpty());
  ASSERT_EQ(out.environment.size(), 3u);
  EXPECT_THAT(out.environment[2],
              ElementsAre(Pair("NCCL_HOST_IP", "10.0.0.1"), Pair("NCCL_PORT", "12345"),
                          Pair("MLX_WORLD_SIZE", "3"), Pair("CUDA_VISIBLE_DEVICES", "1"),
                          Pair("MLX_RANK", "2")));
}

TEST(HostFilesToStart, Mpi) {
  const LaunchFiles out = launch_files(triangle_with_envs(), "mpi");
  EXPECT_EQ(out.files[0].name, "hostfile");
  EXPECT_EQ(out.files[0].text, "m0 slots=1\nm1 slots=1\nm2 slots=1\n");
  // mpirun numbers the ranks.
  EXPECT_THAT(out.environment[0], ElementsAre(Pair("MLX_METAL_FAST_SYNCH", "1")));
}

// ---- who may talk to whom ----

std::vector<ScenarioHost> star() {
  return file_of(R"({"hosts": [
      {"name": "hub", "ssh": "hub", "group": ["l", "r"]},
      {"name": "left", "ssh": "left", "group": "l"},
      {"name": "right", "ssh": "right", "group": "r"},
      {"name": "free", "ssh": "free"}]})")
      .hosts;
}

TEST(Talk, LeavesOfAStarDoNot) {
  const auto hosts = star();
  EXPECT_EQ(talk_reason(hosts, 0, 1), "");
  EXPECT_EQ(talk_reason(hosts, 1, 0), "");
  EXPECT_EQ(talk_reason(hosts, 1, 2), "left and right share no group of the host file");
  EXPECT_EQ(talk_reason(hosts, 2, 1), "right and left share no group of the host file");
  EXPECT_EQ(talk_reason(hosts, 1, 3), "");  // it names no group
  EXPECT_EQ(talk_reason(hosts, 1, 1), "");
  EXPECT_THAT(reachable_groups(hosts), ElementsAre(ElementsAre(0, 1, 3), ElementsAre(0, 2, 3)));
}

TEST(Talk, InARingNeighboursOnly) {
  const HostFile ring =
      file_of(R"([["10.0.0.1:5"], ["10.0.0.2:5"], ["10.0.0.3:5"], ["10.0.0.4:5"]])");
  // The file alone does not say which of them share a subnet.
  EXPECT_THAT(reachable_groups(ring.hosts), ElementsAre(ElementsAre(0, 1, 2, 3)));
  auto hosts = ring.hosts;
  const char* cables[][2] = {{"10.0.3.2/30", "10.0.0.1/30"},
                             {"10.0.0.2/30", "10.0.1.1/30"},
                             {"10.0.1.2/30", "10.0.2.1/30"},
                             {"10.0.2.2/30", "10.0.3.1/30"}};
  for (size_t i = 0; i < 4; ++i) hosts[i].data = {cables[i][0], cables[i][1]};
  EXPECT_EQ(talk_reason(hosts, 0, 3), "");
  EXPECT_EQ(talk_reason(hosts, 0, 1), "");
  EXPECT_EQ(talk_reason(hosts, 0, 2),
            "rank0 and rank2 are not neighbours in the ring, and share no subnet");
  EXPECT_THAT(reachable_groups(hosts), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 3),
                                                   ElementsAre(1, 2), ElementsAre(2, 3)));
  // Over Ethernet all share one, ring or not.
  for (size_t i = 0; i < 4; ++i) hosts[i].data = {"10.0.0." + std::to_string(i + 1) + "/24"};
  EXPECT_THAT(reachable_groups(hosts), ElementsAre(ElementsAre(0, 1, 2, 3)));
  // Neighbours without a common subnet have a router, and so may all others.
  hosts[2].data = {"10.0.9.1/24"};
  EXPECT_THAT(reachable_groups(hosts), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(Talk, HolesOfTheMatrix) {
  const std::string text = mlx({R"([null, "rdma_en3", null])", R"(["rdma_en3", null, "rdma_en4"])",
                                R"([null, "rdma_en3", null])"});
  auto hosts = file_of(text).hosts;
  EXPECT_EQ(talk_reason(hosts, 0, 2), "the device matrix has no link between m0 and m2");
  EXPECT_EQ(talk_reason(hosts, 0, 1), "");
  EXPECT_THAT(reachable_groups(hosts), ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2)));
  // Addresses in one subnet are another way.
  hosts[0].data = {"10.0.0.1/24"};
  hosts[2].data = {"10.0.0.3/24"};
  EXPECT_EQ(talk_reason(hosts, 0, 2), "");
  hosts[2].data = {"10.0.1.3/24"};
  EXPECT_NE(talk_reason(hosts, 0, 2), "");
  // Half a matrix says nothing.
  hosts[1].rdma.pop_back();
  EXPECT_EQ(talk_reason(hosts, 0, 2), "");
}

TEST(Talk, GroupsAreMaximalAndHoldEverybody) {
  // Against the definition, for pseudo-random groups.
  uint64_t state = 1;
  for (int round = 0; round < 50; ++round) {
    std::vector<ScenarioHost> hosts(6);
    for (size_t i = 0; i < hosts.size(); ++i) {
      hosts[i].name = std::to_string(i);
      for (int g = 0; g < 4; ++g) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if ((state >> 62) == 0) hosts[i].group.push_back(std::to_string(g));
      }
    }
    std::set<std::vector<size_t>> expected;
    const auto all_talk = [&](unsigned set) {
      for (size_t i = 0; i < 6; ++i) {
        for (size_t j = 0; j < i; ++j) {
          if ((set >> i & 1) != 0 && (set >> j & 1) != 0 && !talk_reason(hosts, i, j).empty())
            return false;
        }
      }
      return true;
    };
    for (unsigned set = 1; set < 64; ++set) {
      bool maximal = all_talk(set);
      for (size_t i = 0; i < 6; ++i) {
        if ((set >> i & 1) == 0) maximal = maximal && !all_talk(set | 1u << i);
      }
      std::vector<size_t> members;
      for (size_t i = 0; i < 6; ++i) {
        if ((set >> i & 1) != 0) members.push_back(i);
      }
      if (maximal) expected.insert(members);
    }
    const auto found = reachable_groups(hosts);
    EXPECT_EQ(std::set<std::vector<size_t>>(found.begin(), found.end()), expected);
    EXPECT_EQ(found.size(), expected.size());
  }
}

TEST(Talk, ManyHostsTakeNoTime) {
  std::vector<ScenarioHost> hosts(300);
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i].name = std::to_string(i);
  EXPECT_EQ(reachable_groups(hosts).size(), 1u);
  EXPECT_THAT(reachable_groups({}), IsEmpty());
  // 3^20 cliques: the search ends all the same. Host i talks to all but two others.
  std::vector<ScenarioHost> hostile(60);
  for (size_t i = 0; i < hostile.size(); ++i) {
    hostile[i].name = std::to_string(i);
    for (size_t j = 0; j < hostile.size(); ++j) {
      if (i / 3 == j / 3) continue;
      hostile[i].group.push_back(std::to_string(std::min(i, j)) + "-" +
                                 std::to_string(std::max(i, j)));
    }
  }
  EXPECT_EQ(reachable_groups(hostile).size(), kMostGroups);
}

// ---- data addresses that the file does not name ----

Nic nic(const std::string& name, const std::string& ip, int prefix) {
  Nic out;
  out.name = name;
  NicAddress address;
  address.ip = ip;
  address.prefix = prefix;
  address.v6 = ip.find(':') != std::string::npos;
  address.link_local = ip.rfind("fe80", 0) == 0 || ip.rfind("169.254", 0) == 0;
  address.loopback = ip == "127.0.0.1";
  if (!ip.empty()) out.addresses.push_back(address);
  return out;
}

TEST(FindData, BehindTheDevices) {
  const auto hosts = file_of(mlx({R"([null, "rdma_en3"])", R"(["rdma_en5", null])"})).hosts;
  const std::vector<Nic> first = {nic("lo0", "127.0.0.1", 8), nic("en0", "192.168.4.11", 24),
                                  nic("en3", "169.254.7.1", 16), nic("en5", "10.9.9.9", 24)};
  std::vector<Nic> second = {nic("en0", "192.168.4.12", 24), nic("en5", "10.0.0.2", 30)};
  const auto found = find_data(hosts, {first, second});
  ASSERT_TRUE(found) << all_lines(found.error());
  EXPECT_THAT(found->at(0).data, ElementsAre("169.254.7.1/16"));  // never the control address
  EXPECT_THAT(found->at(1).data, ElementsAre("10.0.0.2/30"));
  second[1] = nic("en5", "fe80::1", 64);
  const auto none = find_data(hosts, {first, second});
  ASSERT_FALSE(none);
  EXPECT_THAT(all_lines(none.error()), HasSubstr("m1: has no data address on the interfaces behind "
                                                 "its RDMA devices (en5 has no address)"));
  second.pop_back();
  EXPECT_THAT(all_lines(find_data(hosts, {first, second}).error()), HasSubstr("there is no en5"));
  // Who could not be asked stays as it is.
  const auto silent = find_data(hosts, {first, {}});
  ASSERT_TRUE(silent);
  EXPECT_THAT(silent->at(1).data, IsEmpty());
}

TEST(FindData, TowardsTheNextOneOfARing) {
  const auto hosts =
      file_of(R"([{"ssh": "a", "ips": ["10.0.2.2"]}, {"ssh": "b", "ips": ["10.0.0.2"]},
                                 {"ssh": "c", "ips": ["10.0.1.2"]}])")
          .hosts;
  const auto found = find_data(hosts, {{nic("en0", "192.168.4.11", 24), nic("en3", "10.0.2.2", 30),
                                        nic("en4", "10.0.0.1", 30)},
                                       {nic("en3", "10.0.0.2", 30), nic("en4", "10.0.1.1", 30)},
                                       {nic("en3", "10.0.1.2", 30), nic("en4", "10.0.2.1", 30)}});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->at(0).data, ElementsAre("10.0.2.2/30", "10.0.0.1/30"));
  EXPECT_THAT(found->at(2).data, ElementsAre("10.0.1.2/30", "10.0.2.1/30"));
}

// Over Ethernet the addresses of the file face everybody: a second network card in the same subnet
// is not taken in beside them.
TEST(FindData, ARingOverEthernetHasTheAddressesOfItsFile) {
  const auto hosts = file_of(R"({"backend": "", "envs": [], "hosts": [
          {"ssh": "a", "ips": ["192.168.1.11"], "rdma": []},
          {"ssh": "b", "ips": ["192.168.1.12"], "rdma": []},
          {"ssh": "c", "ips": ["192.168.1.13"], "rdma": []},
          {"ssh": "d", "ips": ["192.168.1.14"], "rdma": []}]})")
                         .hosts;
  std::vector<std::vector<Nic>> nics;
  for (int i = 1; i <= 4; ++i) {
    nics.push_back({nic("en0", "192.168.1.1" + std::to_string(i), 24),
                    nic("en1", "192.168.1.7" + std::to_string(i), 24)});
  }
  const auto found = find_data(hosts, nics);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->at(2).data, ElementsAre("192.168.1.13/24"));
  EXPECT_THAT(reachable_groups(*found), ElementsAre(ElementsAre(0, 1, 2, 3)));
}

TEST(FindData, WhatTheFileNamesStays) {
  const auto hosts =
      file_of(R"({"hosts": [{"name": "a", "ssh": "a", "data": "10.0.0.1/24"}]})").hosts;
  const auto found = find_data(hosts, {{nic("en0", "192.168.4.11", 24)}});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->at(0).data, ElementsAre("10.0.0.1/24"));
}

}  // namespace
}  // namespace plumbline::scenario_test
