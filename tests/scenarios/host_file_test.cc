// Host files of every format, read right.
#include <set>

#include "scenarios/host_files/backends.h"
#include "tests/scenarios/host_file_support.h"
#include "tests/support/places.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- reading ----

TEST(HostFiles, MlxObjectWithAMatrix) {
  const HostFile file = read(kMesh);
  EXPECT_EQ(name_of(file), "mlx");
  EXPECT_EQ(file.backend, "jaccl");
  EXPECT_THAT(file.envs, ElementsAre(std::pair("MLX_METAL_FAST_SYNCH", "1"),
                                     std::pair("HF_TOKEN", "s3cret=x"), std::pair("EMPTY", "")));
  EXPECT_THAT(names(file), ElementsAre("mac1.local", "mac2.local", "mac3.local", "mac4.local"));
  EXPECT_EQ(file.hosts[1].ssh, "me@mac2.local");
  EXPECT_EQ(file.hosts[0].rdma, (Cells{{}, {"rdma_en3"}, {"rdma_en4"}, {"rdma_en5"}}));
  EXPECT_THAT(file.ips[0], ElementsAre("192.168.4.11"));
  // The coordinator's address is not under test: what lies behind the devices is.
  EXPECT_THAT(file.hosts[0].data, IsEmpty());
  EXPECT_THAT(file.hosts[0].data_interfaces, ElementsAre("en3", "en4", "en5"));
  EXPECT_THAT(file.hosts[3].data_interfaces, ElementsAre("en5", "en4", "en3"));
  EXPECT_FALSE(is_ring(file));
}

TEST(HostFiles, MlxArrayWithSeveralCables) {
  const HostFile file = read(kRails);
  EXPECT_EQ(name_of(file), "mlx-array");
  EXPECT_EQ(file.hosts[2].rdma[1], (Texts{"rdma_en3", "rdma_en4"}));
  EXPECT_THAT(file.hosts[0].data_interfaces, ElementsAre("en3", "en4", "en5", "en6"));
}

TEST(HostFiles, MlxRingHasItsAddressesUnderTest) {
  const HostFile file = read(kRing);
  EXPECT_TRUE(is_ring(file));
  EXPECT_THAT(file.hosts[1].data, ElementsAre("10.0.0.2"));
  // The bare list says no backend: all have addresses and nobody has devices.
  EXPECT_TRUE(
      is_ring(read(R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b", "ips": ["10.0.0.2"]}])")));
  // One address alone is where rank 0 waits.
  EXPECT_FALSE(is_ring(read(R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b", "ips": []}])")));
}

TEST(HostFiles, ThisMachineByItsAddress) {
  const HostFile file = read(R"([{"ssh": "127.0.0.1"}, {"ssh": "localhost"}])");
  EXPECT_THAT(names(file), ElementsAre("local0", "local1"));
  EXPECT_TRUE(file.hosts[1].local);
  EXPECT_EQ(file.hosts[0].ssh, "");
  EXPECT_THAT(file.hosts[0].data, ElementsAre("127.0.0.1/8"));
  EXPECT_FALSE(read(R"([{"ssh": "127.0.0.1"}, {"ssh": "b"}])").hosts[1].local);
}

TEST(HostFiles, OneMachineTwiceHasTwoNames) {
  EXPECT_THAT(names(read(R"([{"ssh": "a"}, {"ssh": "x@a"}, {"ssh": "a"}])")),
              ElementsAre("a", "a-2", "a-3"));
  EXPECT_THAT(names(read(R"([{"ssh": "a-2"}, {"ssh": "a"}, {"ssh": "a"}, {"ssh": "local4"},
                             {"ssh": "127.0.0.1"}])")),
              ElementsAre("a-2", "a", "a-3", "local4", "local4-2"));
}

TEST(HostFiles, DeviceMatrix) {
  const HostFile file = read(R"([[null, "rdma_en3"], [["rdma_en4", "rdma_en5"], null]])");
  EXPECT_EQ(name_of(file), "jaccl-matrix");
  EXPECT_THAT(names(file), ElementsAre("rank0", "rank1"));
  EXPECT_EQ(file.hosts[1].rdma, (Cells{{"rdma_en4", "rdma_en5"}, {}}));
  EXPECT_THAT(why_not_runnable(file), HasSubstr("names no machines"));
}

TEST(HostFiles, RingFile) {
  const HostFile file = read(kRingFile);
  EXPECT_EQ(name_of(file), "ring");
  EXPECT_TRUE(is_ring(file));
  EXPECT_EQ(file.hosts[1].ssh, "10.0.1.2");
  EXPECT_THAT(file.hosts[1].data, ElementsAre("10.0.1.2", "10.0.2.2"));
  EXPECT_THAT(file.ports[0], ElementsAre(32323, 32324));
  EXPECT_EQ(file.backend, "ring");  // nothing else reads such a file
  const HostFile here = read(R"([["127.0.0.1:5000"], ["127.0.0.1:5001"]])");
  EXPECT_TRUE(here.hosts[0].local && here.hosts[1].local);
  EXPECT_THAT(read(R"([["[fd00::1]:5000"], ["[fd00::2]:5000"]])").hosts[0].data,
              ElementsAre("fd00::1"));
}

