// Host files of every format: read right, refused in the right words, converted without silent
// loss.
#include "scenarios/host_files/host_file.h"

#include <gmock/gmock.h>

#include <set>

#include "scenarios/host_files/backends.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Texts = std::vector<std::string>;
using Cells = std::vector<Texts>;

// Four Macs, every two of them joined by a cable, as mlx.distributed_config writes it.
constexpr const char* kMesh = R"({
  "backend": "jaccl",
  "envs": ["MLX_METAL_FAST_SYNCH=1", "HF_TOKEN=s3cret=x", "EMPTY="],
  "hosts": [
    {"ssh": "mac1.local", "ips": ["192.168.4.11"], "rdma": [null, "rdma_en3", "rdma_en4", "rdma_en5"]},
    {"ssh": "me@mac2.local", "ips": [], "rdma": ["rdma_en4", null, "rdma_en3", "rdma_en5"]},
    {"ssh": "mac3.local", "rdma": ["rdma_en3", "rdma_en5", null, "rdma_en4"]},
    {"ssh": "mac4.local", "ips": [], "rdma": ["rdma_en5", "rdma_en4", "rdma_en3", null]}
  ]
})";

// Two cables between neighbours, none across.
constexpr const char* kRails = R"([
  {"ssh": "a", "ips": ["10.1.0.1"],
   "rdma": [null, ["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"]]},
  {"ssh": "b", "ips": [],
   "rdma": [["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"], null]},
  {"ssh": "c", "ips": [],
   "rdma": [null, ["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"]]},
  {"ssh": "d", "ips": [],
   "rdma": [["rdma_en3", "rdma_en4"], null, ["rdma_en5", "rdma_en6"], null]}
])";

constexpr const char* kRing = R"({"backend": "ring", "hosts": [
  {"ssh": "a", "ips": ["10.0.3.2"]}, {"ssh": "b", "ips": ["10.0.0.2"]},
  {"ssh": "c", "ips": ["10.0.1.2"]}, {"ssh": "d", "ips": ["10.0.2.2"]}]})";

constexpr const char* kRingFile =
    R"([["10.0.1.1:32323", "10.0.2.1:32324"], ["10.0.1.2:40000", "10.0.2.2:40001"]])";

constexpr const char* kMpi =
    "# the cluster\r\n"
    "node1 slots=4 max_slots=8\n"
    "\n"
    "node2 slots = 2   # half of it\n"
    "node3:3\n"
    "node1 slots=1\n"
    "node4\n";

constexpr const char* kOwn = R"({"hosts": [
  {"name": "hub", "ssh": "me@hub.local", "port": 2222, "data": ["10.0.0.1/24", "10.0.1.1/24"],
   "group": ["left", "right"], "ranks": 2},
  {"name": "l", "ssh": "l.local", "data": "10.0.0.2/24", "group": "left", "speed": "40Gbit"},
  {"name": "r", "netns": "r", "data": "10.0.1.2/24", "group": "right"}]})";

struct Loaded {
  tl::expected<HostFile, std::vector<ScenarioProblem>> file;
  std::string problems;
};

Loaded load(const std::string& text) {
  const TempFolder folder;
  const std::string path = folder.write("h", text);
  auto file = load_host_file(path);
  Loaded out{std::move(file), {}};
  if (!out.file) out.problems = all_lines(out.file.error());
  // Independent of the folder.
  for (size_t at; (at = out.problems.find(path)) != std::string::npos;) {
    out.problems.replace(at, path.size(), "FILE");
  }
  return out;
}

HostFile read(const std::string& text) {
  Loaded loaded = load(text);
  EXPECT_TRUE(loaded.file) << text << "\n" << loaded.problems;
  return loaded.file ? *loaded.file : HostFile{};
}

std::string name_of(const HostFile& file) { return file.row == nullptr ? "none" : file.row->name; }

Texts names(const HostFile& file) {
  Texts out;
  for (const ScenarioHost& host : file.hosts) out.push_back(host.name);
  return out;
}

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

// ---- what is wrong ----

struct BrokenFile {
  const char* name;
  std::string text;
  const char* words;  // in the problems, each on one line
};

