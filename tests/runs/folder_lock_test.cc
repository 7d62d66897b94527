// One run per folder: its lock, and that it goes with its holder whatever ends that.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

#include "core/record/record.h"
#include "runs/run_folder.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Five cells, each of this time.
std::string five_slow_cells(const std::string& time) {
  return R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"op": "allreduce", "bytes": [8, 16, 32, 64, 128],
              "stop": {"ci": 0, "max_n": 100000000, "max_time": ")" +
         time + R"("}}],
  "report": ["csv"], "seed": 1})";
}

std::vector<std::string> run_into(const ScratchFolder& folder, std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"run", folder.path("s.json"), "--out", folder.path("out"), "-q", "--no-history"});
  return plumbline_argv(more);
}

TEST(FolderLock, TheSecondIsToldWhoHoldsItAndTheThirdGetsItAfterwards) {
  const ScratchFolder folder;
  const std::string path = folder.path("run.lock");
  {
    const auto first = FileLock::take(path, "the folder x");
    ASSERT_TRUE(first);
    const auto second = FileLock::take(path, "the folder x");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::kBusy);
    EXPECT_THAT(second.error().message(), HasSubstr("the folder x is written by another run"));
    EXPECT_THAT(second.error().message(), HasSubstr("process " + std::to_string(getpid())));
    EXPECT_THAT(second.error().message(), HasSubstr("write to another place"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(FileLock::take(path, "x"));
}

// What a killed run left, or somebody put there.
TEST(FolderLock, WhateverLiesThereIsTakenOverOrRefusedAndNeverRepeated) {
  const ScratchFolder folder;
  for (const char* text : {"", "1 2026-11-22T10:00:00Z\n", "\x1b[31mroot\n", "-5", "99999999999999",
                           "7 \x1b]0;x\x07"}) {
    const std::string path = folder.write("run.lock", text);
    {
      // Another open file is another holder, also in the same process.
      const auto held = FileLock::take(path, "x");
      ASSERT_TRUE(held) << held.error().message();
      folder.write("run.lock", text);
      const auto refused = FileLock::take(path, "x");
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message(), Not(HasSubstr("\x1b")));
    }
  }
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(FileLock::take(folder.path("fifo"), "x"));
  std::filesystem::create_symlink(folder.path("elsewhere"), folder.path("link"));
  EXPECT_FALSE(FileLock::take(folder.path("link"), "x"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("elsewhere")));
}

TEST(FolderLock, OfFourRunsAtOnceOneWritesAndThreeAreRefusedByName) {
  const ScratchFolder folder;
  // The last one must come while the first still writes.
  folder.write("s.json", five_slow_cells("1s"));
  std::deque<Program> runs;
  for (int i = 0; i < 4; ++i) runs.emplace_back(run_into(folder));
  int done = 0, refused = 0;
  for (Program& run : runs) {
    const int status = run.wait();
    done += status == 0 ? 1 : 0;
    if (status != 1) continue;
    ++refused;
    EXPECT_THAT(run.err(),
                HasSubstr("the folder " + folder.path("out") + " is written by another"));
    EXPECT_THAT(run.err(), HasSubstr("holds " + folder.path("out/run.lock")));
  }
  EXPECT_EQ(done, 1);
  EXPECT_EQ(refused, 3);
  const auto records = read_records(folder.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  EXPECT_EQ(records->size(), 5u);
  EXPECT_FALSE(std::filesystem::exists(folder.path("out/run.lock")));
}

TEST(FolderLock, HoldsForEveryKindOfRunAndGoesWithAKilledOne) {
  const ScratchFolder folder;
  folder.write("s.json", five_slow_cells("300ms"));
  Program first(run_into(folder));
  ASSERT_TRUE(first.wait_for_children(2));
  first.signal(SIGSTOP);  // it holds the lock, and does not end before the others have tried
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--resume"}, {"--repeat", "2"}, {"--for", "10s"}}) {
    const Finished second = run_program(run_into(folder, more));
    EXPECT_EQ(second.status, 1) << more.front();
    EXPECT_THAT(second.err, HasSubstr("process " + std::to_string(first.pid()))) << more.front();
  }
  first.signal(SIGKILL);
  first.wait();
  ASSERT_TRUE(std::filesystem::exists(folder.path("out/run.lock")));
  const Finished next = run_program(run_into(folder, {"--resume"}));
  EXPECT_EQ(next.status, 0) << next.err;
  EXPECT_EQ(read_records(folder.path("out/records.jsonl"))->size(), 5u);
}

TEST(FolderLock, CollLocksTheFileOfItsRecords) {
  const ScratchFolder folder;
  const std::string file = folder.path("r.jsonl");
  const std::vector<std::string> coll = {"coll", "barrier", "-n", "5", "--port-base", "auto", "-J"};
  auto held = FileLock::take(file + ".lock", "x");
  ASSERT_TRUE(held);
  std::vector<std::string> words = coll;
  words.push_back(file);
  const Finished refused = run_program(plumbline_argv(words));
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("the file " + file + " is written by another run"));
  EXPECT_FALSE(std::filesystem::exists(file));
  held = FileLock();
  std::filesystem::remove(file + ".lock");
  const Finished done = run_program(plumbline_argv(words));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_FALSE(std::filesystem::exists(file + ".lock"));
}

}  // namespace
}  // namespace plumbline
