// Ending a command before it ends by itself; what commands say is tested with the tools they are
// for.
#include "core/command.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using testing::HasSubstr;

// Runs a shell script that is to stop soon after its start; `took_ms`: until it was gone.
Expected<CommandResult> stopped(const std::string& script, int level, int64_t& took_ms) {
  CommandOptions options;
  int asked = 0;
  options.stop = [&] { return ++asked > 5 ? level : 0; };
  const int64_t begin = monotonic_ns();
  auto result = run_command({"sh", "-c", script}, Deadline::after_ms(20'000), options);
  took_ms = (monotonic_ns() - begin) / kMillisecond;
  return result;
}

TEST(RunCommand, IsEndedInOrderWithItsChildren) {
  int64_t took_ms = 0;
  const auto result = stopped("sleep 15 & sleep 15", 1, took_ms);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInterrupted);
  EXPECT_THAT(result.error().message(), HasSubstr("interrupted"));
  EXPECT_LT(took_ms, 1900);  // both held our pipes
}

TEST(RunCommand, IsKilledWhenItWillNotEnd) {
  int64_t took_ms = 0;
  EXPECT_FALSE(stopped("trap '' TERM; sleep 15; sleep 15", 1, took_ms));
  EXPECT_GE(took_ms, 2000);
  EXPECT_LT(took_ms, 10'000);
}

TEST(RunCommand, IsKilledAtOnceWhenAskedTo) {
  int64_t took_ms = 0;
  EXPECT_FALSE(stopped("trap '' TERM; sleep 15; sleep 15", 2, took_ms));
  EXPECT_LT(took_ms, 1900);
}

TEST(RunCommand, IsLeftAloneUntilThen) {
  int64_t took_ms = 0;
  const auto result = stopped("sleep 0.3; echo done", 0, took_ms);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->out, "done\n");
  EXPECT_EQ(result->status, 0);
}

}  // namespace
}  // namespace plumbline
