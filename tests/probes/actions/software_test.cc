// What an agent says of versions and variables, with an interpreter that is a script of the test's.
#include "probes/actions/software.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/file.h"
#include "probes/job/job_variables.h"
#include "probes/software.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

class PaperPython : public ::testing::Test {
 protected:
  std::string python_that(const std::string& script) {
    const std::filesystem::path path = folder_.path() / "python3";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  static Expected<SoftwareEvidence> ask(const std::string& python,
                                        std::vector<std::string> packages = {},
                                        int64_t ms = 10'000) {
    AskSoftware asked;
    asked.python = python;
    asked.packages = std::move(packages);
    asked.timeout_ms = ms;
    const AgentCall call{Deadline::after_ms(20'000)};
    return read_software(asked, call);
  }
  TemporaryFolder folder_;
};

TEST_F(PaperPython, VersionsOfTheMachineAndOfWhatPythonLists) {
  const auto seen = ask(python_that("echo python 3.12.1\necho mlx 0.31.0\necho nvidia-nccl-cu12 "
                                    "2.21.5\necho mine 1!2.0rc1+local"),
                        {"mine", "absent", "nvidia-nccl-cu12"});
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_THAT(seen->versions, Contains(Pair("python", "3.12.1")));
  EXPECT_THAT(seen->versions, Contains(Pair("mlx", "0.31.0")));
  EXPECT_THAT(seen->versions, Contains(Pair("nccl", "2.21.5")));
  EXPECT_THAT(seen->versions, Contains(Pair("nvidia-nccl-cu12", "2.21.5"))) << "by its own name";
  EXPECT_THAT(seen->versions, Contains(Pair("mine", "1!2.0rc1+local")));
  EXPECT_THAT(seen->versions, Not(Contains(Key("absent"))));
  EXPECT_THAT(seen->versions, Contains(Key("system")));
  EXPECT_THAT(seen->versions, Contains(Pair("memory", HasSubstr("GiB"))));
  EXPECT_THAT(seen->python_error, IsEmpty());
}

// The real one, where there is one: the question itself must make sense to it.
TEST_F(PaperPython, TheSystemsOwnTellsItsVersion) {
  if (!std::filesystem::exists("/usr/bin/python3")) GTEST_SKIP() << "there is no /usr/bin/python3";
  const auto seen = ask("/usr/bin/python3", {"no-such-package-anywhere"});
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->versions, Contains(Pair("python", HasSubstr("3."))));
  EXPECT_THAT(seen->versions, Not(Contains(Key("no-such-package-anywhere"))));
  EXPECT_THAT(seen->python_error, IsEmpty());
}

TEST_F(PaperPython, WhatFailsHangsOrLiesCostsItsVersionsOnly) {
  const auto failed = ask(python_that("echo python 3.12.1\necho 'No module named x' >&2\nexit 3"));
  ASSERT_TRUE(failed);
  EXPECT_THAT(failed->versions, Contains(Pair("python", "3.12.1")));
  EXPECT_EQ(failed->python_error, "it ended with status 3: No module named x");
  const auto hung = ask(python_that("exec sleep 60"), {}, 200);
  ASSERT_TRUE(hung);
  EXPECT_THAT(hung->versions, Not(Contains(Key("python"))));
  EXPECT_THAT(hung->python_error, HasSubstr("python3"));
  const auto lies =
      ask(python_that("echo 'mlx $(reboot)'\necho 'torch -e'\necho other 1\n"
                      "echo mlx 1.0 more\nprintf 'python \\033[2J\\n'"));
  ASSERT_TRUE(lies);
  for (const char* name : {"mlx", "torch", "other", "python"}) {
    EXPECT_THAT(lies->versions, Not(Contains(Key(name))));
  }
  const auto none = ask("/no/such/python");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->python, "");
  EXPECT_EQ(none->python_error, "there is no /no/such/python");
}

TEST_F(PaperPython, NamesThatAreNoneAreRefused) {
  const std::string python = python_that("exit 0");
  EXPECT_FALSE(ask("python3"));
  EXPECT_FALSE(ask(python, {"a b"}));
  EXPECT_FALSE(ask(python, {"--index-url"}));
  EXPECT_FALSE(ask(python, std::vector<std::string>(33, "x")));
}

TEST_F(PaperPython, VariablesThatAreAllowedAndFit) {
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  ::setenv("NCCL_ALGO", "$(reboot)", 1);
  ::setenv("HF_TOKEN", "secret", 1);
  const auto seen = ask(python_that("echo python 3.12.1"));
  for (const char* name : {"HF_HUB_OFFLINE", "NCCL_ALGO", "HF_TOKEN"}) ::unsetenv(name);
  ASSERT_TRUE(seen);
  EXPECT_THAT(seen->variables, Contains(Pair("HF_HUB_OFFLINE", "1")));
  EXPECT_THAT(seen->variables, Not(Contains(Key("NCCL_ALGO"))));
  EXPECT_THAT(seen->variables, Not(Contains(Key("HF_TOKEN"))));
  EXPECT_THAT(seen->untold, ElementsAre("NCCL_ALGO"));
}

// What somebody has typed or exported in this terminal is not what a session of ssh finds.
TEST_F(PaperPython, ASessionOfSshHasNoVariablesOfThisTerminal) {
  ::setenv("MLX_JACCL_RING", "1", 1);
  AskSoftware asked;
  asked.python = python_that("echo python 3.12.1");
  const AgentCall call{Deadline::after_ms(20'000)};
  const auto own = read_software(asked, call);
  asked.as_over_ssh = true;
  const auto session = read_software(asked, call);
  ::unsetenv("MLX_JACCL_RING");
  ASSERT_TRUE(own);
  EXPECT_THAT(own->variables, Contains(Key("MLX_JACCL_RING")));
  ASSERT_TRUE(session);
  EXPECT_THAT(session->variables, Not(Contains(Key("MLX_JACCL_RING"))));
  EXPECT_THAT(session->versions, Contains(Pair("python", "3.12.1")));
}

TEST(Software, EveryVariableMayLeaveItsHost) {
  for (const char* name : alike_variables()) {
    const JobVariableRow* row = find_job_variable(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_FALSE(row->is_private) << name;
  }
}

TEST(Software, VersionsInTheirOrder) {
  const std::vector<std::string> ascending = {"",          "0.9",    "0.10",     "0.10.1",
                                              "0.31.0rc1", "0.31.0", "0.31.0.1", "1.0"};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t k = 0; k < ascending.size(); ++k) {
      const int order = compare_versions(ascending[i], ascending[k]);
      EXPECT_EQ(order < 0, i < k) << ascending[i] << " and " << ascending[k];
      EXPECT_EQ(order > 0, i > k) << ascending[i] << " and " << ascending[k];
    }
  }
  EXPECT_EQ(compare_versions("1.01", "1.1"), 0);
  EXPECT_LT(compare_versions("macOS 26.2 (25C1)", "macOS 26.3 (25D125)"), 0);
  EXPECT_GT(compare_versions("macOS 26.3 (25D125)", "macOS 26.3 (25D99)"), 0);
}

}  // namespace
}  // namespace plumbline
