// Files that `doctor --from` is given: one limit of their size, and nothing of them in an error.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finished doctor_from(std::vector<std::string> files, int timeout_ms = 120'000) {
  files.insert(files.begin(), {"doctor", "--from"});
  return run_program(plumbline_argv(files), {}, timeout_ms);
}

// 1.4 GB were printed for a file of 256 MiB of zero bytes, each as <U+0000>.
TEST(DoctorFrom, NeverEchoesWhatItRead) {
  const ScratchFolder folder;
  const std::string secret = "hunter2-hunter2";
  const std::string large(8 << 20, 'x');
  for (const std::string& text :
       {"{\"" + secret + large, "{\"a\": \"" + std::string(8 << 20, '\0') + secret,
        "{" + large + secret, "{\"a\": 1" + std::string(1 << 20, '9') + secret,
        "{\"a\": 9e" + std::string(1 << 20, '9') + "}", "{\"schema\": \"" + secret + large + "\"}",
        "{\"schema\": 1, \"hosts\": \"" + secret + large + "\"}", secret + large,
        "=plumbline-collect 1\n=begin " + secret + large + "\n=name " + "n\n",
        std::string("{\"a\": \"\x1b]0;") + secret + "\x07"}) {
    const Finished done = doctor_from({folder.write("e", text)});
    EXPECT_NE(done.status, 139);
    EXPECT_LT(done.err.size(), 2000u) << text.substr(0, 20);
    EXPECT_THAT(done.err, Not(HasSubstr("hunter2-hunter2x")));
    EXPECT_THAT(done.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(done.err, Not(HasSubstr("99999")));
    EXPECT_LT(done.out.size(), 100'000u);
  }
}

TEST(DoctorFrom, HasOneLimitOfSizeForEveryKindOfFileAndForAllTogether) {
  const ScratchFolder folder;
  const size_t limit = 64 << 20;
  for (const char* begin : {"{\"", "=plumbline-collect 1\n"}) {
    const std::string file = folder.write("e", begin + std::string(limit, ' '));
    const Finished done = doctor_from({file});
    EXPECT_EQ(done.status, 1);
    EXPECT_THAT(done.err, HasSubstr(file + " is larger than 64 MiB"));
  }
  const std::string half =
      folder.write("h", "=plumbline-collect 1\n" + std::string(limit / 2, '\n'));
  const Finished both = doctor_from({half, half});
  EXPECT_EQ(both.status, 1);
  EXPECT_THAT(both.err, HasSubstr("together larger than 64 MiB"));
}

// Wherever a file is read by its name: nobody writes the pipe, and nothing waits for it.
TEST(DoctorFrom, PipesAndDevicesAreNoFilesForAnyCommand) {
  const ScratchFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string small =
      folder.write("s.json", R"({"plumbline": 1, "matrix": [{"op": "barrier"}]})");
  for (const std::string& path : {fifo, std::string("/dev/zero"), std::string("/dev/null")}) {
    const std::vector<std::vector<std::string>> calls = {{"doctor", "--from", path},
                                                         {"doctor", "--hosts", path},
                                                         {"doctor", path},
                                                         {"run", path, "--out", folder.path("out")},
                                                         {"plan", path},
                                                         {"plan", small, "--hosts", path},
                                                         {"plan", small, "--rules", path},
                                                         {"report", "csv", path},
                                                         {"compare", path, path},
                                                         {"trace", path},
                                                         {"verify", path},
                                                         {"submit", path},
                                                         {"hosts", "show", path},
                                                         {"coll", "allreduce", "--hosts", path},
                                                         {"launch", "--hosts", path, "--", "true"},
                                                         {"config", path},
                                                         {"results", "check", "--page", path}};
    for (const auto& call : calls) {
      const Finished done = run_program(plumbline_argv(call), {}, 20'000);
      EXPECT_NE(done.status, 0) << call[0] << " " << path;
      EXPECT_LT(done.status, 100) << call[0] << " " << path << ": " << done.err;
      EXPECT_THAT(done.err, Not(HasSubstr("internal error"))) << call[0];
    }
  }
}

}  // namespace
}  // namespace plumbline
