// What should be the same on all hosts, asked by the program as a user would: --model, the probes
// of a scenario, and what makes no sense.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

class EqualityCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_.path("model"));
    std::ofstream(folder_.path("model/config.json")) << "{}";
  }
  static nlohmann::json checks_of(const Finished& done, const std::string& probe) {
    const auto json = nlohmann::json::parse(done.out, nullptr, false);
    nlohmann::json out = nlohmann::json::array();
    if (!json.is_object()) {
      ADD_FAILURE() << done.out << done.err;
      return out;
    }
    for (const auto& check : json["checks"]) {
      if (check["id"] == probe) out.push_back(check);
    }
    return out;
  }
  ScratchFolder folder_;
};

TEST_F(EqualityCommand, DoctorLooksAtTheModelThatItIsGiven) {
  const Finished done = run_program(
      plumbline_argv({"doctor", "--model", folder_.path("model"), "--json", "--only", "artifact"}));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  const auto checks = checks_of(done, "artifact");
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0]["outcome"], "pass");
  EXPECT_THAT(checks[0]["reason"].get<std::string>(), HasSubstr("1 files"));
  EXPECT_EQ(checks[1]["outcome"], "skipped");
  const Finished gone = run_program(
      plumbline_argv({"doctor", "--model", folder_.path("gone"), "--json", "--only", "artifact"}));
  EXPECT_EQ(gone.status, 2) << gone.out << gone.err;
  EXPECT_THAT(gone.out, HasSubstr("artifact.missing"));
}

TEST_F(EqualityCommand, WithoutAModelTheProbeIsNoPartOfDoctor) {
  const Finished done = run_program(plumbline_argv({"doctor", "--json"}));
  EXPECT_EQ(checks_of(done, "artifact").size(), 0U);
  EXPECT_GE(checks_of(done, "software").size(), 1U);
}

TEST_F(EqualityCommand, WhatIsNoPathIsOneLineAndExitCodeOne) {
  for (const char* command : {"doctor", "run"}) {
    for (const char* path : {"models/x", "", "/a,/b", "~"}) {
      std::vector<std::string> words = {command};
      if (std::string(command) == "run") words.emplace_back("smoke");
      words.insert(words.end(), {"--model", path});
      const Finished done = run_program(plumbline_argv(words));
      EXPECT_EQ(done.status, 1) << command << " " << path << done.out;
      EXPECT_THAT(done.err, HasSubstr("--model")) << path;
    }
  }
}

TEST_F(EqualityCommand, AModelWithoutProbesIsRefused) {
  const Finished done =
      run_program(plumbline_argv({"run", "smoke", "--no-probes", "--model", "/a"}));
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("--no-probes exclude each other"));
}

// Of a scenario: the path of the command line fills the probe that has none, and a model that is
// not there stops the run before it measures.
TEST_F(EqualityCommand, ARunStopsWhereTheModelIsMissing) {
  const std::string file =
      folder_.write("s.json", R"({"plumbline": 1, "hosts": {"local": 2}, "probes": ["artifact"],
                    "matrix": [{"kind": "check", "op": "barrier"}], "report": ["console"]})");
  const auto run = [&](const std::string& model, const std::string& out) {
    std::vector<std::string> words = {"run", file, "--no-history", "--out", folder_.path(out)};
    if (!model.empty()) words.insert(words.end(), {"--model", model});
    return run_program(plumbline_argv(words));
  };
  const Finished none = run("", "a");
  EXPECT_EQ(none.status, 0) << none.out << none.err;
  const Finished there = run(folder_.path("model"), "b");
  EXPECT_EQ(there.status, 0) << there.out << there.err;
  const Finished gone = run(folder_.path("gone"), "c");
  EXPECT_EQ(gone.status, 2) << gone.out << gone.err;
  EXPECT_THAT(gone.out + gone.err, HasSubstr("artifact.missing"));
}

}  // namespace
}  // namespace plumbline
