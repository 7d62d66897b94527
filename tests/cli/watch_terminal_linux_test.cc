// plumbline watch on a real terminal (a pty): pictures that fit, keys that work, and a terminal
// that is as it was before, however it ends.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "core/json.h"
#include "reports/text.h"
#include "tests/support/on_terminal.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kEnter = "\x1b[?1049h";
constexpr const char* kLeave = "\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";

class WatchTerminal : public testing::Test {
 protected:
  // A terminal with a running view, of which the first picture has been drawn.
  std::unique_ptr<OnTerminal> start(int width = 100, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "watch");
    auto terminal = std::make_unique<OnTerminal>(
        plumbline_argv(more), width, std::vector<std::string>{"TERM=xterm", "NO_COLOR=1"});
    EXPECT_TRUE(terminal->read_until("local0")) << terminal->text();
    return terminal;
  }
  static bool cooked(const OnTerminal& terminal) {
    constexpr tcflag_t kBoth = ICANON | ECHO;
    return (terminal.settings().c_lflag & kBoth) == kBoth;
  }
};

// The lines of the last picture that is there to its end: where the next one begins.
std::vector<std::string> last_picture(const std::string& text) {
  const size_t end = text.rfind(kHome);
  if (end == std::string::npos || end == 0) return {};
  const size_t before = text.rfind(kHome, end - 1);
  if (before == std::string::npos) return {};
  const std::string picture = text.substr(before + 3, end - before - 3);
  std::vector<std::string> lines{""};
  for (size_t i = 0; i < picture.size(); ++i) {
    if (picture[i] == '\x1b') {
      i = picture.find_first_of("KJHhlm", i);
    } else if (picture[i] == '\n') {
      lines.emplace_back();
    } else if (picture[i] != '\r') {
      lines.back() += picture[i];
    }
  }
  return lines;
}

