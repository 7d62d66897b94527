#include "launch/process.h"

#include <gtest/gtest.h>

#include <csignal>

#include "core/host/process_facts.h"

namespace plumbline {
namespace {

std::unique_ptr<Process> shell(const std::string& script) {
  auto process = Process::spawn({"/bin/sh", "-c", script});
  EXPECT_TRUE(process) << process.error().message();
  return process ? std::move(*process) : nullptr;
}

TEST(Process, EchoesLines) {
  const auto cat = shell("cat");
  ASSERT_TRUE(cat->write_line("one", Deadline::after_ms(5000)));
  ASSERT_TRUE(cat->write_line("two words", Deadline::after_ms(5000)));
  EXPECT_EQ(cat->read_line(Deadline::after_ms(5000)).value(), "one");
  EXPECT_EQ(cat->read_line(Deadline::after_ms(5000)).value(), "two words");
  EXPECT_EQ(cat->state(), "is running");
}

TEST(Process, LinesLargerThanAPipe) {
  const auto cat = shell("cat");
  // The write must not wait for a reader forever: cat's own output pipe fills up, and so does ours.
  const std::string line(1 << 20, 'x');
  const Status written = cat->write_line(line, Deadline::after_ms(300));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kTimeout);
}

TEST(Process, LongLinesArriveWhole) {
  const auto printer = shell("head -c 300000 /dev/zero | tr '\\0' y; echo");
  EXPECT_EQ(printer->read_line(Deadline::after_ms(10000)).value().size(), 300000u);
}

TEST(Process, ExitStatusIsToldInWords) {
  const auto process = shell("exit 3");
  const auto line = process->read_line(Deadline::after_ms(5000));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kPeerLost);
  EXPECT_NE(line.error().what.find("exited with status 3"), std::string::npos) << line.error().what;
}

TEST(Process, SignalIsToldInWords) {
  const auto process = shell("exec sleep 100");
  process->kill(SIGKILL);
  const auto line = process->read_line(Deadline::after_ms(5000));
  ASSERT_FALSE(line);
  EXPECT_NE(line.error().what.find("killed by signal 9"), std::string::npos) << line.error().what;
}

TEST(Process, SilenceEndsAtTheDeadline) {
  const auto process = shell("exec sleep 100");
  const auto line = process->read_line(Deadline::after_ms(50));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().code, ErrorCode::kTimeout);
}

TEST(Process, MissingProgramIsAnError) {
  const auto process = Process::spawn({"/proc/nonexistent/program"});
  ASSERT_FALSE(process);
  EXPECT_EQ(process.error().sys_errno, ENOENT);
}

TEST(Process, DestructionLeavesNobodyBehind) {
  pid_t pid = 0;
  {
    const auto process = shell("trap '' TERM; exec sleep 100");
    pid = process->pid();
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Process, OwnProgramPathIsThisTest) {
  EXPECT_NE(own_program_path().value().find("tests_launch"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
