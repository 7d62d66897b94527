// The standard input of `plumbline launch`, and who its ranks are told to be.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "core/host/process_facts.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LaunchInput : public testing::Test {
 protected:
  // A shell line in which @ is the launch of two local ranks: "echo x | @ -- cat".
  std::vector<std::string> line(std::string text, const std::string& flags = "") {
    const std::string hosts = folder_.write("hosts.json", R"({"local": 2})");
    const std::string launch = test::program_path() + " launch -q --hosts " + hosts + " " + flags;
    for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, launch);
    return {"/bin/sh", "-c", text};
  }
  Finished shell(const std::string& text, const std::string& flags = "") {
    return run_program(line(text, flags));
  }
  // PATH with an `ssh` in front that starts here what is meant for the other machine.
  std::string path_with_ssh() {
    const std::string ssh =
        folder_.write("ssh",
                      "#!/bin/sh\nfor word; do last=$word; case $word in -O) exit 0;; esac; done\n"
                      "exec sh -c \"$last\"\n");
    std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
    const char* path = std::getenv("PATH");
    return "PATH=" + folder_.path() + ":" + (path == nullptr ? "" : path);
  }
  ScratchFolder folder_;
};

TEST_F(LaunchInput, GoesToRankZeroOnly) {
  const Finished done = shell("printf 'one\\ntwo' | @ -- cat");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "[0] one\n[0] two\n");
}

TEST_F(LaunchInput, GoesToTheRankThatIsNamed) {
  const Finished done = shell("echo words | @ -- cat", "--stdin 1");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "[1] words\n");
}

TEST_F(LaunchInput, GoesToAllOrToNone) {
  const Finished all = shell("echo words | @ -- cat", "--stdin all");
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr("[0] words\n"), HasSubstr("[1] words\n")));
  // It stays where it was: for the next command of the script.
  const Finished none = shell("echo words | (@ -- cat; cat)", "--stdin none");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_EQ(none.out, "words\n");
}

TEST_F(LaunchInput, ManyBytesOfAnyKindArriveAsTheyAre) {
  const std::string file = folder_.path("bytes");
  const Finished done = shell(
      "head -c 5000000 /dev/urandom > " + file + "; cksum < " + file + "; @ -- cksum < " + file,
      "--stdin all");
  EXPECT_EQ(done.status, 0) << done.err;
  const std::string sum = done.out.substr(0, done.out.find('\n') + 1);
  EXPECT_THAT(done.out, AllOf(HasSubstr("[0] " + sum), HasSubstr("[1] " + sum))) << done.out;
}

TEST_F(LaunchInput, AProgramThatReadsNothingIsNotHeldUp) {
  const Finished done = shell("head -c 20000000 /dev/zero | @ -- echo done");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[0] done\n"));
}

TEST_F(LaunchInput, OneRankThatEndsDoesNotKeepItFromTheOthers) {
  const Finished done = shell(
      "head -c 20000000 /dev/zero | @ -- sh -c 'test $PLUMBLINE_RANK = 0 || wc -c'", "--stdin all");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "[1] 20000000\n");
}

