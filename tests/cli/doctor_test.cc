// `plumbline doctor`, `agent` and `explain` as a user meets them: whole processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "core/json.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finished doctor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "doctor");
  return run_program(plumbline_argv(arguments));
}

// Nobody else may read it, else it is no secret.
std::string secret_file(const ScratchFolder& folder, const std::string& name,
                        const std::string& text) {
  const std::string path = folder.write(name, text);
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return path;
}

TEST(Doctor, OneMachineNeedsNothingAndIsHonest) {
  const Finished done = doctor({"--json", "--port-base", "auto"});
  ASSERT_THAT(done.status, testing::AnyOf(0, 2)) << done.err;
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["hosts"], nlohmann::json({"local0", "local1"}));
  size_t passed = 0;
  for (const auto& check : json["checks"]) {
    passed += check["outcome"] == "pass" ? 1 : 0;
    EXPECT_FALSE(check["reason"].get<std::string>().empty()) << check["key"];
    // What compares two machines cannot have passed on one.
    if (check["id"] == "neighbour" || check["id"] == "quality") {
      EXPECT_EQ(check["outcome"], "skipped") << check["key"];
    }
  }
  EXPECT_GT(passed, 5u);
}

// The first screen of a newcomer: a line per probe, and a sentence for what needs two machines.
TEST(Doctor, OneMachineIsAScreenOfLines) {
  const ScratchFolder folder;
  const std::string file = folder.path("evidence.json");
  ASSERT_THAT(doctor({"--port-base", "auto", "--save", file}).status, testing::AnyOf(0, 2));
  for (const int width : {80, 120}) {
    const std::string columns = "COLUMNS=" + std::to_string(width);
    std::vector<std::string> words = plumbline_argv({"doctor", "--from", file});
    words.insert(words.begin(), {"env", columns});
    const Finished done = run_program(words);
    const size_t probes = done.out.find("config       3 pass  ");
    ASSERT_NE(probes, std::string::npos) << done.out;
    EXPECT_THAT(done.out, HasSubstr(" checks make no sense on one machine (--verbose"));
    EXPECT_THAT(done.out, HasSubstr("verdict: "));
    EXPECT_THAT(done.out, Not(HasSubstr("????")));
    std::istringstream lines(done.out.substr(probes));  // commands of remedies stay whole
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), static_cast<size_t>(width)) << line;
    }
  }
  const Finished all = doctor({"--from", file, "-v"});
  EXPECT_THAT(all.out, HasSubstr("skip  neighbour/local0>local1 "));
  EXPECT_THAT(all.out, Not(HasSubstr("make no sense")));
}

TEST(Doctor, SavedEvidenceGivesTheSameDiagnosis) {
  const ScratchFolder folder;
  const std::string file = folder.path("evidence.json");
  const Finished live = doctor({"--json", "--port-base", "auto", "--save", file});
  const Finished again = doctor({"--json", "--from", file});
  EXPECT_EQ(again.status, live.status) << again.err;
  EXPECT_EQ(again.out, live.out);
}

// As docs/diagnosis.md has it: --from a b.
TEST(Doctor, FromTakesSeveralFiles) {
  const ScratchFolder folder;
  const auto collected = [&](const std::string& name) {
    const std::string file = folder.path(name);
    const Finished done = run_program(
        {"sh", "-c",
         "sh " + test::source_dir() + "/scripts/collect.sh --name " + name + " > " + file});
    EXPECT_EQ(done.status, 0) << done.err;
    return file;
  };
  const std::string one = collected("mini1"), other = collected("mini2");
  const Finished done = doctor({"--json", "--from", one, other});
  ASSERT_THAT(done.status, testing::AnyOf(0, 2)) << done.err;
  EXPECT_EQ(nlohmann::json::parse(done.out)["hosts"], nlohmann::json({"mini1", "mini2"}));
  EXPECT_EQ(doctor({"--from", one, folder.path("absent")}).status, 1);
  // One that was cut is judged, and said to be cut.
  const std::string cut = folder.path("cut");
  ASSERT_EQ(run_program({"sh", "-c", "head -c 3000 " + one + " > " + cut}).status, 0);
  EXPECT_THAT(doctor({"--from", cut}).err, HasSubstr("mini1"));
}

