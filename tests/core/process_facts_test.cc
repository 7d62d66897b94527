#include "core/host/process_facts.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

TEST(ProcessFacts, TellsOfThisProcess) {
  const auto facts = read_process(getpid());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->parent, getppid());
  EXPECT_EQ(facts->user, static_cast<int64_t>(getuid()));
  EXPECT_FALSE(facts->arguments.empty());
  EXPECT_FALSE(facts->name.empty());
  EXPECT_FALSE(read_process(0));
  EXPECT_FALSE(read_process(INT64_MAX));
  EXPECT_EQ(process_variable(getpid(), "NO_SUCH_VARIABLE_AT_ALL"), "");
}

// A read fails once the process is gone, also of a file that was opened before: streams threw, and
// a rank of a launch ended with that.
TEST(ProcessFacts, AProcessMayEndWhileItIsReadOf) {
  constexpr int kProcesses = test::kSanitized ? 30 : 3000;  // a fork copies the sanitizer's tables
  std::atomic<pid_t> newest{getpid()};
  std::thread maker([&] {
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      newest = child;
      ::waitpid(child, nullptr, 0);
    }
    newest = 0;
  });
  size_t seen = 0;
  for (pid_t pid = newest; pid != 0; pid = newest) {
    if (read_process(pid)) ++seen;
    static_cast<void>(process_variable(pid, "HOME"));
  }
  maker.join();
  EXPECT_GT(seen, 0u);
}

TEST(ProcessFacts, IdsOfRunsAreShortAndPlain) {
  EXPECT_TRUE(is_run_id("3f0c21d07be944aa"));
  EXPECT_TRUE(is_run_id("7"));
  for (const char* text :
       {"", "-x", "--list", ".", "a b", "a;b", "$(reboot)", "../x", "xyz", "a\n"}) {
    EXPECT_FALSE(is_run_id(text)) << text;
  }
  EXPECT_FALSE(is_run_id(std::string(65, 'a')));
}

}  // namespace
}  // namespace plumbline
