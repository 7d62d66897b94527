// Hardly any processes, threads or memory: it ends in words that say what was tried, what the
// system answered and what to do.
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kTinyLimits = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"op": "allreduce", "bytes": 8, "stop": {"max_time": "20ms"}}], "report": ["csv"]})";

// `prlimit --LIMIT=N` as a user whom limits bind; everything it needs may be read by anybody.
// The kernel counts a user's processes on the whole machine, so each program is started by a user
// of its own: neither a test beside this one nor a rank that is just ending counts.
std::string new_uid() {
  static int started = 0;
  return std::to_string(20'000 + (getpid() * 16 + ++started) % 40'000);
}

Finished limited(const std::string& limit, const ScratchFolder& folder,
                 std::vector<std::string> words) {
  std::vector<std::string> argv = {"prlimit", limit};
  if (geteuid() == 0) {
    argv.insert(argv.end(), {"setpriv", "--reuid=" + new_uid(), "--regid=65533", "--clear-groups"});
  }
  argv.insert(argv.end(),
              {"env", "XDG_STATE_HOME=" + folder.path("state"),
               "XDG_CONFIG_HOME=" + folder.path("config"), "PLUMBLINE_CONNECT_TIMEOUT_MS=3s"});
  const std::vector<std::string> program = plumbline_argv(words);
  argv.insert(argv.end(), program.begin(), program.end());
  return run_program(argv, {}, 120'000);
}

bool can_run(const ScratchFolder& folder) {
  return limited("--nofile=1024", folder, {"version"}).status == 0;
}

void expect_words(const Finished& done, const std::string& limit) {
  EXPECT_NE(done.status, 0) << limit;
  EXPECT_LT(done.status, 125) << limit << ": killed: " << done.err;
  EXPECT_THAT(done.err, Not(HasSubstr("internal error"))) << limit;
  EXPECT_THAT(done.err, Not(HasSubstr("terminate called"))) << limit;
  EXPECT_THAT(done.out + done.err, AnyOf(HasSubstr("plumbline: "), HasSubstr("FAIL"))) << limit;
}

class Limits : public testing::Test {
 protected:
  void SetUp() override {
    chmod_open();
    if (!can_run(folder_)) {
      GTEST_SKIP() << "needs prlimit and setpriv, and a program that anybody may start";
    }
  }
  void chmod_open() const {
    const Finished done = run_program({"chmod", "-R", "a+rwX", folder_.path()});
    ASSERT_EQ(done.status, 0);
  }
  ScratchFolder folder_;
  const std::string scenario_ = folder_.write("s.json", kTinyLimits);
};

TEST_F(Limits, OfProcessesEndInWords) {
  chmod_open();
  for (const int most : {1, 3, 6}) {
    const std::string limit = "--nproc=" + std::to_string(most);
    for (const auto& words :
         {std::vector<std::string>{"run", scenario_, "--out",
                                   folder_.path("o" + std::to_string(most)), "--no-history"},
          {"doctor"},
          {"coll", "allreduce", "-b", "8", "-e", "8", "--port-base", "auto"}}) {
      const Finished done = limited(limit, folder_, words);
      if (done.status == 0) continue;  // enough for it
      expect_words(done, words[0] + " " + limit);
      EXPECT_THAT(done.out + done.err, HasSubstr("(EAGAIN)")) << words[0] << limit;
    }
  }
}

TEST_F(Limits, OfMemoryEndInWords) {
  chmod_open();
  bool any = false;
  for (const int mib : {80, 300}) {
    const std::string limit = "--as=" + std::to_string(int64_t{mib} << 20);
    if (limited(limit, folder_, {"version"}).status != 0) continue;  // the loader says it
    for (const auto& words :
         {std::vector<std::string>{"run", scenario_, "--out",
                                   folder_.path("m" + std::to_string(mib)), "--no-history"},
          {"doctor"},
          {"coll", "allreduce", "-b", "16M", "-e", "16M", "--port-base", "auto"}}) {
      const Finished done = limited(limit, folder_, words);
      if (done.status == 0) continue;
      any = true;
      expect_words(done, words[0] + " " + limit);
    }
  }
  EXPECT_TRUE(any) << "one of these limits should have been too small";
}

}  // namespace
}  // namespace plumbline