TEST(Doctor, OutputThatCannotBeWrittenIsAnError) {
  const std::string command = plumbline_argv({"list"})[0] + " list > /dev/full";
  const Finished done = run_program({"sh", "-c", command});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("could be written"));
  // A reader that has seen enough is no error.
  EXPECT_EQ(run_program({"sh", "-c", plumbline_argv({"list"})[0] + " list | true"}).status, 0);
}

TEST(Doctor, WrongInputIsOneClearLine) {
  const ScratchFolder folder;
  const std::string torn = folder.write("torn.json", "{\"schema\": 1, \"hosts\": [");
  const struct {
    std::vector<std::string> arguments;
    std::string word;
  } cases[] = {
      {{"--from", folder.path("absent")}, "absent"},
      {{"--from", torn}, "torn.json"},
      {{"--hosts", folder.path("nothing.json")}, "nothing.json"},
      {{"--peer", "nobody"}, "nobody"},
      {{"--peer", "127.0.0.1:99999"}, "99999"},
      {{"--peer", "127.0.0.1:29499"}, "token"},
      {{"--peer", "127.0.0.1"}, "this very machine"},
      {{"--peer", "127.0.0.2:29499"}, "this very machine"},
      {{"--peer", "::1"}, "plumbline doctor alone"},
      {{"--ports", "0"}, "0"},
      {{"--ports", "1-9999"}, "512"},
      {{"--only", "fire"}, "firewall"},
      {{"--from", folder.write("empty.json", "{}")}, "no schema"},
      {{"--from", folder.write("none.json", "{\"schema\": 1, \"hosts\": []}")}, "no host"},
      {{"--from", torn, "--peer", "10.0.0.1"}, "exclude"},
      {{"--from", torn, "--hosts", torn}, "exclude"},
      {{"--hosts", torn, torn}, "several"},
      {{torn, torn}, "several"},
      {{"--hosts", ""}, "empty"},
      {{"--idle", "0"}, "3600"},
      // Found before anything is measured.
      {{"--save", folder.path("no/such/file")}, "no/such/file"},
      {{"--bundle", folder.path("no/such/file")}, "no/such/file"},
      {{"--traces", torn}, "torn.json"},
  };
  for (const auto& [arguments, word] : cases) {
    const Finished done = doctor(arguments);
    EXPECT_EQ(done.status, 1) << word << done.out;
    EXPECT_THAT(done.err, HasSubstr(word));
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
  }
}

TEST(Doctor, APeerWithoutAgentIsJudgedFromOneSide) {
  // An address for documentation (RFC 5737): nobody has it, but it takes a route to ask.
  const Finished done = doctor({"--json", "--peer", "198.51.100.7", "--port-base", "auto"});
  if (done.err.find("find the way to") != std::string::npos) GTEST_SKIP() << done.err;
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["hosts"], nlohmann::json({"here", "peer"}));
  // Nothing that only the other end could have told is passed.
  size_t unknown = 0;
  for (const auto& check : json["checks"]) {
    // The plan of ports is judged from the configuration alone.
    if (check["host"] != "peer" || check["key"] == "ports/peer#plan") continue;
    EXPECT_NE(check["outcome"], "pass") << check["key"];
    unknown += check["outcome"] == "unknown" ? 1 : 0;
  }
  EXPECT_GT(unknown, 5u);
}

TEST(Doctor, TheFixPlanIsAScriptThatIsNeverRun) {
  const Finished done = doctor({"--fix-plan", "--port-base", "auto"});
  EXPECT_THAT(done.out, testing::StartsWith("#!/bin/sh\n"));
  const ScratchFolder folder;
  const std::string file = folder.write("plan.sh", done.out);
  EXPECT_EQ(run_program({"sh", "-n", file}).status, 0) << done.out;
}

