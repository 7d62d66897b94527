// `--push` as a user meets it, with an `ssh` that starts the command here; with real ssh it is in
// tests/lab/push_test.py.
#include "launch/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>

#include "runs/build.h"
#include "tests/support/mac_program.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class PushOption : public testing::Test {
 protected:
  PushOption() {
    tool("ssh",
         "for word; do last=$word; case $word in -O) exit 0;; esac; done\n"
         "echo \"$last\" >> " +
             folder_.path("asked") + "\nexec sh -c \"$last\"");
    fs::create_directories(folder_.path("empty"));
  }
  std::string tool(const std::string& name, const std::string& script) {
    std::string path = folder_.write(name, "#!/bin/sh\n" + script + "\n");
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // `launch` on one host whose plumbline is `binary`.
  Finished launch(const std::string& binary, const std::vector<std::string>& flags) {
    const std::string hosts = folder_.write(
        "hosts.json",
        R"({"hosts": [{"name": "h1", "ssh": "h1", "data": ["127.0.0.1/8"], "binary": ")" + binary +
            "\"}]}");
    const char* path = std::getenv("PATH");
    // env replaces a variable; two of one name would be read differently by different programs.
    std::vector<std::string> words = {
        "env",
        "PATH=" + folder_.path() + ":" + (path == nullptr ? "" : path),
        "XDG_CACHE_HOME=" + folder_.path("cache"),
        test::program_path(),
        "launch",
        "--hosts",
        hosts};
    words.insert(words.end(), flags.begin(), flags.end());
    words.insert(words.end(), {"--", "echo", "ran"});
    return run_program(words);
  }
  std::string static_dir() const { return folder_.path("empty"); }
  // What ssh was asked to start.
  std::string asked() const { return read_file(folder_.path("asked")); }

  ScratchFolder folder_;
};

TEST_F(PushOption, NeverAsksNothing) {
  const Finished done = launch(test::program_path(), {});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("ran"));
  EXPECT_THAT(asked(), Not(HasSubstr("plumbline-push")));
}

TEST_F(PushOption, AutoUsesAProgramOfTheSameBuild) {
  const Finished done =
      launch(test::program_path(), {"--push", "auto", "--static-dir", static_dir()});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("ran"));
  EXPECT_THAT(asked(), HasSubstr("plumbline-push"));
  EXPECT_THAT(done.err, Not(HasSubstr("sending")));
  EXPECT_FALSE(fs::exists(folder_.path("cache")));
}

TEST_F(PushOption, AutoKeepsAnotherBuildWhereThereIsNothingToSend) {
  const std::string other = tool("other", "[ $1 = version ] && { echo build 0; exit; }\nexec " +
                                              test::program_path() + " \"$@\"");
  const Finished done = launch(other, {"--push", "auto", "--static-dir", static_dir()});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("ran"));
  EXPECT_THAT(done.err, HasSubstr("h1 keeps its own plumbline, of another build"));
}

TEST_F(PushOption, WithoutAStaticBinaryItSaysWhereItLooked) {
  utsname names{};
  uname(&names);
  for (const auto& [binary, push] :
       {std::pair<std::string, std::string>{"/proc/nowhere/plumbline", "auto"},
        {test::program_path(), "always"}}) {
    const Finished done = launch(binary, {"--push", push, "--static-dir", static_dir()});
    EXPECT_EQ(done.status, 2) << push;
    EXPECT_THAT(done.err, HasSubstr(std::string("h1 needs plumbline")));
    EXPECT_THAT(done.err, HasSubstr(static_dir() + "/plumbline-linux-" + names.machine));
    EXPECT_THAT(done.err, HasSubstr(std::string("scripts/static_binary.sh ") + names.machine));
    EXPECT_THAT(done.out, Not(HasSubstr("ran")));
  }
}

class PushToAMac : public PushOption {
 protected:
  PushToAMac() { tool("uname", "if [ $1 = -s ]; then echo Darwin; else echo arm64; fi"); }
  Finished launch_there() {
    return launch("/proc/nowhere/plumbline", {"--push", "auto", "--static-dir", static_dir()});
  }
  std::string put(const std::string& content) {
    return folder_.write("empty/plumbline-darwin-arm64", content);
  }
};