TEST(HostFiles, MpiList) {
  const HostFile file = read(kMpi);
  EXPECT_EQ(name_of(file), "mpi");
  EXPECT_THAT(names(file), ElementsAre("node1", "node2", "node3", "node4"));
  std::vector<int> ranks;
  for (const ScenarioHost& host : file.hosts) ranks.push_back(host.ranks);
  EXPECT_THAT(ranks, ElementsAre(5, 2, 3, 1));  // node1 stands there twice
  EXPECT_THAT(file.places[2], HasSubstr(":5"));
  EXPECT_THAT(file.hosts[0].data, IsEmpty());
  EXPECT_THAT(read("localhost slots=4").hosts[0].data, ElementsAre("127.0.0.1/8"));
}

TEST(HostFiles, OwnForm) {
  const HostFile file = read(kOwn);
  EXPECT_EQ(name_of(file), "ours");
  EXPECT_EQ(file.hosts[0].port, 2222);
  EXPECT_EQ(name_of(read(R"([{"name": "a", "local": true}])")), "ours");
  EXPECT_EQ(read(R"({"local": 3})").hosts.size(), 3u);
  const HostFile cells = read(R"({"hosts": [
      {"name": "a", "ssh": "a", "rdma": [null, "rdma_en4", ["rdma_en3", "rdma_en5"]]},
      {"name": "b", "ssh": "b"}, {"name": "c", "ssh": "c", "data": "10.0.0.3/24"}]})");
  EXPECT_EQ(cells.hosts[0].rdma, (Cells{{}, {"rdma_en4"}, {"rdma_en3", "rdma_en5"}}));
  EXPECT_THAT(cells.hosts[0].data_interfaces, ElementsAre("en4", "en3", "en5"));
}

TEST(HostFiles, AScenarioHasHostsToo) {
  EXPECT_EQ(read(R"({"plumbline": 1, "probes": ["ip"], "hosts": {"local": 4}})").hosts.size(), 4u);
}

// The examples of the page are sound.
TEST(HostFiles, ThePageShowsFilesThatCanBeRead) {
  const std::string page = read_file(test::source_dir() + "/docs/host_files.md");
  std::set<std::string> formats;
  const std::string begin = "```json\n", end = "```";
  for (size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    const std::string text = page.substr(at, page.find(end, at) - at);
    const HostFile file = read(text);
    ASSERT_NE(file.row, nullptr);
    EXPECT_THAT(check_host_file(file, nullptr), IsEmpty()) << text;
    formats.insert(file.row->name);
  }
  for (const HostFileFormat& row : host_file_formats()) {
    EXPECT_THAT(page, HasSubstr("`" + std::string(row.name) + "`"));
    EXPECT_TRUE(formats.count(row.name) == 1 || std::string(row.name) == "mpi") << row.name;
  }
  for (const BackendRow& row : backend_table()) {
    EXPECT_THAT(page, HasSubstr("| `" + std::string(row.name) + "` |"));
  }
}

// ---- in a scenario, and for commands ----

TEST(HostFiles, AScenarioNamesOne) {
  const TempFolder folder;
  std::filesystem::create_directory(folder.path("sub"));
  folder.write("sub/hosts.txt", "node1 slots=4\nnode2\n");
  folder.write("sub/base.json",
               R"({"plumbline": 1, "probes": ["ip"], "hosts": {"hostfile": "hosts.txt"}})");
  const std::string path = folder.write(
      "s.json", R"({"plumbline": 1, "include": "sub/base.json", "launch": {"ranks_per_host": 3}})");
  const auto scenario = load_scenario(path, vocabulary());
  ASSERT_TRUE(scenario) << all_lines(scenario.error());
  ASSERT_EQ(scenario->hosts.size(), 2u);
  EXPECT_EQ(scenario->hosts[0].ranks, 4);
  EXPECT_EQ(scenario->hosts[1].ranks, 3);
}

TEST(HostFiles, AScenarioNamesAWrongOne) {
  const TempFolder folder;
  const auto problems = [&](const std::string& text) {
    folder.write("h.json", text);
    const std::string path = folder.write(
        "s.json", R"({"plumbline": 1, "probes": ["ip"], "hosts": {"hostfile": "h.json"}})");
    const auto scenario = load_scenario(path, vocabulary());
    return scenario ? std::string() : all_lines(scenario.error());
  };
  EXPECT_THAT(problems(R"([{"ssh": "a", "ipss": []}])"),
              HasSubstr("h.json:1:15: $[0].ipss: unknown key"));
  EXPECT_THAT(problems(R"([[null, "rdma_en3"], ["rdma_en3", null]])"),
              HasSubstr("$.hosts.hostfile: a jaccl-matrix file names no machines"));
  EXPECT_THAT(problems(R"({"plumbline": 1, "hosts": {"hostfile": "h.json"}})"),
              HasSubstr("is a scenario, not a host file"));
  EXPECT_THAT(problems("[{]"), HasSubstr("h.json:1:"));
  std::filesystem::remove(folder.path("h.json"));
  const auto gone = load_scenario(folder.path("s.json"), vocabulary());
  ASSERT_FALSE(gone);
  EXPECT_THAT(all_lines(gone.error()), HasSubstr("$.hosts.hostfile: cannot open"));
}

TEST(HostFiles, CommandsTakeThem) {
  const TempFolder folder;
  const auto hosts = load_hosts(folder.write("h", kMesh));
  ASSERT_TRUE(hosts) << all_lines(hosts.error());
  EXPECT_EQ(hosts->size(), 4u);
  const auto matrix = load_hosts(folder.write("m", R"([[null, "rdma_en3"], ["rdma_en3", null]])"));
  ASSERT_FALSE(matrix);
  EXPECT_THAT(all_lines(matrix.error()), HasSubstr("names no machines"));
}

}  // namespace
}  // namespace plumbline::scenario_test