TEST(Doctor, ABundleHoldsNoNameAndNoAddress) {
  const ScratchFolder folder;
  const std::string file = folder.path("bundle.tar.gz");
  const Finished done = doctor({"--json", "--port-base", "auto", "--bundle", file});
  ASSERT_THAT(done.err, HasSubstr("wrote")) << done.err;
  ASSERT_EQ(run_program({"tar", "-C", folder.path(), "-xzf", file}).status, 0);
  const std::string text = read_file(folder.path("plumbline-bundle/evidence.json"));
  const auto evidence = nlohmann::json::parse(text);
  EXPECT_EQ(evidence["job"]["hosts"].size(), 2u);
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  EXPECT_THAT(evidence["hosts"][0]["hostname"], Not(testing::Eq(name)));
  const std::regex mac("([0-9a-f]{2}:){5}[0-9a-f]{2}");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), mac); it != std::sregex_iterator();
       ++it) {
    const std::string address = it->str();
    EXPECT_TRUE(address.rfind("02:00:00:00:", 0) == 0 || address == "00:00:00:00:00:00" ||
                address == "ff:ff:ff:ff:ff:ff")
        << address;
  }
  EXPECT_THAT(text, Not(HasSubstr("kernel.random.boot_id")));
  const Finished listed = run_program({"tar", "--numeric-owner", "-tvzf", file});
  EXPECT_THAT(listed.out, HasSubstr("0/0"));
  // The diagnosis can be repeated from it.
  EXPECT_THAT(doctor({"--json", "--from", folder.path("plumbline-bundle/evidence.json")}).status,
              testing::AnyOf(0, 2));
}

