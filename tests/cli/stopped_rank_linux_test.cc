// A rank behind ssh that somebody has stopped is ended when the one that it served has gone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/number.h"
#include "launch/process.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Its children that are there and have not ended. One that is not yet a group of its own has not
// been started to its end: a signal to the rank's group would meet it, and the rank waits for it.
size_t children_of(pid_t parent) {
  size_t count = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const auto pid = parse_whole<pid_t>(entry.path().filename().string());
    if (!pid) continue;
    const std::string text = read_system_file(entry.path() / "stat");  // empty: it has just ended
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream fields(text.substr(name_end + 1));
    char state = 0;
    pid_t its_parent = 0, its_group = 0;
    fields >> state >> its_parent >> its_group;
    if (state != 'Z' && its_parent == parent && its_group == *pid) ++count;
  }
  return count;
}

class StoppedRank : public testing::Test {
 protected:
  void start(std::vector<std::string> words) {
    auto rank = Process::spawn(plumbline_argv(words));
    ASSERT_TRUE(rank) << rank.error().message();
    rank_ = std::move(*rank);
  }
  bool has_watch() const {
    for (const Deadline end = Deadline::after_ms(20'000); !end.passed(); usleep(10'000)) {
      if (children_of(rank_->pid()) == 1) return true;
    }
    return false;
  }
  void stop() {
    rank_->kill(SIGSTOP);
    const Deadline end = Deadline::after_ms(20'000);
    while (!rank_->is_stopped() && !end.passed()) usleep(1000);
    ASSERT_TRUE(rank_->is_stopped());
  }
  std::unique_ptr<Process> rank_;
};

TEST_F(StoppedRank, BehindSshEndsWhenItsInputDoes) {
  start({"rank", "--lease", "60"});
  ASSERT_TRUE(has_watch());
  stop();
  rank_->close_input();
  ASSERT_TRUE(rank_->wait(Deadline::after_ms(20'000)));
  EXPECT_EQ(rank_->exit_status(), 128 + SIGKILL);
}

TEST_F(StoppedRank, IsLeftAloneWhileItsInputIsThere) {
  start({"rank", "--lease", "60"});
  ASSERT_TRUE(has_watch());
  stop();
  EXPECT_FALSE(rank_->wait(Deadline::after_ms(2500)));
  rank_->kill(SIGCONT);
  rank_->close_input();
  ASSERT_TRUE(rank_->wait(Deadline::after_ms(20'000)));
  EXPECT_NE(rank_->exit_status(), 128 + SIGKILL);
}

// What the watch waits for is told although nobody has read what came before.
TEST_F(StoppedRank, EndsWithUnreadInputToo) {
  start({"rank", "--lease", "60"});
  ASSERT_TRUE(has_watch());
  stop();
  for (int i = 0; i < 3; ++i) rank_->try_write_line(R"({"alive":true})");
  rank_->close_input();
  ASSERT_TRUE(rank_->wait(Deadline::after_ms(20'000)));
  EXPECT_EQ(rank_->exit_status(), 128 + SIGKILL);
}

TEST_F(StoppedRank, WatchesEndWithTheirRank) {
  start({"rank", "--lease", "60"});
  ASSERT_TRUE(has_watch());
  const pid_t pid = rank_->pid();
  rank_->close_input();
  ASSERT_TRUE(rank_->wait(Deadline::after_ms(20'000)));
  EXPECT_EQ(children_of(pid), 0u);
}

}  // namespace
}  // namespace plumbline
