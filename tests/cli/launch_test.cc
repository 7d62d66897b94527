// `plumbline launch`, `guard` and `stop` as a user meets them, on this machine.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "launch/leftovers.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class LaunchCommand : public testing::Test {
 protected:
  std::vector<std::string> line(std::vector<std::string> flags, const std::string& script,
                                int ranks = 3) {
    const std::string hosts =
        folder_.write("hosts.json", "{\"local\": " + std::to_string(ranks) + "}");
    std::vector<std::string> words = {"launch", "--hosts", hosts};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return plumbline_argv(words);
  }
  Finished launch(const std::vector<std::string>& flags, const std::string& script, int ranks = 3) {
    return run_program(line(flags, script, ranks));
  }
  // Pids that the ranks' scripts have written with `echo $$ > FOLDER/pid.RANK`.
  std::vector<pid_t> wait_for_pids(size_t count) {
    for (int tries = 0; tries < 500; ++tries, usleep(20'000)) {
      std::vector<pid_t> pids;
      for (size_t rank = 0; rank < count; ++rank) {
        const std::string text = read_file(folder_.path("pid." + std::to_string(rank)));
        if (!text.empty() && text.back() == '\n') pids.push_back(std::atoi(text.c_str()));
      }
      if (pids.size() == count) return pids;
    }
    ADD_FAILURE() << "the ranks did not start";
    return {};
  }
  std::string sleeper() const {
    return "echo $$ > " + folder_.path("pid") + ".$PLUMBLINE_RANK; sleep 60";
  }
  ScratchFolder folder_;
};

TEST_F(LaunchCommand, EveryRankKnowsWhoItIs) {
  const Finished done = launch({},
                               "echo $PLUMBLINE_RANK of $PLUMBLINE_WORLD_SIZE at "
                               "$PLUMBLINE_MASTER_ADDR; echo oops >&2");
  EXPECT_EQ(done.status, 0) << done.err;
  for (const char* rank : {"0", "1", "2"}) {
    const std::string name = rank;
    EXPECT_THAT(done.out, HasSubstr("[" + name + "] " + name + " of 3 at 127.0.0.1\n"));
    EXPECT_THAT(done.err, HasSubstr("[" + name + "] oops\n"));
  }
}

TEST_F(LaunchCommand, AsTorchrunSetsIt) {
  const Finished done = launch({"--as", "torchrun", "--master-port", "29517"},
                               "echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR:$MASTER_PORT", 2);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[1] 1 1 2 127.0.0.1:29517\n"));
}

// Two ranks of one machine wrote the same file, and the first to end removed it under the other.
TEST_F(LaunchCommand, AsMlxEveryRankHasFilesOfItsOwn) {
  const std::string hosts =
      folder_.write("mlx.json", R"([{"ssh": "127.0.0.1", "ips": ["127.0.0.1"], "rdma": []},
                      {"ssh": "localhost", "ips": ["127.0.0.2"], "rdma": []}])");
  const std::string script =
      "if [ $MLX_RANK = 1 ]; then sleep 1; fi; cat $MLX_HOSTFILE > /dev/null && "
      "echo read $MLX_HOSTFILE";
  const Finished done = run_program(
      plumbline_argv({"launch", "--hosts", hosts, "--as", "mlx", "--", "sh", "-c", script}));
  EXPECT_EQ(done.status, 0) << done.err;
  const auto path_of = [&](const std::string& rank) {
    const size_t at = done.out.find("[" + rank + "] read ");
    return at == std::string::npos ? "none"
                                   : done.out.substr(at + 9, done.out.find('\n', at) - at - 9);
  };
  EXPECT_THAT(path_of("0"), HasSubstr("/tmp/"));
  EXPECT_THAT(path_of("1"), HasSubstr("/tmp/"));
  EXPECT_NE(path_of("0"), path_of("1"));
}

