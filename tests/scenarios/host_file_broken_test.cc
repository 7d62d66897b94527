// Host files that are wrong, and the words in which they are refused.
#include <algorithm>

#include "tests/scenarios/host_file_support.h"

namespace plumbline::scenario_test {
namespace {

using testing::HasSubstr;

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
      {"truncated", std::string(kMesh).substr(0, 200),
       "the quote that closes this text is missing"},
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
      {"empty list off the diagonal", R"([[null, []], [[], null]])", "$[0][1]: is no cell"},
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
      {"ours with a backend that is no text",
       R"({"backend": 1, "hosts": [{"name": "a", "ssh": "a"}]})", "$.backend: is no text"},
      {"ours with envs that are none", R"({"envs": ["=A"], "hosts": [{"name": "a", "ssh": "a"}]})",
       "$.envs[0]: is no \"NAME=value\""},
      {"coordinator with a port",
       R"({"coordinator": "10.0.0.1:5", "hosts": [{"name": "a", "ssh": "a"}]})",
       "$.coordinator: '10.0.0.1:5' is not an IP address"},
      {"coordinator of MLX's form",
       R"({"coordinator": "10.0.0.1", "hosts": [{"ssh": "a", "ips": []}]})",
       "'ips' is a key of MLX's host files"},
      {"ours, unknown key above", R"({"hosts": [{"name": "a", "ssh": "a"}], "host": 1})",
       "$.host: unknown key 'host'; did you mean 'hosts'?"},
      {"a host file of a host file", R"({"hosts": {"hostfile": "h"}})", "cannot name another one"},
      {"ours, cell is a number", R"({"hosts": [{"name": "a", "ssh": "a", "rdma": [null, 3]}]})",
       "$.hosts[0].rdma[1]: is 3"},
      {"ours, bad device", R"({"hosts": [{"name": "a", "ssh": "a", "rdma": [null, "a b"]}]})",
       "$.hosts[0].rdma[1]: 'a b' is no name of an RDMA device"},

      {"ring without a port", R"([["10.0.0.1:5"], ["10.0.0.2"]])",
       "$[1][0]: '10.0.0.2' is no address"},
      {"ring without any port", R"([["10.0.0.1"], ["10.0.0.2"]])",
       "$[0][0]: '10.0.0.1' is no address with a port: the port is missing"},
      {"UTF-8 BOM", "\xef\xbb\xbf[{\"ssh\": \"a\"}]",
       "FILE:1:1: the file begins with a byte order mark (UTF-8)"},
      {"UTF-8 BOM of a list", "\xef\xbb\xbfnode1 slots=2\n", "byte order mark (UTF-8)"},
      {"UTF-16 BOM", std::string("\xff\xfe[\0]\0", 6), "byte order mark (UTF-16)"},
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

}  // namespace
}  // namespace plumbline::scenario_test
