// `plumbline launch --on-silence`: what is said when no rank writes, and that the ranks go on.
#include <gmock/gmock.h>

#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LaunchSilence : public testing::Test {
 protected:
  Finished launch(const std::string& after, const std::string& script) const {
    const std::string hosts = folder_.write(
        "hosts.json",
        R"({"hosts": [{"name": "here", "local": true, "data": ["127.0.0.1/8"], "ranks": 2}]})");
    return run_program(plumbline_argv({"launch", "--hosts", hosts, "--on-silence", after, "--",
                                       "sh", folder_.write("job.sh", script)}));
  }
  const ScratchFolder folder_;
};

TEST_F(LaunchSilence, NamesTheRankThatIsStoppedOnceAndGoesOn) {
  const Finished done = launch("1s",
                               "if [ \"$PLUMBLINE_RANK\" = 1 ]; then\n"
                               "  (sleep 20; kill -CONT $$) & kill -STOP $$\n"
                               "else sleep 20; fi\n"
                               "echo down\n");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("[0] down\n"), HasSubstr("[1] down\n")));
  const std::string found = "job.stopped on here";
  const size_t at = done.err.find(found);
  ASSERT_NE(at, std::string::npos) << done.err;
  EXPECT_EQ(done.err.find(found, at + 1), std::string::npos) << "said twice";
  EXPECT_THAT(done.err, AllOf(HasSubstr("no rank has written for 1 s"), HasSubstr("kill -CONT")));
}

TEST_F(LaunchSilence, RanksThatWriteAreNotLookedAt) {
  const Finished done = launch("30s", "echo up; sleep 1; echo down\n");
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, Not(HasSubstr("no rank has written")));
}

TEST_F(LaunchSilence, TimesThatMakeNoSenseStartNothing) {
  for (const char* wrong : {"", "0", "soon", "-1s", "25h", "999ms"}) {
    const Finished done = launch(wrong, "echo started\n");
    EXPECT_EQ(done.status, 1) << wrong;
    EXPECT_EQ(done.out, "") << wrong;
    EXPECT_THAT(done.err, HasSubstr("--on-silence")) << wrong;
  }
}

}  // namespace
}  // namespace plumbline