TEST_F(LaunchCommand, AsMlxReadsIt) {
  const std::string hosts =
      folder_.write("mlx.json", R"([{"ssh": "127.0.0.1", "ips": ["127.0.0.1"], "rdma": []},
                      {"ssh": "localhost", "ips": ["127.0.0.2"], "rdma": []}])");
  const Finished done = run_program(
      plumbline_argv({"launch", "--hosts", hosts, "--as", "mlx", "--", "sh", "-c",
                      "echo $MLX_RANK $(tr -d ' \\n' < $MLX_HOSTFILE); echo FILE $MLX_HOSTFILE"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[1] 1 [[\"127.0.0.1:"));
  const size_t at = done.out.find("FILE ") + 5;
  const std::string path = done.out.substr(at, done.out.find('\n', at) - at);
  EXPECT_NE(access(path.c_str(), F_OK), 0) << path << " is still there";
}

TEST_F(LaunchCommand, VariablesArriveAsTheyAreAndInNoCommandLine) {
  // A word of this test alone, whatever else runs on this machine.
  const std::string pid = std::to_string(getpid());
  const std::string value = "two words; $(reboot) 'quoted' \"s3cret" + pid + "\"";
  const Finished done =
      launch({"--env", "ODD=" + value, "--env", "HOME"},
             "printf '%s\\n' \"$ODD\"; ps -eo args | grep -c s3cre[t]" + pid + " || true", 2);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("[0] " + value + "\n"));
  // Only our own command line holds it, which the user typed.
  EXPECT_THAT(done.out, HasSubstr("[1] 1\n"));
}

TEST_F(LaunchCommand, OneThatFailsEndsAll) {
  const Finished done = launch({}, "test $PLUMBLINE_RANK = 1 && exit 7; sleep 60");
  EXPECT_EQ(done.status, 7);
  EXPECT_THAT(done.err, HasSubstr("rank 1 on local1 exited with status 7"));
}

TEST_F(LaunchCommand, AProgramThatIsNotThereIsNamed) {
  const std::string hosts = folder_.write("hosts.json", "{\"local\": 2}");
  const Finished done =
      run_program(plumbline_argv({"launch", "--hosts", hosts, "--", "/proc/no/such/program"}));
  EXPECT_EQ(done.status, 127);
  EXPECT_THAT(done.err, HasSubstr("start /proc/no/such/program"));
}

TEST_F(LaunchCommand, WrongUsageStartsNothing) {
  const std::string hosts = folder_.write("hosts.json", "{\"local\": 2}");
  const std::vector<std::vector<std::string>> wrong = {
      {"launch", "--", "true"},
      {"launch", "--hosts", hosts},
      {"launch", "--hosts", "/proc/no/such/file", "--", "true"},
      {"launch", "--hosts", hosts, "--as", "nobody", "--", "true"},
      {"launch", "--hosts", hosts, "--env", "=x", "--", "true"},
      {"launch", "--hosts", hosts, "--env", "PLUMBLINE_NO_SUCH_VARIABLE_X", "--", "true"},
      {"stop"},
      {"stop", "nonsense; reboot"},
  };
  for (const auto& words : wrong) {
    const Finished done = run_program(plumbline_argv(words));
    EXPECT_EQ(done.status, 1) << testing::PrintToString(words);
    EXPECT_THAT(done.err, HasSubstr("plumbline: ")) << testing::PrintToString(words);
    EXPECT_EQ(done.out, "");
  }
}

TEST_F(LaunchCommand, CtrlCEndsThemAll) {
  Program program(line({}, sleeper()));
  const std::vector<pid_t> pids = wait_for_pids(3);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(10'000), 130);
  EXPECT_TRUE(all_gone(pids, 20'000));
}

TEST_F(LaunchCommand, NothingOutlivesAKilledLauncher) {
  Program program(line({}, "trap '' TERM; " + sleeper()));
  const std::vector<pid_t> pids = wait_for_pids(3);
  program.signal(SIGKILL);
  program.wait(10'000);
  EXPECT_TRUE(all_gone(pids, 20'000)) << "also those that do not listen to SIGTERM";
}

// A program that puts children into sessions of their own, lets them lose their parent, and takes
// every variable from them. Their pids are in away.RANK and daemon.RANK.
class LaunchWithDaemons : public LaunchCommand {
 protected:
  std::string daemons() const {
    const std::string away = folder_.path("away") + ".$PLUMBLINE_RANK";
    const std::string daemon = folder_.path("daemon") + ".$PLUMBLINE_RANK";
    return "setsid sh -c \"echo \\$\\$ > " + away +
           "; trap '' TERM HUP; while :; do sleep 1; done\" >/dev/null 2>&1 & "
           "setsid env -i /bin/sh -c \"(trap '' HUP; exec sleep 60) & echo \\$! > " +
           daemon + "; exit 0\" >/dev/null 2>&1; ";
  }
  std::vector<pid_t> wait_for_daemons(size_t ranks) {
    std::vector<pid_t> pids;
    for (int tries = 0; tries < 500 && pids.size() < 2 * ranks; ++tries, usleep(20'000)) {
      pids.clear();
      for (const char* name : {"away.", "daemon."}) {
        for (size_t rank = 0; rank < ranks; ++rank) {
          const std::string text = read_file(folder_.path(name + std::to_string(rank)));
          if (!text.empty() && text.back() == '\n') pids.push_back(std::atoi(text.c_str()));
        }
      }
    }
    EXPECT_EQ(pids.size(), 2 * ranks) << "the children did not start";
    for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), 0) << pid;
    left_ = pids;
    return pids;
  }
  void TearDown() override {
    for (const pid_t pid : left_) kill(pid, SIGKILL);
  }
  std::vector<pid_t> left_;
};

TEST_F(LaunchWithDaemons, SessionsOfTheirOwnEndWithCtrlC) {
  Program program(line({}, daemons() + sleeper(), 2));
  const std::vector<pid_t> pids = wait_for_daemons(2);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(30'000), 130);
  EXPECT_TRUE(all_gone(pids, 5000));
}

TEST_F(LaunchWithDaemons, SessionsOfTheirOwnEndWithAKilledLauncher) {
  Program program(line({}, daemons() + sleeper(), 2));
  const std::vector<pid_t> pids = wait_for_daemons(2);
  program.signal(SIGKILL);
  program.wait(30'000);
  EXPECT_TRUE(all_gone(pids, 10'000));
}

// Each rank's end with it; those of a rank that runs on are let alone.
TEST_F(LaunchWithDaemons, SessionsOfTheirOwnEndWithTheirRank) {
  const std::string go = folder_.path("go"), end = folder_.path("end");
  Program program(line({},
                       daemons() + "f=" + end + "; [ $PLUMBLINE_RANK = 0 ] && f=" + go +
                           "; while [ ! -e $f ]; do sleep 0.05; done; exit 0",
                       2));
  const std::vector<pid_t> pids = wait_for_daemons(2);
  ASSERT_EQ(pids.size(), 4u);
  folder_.write("go", "");
  EXPECT_TRUE(all_gone({pids[0], pids[2]}, 10'000));
  EXPECT_EQ(kill(pids[1], 0), 0);
  EXPECT_EQ(kill(pids[3], 0), 0);
  folder_.write("end", "");
  EXPECT_EQ(program.wait(30'000), 0) << program.err();
  EXPECT_TRUE(all_gone(pids, 5000));
}

// Behind ssh it is the guard over there that ends them (here an `ssh` that starts it here).
TEST_F(LaunchWithDaemons, SessionsOfTheirOwnEndBehindSshToo) {
  const std::string ssh =
      folder_.write("ssh",
                    "#!/bin/sh\nfor word; do last=$word; case $word in -O) exit 0;; esac; done\n"
                    "exec sh -c \"$last\"\n");
  std::filesystem::permissions(ssh, std::filesystem::perms::owner_all);
  const std::string hosts = folder_.write(
      "hosts.json", R"({"hosts": [{"name": "h1", "ssh": "h1", "data": ["127.0.0.1/8"]}]})");
  const char* path = std::getenv("PATH");
  Program program({"env", "PATH=" + folder_.path() + ":" + (path == nullptr ? "" : path),
                   test::program_path(), "launch", "--hosts", hosts, "--", "sh", "-c",
                   daemons() + sleeper()});
  const std::vector<pid_t> pids = wait_for_daemons(1);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(30'000), 130);
  EXPECT_TRUE(all_gone(pids, 10'000));
}

TEST_F(LaunchCommand, StopFindsARunByItsIdAlone) {
  Program program(line({}, sleeper()));
  const std::vector<pid_t> pids = wait_for_pids(3);
  const std::string err = program.err();
  const size_t at = err.find("run id ") + 7;
  const std::string id = err.substr(at, err.find('\n', at) - at);
  ASSERT_EQ(id.size(), 16u) << err;
  const Finished list = run_program(plumbline_argv({"stop", "--list"}));
  EXPECT_THAT(list.out, HasSubstr("runs " + id));
  EXPECT_EQ(run_program(plumbline_argv({"stop", "0123456789abcdef"})).out, "");
  EXPECT_TRUE(std::none_of(pids.begin(), pids.end(), [](pid_t pid) { return kill(pid, 0) != 0; }));
  const Finished stop = run_program(plumbline_argv({"stop", id}));
  EXPECT_EQ(stop.status, 0) << stop.err;
  EXPECT_THAT(stop.out, HasSubstr("ended " + id));
  EXPECT_TRUE(all_gone(pids, 20'000));
  EXPECT_NE(program.wait(10'000), 0);
}

}  // namespace
}  // namespace plumbline
