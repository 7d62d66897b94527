// `plumbline doctor --job` as a user meets it: a real job of two processes on this machine, without
// a host file.
#include <gmock/gmock.h>

#include "core/json.h"
#include "tests/support/job_children_linux.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finished doctor_job(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"doctor", "--job"});
  return run_program(plumbline_argv(arguments));
}

// A writer, and a reader that does not read.
class HungJob {
 public:
  int port() const { return port_; }
  const test::Child& writer() const { return writer_; }
  const test::Child& reader() const { return reader_; }
  bool ready() const { return writer_.ready() && reader_.ready(); }

 private:
  int port_ = 0;
  Fd listener_ = test::listen_on_loopback(port_);
  test::Child writer_{[this] {
    listener_ = {};
    test::fill(port_);
  }};
  test::Child reader_{[this] { test::accept_only(listener_.get()); }};
};

TEST(DoctorJob, NamesAPeerThatDoesNotReadWithItsUnreadBytes) {
  const HungJob job;
  ASSERT_TRUE(job.ready());
  const Finished done = doctor_job({std::to_string(job.writer().pid()), "--json"});
  ASSERT_EQ(done.status, 2) << done.err << done.out;
  const auto json = nlohmann::json::parse(done.out);
  ASSERT_EQ(json["findings"].size(), 1u) << done.out;
  EXPECT_EQ(json["findings"][0]["cause"], "job.not_reading");
  EXPECT_EQ(json["findings"][0]["host"], "here");
  const std::string seen = json["findings"][0]["evidence"][0]["text"];
  EXPECT_THAT(seen, HasSubstr("PID " + std::to_string(job.reader().pid())));
  EXPECT_THAT(seen, testing::ContainsRegex("has [0-9]+ unread bytes from PID " +
                                           std::to_string(job.writer().pid())));
  EXPECT_EQ(json["job"]["ranks"].size(), 2u);
}

TEST(DoctorJob, IsSavedReadBackAndSentOnWithoutNames) {
  const HungJob job;
  ASSERT_TRUE(job.ready());
  const ScratchFolder folder;
  const std::string file = folder.path("evidence.json"), archive = folder.path("b.tar.gz");
  const Finished live = doctor_job(
      {std::to_string(job.reader().pid()), "--json", "--save", file, "--bundle", archive});
  ASSERT_EQ(live.status, 2) << live.err;
  const Finished again = run_program(plumbline_argv({"doctor", "--json", "--from", file}));
  EXPECT_EQ(again.out, live.out);
  const Finished bundle = run_program({"tar", "-xzOf", archive});
  EXPECT_THAT(bundle.out, HasSubstr("job.not_reading"));
  EXPECT_THAT(bundle.out, HasSubstr("process1"));
  EXPECT_THAT(bundle.out, Not(HasSubstr("tests_cli")));
}

TEST(DoctorJob, AProcessThatIsWellIsFine) {
  const test::Child idle([] {});
  ASSERT_TRUE(idle.ready());
  const Finished done = doctor_job({std::to_string(idle.pid())});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("process on here: PID " + std::to_string(idle.pid())));
  EXPECT_THAT(done.out, HasSubstr("verdict: ok"));
}

TEST(DoctorJob, AStoppedProcessIsNamedWithWhatLetsItGoOn) {
  const test::Child child([] {});
  ASSERT_TRUE(child.ready());
  ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
  const Finished done = doctor_job({std::to_string(child.pid())});
  EXPECT_EQ(done.status, 2) << done.err;
  EXPECT_THAT(done.out, HasSubstr("job.stopped"));
  EXPECT_THAT(done.out, HasSubstr("kill -CONT " + std::to_string(child.pid())));
}

TEST(DoctorJob, WhatIsNotThereIsOneLineAndExitCodeOne) {
  for (const char* asked : {"2147483647", ":1", "no-such-program@here", "0123456789abcdef"}) {
    const Finished done = doctor_job({asked});
    EXPECT_EQ(done.status, 1) << asked << done.out;
    EXPECT_THAT(done.err, HasSubstr(asked));
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_TRUE(done.out.empty()) << done.out;
  }
}

TEST(DoctorJob, QuestionsThatMakeNoSense) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>{""},
                                                {":"},
                                                {":0"},
                                                {":99999"},
                                                {"python3@nowhere"},
                                                {"@here"},
                                                {"1", "--peer", "10.0.0.1"},
                                                {"1", "--from", "x.json"},
                                                {"1", "--only", "mtu"}}) {
    const Finished done = doctor_job(asked);
    EXPECT_EQ(done.status, 1) << asked[0] << done.err;
    EXPECT_FALSE(done.err.empty());
  }
}

}  // namespace
}  // namespace plumbline