TEST(Doctor, AnAgentThatListensServesItsCoordinatorAndEnds) {
  Program agent(plumbline_argv(
      {"agent", "--listen", "--address", "127.0.0.1", "--port", "0", "--minutes", "1"}));
  std::string line;
  for (int i = 0; i < 200 && line.find('\n') == std::string::npos; ++i) {
    usleep(50'000);
    line = agent.out();
  }
  const std::regex pattern(
      "echo ([0-9a-f]+) \\| PLUMBLINE_TOKEN_FILE=/dev/stdin plumbline doctor "
      "--peer (127\\.0\\.0\\.1:[0-9]+)\n");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(line, match, pattern)) << line;
  const ScratchFolder folder;
  const std::string token = secret_file(folder, "token", match[1].str() + "\n");
  const Finished done = run_program(
      plumbline_argv({"doctor", "--json", "--peer", match[2].str(), "--port-base", "auto"}),
      {"PLUMBLINE_TOKEN_FILE=" + token});
  const auto json = nlohmann::json::parse(done.out);
  bool served = false;
  for (const auto& check : json["checks"]) {
    served = served || (check["key"] == "launch/peer" && check["outcome"] == "pass");
  }
  EXPECT_TRUE(served) << done.out;
  EXPECT_EQ(agent.wait(10'000), 0);
  // Both agents listened on the ports of the job here; neither is a leftover.
  for (const auto& finding : json["findings"]) {
    EXPECT_NE(finding["cause"], "host.stale_process") << finding;
  }
}

// It was called a leftover of an earlier run, with the advice to kill it.
TEST(Doctor, AnAgentThatWaitsOnAPortOfTheJobIsANote) {
  Program agent(plumbline_argv(
      {"agent", "--listen", "--address", "127.0.0.1", "--port", "0", "--minutes", "1"}));
  std::smatch match;
  std::string line;
  const std::regex pattern("--peer 127\\.0\\.0\\.1:([0-9]+)\n");
  for (int i = 0; i < 200 && !std::regex_search(line, match, pattern); ++i) {
    usleep(50'000);
    line = agent.out();
  }
  ASSERT_FALSE(match.empty()) << line;
  const std::string port = match[1].str();
  // Not the usual master port: a run of a test beside this one may be at it.
  const Finished done =
      doctor({"--json", "--only", "ports", "--ports", port, "--master-port", "29499"});
  const auto json = nlohmann::json::parse(done.out);
  bool noted = false;
  for (const auto& finding : json["findings"]) {
    if (finding["cause"] != "host.stale_process") continue;
    noted = true;
#ifdef __linux__
    EXPECT_EQ(finding["outcome"], "note") << finding;
    EXPECT_EQ(finding["remedy"].get<std::string>().find("kill"), std::string::npos) << finding;
#endif
  }
  EXPECT_TRUE(noted) << done.out;
}

// A probe's pass stood below causes of other probes, and the exit status was theirs.
TEST(Doctor, OnlyGivesTheVerdictOfTheNamedProbe) {
  const ScratchFolder folder;
  const std::string file = folder.path("evidence.json");
  const Finished live = doctor({"--json", "--ports", "1-2", "--ranks", "9999", "--save", file});
  // Two ranks a core are the most: 9999 are a cause of the probe `host`.
  ASSERT_THAT(live.out, HasSubstr("host.oversubscribed"));
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{
           {"--ports", "1-2", "--ranks", "9999"}, {"--from", file}}) {
    std::vector<std::string> arguments = {"--json", "--only", "launch"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const Finished only = doctor(arguments);
    const auto json = nlohmann::json::parse(only.out);
    EXPECT_EQ(json["findings"].size(), 0u) << only.out;
    EXPECT_EQ(json["verdict"], "ok");
    EXPECT_EQ(only.status, 0);
    EXPECT_GT(json["checks"].size(), 0u);
    for (const auto& check : json["checks"]) EXPECT_EQ(check["id"], "launch");
    arguments[0] = "--verbose";
    EXPECT_THAT(doctor(arguments).out,
                testing::ContainsRegex("not asked for, .*host.oversubscribed on local0"));
    arguments[2] = "host";
    EXPECT_THAT(doctor(arguments).out, HasSubstr("warn  host.oversubscribed on local0"));
  }
}

TEST(Doctor, ColumnsSetTheWidthAlsoInAPipe) {
  const auto widest = [](const std::string& columns) {
    const Finished done =
        run_program(plumbline_argv({"doctor", "--only", "ports", "-v", "--port-base", "auto"}),
                    {"COLUMNS=" + columns});
    size_t most = 0;
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
  };
  EXPECT_LE(widest("50"), 50u);
  EXPECT_GT(widest("60"), 50u);
  // What is no width is ignored: nothing is wrapped in a pipe then.
  for (const char* columns : {"", "0", "-1", "39", "50x", "99999999999999999999"}) {
    EXPECT_GT(widest(columns), 60u) << columns;
  }
}

TEST(Explain, MapsAMessageToCausesAndProbes) {
  const Finished done =
      run_program(plumbline_argv({"explain", "OSError:", "[Errno 65] No route to host"}));
  EXPECT_EQ(done.status, 0);
  EXPECT_THAT(done.out, HasSubstr("macos.local_network_privacy"));
  EXPECT_THAT(done.out, HasSubstr("plumbline doctor --hosts HOSTS.json"));
  EXPECT_EQ(run_program(plumbline_argv({"explain", "all is well"})).status, 2);
  EXPECT_EQ(run_program(plumbline_argv({"explain"})).status, 1);
}

// No probe speaks ssh: a doctor's command would not answer the question.
TEST(Explain, SshMessagesAreTriedByHand) {
  for (const char* message : {"ssh: connect to host node2 port 22: Connection timed out",
                              "root@node2: Permission denied (publickey,password)."}) {
    const Finished done = run_program(plumbline_argv({"explain", message}));
    EXPECT_EQ(done.status, 0);
    EXPECT_THAT(done.out, HasSubstr("Try by hand: ssh -v HOST true"));
    EXPECT_THAT(done.out, Not(HasSubstr("doctor")));
  }
}

}  // namespace
}  // namespace plumbline
