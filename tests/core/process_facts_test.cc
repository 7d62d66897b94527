#include "core/host/process_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

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
