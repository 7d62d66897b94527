// The child that climbs to a queue pair, against a verbs library that fails in every way that
// vendors' libraries were seen to fail.
#include "probes/actions/rdma_climb.h"

#include <gmock/gmock.h>

#include <chrono>

#include "probes/rdma_rungs.h"
#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kSound =
    "device rdma_en2\ndevice rdma_en3\ngid 0 fe80::1\ngid 1 ::ffff:10.0.0.1\n";

class RdmaClimbs : public testing::Test {
 protected:
  // Runs the child with these settings of the library.
  RdmaClimb climb(const std::string& faults, const std::string& device = "rdma_en2") {
    const std::string settings = folder_.write("settings", kSound + faults);
    const AskRdma asked{device, 1, test::fake_verbs_library()};
    const Finished done =
        run_program(plumbline_argv({"rdma-climb", "--device", device, "--library", asked.library}),
                    {"FAKE_VERBS=" + settings});
    status_ = done.status;
    return read_climb(asked, done.out, ending_of_climb(done.status));
  }
  // The first step that failed: "pd: why"; empty = none.
  std::string failed(const std::string& faults, const std::string& device = "rdma_en2") {
    const RdmaClimb seen = climb(faults, device);
    for (const RdmaRung& rung : seen.rungs) {
      if (!rung.error.empty()) return rung.name + ": " + rung.error;
    }
    return seen.error;
  }

  ScratchFolder folder_;
  int status_ = 0;
};

TEST_F(RdmaClimbs, ASoundDeviceTakesAllSteps) {
  const RdmaClimb seen = climb("");
  EXPECT_EQ(status_, 0);
  EXPECT_EQ(seen.profile, "apple");
  ASSERT_EQ(seen.rungs.size(), rdma_rungs().size());
  for (const RdmaRung& rung : seen.rungs) EXPECT_THAT(rung.error, IsEmpty()) << rung.name;
  EXPECT_EQ(seen.rungs[4].text, "::ffff:10.0.0.1 at index 1");
  EXPECT_EQ(seen.rungs[7].text, "UC");
}

TEST_F(RdmaClimbs, EachFaultIsTheErrorOfItsStepAndTheLastOne) {
  const struct {
    const char *faults, *step, *says;
  } rows[] = {
      {"fail list 1", "device", "errno 1"},
      {"fail open 13", "open", "errno 13"},
      {"port 1", "port", "it is DOWN"},
      {"fail port 5", "port", "errno 5"},
      {"gids 1", "gid", "no IPv4-mapped GID at index 1; there is: fe80::1 at index 0"},
      {"fail gid 5", "gid", "there is: nothing"},
      {"fail pd 0", "pd", "no reason"},
      {"most pd 0", "pd", "errno 12"},
      {"most cq 0", "cq", "errno 12"},
      {"most qp 0", "qp", "errno 16"},
      {"most mr 0", "mr", "errno 12"},
      {"fail modify 22", "init", "errno 22"},
      {"crash mr", "mr", "crashed (signal 11)"},
  };
  for (const auto& row : rows) {
    const RdmaClimb seen = climb(row.faults);
    ASSERT_FALSE(seen.rungs.empty()) << row.faults;
    EXPECT_EQ(seen.rungs.back().name, row.step) << row.faults;
    EXPECT_THAT(seen.rungs.back().error, HasSubstr(row.says)) << row.faults;
  }
}

TEST_F(RdmaClimbs, ACallThatNeverReturnsEndsTheChild) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(failed("hang pd"), AllOf(HasSubstr("pd: "), HasSubstr("no answer within")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(RdmaClimbs, ADeviceThatIsNotThereIsToldWithThoseThatAre) {
  EXPECT_EQ(failed("", "rdma_en9"), "device: it lists rdma_en2, rdma_en3");
}

// Counted only where that is asked for, and given back.
TEST_F(RdmaClimbs, QueuePairsAndRegionsAreCounted) {
  const std::string settings = folder_.write("settings", kSound + "most qp 10\nmost mr 100\n");
  for (int turn = 0; turn < 2; ++turn) {
    const Finished done =
        run_program(plumbline_argv({"rdma-climb", "--device", "rdma_en2", "--counts", "--library",
                                    test::fake_verbs_library()}),
                    {"FAKE_VERBS=" + settings});
    const RdmaClimb seen = read_climb({"rdma_en2", 1, ""}, done.out, ending_of_climb(done.status));
    ASSERT_EQ(seen.rungs.size(), rdma_rungs().size() + 2);
    EXPECT_EQ(seen.rungs[10].name + " " + seen.rungs[10].text, "qps 10");
    EXPECT_EQ(seen.rungs[11].name + " " + seen.rungs[11].text, "mrs 100");
  }
  EXPECT_EQ(climb("").rungs.size(), rdma_rungs().size());
}

// The profile of the device decides: Apple's takes no RC, others are not asked for UC.
TEST_F(RdmaClimbs, TheProfileChoosesTheTypeOfTheQueuePair) {
  EXPECT_EQ(failed("rc refused"), "");
  EXPECT_THAT(failed("rc refused\ndevice mlx5_0", "mlx5_0"), HasSubstr("qp: RC: "));
  EXPECT_THAT(failed("rc refused\ndevice mlx5_0", "mlx5_0"), HasSubstr("errno 102"));
}

TEST(ReadClimb, WhatADriverPrintsIsNoStep) {
  const RdmaClimb seen = read_climb({"rxe0", 1, ""},
                                    "begin library \nhello\ndone library x\nbegin nonsense "
                                    "\ndone nonsense y\nfailed \nbegin device \n",
                                    "it crashed");
  ASSERT_EQ(seen.rungs.size(), 2u);
  EXPECT_EQ(seen.rungs[0].name, "library");
  EXPECT_EQ(seen.rungs[1].name, "device");
  EXPECT_EQ(seen.rungs[1].error, "it crashed");
  EXPECT_EQ(read_climb({"rxe0", 1, ""}, "", "it did not start").error, "it did not start");
}

}  // namespace
}  // namespace plumbline
