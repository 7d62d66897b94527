// What a scenario of somebody else may do on this user's hosts: nothing that no flag permits.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>

#include "core/json.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

class Permissions : public testing::Test {
 protected:
  Permissions() {
    const std::string hosts =
        R"("hosts": [{"name": "here", "local": true, "data": "127.0.0.1/8", "binary": ")" +
        plumbline_argv({}).front() + R"("}])";
    folder_.write("hosts.json", "{" + hosts + "}");
    folder_.write("s.json", R"({"plumbline": 1, )" + hosts + R"(,
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
  const Finished refused = run("a", {"--hosts", folder_.path("hosts.json")});
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
  const std::vector<std::string> doctor = {"doctor", "--hosts", folder_.path("s.json"), "--only",
                                           "command"};
  EXPECT_THAT(plumbline(doctor).out, HasSubstr("--allow-commands"));
  EXPECT_FALSE(touched());
  std::vector<std::string> permitted = doctor;
  permitted.emplace_back("--allow-commands");
  EXPECT_EQ(plumbline(permitted).status, 0);
  EXPECT_TRUE(touched());
}

TEST_F(Permissions, NeitherAVariableNorAScenarioStandsForTheFlag) {
  const Finished variable = plumbline({"run", folder_.path("s.json"), "--out", folder_.path("c"),
                                       "--no-history", "--hosts", folder_.path("hosts.json")},
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
    EXPECT_THAT(shown.out, HasSubstr("plumbline on here: " + plumbline_argv({}).front() +
                                     " (only with --allow-commands)"));
  }
  const Json plan = Json::parse(plumbline({"plan", folder_.path("s.json"), "--json"}).out);
  EXPECT_EQ(plan["commands"], Json::parse(R"([{"argv": ["touch", ")" + mark_ +
                                          R"("], "hosts": ["here"], "permitted": false}])"));
  EXPECT_EQ(plan["binaries"][0]["host"], "here");
  EXPECT_EQ(plan["binaries"][0]["permitted"], false);
  EXPECT_FALSE(touched());
}

// What `run` does with the scenario's commands, `doctor` does.
TEST_F(Permissions, DoctorRunsOrSkipsTheCommandsBesideItsOwnProbes) {
  const std::string file = folder_.write("d.json", R"({"plumbline": 1, "hosts": {"local": 1},
    "probes": [{"probe": "command", "run": ["touch", ")" +
                                                       mark_ + R"("]}]})");
  const auto checks_of = [](const Finished& done) {
    std::map<std::string, std::string> out;  // by probe: outcome and reason of its last check
    const Json all = Json::parse(done.out);
    for (const Json& check : all.at("checks")) {
      const auto key = check["key"].get<std::string>();
      out[key.substr(0, key.find('/'))] =
          check["outcome"].get<std::string>() + " " + check["reason"].get<std::string>();
    }
    return out;
  };
  const auto skipped = checks_of(plumbline({"doctor", file, "--json"}));
  EXPECT_THAT(skipped.at("command"),
              testing::AllOf(testing::StartsWith("skipped"), HasSubstr("--allow-commands")));
  EXPECT_EQ(skipped.count("config"), 1u) << "its own probes are all there";
  EXPECT_FALSE(touched());
  const auto run = checks_of(plumbline({"doctor", file, "--allow-commands", "--json"}));
  EXPECT_THAT(run.at("command"), testing::StartsWith("pass"));
  EXPECT_EQ(run.size(), skipped.size());
  EXPECT_TRUE(touched());
}

// A `binary` is as good as a command: it is executed on the host. With --hosts the user names it.
TEST_F(Permissions, AProgramOfAScenariosOwnHostsRunsWithTheFlagOnly) {
  const std::string program = folder_.write("program", "#!/bin/sh\ntouch '" + mark_ + "'\n");
  ASSERT_EQ(chmod(program.c_str(), 0755), 0);
  const std::string hosts = R"({"hosts": [{"name": "here", "local": true, "data": "127.0.0.1/8",
    "binary": ")" + program +
                            R"("}])";
  const std::string rest = R"("probes": ["launch"], "roofs": false, "report": ["console"]})";
  const std::string own = folder_.write("b.json", hosts + R"(, "plumbline": 1, )" + rest);
  const std::string file = folder_.write("hosts.json", hosts + "}");
  const std::string named =
      folder_.write("n.json", R"({"plumbline": 1, "hosts": {"hostfile": "hosts.json"}, )" + rest);
  for (const std::string& scenario : {own, named}) {
    for (const std::vector<std::string>& call : std::vector<std::vector<std::string>>{
             {"run", scenario, "--out", folder_.path("e"), "--no-history"}, {"doctor", scenario}}) {
      const Finished refused = plumbline(call);
      EXPECT_EQ(refused.status, 1) << refused.out << refused.err;
      EXPECT_THAT(refused.err, testing::AllOf(HasSubstr(program), HasSubstr("--allow-commands"),
                                              HasSubstr("--hosts FILE")));
      EXPECT_FALSE(touched());
      EXPECT_FALSE(std::filesystem::exists(folder_.path("e")));
    }
  }
  const std::vector<std::vector<std::string>> permitted = {
      {"run", own, "--out", folder_.path("f"), "--no-history", "--allow-commands"},
      {"run", own, "--out", folder_.path("g"), "--no-history", "--hosts", file},
      {"doctor", own, "--allow-commands"},
      {"doctor", file},
      {"doctor", "--hosts", file}};
  for (const std::vector<std::string>& call : permitted) {
    const Finished done = plumbline(call);
    EXPECT_TRUE(touched()) << call[0] << done.out << done.err;
    std::filesystem::remove(mark_);
  }
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