const std::vector<BrokenFile>& broken_files() {
  const std::string deep(500'000, '[');
  std::string many = "[";
  for (int i = 0; i < 1001; ++i) many += R"({"ssh":"h"},)";
  many += R"({"ssh":"h"}])";
  std::string lines;
  for (int i = 0; i < 10'001; ++i) lines += "#\n";
  static const std::vector<BrokenFile> kFiles = {
      {"empty", "", "the file is empty"},
      {"blank", " \n\t\n", "the file is empty"},
      {"comments only", "# nothing\n#\n", "names no host"},
      {"truncated", std::string(kMesh).substr(0, 200), "missing closing quote"},
      {"half a ring", R"([["10.0.0.1:1"], ["10.0)", "FILE:1"},
      {"too deep", deep, "FILE:1"},
      {"deep and closed", deep + std::string(500'000, ']'), "$[0][0]: is no cell"},
      {"deep in our form", R"({"hosts": )" + deep + std::string(500'000, ']') + "}",
       "$.hosts[0]: is a list"},
      {"a number in a list", "[1, 2]", "neither a host file nor a scenario"},
      {"an object", "{}", "neither a host file nor a scenario"},
      {"text", "\"hosts\"", "neither a host file nor a scenario"},
      {"nothing in it", "[]", "neither a host file nor a scenario"},
      {"too large", std::string(1100 * 1024, ' '), "larger than 1 MiB"},
      {"not UTF-8", "[{\"ssh\": \"\xff\"}]", "not UTF-8"},
      {"binary",
       std::string("\x7f"
                   "ELF\x01\x02\0\0",
                   8),
       "is no name of a host"},
      {"too many hosts", many, "is no list of 1 to 1000 hosts"},
      {"key twice", R"([{"ssh": "a", "ssh": "b"}])", "is there twice"},

      {"no ssh", R"([{"ips": []}])", "$[0]: key 'ssh' is missing"},
      {"ssh is a number", R"([{"ssh": 5}])", "$[0].ssh: '' is no destination"},
      {"ssh is an option", R"([{"ssh": "-oProxyCommand=sh"}])", "is no destination"},
      {"ssh with a space", R"([{"ssh": "a b"}])", "is no destination"},
      {"unknown key", R"([{"ssh": "a", "ip": []}])",
       "$[0].ip: unknown key 'ip'; did you mean 'ips'?"},
      {"unknown key above", R"({"backend": "ring", "env": [], "hosts": [{"ssh": "a"}]})",
       "$.env: unknown key 'env'; did you mean 'envs'?"},
      {"ips as text", R"([{"ssh": "a", "ips": "10.0.0.1"}])", "$[0].ips: is no list of addresses"},
      {"no ip", R"([{"ssh": "a", "ips": ["10.0.0.256"]}])", "'10.0.0.256' is not an IP address"},
      {"ip with a port", R"([{"ssh": "a", "ips": ["10.0.0.1:5"]}])",
       "without prefix length or port"},
      {"ip is a number", R"([{"ssh": "a", "ips": [1]}])", "$[0].ips[0]"},
      {"rdma as text", R"([{"ssh": "a", "rdma": "rdma_en3"}])", "$[0].rdma: is no list of devices"},
      {"cell is a number", R"([{"ssh": "a", "rdma": [null, 3]}])", "$[0].rdma[1]: is no cell"},
      {"cell is an empty list", R"([{"ssh": "a", "rdma": [null, []]}])",
       "$[0].rdma[1]: is no cell"},
      {"cell in a cell", R"([{"ssh": "a", "rdma": [[["x"]]]}])", "$[0].rdma[0]: is no cell"},
      {"interface", R"([{"ssh": "a", "rdma": [null, "en4"]}])", "its RDMA device is 'rdma_en4'"},
      {"device with a path", R"([{"ssh": "a", "rdma": [null, "../x"]}])",
       "is no name of an RDMA device"},
      {"envs as an object", R"({"envs": {}, "hosts": [{"ssh": "a"}]})", "$.envs: is no list"},
      {"env without a name", R"({"envs": ["=x"], "hosts": [{"ssh": "a"}]})", "$.envs[0]"},
      {"env with two lines", R"({"envs": ["A=x\ny"], "hosts": [{"ssh": "a"}]})", "is one line"},
      {"env twice", R"({"envs": ["A=1", "A=2"], "hosts": [{"ssh": "a"}]})",
       "sets 'A' a second time"},
      {"backend is a number", R"({"backend": 1, "hosts": [{"ssh": "a"}]})",
       "$.backend: is no text"},
      {"no hosts", R"({"backend": "ring"})", "$.hosts: is no list"},
      {"entry is no object", R"([{"ssh": "a"}, 5])", "$[1]: key 'ssh' is missing"},

      {"mixed", R"({"hosts": [{"name": "a", "ssh": "a"}, {"ssh": "b", "ips": ["10.0.0.1"]}]})",
       "$.hosts[1]: is an entry of MLX's form among entries of our own"},
      {"mixed in one entry", R"({"hosts": [{"name": "a", "ssh": "a", "ips": []}]})",
       "'ips' is a key of MLX's host files"},
      {"ours with a backend", R"({"backend": "ring", "hosts": [{"name": "a", "ssh": "a"}]})",
       "$.hosts[0].name: is a key of plumbline's own host files"},
      {"ours, unknown key above", R"({"hosts": [{"name": "a", "ssh": "a"}], "host": 1})",
       "$.host: unknown key 'host'; did you mean 'hosts'?"},
      {"a host file of a host file", R"({"hosts": {"hostfile": "h"}})", "cannot name another one"},
      {"ours, cell is a number", R"({"hosts": [{"name": "a", "ssh": "a", "rdma": [null, 3]}]})",
       "$.hosts[0].rdma[1]: is 3"},
      {"ours, bad device", R"({"hosts": [{"name": "a", "ssh": "a", "rdma": [null, "a b"]}]})",
       "$.hosts[0].rdma[1]: 'a b' is no name of an RDMA device"},

      {"ring without a port", R"([["10.0.0.1:5"], ["10.0.0.2"]])",
       "$[1][0]: '10.0.0.2' is no address"},
      {"ring, port 0", R"([["10.0.0.1:0"]])", "no address with a port"},
      {"ring, port 65536", R"([["10.0.0.1:65536"]])", "no address with a port"},
      {"ring, port with more behind", R"([["10.0.0.1:5x"]])", "no address with a port"},
      {"ring, bare IPv6", R"([["fd00::1:5"]])", "no address with a port"},
      {"ring, a rank without", R"([["10.0.0.1:5"], []])", "$[1]: is no list of addresses"},
      {"ring, a number", R"([["10.0.0.1:5", 5]])", "$[0][1]"},
      {"matrix, a number", R"([[null, 3]])", "$[0][1]: is no cell"},

      {"MPI, no number", "a slots=x\n", "FILE:1: 'x' is no number of slots"},
      {"MPI, no slots", "a slots=0\n", "'0' is no number of slots"},
      {"MPI, too many", "a:100000\n", "1 to 1024"},
      {"MPI, twice", "a:2 slots=2\n", "says twice how many slots"},
      {"MPI, unknown word", "a slot_s=2\n", "unknown word 'slot_s'; did you mean 'slots'?"},
      {"MPI, most below slots", "a slots=4 max_slots=2\n", "less than its slots"},
      {"MPI, relative", "+n1 slots=2\n", "is no host by name"},
      {"MPI, excluded", "a\n^b\n", "FILE:2: '^b' is no host by name"},
      {"MPI, an option", "-oX=y\n", "is no name of a host"},
      {"MPI, prose", "These are my hosts:\n", "unknown word 'are'"},
      {"MPI, many lines", lines, "more than 10000 lines"},
  };
  return kFiles;
}

TEST(HostFiles, WhatIsWrongIsSaid) {
  for (const BrokenFile& broken : broken_files()) {
    SCOPED_TRACE(broken.name);
    const Loaded loaded = load(broken.text);
    ASSERT_FALSE(loaded.file);
    EXPECT_THAT(loaded.problems, HasSubstr(broken.words));
    EXPECT_LE(std::count(loaded.problems.begin(), loaded.problems.end(), '\n'), 51);
    for (const char c : loaded.problems) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    }
  }
}

TEST(HostFiles, SecretsStayOutOfMessages) {
  const Loaded loaded = load(R"({"envs": ["1TOKEN=s3cret", "A=s3cret", "A=s3cret"], "hosts": 5})");
  ASSERT_FALSE(loaded.file);
  EXPECT_THAT(loaded.problems, testing::Not(HasSubstr("s3cret")));
}

TEST(HostFiles, AllProblemsAtOnce) {
  const Loaded loaded =
      load(R"([{"ssh": "a b", "ips": ["x"], "rdma": [null, "en3"]}, {"sshh": "b"}])");
  ASSERT_FALSE(loaded.file);
  for (const char* words : {"no destination", "'x' is not", "rdma_en3", "'sshh'", "is missing"}) {
    EXPECT_THAT(loaded.problems, HasSubstr(words));
  }
}

// The examples of the page are sound.
TEST(HostFiles, ThePageShowsFilesThatCanBeRead) {
  const std::string page = read_file(PLUMBLINE_SOURCE_DIR "/docs/host_files.md");
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
              HasSubstr("h.json: $[0].ipss: unknown key"));
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

// ---- conversions ----

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
                           R"([[null, "rdma_en3"], [["rdma_en4", "rdma_en5"], null]])"}) {
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
    EXPECT_EQ(std::tie(first.backend, first.envs, first.ips, first.ports),
              std::tie(second.backend, second.envs, second.ips, second.ports));
    EXPECT_EQ(converted(once.text, first.row->name).text, once.text);
  }
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
  EXPECT_THAT(out.lost, ElementsAre("ips (the coordinator's address) (a)"));
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
