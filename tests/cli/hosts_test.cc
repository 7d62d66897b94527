// `plumbline hosts` as a user meets it.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kMlx = R"({"backend": "jaccl", "envs": ["TOKEN=it's s3cret"], "hosts": [
  {"ssh": "mac1.local", "ips": ["192.168.4.11"], "rdma": [null, "rdma_en3"]},
  {"ssh": "me@mac2.local", "ips": [], "rdma": ["rdma_en4", null]}]})";

class HostsCommand : public testing::Test {
 protected:
  Finished hosts(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "hosts");
    return run_program(plumbline_argv(arguments));
  }
  std::string file(const std::string& text) { return folder_.write("hosts.json", text); }
  ScratchFolder folder_;
};

TEST_F(HostsCommand, Show) {
  const Finished done = hosts({"show", file(kMlx)});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("mlx, 2 hosts, backend jaccl, environment TOKEN"));
  EXPECT_THAT(done.out, HasSubstr("1     mac2.local  ssh me@mac2.local  those of en4"));
  EXPECT_THAT(done.out, Not(HasSubstr("s3cret")));
  EXPECT_THAT(done.out, Not(HasSubstr("not supposed")));
}

TEST_F(HostsCommand, ShowAStar) {
  const std::string path =
      file(R"({"hosts": [{"name": "hub", "ssh": "hub", "group": ["a", "b"], "ranks": 2},
      {"name": "x", "ssh": "x", "group": "a"}, {"name": "y", "ssh": "y", "group": "b"}]})");
  const Finished done = hosts({"show", path});
  EXPECT_THAT(done.out, HasSubstr("0-1   hub"));
  EXPECT_THAT(done.out, HasSubstr("x and y share no group"));
  EXPECT_THAT(done.out, HasSubstr("  hub, x\n  hub, y\n"));
  const auto json = nlohmann::json::parse(hosts({"show", path, "--json"}).out);
  EXPECT_EQ(json["groups"], nlohmann::json::parse(R"([["hub", "x"], ["hub", "y"]])"));
  EXPECT_EQ(json["apart"][0]["hosts"], nlohmann::json::parse(R"(["x", "y"])"));
  EXPECT_EQ(json["hosts"][1]["first_rank"], 2);
  EXPECT_EQ(json["ranks"], 4);
}

TEST_F(HostsCommand, Check) {
  const std::string path = file(kMlx);
  EXPECT_EQ(hosts({"check", path}).status, 0);
  EXPECT_THAT(hosts({"check", path}).out,
              HasSubstr("no problems for jaccl; fits jaccl, jaccl-ring, nccl, mpi\n"));
  EXPECT_THAT(hosts({"check", path, "--backend", "jaccl"}).out,
              HasSubstr("no problems for jaccl; fits"));
  const Finished ring = hosts({"check", path, "--backend", "ring"});
  EXPECT_EQ(ring.status, 1);
  EXPECT_THAT(ring.out, HasSubstr("no address is known of mac2.local"));
  EXPECT_THAT(ring.out, HasSubstr("1 problem\n"));
  const auto json =
      nlohmann::json::parse(hosts({"check", path, "--backend", "ring", "--json"}).out);
  EXPECT_EQ(json["problems"].size(), 1u);
  EXPECT_EQ(json["format"], "mlx");
}

TEST_F(HostsCommand, CheckOfWhatCannotBeRead) {
  const Finished done = hosts({"check", file(R"([{"ssh": "a", "ipss": []}])")});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.out, HasSubstr("did you mean 'ips'?"));
  EXPECT_EQ(hosts({"check", "/proc/nonexistent"}).status, 1);
  EXPECT_EQ(hosts({"show", "/proc/nonexistent"}).status, 1);
}

TEST_F(HostsCommand, ConvertSaysWhatIsLost) {
  const Finished done = hosts({"convert", file(kMlx), "--to", "mpi"});
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.out, "mac1.local slots=1\nmac2.local slots=1\n");
  EXPECT_THAT(done.err,
              HasSubstr("lost, format mpi cannot express it: rdma (mac1.local, mac2.local)"));
  EXPECT_THAT(done.err, Not(HasSubstr("s3cret")));
  const Finished refused = hosts({"convert", file("a\nb\n"), "--to", "jaccl-matrix"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("the row of a has 0 cells"));
}

TEST_F(HostsCommand, WriteMakesFilesThatAShellReads) {
  const std::string out = folder_.path("out/deep");
  const Finished done =
      hosts({"write", file(kMlx), "--backend", "jaccl", "--dir", out + "/", "--port", "4000"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, out + "/devices.json\n" + out + "/rank0.env\n" + out + "/rank1.env\n");
  EXPECT_EQ(read_file(out + "/devices.json"),
            "[\n  [null,\"rdma_en3\"],\n  [\"rdma_en4\",null]\n]\n");
  const Finished shell = run_program(
      {"/bin/sh", "-c",
       "set -a; . " + out +
           "/rank1.env; echo \"$TOKEN|$MLX_RANK|$MLX_JACCL_COORDINATOR|$MLX_IBV_DEVICES\""});
  EXPECT_EQ(shell.out, "it's s3cret|1|192.168.4.11:4000|" + out + "/devices.json\n") << shell.err;
  struct stat info {};
  ASSERT_EQ(::stat((out + "/rank0.env").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(HostsCommand, WriteRefusesWhatTheBackendCannotUse) {
  const std::string out = folder_.path("none");
  const Finished done = hosts({"write", file(kMlx), "--backend", "ring", "--dir", out});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("no address is known of mac2.local"));
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(hosts({"write", file(kMlx), "--backend", "jaccl", "--dir", "/proc/none"}).status, 1);
}

TEST_F(HostsCommand, DoctorSkipsWhoIsNotSupposedToTalk) {
  const std::string path = file(R"({"hosts": [
      {"name": "left", "local": true, "data": "127.0.0.1/8", "group": "a"},
      {"name": "right", "local": true, "data": "127.0.0.1/8", "group": "b"}]})");
  const Finished done =
      run_program(plumbline_argv({"doctor", path, "--only", "tcp.connect", "--json"}));
  const auto json = nlohmann::json::parse(done.out);
  int skipped = 0;
  for (const auto& check : json["checks"]) {
    if (check["id"] != "tcp.connect") continue;
    EXPECT_EQ(check["outcome"], "skipped") << check;
    EXPECT_THAT(check["reason"].get<std::string>(), HasSubstr("not supposed to talk: "));
    EXPECT_THAT(check["reason"].get<std::string>(), HasSubstr("share no group"));
    ++skipped;
  }
  EXPECT_EQ(skipped, 2) << done.out << done.err;
}

TEST_F(HostsCommand, Mistakes) {
  struct Mistake {
    std::vector<std::string> arguments;
    const char* words;
  };
  const std::string path = file(kMlx);
  const Mistake mistakes[] = {
      {{"shwo", path}, "did you mean show?"},
      {{"convert", path}, "hosts convert needs --to"},
      {{"convert", path, "--to", "mlx-aray"}, "did you mean mlx-array?"},
      {{"check", path, "--backend", "jacl"}, "did you mean jaccl?"},
      {{"write", path, "--backend", "jaccl"}, "hosts write needs --dir"},
      {{"show", path, "--port", "5"}, "hosts show takes no --port"},
      {{"convert", path, "--to", "ring", "--port", "0"}, "--port '0'"},
      {{"show"}, "file"},
  };
  for (const Mistake& mistake : mistakes) {
    const Finished done = hosts(mistake.arguments);
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr(mistake.words));
  }
}

}  // namespace
}  // namespace plumbline