TEST_F(PushToAMac, WithoutAProgramForItItSaysHowToBuildOne) {
  const Finished done = launch_there();
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("h1 needs plumbline, and there is no plumbline to copy to Darwin "
                                  "arm64: " +
                                  static_dir() + "/plumbline-darwin-arm64"));
  EXPECT_THAT(done.err, HasSubstr("scripts/cross_macos.sh --ship"));
}

TEST_F(PushToAMac, AWrongFileIsNamedAndNotSent) {
  test::MacProgram program;
  program.build = own_build();
  program.libraries.emplace_back("/opt/homebrew/lib/libfmt.dylib");
  test::MacProgram old;
  old.build = "0.0.1-old";
  for (const auto& [content, why] :
       {std::pair<std::string, std::string>{program.bytes(),
                                            "it needs /opt/homebrew/lib/libfmt.dylib"},
        {read_file(test::program_path()), "a program of Linux (ELF)"},
        {old.bytes(), "not of the build " + own_build()}}) {
    const std::string path = put(content);
    const Finished done = launch_there();
    EXPECT_EQ(done.status, 2);
    EXPECT_THAT(done.err, HasSubstr(path + " (" + why));
    EXPECT_THAT(done.err, Not(HasSubstr("sending")));
    EXPECT_FALSE(fs::exists(folder_.path("cache")));
  }
}

TEST_F(PushToAMac, TheRightOneIsSent) {
  // This machine cannot start it, and its shell shall not take it for a script.
  tool("chmod", "cp \"$2\" " + folder_.path("arrived") + "; exec /bin/chmod 600 \"$2\"");
  test::MacProgram program;
  program.build = own_build();
  put(program.bytes());
  const Finished done = launch_there();
  EXPECT_THAT(done.err, HasSubstr("sending " + static_dir() + "/plumbline-darwin-arm64"));
  EXPECT_EQ(read_file(folder_.path("arrived")), program.bytes());
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("the copy of plumbline does not start on h1"));
}

TEST_F(PushOption, ASystemWithoutAProgramIsNamed) {
  tool("uname", "if [ $1 = -s ]; then echo FreeBSD; else echo amd64; fi");
  const Finished done = launch("/proc/nowhere/plumbline", {"--push", "auto"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err,
              HasSubstr("h1 runs FreeBSD amd64, and there is no plumbline to copy to that"));
  EXPECT_THAT(done.err, HasSubstr("name it with \"binary\""));
}

TEST_F(PushOption, SshThatFailsIsNamed) {
  tool("ssh", "echo 'ssh: connect to host h1 port 22: Connection refused' >&2; exit 255");
  const Finished done = launch("/proc/nowhere/plumbline", {"--push", "auto"});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("h1 over ssh: exit status 255"));
  EXPECT_THAT(done.err, HasSubstr("Connection refused"));
}

TEST_F(PushOption, AnAnswerOfNonsenseIsNoAnswer) {
  tool("ssh", "echo plumbline-push there; exit 0");
  EXPECT_EQ(launch("/proc/nowhere/plumbline", {"--push", "auto"}).status, 2);
  tool("ssh", "yes plumbline-push | head -c 1000000; exit 0");
  EXPECT_EQ(launch("/proc/nowhere/plumbline", {"--push", "auto"}).status, 2);
}

TEST_F(PushOption, OnlyThreeWordsAreAccepted) {
  const Finished done = launch(test::program_path(), {"--push", "sometimes"});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("never, auto, always"));
}

TEST(OwnBuild, StandsInTheFileAndInTheVersion) {
  EXPECT_THAT(read_file(test::program_path()), HasSubstr(PLUMBLINE_BUILD_MARK + own_build() + ";"));
  EXPECT_THAT(run_program(plumbline_argv({"version"})).out,
              HasSubstr("\nbuild " + own_build() + "\n"));
  EXPECT_THAT(run_program(plumbline_argv({"version", "--json"})).out,
              HasSubstr("\"build\": \"" + own_build() + "\""));
}

}  // namespace
}  // namespace plumbline