// The guard that has no room for more input still sees that its asker has gone.
TEST_F(LaunchInput, NothingOutlivesAKilledLauncherThatHadMoreToSay) {
  const std::string pid = folder_.path("pid");
  const std::string launcher = folder_.path("launcher");
  Program program(line("head -c 50000000 /dev/zero | { echo $$ > " + launcher +
                       "; exec @ -- sh -c 'test $PLUMBLINE_RANK = 0 && echo $$ > " + pid +
                       "; sleep 60'; }"));
  std::string text;
  for (int tries = 0; tries < 1500 && (text.empty() || text.back() != '\n'); ++tries) {
    usleep(20'000);
    text = read_file(pid);
  }
  ASSERT_FALSE(text.empty()) << program.err();
  usleep(500'000);  // until the pipes are full
  const pid_t rank = std::atoi(text.c_str());
  ASSERT_EQ(kill(rank, 0), 0);
  for (const pid_t child : program.children()) kill(child, SIGKILL);
  program.signal(SIGKILL);
  program.wait(30'000);
  EXPECT_TRUE(all_gone({rank}, 20'000));
}

TEST_F(LaunchInput, AWrongRankStartsNothing) {
  for (const char* wrong : {"2", "-1", "both", "99999999999999999999"}) {
    const Finished done = shell("@ -- echo started", std::string("--stdin ") + wrong);
    EXPECT_EQ(done.status, 1) << wrong;
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr("--stdin")) << wrong;
  }
  EXPECT_THAT(shell("@ -- true", "--stdin 2").err, HasSubstr("a rank from 0 to 1, all or none"));
}

// As torch/distributed/elastic/agent/server/local_elastic_agent.py (_start_workers) sets them: one
// group per node, LOCAL_RANK counted within it, and of the one role, called "default" as by
// torchrun without --role, all ranks in their order.
TEST_F(LaunchInput, TwoEntriesOfOneMachineCountUpLocalRank) {
  const std::string path = path_with_ssh();
  const std::string hosts = folder_.write("three.json", R"({"hosts": [
      {"name": "a", "ssh": "me@a", "data": "127.0.0.1/8"},
      {"name": "b", "ssh": "b", "data": "127.0.0.2/8"},
      {"name": "again", "ssh": "a", "data": "127.0.0.3/8", "ranks": 2}]})");
  const std::string script =
      "echo local $LOCAL_RANK/$LOCAL_WORLD_SIZE group $GROUP_RANK/$GROUP_WORLD_SIZE "
      "$ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE";
  const Finished done = run_program({"env", path, test::program_path(), "launch", "-q", "--hosts",
                                     hosts, "--as", "torchrun", "--", "sh", "-c", script});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("[0] local 0/3 group 0/2 default 0/4\n"),
                              HasSubstr("[1] local 0/1 group 1/2 default 1/4\n"),
                              HasSubstr("[2] local 1/3 group 0/2 default 2/4\n"),
                              HasSubstr("[3] local 2/3 group 0/2 default 3/4\n")));
}

// A list of MPI without slots: as many ranks as cores, as mpirun starts them.
TEST_F(LaunchInput, AnMpiListWithoutSlotsStartsARankPerCore) {
  const std::string hosts = folder_.write("hosts.txt", "localhost\n");
  const Finished done = run_program(plumbline_argv(
      {"launch", "-q", "--hosts", hosts, "--", "sh", "-c", "echo of $PLUMBLINE_WORLD_SIZE"}));
  EXPECT_EQ(done.status, 0) << done.err;
  const Finished mpirun = run_program(
      {"/bin/sh", "-c",
       "mpirun --oversubscribe -n 1 --hostfile " + hosts +
           " --display-allocation true 2>/dev/null | sed -n 's/.* slots=\\([0-9]*\\) .*/\\1/p'"},
      {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  if (mpirun.out.empty()) GTEST_SKIP() << "no mpirun of Open MPI here to compare with";
  EXPECT_THAT(done.out, HasSubstr("[0] of " + mpirun.out)) << mpirun.out;
}

// Only the machine itself knows how many cores it has: its agent is asked. A plan asks nobody.
TEST_F(LaunchInput, AMachineBehindSshIsAskedForItsCores) {
  const std::string hosts = folder_.write("cores.json", R"({"hosts": [
      {"name": "h1", "ssh": "h1", "data": "127.0.0.1/8", "ranks": "cores"}]})");
  const Finished done =
      run_program({"env", path_with_ssh(), test::program_path(), "launch", "-q", "--hosts", hosts,
                   "--", "sh", "-c", "echo of $PLUMBLINE_WORLD_SIZE"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[0] of " + std::to_string(physical_cores()) + "\n"));
  const std::string scenario = folder_.write("s.json", R"({"plumbline": 1, "roofs": false,
      "matrix": [{"kind": "check", "op": "allreduce", "bytes": 8, "ranks": 1}]})");
  const Finished plan = run_program(plumbline_argv({"plan", scenario, "--hosts", hosts}));
  EXPECT_THAT(plan.err, HasSubstr("h1: as many ranks as cores, which only a run finds out"));
}

}  // namespace
}  // namespace plumbline
