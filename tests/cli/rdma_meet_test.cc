// Two children that try RDMA with one another, over a verbs library without hardware.
#include "probes/actions/rdma_meet.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/command.h"
#include "probes/actions/rdma_climb.h"
#include "probes/rdma_rungs.h"
#include "tests/support/fake_verbs/fake_verbs.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::string kMacWithOneCable =
    "device rdma_en2\ngid 0 fe80::1\ngid 1 ::ffff:127.0.0.1\nrc refused\n";

struct MeetingEnd {
  std::string settings = kMacWithOneCable, device = "rdma_en2", nonce = "0123456789abcdef";
};

class RdmaMeets : public testing::Test {
 protected:
  RdmaClimb run(const MeetingEnd& end, bool listens) {
    const std::string settings = folder_.write(listens ? "listens" : "calls", end.settings);
    const std::string program = plumbline_argv({}).front();
    const std::vector<std::string> words = {"/usr/bin/env", "FAKE_VERBS=" + settings,
                                            program,        "rdma-meet",
                                            "--device",     end.device,
                                            "--library",    test::fake_verbs_library(),
                                            "--own",        "127.0.0.1",
                                            "--peer",       "127.0.0.1",
                                            "--role",       listens ? "listens" : "calls",
                                            "--tcp-port",   std::to_string(port_)};
    CommandOptions options;
    options.input = end.nonce + "\n";
    const auto done = run_command(words, Deadline::after_ms(40'000), options);
    EXPECT_TRUE(done);
    if (!done) return {};
    return read_climb({end.device, 1, ""}, done->out, ending_of_climb(done->status));
  }
  // Of the one that calls, and of the one that listens.
  std::pair<RdmaClimb, RdmaClimb> meet(const MeetingEnd& calls, const MeetingEnd& listens) {
    RdmaClimb listened;
    std::thread other([&] { listened = run(listens, true); });
    RdmaClimb called = run(calls, false);
    other.join();
    return {called, listened};
  }
  // Its last step, "echo: why"; "rate" where none failed.
  static std::string last(const RdmaClimb& climb) {
    if (climb.rungs.empty()) return climb.error;
    const RdmaRung& rung = climb.rungs.back();
    return rung.name + (rung.error.empty() ? "" : ": " + rung.error);
  }

  ScratchFolder folder_;
  int port_ = test::free_port();
};

TEST_F(RdmaMeets, SoundEndsTakeAllSteps) {
  const auto [called, listened] = meet({}, {});
  for (const RdmaClimb* climb : {&called, &listened}) {
    ASSERT_EQ(climb->rungs.size(), rdma_pair_rungs().size()) << last(*climb);
    for (size_t i = 0; i < climb->rungs.size(); ++i) {
      EXPECT_EQ(climb->rungs[i].name, rdma_pair_rungs()[i].name);
      EXPECT_EQ(climb->rungs[i].error, "");
    }
  }
  EXPECT_EQ(called.rungs[3].text, "::ffff:127.0.0.1 at index 1, UC rdma_en2");
  EXPECT_THAT(called.rungs[4].text, HasSubstr("median of 200 round trips: "));
  EXPECT_THAT(called.rungs[5].text, HasSubstr("messages of 4 KiB: "));
}

TEST_F(RdmaMeets, EachFaultIsTheErrorOfItsStepAndTheOtherEndGoesNoFurther) {
  const struct {
    const char *faults, *step, *says;
  } rows[] = {{"fail rtr 113", "rtr", "ready to receive from the other host"},
              {"fail rts 22", "rtr", "ready to send to the other host"},
              {"most qp 0", "qp", "make a queue pair"},
              {"deaf", "echo", "did not come in time"},
              {"crash mr", "qp", "crashed (signal 11)"}};
  for (const auto& row : rows) {
    MeetingEnd ill;
    ill.settings += row.faults;
    const auto [called, listened] = meet({}, ill);
    EXPECT_THAT(last(listened), HasSubstr(row.step + std::string(": "))) << row.faults;
    EXPECT_THAT(last(listened), HasSubstr(row.says)) << row.faults;
    EXPECT_THAT(last(called),
                AnyOf(HasSubstr("talk: the other end could not go on"), HasSubstr("echo: ")))
        << row.faults;
  }
}

TEST_F(RdmaMeets, MessagesThatGetLostAreCounted) {
  MeetingEnd lossy;
  lossy.settings += "lose 210\n";  // the echoes are below that
  const auto [called, listened] = meet(lossy, {});
  EXPECT_THAT(last(called), HasSubstr("rate: ")) << last(called);
  EXPECT_THAT(last(called), HasSubstr("messages were sent, and"));
}

TEST_F(RdmaMeets, AStrangerIsNotTalkedTo) {
  MeetingEnd stranger;
  stranger.nonce = "fedcba9876543210";
  const auto [called, listened] = meet(stranger, {});
  EXPECT_THAT(last(listened), HasSubstr("talk: nobody called on port"));
  EXPECT_THAT(last(called), HasSubstr("talk: the other end could not go on"));
}

TEST_F(RdmaMeets, WithoutAnotherEndItEndsInTime) {
  const auto start = monotonic_ns();
  EXPECT_THAT(last(run({}, false)), HasSubstr("talk: "));
  EXPECT_LT(monotonic_ns() - start, 15 * kSecond);
}

}  // namespace
}  // namespace plumbline
