// Scenarios by name and runs by id, wherever a command takes their path.

#include "cli/named_inputs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kOneCheck = R"({
  "plumbline": 1, "question": "Mine?", "hosts": {"local": 2}, "launch": {"port_base": "auto"},
  "roofs": false, "matrix": [{"kind": "check", "op": "allreduce", "bytes": 1000}],
  "report": ["console"]})";

// The program started in a folder with a state folder of its own.
class Place {
 public:
  Finished run(const std::vector<std::string>& arguments) const {
    std::vector<std::string> argv = {
        "/bin/sh", "-c", "cd \"$0\" && export XDG_STATE_HOME=\"$0/state\" && exec \"$@\"",
        folder_.path()};
    for (const std::string& word : plumbline_argv(arguments)) argv.push_back(word);
    return run_program(argv);
  }
  const ScratchFolder& folder() const { return folder_; }
  std::string newest_id() const {
    const json list = json::parse(run({"results", "list", "--json"}).out, nullptr, false);
    return list.is_array() && !list.empty() ? list[0].value("id", "") : "";
  }

 private:
  ScratchFolder folder_;
};

TEST(ScenarioNames, AreFoundFromAnyFolder) {
  const Place place;
  for (const char* word : {"smoke", "smoke.json"}) {
    const Finished plan = place.run({"plan", word, "--seed", "1"});
    EXPECT_EQ(plan.status, 0) << word << plan.err;
    EXPECT_THAT(plan.out, HasSubstr("allreduce")) << word;
  }
  const Finished dry = place.run({"run", "quickstart", "--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.err;
  EXPECT_EQ(place.run({"config", "mccl_two_node"}).status, 0);
  EXPECT_THAT(place.run({"config", "mccl_two_node"}).out, HasSubstr("scenario"));
  EXPECT_EQ(place.run({"hosts", "show", "smoke"}).status, 0);
  EXPECT_EQ(place.run({"doctor", "smoke", "--only", "host"}).status, 0);
}

TEST(ScenarioNames, AFileOfThatPathComesFirst) {
  const Place place;
  place.folder().write("smoke", kOneCheck);
  const Finished plan = place.run({"plan", "smoke", "--seed", "1"});
  EXPECT_THAT(plan.out, HasSubstr("\n1 cell, about")) << plan.out << plan.err;
}

TEST(ScenarioNames, UnknownOnesNameTheNearest) {
  const Place place;
  for (const std::string command : {"plan", "run", "doctor", "config"}) {
    const Finished done = place.run({command, "quikstart"});
    EXPECT_EQ(done.status, 1) << command;
    EXPECT_THAT(done.err, HasSubstr("no file 'quikstart'")) << command;
    EXPECT_THAT(done.err, HasSubstr("did you mean quickstart?")) << command;
  }
  EXPECT_THAT(place.run({"plan", "zzzzzzzz"}).err, HasSubstr("plumbline list scenarios"));
  // A path stays a path, whatever its last part is called.
  EXPECT_THAT(place.run({"plan", "./quickstart"}).err, HasSubstr("cannot open"));
  EXPECT_THAT(place.run({"plan", "../smoke"}).err, HasSubstr("cannot open"));
}

// A misspelt report is told before a run that is not there.
TEST(RunNames, TheFirstWordIsJudgedFirst) {
  EXPECT_THAT(run_program(plumbline_argv({"report", "consloe", "x"})).err,
              HasSubstr("did you mean console?"));
}

TEST(ScenarioNames, AreListedWithTheirQuestion) {
  const Finished list = run_program(plumbline_argv({"list", "scenarios"}));
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("quickstart"));
  EXPECT_THAT(list.out, HasSubstr("Does everything work at all?"));
}

// What is no scenario, and names that a shell would take for more than a word, are left out; so is
// a folder that no build and no installation made.
TEST(ScenarioNames, ComeFromTheFolderOfABuildOrAnInstallation) {
  const ScratchFolder folder;
  fs::create_directories(folder.path("tree/scenarios"));
  fs::create_directories(folder.path("tree/build"));
  fs::create_directories(folder.path("usr/bin"));
  fs::create_directories(folder.path("usr/share/plumbline/scenarios"));
  folder.write("tree/scenarios/mine.json", kOneCheck);
  folder.write("tree/scenarios/hosts.json", R"({"hosts": [{"name": "a", "ssh": "a"}]})");
  folder.write("tree/scenarios/bad.json", "{");
  folder.write("tree/scenarios/$(touch x).json", kOneCheck);
  folder.write("tree/scenarios/-o.json", kOneCheck);
  ASSERT_EQ(mkfifo(folder.path("tree/scenarios/pipe.json").c_str(), 0600), 0);
  EXPECT_THAT(scenarios_beside(folder.path("tree/build/plumbline")), IsEmpty());
  folder.write("tree/build/CMakeCache.txt", "");
  const auto built = scenarios_beside(folder.path("tree/build/plumbline"));
  ASSERT_EQ(built.size(), 1u);
  EXPECT_EQ(built[0].name, "mine");
  EXPECT_EQ(built[0].question, "Mine?");
  folder.write("usr/share/plumbline/scenarios/theirs.json", kOneCheck);
  const auto installed = scenarios_beside(folder.path("usr/bin/plumbline"));
  ASSERT_EQ(installed.size(), 1u);
  EXPECT_EQ(installed[0].path, folder.path("usr/share/plumbline/scenarios/theirs.json"));
}

TEST(RunNames, StandWhereverARunsFolderDoes) {
  const Place place;
  place.folder().write("tiny.json", kOneCheck);
  for (const char* out : {"one", "two"}) {
    const Finished run = place.run({"run", "tiny.json", "-o", out, "--repeat", "2", "-q"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  const std::string id = place.newest_id();
  ASSERT_GE(id.size(), 8u);
  for (const std::string& word : {std::string("last"), id, id.substr(0, 8)}) {
    const Finished report = place.run({"report", "csv", word});
    EXPECT_EQ(report.status, 0) << word << report.err;
    EXPECT_EQ(report.out, place.run({"report", "csv", "two"}).out) << word;
    const Finished same = place.run({"compare", "two", word});
    EXPECT_THAT(same.err, HasSubstr("both sides are two")) << word;
    EXPECT_THAT(place.run({"compare", "two", "--baseline", word}).err, HasSubstr("both sides are"));
    EXPECT_EQ(place.run({"results", "show", word}).status, 0) << word;
    const Finished resumed =
        place.run({"run", "tiny.json", "-o", word, "--resume", "--repeat", "2", "--no-history"});
    EXPECT_EQ(resumed.status, 0) << word << resumed.err;
    EXPECT_FALSE(fs::exists(place.folder().path(word))) << word;
  }
  // What submit lacks are the answers to its questions, not the run.
  const Finished submit = place.run({"submit", "last"});
  EXPECT_THAT(submit.err, Not(HasSubstr("no file or folder")));
  EXPECT_EQ(submit.err, place.run({"submit", "two"}).err);
}

TEST(RunNames, AFolderOfThatPathComesFirst) {
  const Place place;
  place.folder().write("tiny.json", kOneCheck);
  ASSERT_EQ(place.run({"run", "tiny.json", "-o", "last", "-q"}).status, 0);
  ASSERT_EQ(place.run({"run", "tiny.json", "-o", "other", "-q"}).status, 0);
  EXPECT_THAT(place.run({"compare", "other", "last"}).err, Not(HasSubstr("both sides are")));
}

TEST(RunNames, UnknownOnesAndThoseWhoseFolderIsGoneAreSaidToBeThat) {
  const Place place;
  place.folder().write("tiny.json", kOneCheck);
  EXPECT_THAT(place.run({"report", "csv", "last"}).err, HasSubstr("no run yet"));
  ASSERT_EQ(place.run({"run", "tiny.json", "-o", "one", "-q"}).status, 0);
  const Finished unknown = place.run({"report", "csv", "zz"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("plumbline results list"));
  fs::remove_all(place.folder().path("one"));
  const Finished gone = place.run({"report", "csv", "last"});
  EXPECT_EQ(gone.status, 1);
  EXPECT_THAT(gone.err, HasSubstr("is gone"));
}

TEST(RunNames, OfWhichSeveralBeginAlikeAreRefused) {
  HistoryEntry a, b;
  a.id = "abc1";
  b.id = "abc2";
  const std::vector<HistoryEntry> entries = {a, b};
  EXPECT_EQ(*find_run(entries, "last"), &entries[0]);
  EXPECT_EQ(*find_run(entries, "abc2"), &entries[1]);
  EXPECT_EQ(*find_run(entries, "x"), nullptr);
  EXPECT_EQ(*find_run(entries, ""), nullptr);
  EXPECT_FALSE(find_run(entries, "abc"));
}

TEST(RunNames, AndScenariosAreOfferedByCompletion) {
  const Place place;
  place.folder().write("tiny.json", kOneCheck);
  ASSERT_EQ(place.run({"run", "tiny.json", "-o", "one", "-q"}).status, 0);
  const std::string script = place.folder().write("script", place.run({"completion", "bash"}).out);
  const auto offered = [&](const std::string& words, int at) {
    const std::string line = "export XDG_STATE_HOME=" + place.folder().path("state") +
                             "; PATH=" + fs::path(test::program_path()).parent_path().string() +
                             ":$PATH; . " + script + "; COMP_WORDS=(plumbline " + words +
                             "); COMP_CWORD=" + std::to_string(at) +
                             "; _plumbline; printf '%s ' \"${COMPREPLY[@]}\"";
    return run_program({"bash", "--norc", "-c", line}).out;
  };
  for (const char* command : {"run", "plan", "doctor", "config", "watch"}) {
    EXPECT_THAT(offered(std::string(command) + " quick", 2), HasSubstr("quickstart ")) << command;
  }
  EXPECT_THAT(offered("coll allreduce --hosts smo", 4), HasSubstr("smoke "));
  const std::string id = place.newest_id().substr(0, 8);
  for (const char* words : {"report csv ''", "compare x ''", "run --baseline ''"}) {
    EXPECT_THAT(offered(words, 3), HasSubstr("last ")) << words;
    EXPECT_THAT(offered(words, 3), HasSubstr(id)) << words;
  }
  EXPECT_THAT(offered("submit ''", 2), HasSubstr("last "));
  EXPECT_THAT(offered("compare --baseline ''", 3), HasSubstr(id));
  EXPECT_THAT(offered("results show ''", 3), HasSubstr("last "));
}

}  // namespace
}  // namespace plumbline
