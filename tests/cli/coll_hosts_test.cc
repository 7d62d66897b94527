// Which ranks `plumbline coll` takes, from a host file and under a launcher.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "core/record/record.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kHostSizes = {"-b", "8",  "-e", "8",           "-n",
                                             "2",  "-w", "1",  "--port-base", "auto"};

class CollHosts : public testing::Test {
 protected:
  Finished coll(const std::string& hosts, std::vector<std::string> more) {
    std::vector<std::string> words = {"coll", "allreduce", "--hosts", folder_.write("hosts", hosts),
                                      "--json"};
    words.insert(words.end(), kHostSizes.begin(), kHostSizes.end());
    words.insert(words.end(), more.begin(), more.end());
    return run_program(plumbline_argv(words));
  }
  int ranks_of(const Finished& done) {
    const auto records = read_records(folder_.write("records.jsonl", done.out));
    if (!records || records->empty()) {
      ADD_FAILURE() << done.out << done.err;
      return -1;
    }
    return records->front().cell.ranks;
  }
  ScratchFolder folder_;
};

TEST_F(CollHosts, WithoutRanksOneOnEachHost) {
  EXPECT_EQ(ranks_of(coll(R"({"local": 3})", {})), 3);
  // Two places on one of them change nothing: it is one rank a host.
  EXPECT_EQ(
      ranks_of(coll(R"({"hosts": [{"name": "a", "local": true, "data": "127.0.0.1/8", "ranks": 2},
                                        {"name": "b", "local": true, "data": "127.0.0.1/8"},
                                        {"name": "c", "local": true, "data": "127.0.0.1/8"}]})",
                    {})),
      3);
  EXPECT_EQ(ranks_of(coll(R"({"local": 3})", {"--exclude", "local1"})), 2);
}

TEST_F(CollHosts, RanksSaysOtherwise) {
  EXPECT_EQ(ranks_of(coll(R"({"local": 3})", {"--ranks", "2"})), 2);
}

TEST_F(CollHosts, TheRootMayBeAnyOfThem) {
  const std::string hosts = folder_.write("four", R"({"local": 4})");
  std::vector<std::string> words = {"coll", "broadcast", "--hosts", hosts, "--root", "3", "--json"};
  words.insert(words.end(), kHostSizes.begin(), kHostSizes.end());
  EXPECT_EQ(ranks_of(run_program(plumbline_argv(words))), 4);
}

TEST_F(CollHosts, OneHostIsTooFewAndSaidToBe) {
  const Finished done = coll(R"({"hosts": [{"name": "a", "netns": "nowhere"}]})", {});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("2 ranks are needed, and the hosts have 1 place"));
}

// In torchrun's environment on loopback.
class CollWords : public testing::Test {
 protected:
  void start(int rank, std::vector<std::string> words) {
    words.insert(words.begin(), "coll");
    words.insert(words.end(), kHostSizes.begin(), kHostSizes.end());
    programs_.push_back(std::make_unique<Program>(
        plumbline_argv(words),
        std::vector<std::string>{"RANK=" + std::to_string(rank), "WORLD_SIZE=2",
                                 "LOCAL_RANK=" + std::to_string(rank), "MASTER_ADDR=127.0.0.1",
                                 "MASTER_PORT=" + std::to_string(port_)}));
  }
  std::vector<int> wait_all() {
    std::vector<int> codes;
    for (const auto& program : programs_) codes.push_back(program->wait());
    return codes;
  }
  const int port_ = test::free_port();
  std::vector<std::unique_ptr<Program>> programs_;
};

TEST_F(CollWords, DifferentWordsAreRefusedWithTheDifference) {
  start(0, {"allreduce", "-d", "float", "--check", "0"});
  start(1, {"allgather", "-d", "double"});
  EXPECT_EQ(wait_all(), (std::vector<int>{2, 2}));
  EXPECT_THAT(programs_[0]->err(),
              AllOf(HasSubstr("the ranks were not started for the same run"),
                    HasSubstr("operation: allreduce on rank 0, allgather on rank 1"),
                    HasSubstr("--datatype: float on rank 0, double on rank 1"),
                    HasSubstr("--check: 0 on rank 0, not given on rank 1")));
  EXPECT_EQ(programs_[0]->out(), "");
}

// The same in other spellings, and what is each rank's own, is no difference.
TEST_F(CollWords, TheSameInOtherWordsIsNoDifference) {
  start(0, {"allreduce", "-d", "float", "--transport", "tcp"});
  start(1, {"allreduce", "--datatype=float", "--transport", "TCP", "--log-level", "ERROR",
            "--master", "127.0.0.1"});
  EXPECT_EQ(wait_all(), (std::vector<int>{0, 0})) << programs_[0]->err() << programs_[1]->err();
}

}  // namespace
}  // namespace plumbline
