// What a scenario of somebody else may do on this user's hosts: nothing that no flag permits.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Permissions : public testing::Test {
 protected:
  Permissions() {
    folder_.write("s.json", R"({"plumbline": 1,
      "hosts": [{"name": "here", "local": true, "data": "127.0.0.1/8", "binary": ")" +
                                plumbline_argv({}).front() + R"("}],
      "probes": [{"probe": "command", "run": ["touch", ")" +
                                mark_ + R"("]}],
      "launch": {"port_base": "auto"}, "roofs": false, "report": ["console"],
      "matrix": [{"op": "barrier", "ranks": 1, "stop": {"max_time": "20ms"}}]})");
  }
  Finished plumbline(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment = {}) const {
    return run_program(plumbline_argv(arguments), environment);
  }
  Finished run(const std::string& out, std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"run", folder_.path("s.json"), "--out", folder_.path(out), "--no-history"});
    return plumbline(more);
  }
  bool touched() const { return std::filesystem::exists(mark_); }

  ScratchFolder folder_;
  const std::string mark_ = folder_.path("touched");
};

TEST_F(Permissions, ACommandOfAScenarioRunsWithTheFlagOnly) {
  const Finished refused = run("a");
  EXPECT_EQ(refused.status, 0) << refused.err;
  EXPECT_FALSE(touched());
  const Json doctor = Json::parse(read_file(folder_.path("a/doctor.json")));
  ASSERT_EQ(doctor["checks"].size(), 1u);
  EXPECT_EQ(doctor["checks"][0]["outcome"], "skipped");
  EXPECT_THAT(doctor["checks"][0]["reason"].get<std::string>(), HasSubstr("--allow-commands"));

  const Finished permitted = run("b", {"--allow-commands"});
  EXPECT_EQ(permitted.status, 0) << permitted.err;
  EXPECT_TRUE(touched());
}

TEST_F(Permissions, DoctorAsksForTheSameFlag) {
  const std::vector<std::string> doctor = {"doctor", folder_.path("s.json"), "--only", "command"};
  EXPECT_THAT(plumbline(doctor).out, HasSubstr("--allow-commands"));
  EXPECT_FALSE(touched());
  std::vector<std::string> permitted = doctor;
  permitted.emplace_back("--allow-commands");
  EXPECT_EQ(plumbline(permitted).status, 0);
  EXPECT_TRUE(touched());
}

TEST_F(Permissions, NeitherAVariableNorAScenarioStandsForTheFlag) {
  const Finished variable =
      plumbline({"run", folder_.path("s.json"), "--out", folder_.path("c"), "--no-history"},
                {"PLUMBLINE_ALLOW_COMMANDS=1"});
  EXPECT_EQ(variable.status, 1);
  for (const char* key : {R"("config": {"allow_commands": true})", R"("allow_commands": true)",
                          R"("launch": {"allow_commands": true})"}) {
    const std::string file = folder_.write(
        "t.json", R"({"plumbline": 1, "probes": ["config"], )" + std::string(key) + "}");
    EXPECT_EQ(plumbline({"run", file, "--out", folder_.path("d")}).status, 1) << key;
  }
  EXPECT_FALSE(touched());
}

TEST_F(Permissions, PlanAndDryRunListCommandsAndBinariesWithTheirHosts) {
  for (const auto& words : {std::vector<std::string>{"plan", folder_.path("s.json")},
                            {"run", folder_.path("s.json"), "--dry-run"}}) {
    const Finished shown = plumbline(words);
    EXPECT_EQ(shown.status, 0) << shown.err;
    EXPECT_THAT(shown.out,
                HasSubstr("command on here: touch " + mark_ + " (only with --allow-commands)"));
    EXPECT_THAT(shown.out, HasSubstr("plumbline on here: " + plumbline_argv({}).front()));
  }
  const Json plan = Json::parse(plumbline({"plan", folder_.path("s.json"), "--json"}).out);
  EXPECT_EQ(plan["commands"], Json::parse(R"([{"argv": ["touch", ")" + mark_ +
                                          R"("], "hosts": ["here"], "permitted": false}])"));
  EXPECT_EQ(plan["binaries"][0]["host"], "here");
  EXPECT_FALSE(touched());
}

// The words reach the program as they are: no shell looks at them.
TEST_F(Permissions, TheWordsOfACommandAreRunWithoutAShell) {
  const std::string file = folder_.write("w.json", R"({"plumbline": 1, "hosts": {"local": 1},
    "probes": [{"probe": "command", "run": ["printf", "%s|", "a  b", "$HOME", "; touch )" +
                                                       mark_ + R"(", "'", "*"]}]})");
  const Finished done = plumbline({"doctor", file, "--only", "command", "--allow-commands",
                                   "--json", "--save", folder_.path("e.json")});
  EXPECT_EQ(done.status, 0) << done.err;
  const Json evidence = Json::parse(read_file(folder_.path("e.json")));
  EXPECT_EQ(evidence["hosts"][0]["commands"][0]["out"], "a  b|$HOME|; touch " + mark_ + "|'|*|");
  EXPECT_FALSE(touched());
}

// It ran over TCP and was recorded as memory.
TEST_F(Permissions, TheTransportMemoryIsRefusedByNameWhereverItIsNamed) {
  folder_.write("m.json", R"({"plumbline": 1, "hosts": {"local": 2},
    "matrix": [{"op": "barrier", "transport": ["memory"]}]})");
  folder_.write("p.json", R"({"plumbline": 1, "hosts": {"local": 2}, "config": {"transport":
    "memory"}, "matrix": [{"op": "barrier"}]})");
  folder_.write("n.json",
                R"({"plumbline": 1, "hosts": {"local": 2}, "matrix": [{"op": "barrier"}]})");
  const std::string out = folder_.path("out");
  const std::vector<std::vector<std::string>> calls = {
      {"run", folder_.path("m.json"), "--out", out},
      {"plan", folder_.path("m.json")},
      {"run", folder_.path("p.json"), "--out", out},
      {"run", folder_.path("n.json"), "--out", out, "--transport", "memory"},
      {"coll", "allreduce", "--transport", "memory"}};
  for (const auto& call : calls) {
    const Finished done = plumbline(call);
    EXPECT_EQ(done.status, 1) << call[1];
    EXPECT_THAT(done.err, testing::ContainsRegex("transport .?memory.?: memory joins the threads"));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  const Finished variable =
      plumbline({"run", folder_.path("n.json"), "--out", out}, {"PLUMBLINE_TRANSPORT=memory"});
  EXPECT_EQ(variable.status, 1);
  EXPECT_THAT(variable.err, HasSubstr("PLUMBLINE_TRANSPORT"));
}

TEST_F(Permissions, ATokenFileThatOthersMayReadIsRefusedWithTheCommandThatMendsIt) {
  const std::string token = folder_.write("token", "0123456789abcdef\n");
  ASSERT_EQ(chmod(token.c_str(), 0644), 0);
  const Finished done =
      plumbline({"doctor", "--peer", "127.0.0.1:1"}, {"PLUMBLINE_TOKEN_FILE=" + token});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("chmod 600 " + token));
}

}  // namespace
}  // namespace plumbline
