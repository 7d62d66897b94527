// Who started a process, by what ps prints: also where that is cut, lies, or goes in circles.
#include "probes/process_chain.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// In tmux, which was started from iTerm and has outlived it.
constexpr const char* kInTmux =
    "    1     0 /sbin/launchd\n"
    "  350     1 /Applications/iTerm.app/Contents/MacOS/iTerm2\n"
    "  900     1 tmux\n"
    "  901   900 -zsh\n"
    "  950   901 /opt/homebrew/bin/plumbline\n"
    "  951   950 /opt/homebrew/bin/plumbline\n";

std::vector<std::string> names_from(const std::string& text, int64_t pid) {
  const ProcessTable table = parse_processes(text);
  std::vector<std::string> out;
  for (const int64_t one : parents_of(table, pid)) {
    out.push_back(program_name(table.at(one).command));
  }
  return out;
}

TEST(ProcessChain, GoesOutwardsToTheFirstProcess) {
  EXPECT_THAT(names_from(kInTmux, 951),
              ElementsAre("plumbline", "plumbline", "zsh", "tmux", "launchd"));
  EXPECT_THAT(names_from(kInTmux, 350), ElementsAre("iTerm.app", "launchd"));
  EXPECT_THAT(names_from(kInTmux, 7), IsEmpty());
}

TEST(ProcessChain, TheListWithoutNamesGivesTheSameChain) {
  const ProcessTable table = parse_processes("1 0\n900 1\n901 900\n");
  EXPECT_THAT(parents_of(table, 901), ElementsAre(901, 900, 1));
  EXPECT_EQ(table.at(901).command, "");
}

TEST(ProcessChain, CirclesAndMissingParentsEnd) {
  EXPECT_THAT(parents_of(parse_processes("5 6 a\n6 7 b\n7 5 c\n"), 5), ElementsAre(5, 6, 7));
  EXPECT_THAT(parents_of(parse_processes("5 5 a\n"), 5), ElementsAre(5));
  EXPECT_THAT(parents_of(parse_processes("5 99 a\n"), 5), ElementsAre(5));
  std::string deep;
  for (int pid = 1; pid <= 1000; ++pid) {
    deep += std::to_string(pid) + " " + std::to_string(pid + 1) + " x\n";
  }
  EXPECT_EQ(parents_of(parse_processes(deep), 1).size(), kMostParents);
}

TEST(ProcessChain, NonsenseIsLeftOut) {
  const ProcessTable table = parse_processes(
      "\n  PID  PPID COMM\n-1 1 a\n0 0 b\n99999999999999999999 1 c\n7\n8 x d\n8 -2 e\n9 1 f\n9 2 "
      "g\n"
      "10 1 cut");
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table.at(9).parent, 1) << "the first counts";
  EXPECT_EQ(table.at(9).command, "f");
  EXPECT_EQ(table.at(10).command, "cut");
  EXPECT_THAT(parse_processes(std::string(1 << 20, '\0')), IsEmpty());
  EXPECT_LT(parse_processes("5 1 " + std::string(1 << 20, 'x')).at(5).command.size(), 2000u);
}

TEST(ProgramName, NoFoldersNoArgumentsNoUsers) {
  const std::pair<const char*, const char*> rows[] = {
      {"/Applications/iTerm.app/Contents/MacOS/iTerm2", "iTerm.app"},
      {"/Volumes/me/Applications/My "
       "Editor.app/Contents/Frameworks/Helper.app/Contents/MacOS/Helper",
       "My Editor.app"},
      {"/System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal", "Terminal.app"},
      {"/Volumes/me/bin/plumbline", "plumbline"},
      {"/Volumes/me/Library/Application Support/x/tool", "tool"},
      {"-zsh", "zsh"},
      {"sshd: me [priv]", "sshd"},
      {"sshd-session: me@ttys001", "sshd-session"},
      {"login -fp me", "login"},
      {"python3.12", "python3.12"},
      {"  ", "?"},
      {"", "?"},
      {"/", "?"},
      {"...", "?"},
      {"Me's Tool", "?"},
      {"Tool (Renderer)", "?"},
      {"/tmp/$(reboot)", "?"},
      {"x\x1b[31m", "?"},
      {"\xc3\xa4pfel", "?"},
      {"/Applications/$(x).app/Contents/MacOS/x", "?"},
      {"/Volumes/me/My - Folder/tool", "tool"},
      {"sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "sshd"},
  };
  for (const auto& [command, name] : rows) {
    EXPECT_EQ(program_name(command), name) << command;
  }
  EXPECT_EQ(program_name(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(program_name(std::string(65, 'a')), "?");
  for (const std::string& name : {std::string("a/b"), std::string("a\nb"), std::string("a;b")}) {
    EXPECT_FALSE(is_program_name(name)) << name;
  }
}

TEST(Starter, IsTheOutermostThatIsNoDaemonOfTheSystem) {
  const Starter tmux = starter_of({"plumbline", "zsh", "tmux", "launchd"});
  EXPECT_EQ(tmux.program, "tmux");
  EXPECT_TRUE(tmux.whole);
  EXPECT_FALSE(tmux.over_ssh);
  EXPECT_EQ(starter_of({"plumbline", "zsh", "login", "Terminal.app", "launchd"}).program,
            "Terminal.app");
  EXPECT_EQ(starter_of({"plumbline", "zsh", "login", "launchd"}).program, "zsh");
  EXPECT_EQ(starter_of({"plumbline", "launchd"}).program, "plumbline");
  EXPECT_EQ(starter_of({"plumbline", "zsh", "?", "launchd"}).program, "") << "not a guess";
  EXPECT_FALSE(starter_of({"plumbline", "zsh"}).whole);
  EXPECT_EQ(starter_of({"plumbline", "a;reboot"}).program, "");
  EXPECT_EQ(starter_of({}).program, "");
}

TEST(Starter, OverSsh) {
  for (const char* daemon : {"sshd", "sshd-session"}) {
    const Starter over = starter_of({"plumbline", "zsh", daemon, "sshd", "launchd"});
    EXPECT_TRUE(over.over_ssh);
    EXPECT_EQ(over.program, "");
  }
  // ssh within a terminal of this Mac is no daemon, and tmux has left the one it came from.
  EXPECT_FALSE(starter_of({"plumbline", "ssh", "zsh", "Terminal.app", "launchd"}).over_ssh);
  EXPECT_FALSE(starter_of({"plumbline", "zsh", "tmux", "launchd"}).over_ssh);
}

}  // namespace
}  // namespace plumbline
