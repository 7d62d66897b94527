#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <mutex>

#include "launch/line_io.h"
#include "launch/process.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> said_by(const std::vector<std::string>& scripts) {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<Fd> pipes;
  ProcessOptions options;
  options.catch_errors = true;
  for (const std::string& script : scripts) {
    auto process = Process::spawn({"/bin/sh", "-c", script}, options);
    EXPECT_TRUE(process);
    pipes.push_back((*process)->take_errors());
    processes.push_back(std::move(*process));
  }
  {
    const ErrorLines errors(std::move(pipes), [&](const std::string& line) {
      const std::scoped_lock lock(mutex);
      lines.push_back(line);
    });
    for (const auto& process : processes) EXPECT_TRUE(process->wait(Deadline::after_ms(60'000)));
  }
  return lines;
}

TEST(ErrorLines, WholeLinesOfEachAndTheLastWithoutItsEnd) {
  EXPECT_THAT(said_by({"printf 'a b\\n\\nhalf' >&2", "printf 'other\\n' >&2", "exit 0"}),
              UnorderedElementsAre("a b", "", "half", "other"));
}

// More than a pipe holds: the child must not block, and nothing is lost.
TEST(ErrorLines, AFloodBlocksNobody) {
  const std::vector<std::string> lines =
      said_by({"i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i + 1)); done >&2"});
  ASSERT_EQ(lines.size(), 20'000u);
  EXPECT_EQ(lines.back(), "line 19999");
}

// What is at hand is handed on in the caller's own thread, and the end of the pipe is seen.
TEST(LineSource, ReadsOnePipeInTurns) {
  ProcessOptions options;
  options.catch_errors = true;
  auto process = Process::spawn({"/bin/sh", "-c", "printf 'one\\ntwo' >&2"}, options);
  ASSERT_TRUE(process);
  std::vector<std::string> lines;
  LineSource source((*process)->take_errors(), 100,
                    [&](const std::string& line) { lines.push_back(line); });
  ASSERT_TRUE((*process)->wait(Deadline::after_ms(60'000)));
  EXPECT_GE(source.fd(), 0);
  source.read();
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  EXPECT_LT(source.fd(), 0);
  source.read();  // of nothing
  EXPECT_EQ(lines.size(), 2u);
}

TEST(ErrorLines, ALineWithoutEndComesInParts) {
  const std::vector<std::string> lines = said_by({"head -c 1000000 /dev/zero | tr '\\0' x >&2"});
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  EXPECT_EQ(bytes, 1'000'000u);
  EXPECT_GT(lines.size(), 10u);
}

// ssh's shared connection holds the pipe of the command that opened it.
TEST(ErrorLines, APipeThatSomebodyHoldsOpenEndsNothing) {
  ProcessOptions options;
  options.catch_errors = true;
  auto process =
      Process::spawn({"/bin/sh", "-c", "echo said >&2; sleep 60 >/dev/null & echo $!"}, options);
  ASSERT_TRUE(process);
  const Expected<std::string> holder = (*process)->read_line(Deadline::after_ms(60'000));
  ASSERT_TRUE(holder) << holder.error().message();
  EXPECT_TRUE((*process)->wait(Deadline::after_ms(60'000)));
  std::vector<std::string> lines;
  std::vector<Fd> pipes;
  pipes.push_back((*process)->take_errors());
  {
    const ErrorLines errors(std::move(pipes),
                            [&](const std::string& line) { lines.push_back(line); });
  }
  EXPECT_THAT(lines, ElementsAre("said"));
  const pid_t pid = std::atoi(holder->c_str());
  ASSERT_GT(pid, 1);
  EXPECT_EQ(kill(pid, SIGKILL), 0) << "it was waited for";
}

}  // namespace
}  // namespace plumbline