TEST_F(WatchTerminal, QuitsByKeyAndGivesTheTerminalBack) {
  const auto terminal = start();
  EXPECT_FALSE(cooked(*terminal)) << "keys need no Return";
  terminal->type("x");
  terminal->type("q");
  ASSERT_TRUE(terminal->read_until(kLeave, 10'000)) << terminal->text();
  EXPECT_TRUE(terminal->read_until(""));
  EXPECT_EQ(terminal->wait(), 0);
  EXPECT_TRUE(cooked(*terminal));
  EXPECT_LT(terminal->text().find(kEnter), terminal->text().find(kHome));
  EXPECT_THAT(terminal->text(), HasSubstr("\x1b[?25h")) << "the cursor is back";
  EXPECT_EQ(terminal->text().rfind(kLeave) + std::string(kLeave).size(), terminal->text().size());
}

TEST_F(WatchTerminal, CtrlCAndTerminationGiveItBack) {
  for (const bool key : {true, false}) {
    const auto terminal = start();
    if (key) {
      terminal->type("\003");
    } else {
      kill(terminal->pid(), SIGTERM);
    }
    ASSERT_TRUE(terminal->read_until(""));
    EXPECT_EQ(terminal->wait(), 130) << terminal->text();
    EXPECT_TRUE(cooked(*terminal));
    EXPECT_THAT(terminal->text(), HasSubstr(kLeave));
  }
}

TEST_F(WatchTerminal, ACrashGivesItBackAndRemainsACrash) {
  for (const int number : {SIGSEGV, SIGABRT, SIGQUIT, SIGHUP}) {
    SCOPED_TRACE(number);
    const auto terminal = start();
    kill(terminal->pid(), number);
    ASSERT_TRUE(terminal->read_until(""));
    const int status = terminal->wait();
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(status, 128 + number);
#else
    EXPECT_NE(status, 0);
#endif
    EXPECT_TRUE(cooked(*terminal));
    EXPECT_THAT(terminal->text(), HasSubstr(kLeave));
  }
}

TEST_F(WatchTerminal, PicturesFitAndFollowTheWindow) {
  const auto terminal = start(40);
  // The next whole picture shows `wanted` and stays within the window.
  const auto fits = [&](const std::string& wanted, size_t width, size_t height) {
    terminal->forget();
    const auto drawn = [&wanted](const std::string& text) {
      const std::vector<std::string> lines = last_picture(text);
      return std::any_of(lines.begin(), lines.end(), [&wanted](const std::string& line) {
        return line.find(wanted) != std::string::npos;
      });
    };
    ASSERT_TRUE(terminal->read_until(drawn)) << terminal->text();
    const std::vector<std::string> lines = last_picture(terminal->text());
    EXPECT_GE(lines.size(), 2u);
    EXPECT_LE(lines.size(), height);
    for (const std::string& line : lines) EXPECT_LT(display_width(line), width) << line;
  };
  fits("out retr drop", 40, 24);
  terminal->resize(130, 9);
  ASSERT_TRUE(terminal->read_until("neighbours")) << "the new size shows at once";
  fits("neighbours", 130, 9);
  for (const int odd : {1, 0, 5000}) {
    terminal->resize(odd, odd);
    terminal->forget();
    ASSERT_TRUE(terminal->read_until(kHome)) << odd;
  }
  terminal->type("q");
  ASSERT_TRUE(terminal->read_until(""));
  EXPECT_EQ(terminal->wait(), 0);
}

TEST_F(WatchTerminal, KeysPauseSortAndTurnTheTable) {
  const auto terminal = start();
  terminal->type("s");
  ASSERT_TRUE(terminal->read_until("by in", 10'000));
  terminal->type("r");
  ASSERT_TRUE(terminal->read_until("by in, reversed", 10'000));
  terminal->type("p");
  ASSERT_TRUE(terminal->read_until("PAUSED", 10'000));
  terminal->forget();
  terminal->type("p");
  ASSERT_TRUE(terminal->read_until(kHome, 10'000));
  ASSERT_TRUE(terminal->read_until("\x1b[J", 10'000));
  EXPECT_THAT(terminal->text(), Not(HasSubstr("PAUSED")));
  terminal->type("\x1b[A\x1b[Bjk \xff\x1b[q");  // none of these quits
  ASSERT_TRUE(terminal->read_until("PAUSED", 10'000));
  terminal->type("q");
  ASSERT_TRUE(terminal->read_until(""));
  EXPECT_EQ(terminal->wait(), 0);
}

TEST_F(WatchTerminal, EndsByItself) {
  const auto terminal = start(100, {"--count", "1"});
  ASSERT_TRUE(terminal->read_until(""));
  EXPECT_EQ(terminal->wait(), 0);
  EXPECT_TRUE(cooked(*terminal));
}

TEST_F(WatchTerminal, ATerminalThatCannotMoveItsCursorGetsLines) {
  for (const char* term : {"TERM=dumb", "TERM="}) {
    OnTerminal terminal(plumbline_argv({"watch", "--count", "1"}), 80, {term});
    ASSERT_TRUE(terminal.read_until(""));
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.text().find('\x1b'), std::string::npos) << terminal.text();
    const auto line = nlohmann::json::parse(terminal.text());
    EXPECT_EQ(line["host"], "local0");
  }
}

// A shell with jobs of its own, so that Ctrl-Z has somebody to come back to.
TEST_F(WatchTerminal, CtrlZGivesTheTerminalBackUntilItGoesOn) {
  OnTerminal shell({"/bin/sh", "-i"}, 100, {"TERM=xterm", "NO_COLOR=1", "PS1=ready> ", "ENV="});
  ASSERT_TRUE(shell.read_until("ready> "));
  shell.type(plumbline_argv({}).front() + " watch\r");
  ASSERT_TRUE(shell.read_until("local0")) << shell.text();
  EXPECT_FALSE(cooked(shell));
  shell.forget();
  shell.type("\032");
  ASSERT_TRUE(shell.read_until("ready> ", 10'000)) << shell.text();
  EXPECT_LT(shell.text().find(kLeave), shell.text().find("ready> "));
  EXPECT_TRUE(cooked(shell));
  shell.forget();
  shell.type("fg\r");
  ASSERT_TRUE(shell.read_until("local0", 10'000)) << shell.text();
  EXPECT_THAT(shell.text(), HasSubstr(kEnter));
  EXPECT_FALSE(cooked(shell));
  shell.type("q");
  ASSERT_TRUE(shell.read_until("ready> ", 10'000)) << shell.text();
  EXPECT_TRUE(cooked(shell));
  shell.type("exit\r");
  EXPECT_TRUE(shell.read_until(""));
}

}  // namespace
}  // namespace plumbline
