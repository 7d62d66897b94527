// A live run on a real terminal (a pty): it fits, Ctrl-C and another size of the window do no harm.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/support/on_terminal.h"
#include "tests/support/places.h"
#include "tests/support/program.h"
#include "tests/support/screen.h"

namespace plumbline {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kScenario = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"op": "allreduce", "bytes": {"from": 8, "to": "4Ki", "factor": 4}, "algorithm": "ring",
              "stop": {"max_n": 50, "max_time": "20ms"}}], "report": ["console"]})";
constexpr size_t kCells = 5;

// Rows have a time, in whatever unit this machine needs; the bar has none.
size_t rows_of(const Screen& screen) {
  const std::regex row("(^|.* )allreduce [^[]* (ns|us|ms|s) [^[]*");
  return static_cast<size_t>(
      std::count_if(screen.lines().begin(), screen.lines().end(),
                    [&row](const std::string& line) { return std::regex_match(line, row); }));
}

TEST(LiveRun, FitsTheTerminal) {
  for (const int width : {40, 80, 200}) {
    SCOPED_TRACE(width);
    const ScratchFolder folder;
    folder.write("scenario.json", kScenario);
    // Standard output goes elsewhere: the table has the width of the terminal all the same.
    const std::string command = test::program_path() + " run " + folder.path("scenario.json") +
                                " --out " + folder.path("out") + " > " + folder.path("stdout");
    OnTerminal program({"/bin/sh", "-c", command}, width,
                       {"TERM=xterm", "NO_COLOR=1", "XDG_STATE_HOME=" + folder.path("state")});
    ASSERT_TRUE(program.read_until(""));
    EXPECT_EQ(program.wait(), 0) << program.text();
    Screen screen(static_cast<size_t>(width));
    screen.take(program.text());
    EXPECT_FALSE(screen.wrapped()) << program.text();
    EXPECT_EQ(rows_of(screen), kCells) << program.text();
    EXPECT_EQ(screen.colours(), 0u) << "NO_COLOR is set";
    EXPECT_EQ(screen.lines().back(), "") << "the bar is still there";
    EXPECT_EQ(program.text().find("\033["), program.text().find("\033[K"));
  }
}

TEST(LiveRun, CtrlCAndResizingLeaveACleanTerminal) {
  const ScratchFolder folder;
  std::string endless = kScenario;
  endless.replace(endless.find("\"max_n\": 50, \"max_time\": \"20ms\""), 31,
                  "\"ci\": 0, \"max_n\": 100000000, \"max_time\": \"1s\"");
  folder.write("scenario.json", endless);
  OnTerminal program(
      plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("out")}), 100,
      {"TERM=xterm", "XDG_STATE_HOME=" + folder.path("state")});
  ASSERT_TRUE(program.read_until("1/5")) << program.text();
  program.resize(60);
  ASSERT_TRUE(program.read_until("2/5")) << program.text();
  program.type("\003");
  ASSERT_TRUE(program.read_until(""));
  EXPECT_EQ(program.wait(), 130) << program.text();
  Screen screen(100);
  screen.take(program.text());
  EXPECT_THAT(screen.lines(), Each(Not(HasSubstr("^C"))));
  EXPECT_THAT(screen.lines(), Each(Not(HasSubstr("/5,")))) << "a bar is still there";
  EXPECT_EQ(screen.lines().back(), "");
}

TEST(LiveRun, ADumbTerminalGetsPlainLines) {
  const ScratchFolder folder;
  folder.write("scenario.json", kScenario);
  OnTerminal program(
      plumbline_argv({"run", folder.path("scenario.json"), "--out", folder.path("out")}), 80,
      {"TERM=dumb", "XDG_STATE_HOME=" + folder.path("state")});
  ASSERT_TRUE(program.read_until(""));
  EXPECT_EQ(program.wait(), 0);
  EXPECT_EQ(program.text().find('\033'), std::string::npos) << program.text();
}

}  // namespace
}  // namespace plumbline
