// `plumbline doctor --stack` as a user meets it: on this machine, and for host files of MLX whose
// machines cannot be reached from here. How right its plans are is a matter of the lab.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DoctorStack : public testing::Test {
 protected:
  // An ssh that reaches nobody, at once.
  std::string path_without_hosts() const {
    const std::string ssh = folder_.write(
        "ssh", "#!/bin/sh\necho 'ssh: connect to host: No route to host' >&2\nexit 255\n");
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    return "PATH=" + folder_.path() + ":/usr/sbin:/usr/bin:/sbin:/bin";
  }
  Finished ask(std::vector<std::string> words) const {
    words.insert(words.begin(), {"env", path_without_hosts(), test::program_path(), "doctor"});
    return run_program(words);
  }
  const ScratchFolder folder_;
};

TEST_F(DoctorStack, OneMachineIsPlannedAndTried) {
  const Finished done = ask({"--stack", "torch-gloo", "--env", "GLOO_SOCKET_IFNAME=lo", "--env",
                             "MASTER_PORT=23457", "--json"});
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["stack"]["stack"], "torch-gloo");
  EXPECT_EQ(json["stack"]["ranks"].size(), 2U);
  EXPECT_EQ(json["stack"]["ranks"][0]["interface"], "lo");
  EXPECT_EQ(json["stack"]["rendezvous_port"], 23457);
  for (const auto& finding : json["findings"]) EXPECT_NE(finding["outcome"], "fail") << finding;
}

TEST_F(DoctorStack, WordsThatMakeNoSenseAreRefusedWithWhatThereIs) {
  const Finished unknown = ask({"--stack", "glo"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("no stack 'glo'"));
  for (const char* wrong : {"X", "=1", "A B=1", "nobody:A=1", "A=\x1b[2J"}) {
    const Finished done = ask({"--stack", "nccl", "--env", wrong});
    EXPECT_EQ(done.status, 1) << wrong;
    EXPECT_THAT(done.err, AllOf(HasSubstr("--env"), Not(HasSubstr("\x1b")))) << wrong;
  }
  EXPECT_EQ(ask({"--env", "A=1"}).status, 1);
  EXPECT_EQ(ask({"--stack", "nccl", "--from", "x"}).status, 1);
  EXPECT_EQ(ask({"--stack", "nccl", "--job", "1"}).status, 1);
}

// Both forms of MLX's host files: every rank's environment, as mlx.launch would set it.
TEST_F(DoctorStack, MlxGivesEveryRankItsEnvironment) {
  const std::string array = R"([
      {"ssh": "m1.local", "ips": ["192.168.0.1"], "rdma": [null, "rdma_en3"]},
      {"ssh": "m2.local", "ips": [], "rdma": ["rdma_en4", null]}])";
  for (const std::string& text : {array, R"({"backend": "jaccl", "hosts": )" + array + "}"}) {
    const std::string file = folder_.write("hosts.json", text);
    const Finished done =
        ask({"--hosts", file, "--stack", "mlx-jaccl", "--only", "stack", "--json"});
    const auto json = nlohmann::json::parse(done.out);
    const auto& ranks = json["stack"]["ranks"];
    ASSERT_EQ(ranks.size(), 2U) << done.err;
    EXPECT_EQ(json["stack"]["rendezvous_ip"], "192.168.0.1");
    EXPECT_EQ(json["stack"]["rendezvous_port"], 32323);
    for (int rank = 0; rank < 2; ++rank) {
      const auto& environment = ranks[rank]["environment"];
      EXPECT_EQ(environment["MLX_RANK"], std::to_string(rank));
      EXPECT_EQ(environment["MLX_JACCL_COORDINATOR"], "192.168.0.1:32323");
      EXPECT_EQ(environment.count("MLX_IBV_DEVICES"), 1U);
    }
    EXPECT_EQ(ranks[1]["also"][0], "rdma_en4 to rank 0");
  }
  const std::string ring = folder_.write("ring.json", R"([
      {"ssh": "m1.local", "ips": ["10.0.0.1"]}, {"ssh": "m2.local", "ips": ["10.0.0.2"]}])");
  const auto json =
      nlohmann::json::parse(ask({"--hosts", ring, "--stack", "mlx-ring", "--json"}).out);
  EXPECT_EQ(json["stack"]["ranks"][1]["ip"], "10.0.0.2");
  EXPECT_EQ(json["stack"]["ranks"][1]["environment"]["MLX_RANK"], "1");
}

struct BrokenMlx {
  const char* what;
  const char* stack;
  const char* text;
  const char* said;  // in a finding or on standard error
};

// Wrong matrices, a missing address of rank 0, rails that do not pair.
TEST_F(DoctorStack, MlxFilesThatCannotWorkAreFoundBeforeTheStart) {
  const BrokenMlx table[] = {
      {"no address of rank 0", "mlx-jaccl",
       R"([{"ssh": "a", "rdma": [null, "rdma_en3"]}, {"ssh": "b", "rdma": ["rdma_en4", null]}])",
       "rank 0"},
      {"a row that is too short", "mlx-jaccl",
       R"([{"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null]},
           {"ssh": "b", "rdma": ["rdma_en4", null]}])",
       "the matrix is square"},
      {"a hole in the mesh", "mlx-jaccl",
       R"([{"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null, "rdma_en2", "rdma_en3"]},
           {"ssh": "b", "rdma": ["rdma_en2", null, null]},
           {"ssh": "c", "rdma": ["rdma_en2", null, null]}])",
       "no device towards"},
      {"rails that do not pair", "mlx-jaccl",
       R"({"backend": "jaccl-ring", "hosts": [
           {"ssh": "a", "ips": ["10.0.0.1"], "rdma": [null, ["rdma_en2", "rdma_en3"]]},
           {"ssh": "b", "rdma": [["rdma_en4"], null]}]})",
       "rdma"},
      {"no address in the ring", "mlx-ring", R"([{"ssh": "a", "ips": ["10.0.0.1"]}, {"ssh": "b"}])",
       "b"},
  };
  for (const BrokenMlx& row : table) {
    const std::string file = folder_.write("broken.json", row.text);
    const Finished done = ask({"--hosts", file, "--stack", row.stack, "--json"});
    EXPECT_NE(done.status, 0) << row.what;
    if (done.status == 1) {
      EXPECT_THAT(done.err, HasSubstr(row.said)) << row.what;
      continue;
    }
    std::string config;
    const auto json = nlohmann::json::parse(done.out);
    for (const auto& finding : json["findings"]) {
      if (finding["cause"] == "config.mismatch") config += finding["evidence"].dump();
    }
    EXPECT_THAT(config, HasSubstr(row.said)) << row.what << "\n" << done.out;
  }
}

}  // namespace
}  // namespace plumbline
