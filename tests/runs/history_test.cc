// `plumbline results list|show|prune`: the runs of this machine, and what pruning never touches.

#include "runs/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/clock.h"
#include "core/json.h"
#include "runs/run_folder.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShortRun = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"kind": "check", "op": "allreduce", "bytes": 1000}], "report": ["console", "markdown"]})";
constexpr const char* kLong = R"({
  "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "roofs": false,
  "matrix": [{"op": "allreduce", "bytes": {"from": 8, "to": "1Mi"},
              "stop": {"ci": 0, "max_n": 100000000, "max_time": "500ms"}}]})";

// A state folder and a place for results.
class Runs {
 public:
  Runs() {
    folder_.write("small.json", kShortRun);
    folder_.write("long.json", kLong);
  }
  std::string path(const std::string& name = "") const { return folder_.path(name); }
  std::string state() const { return folder_.path("state/plumbline/runs"); }
  std::vector<std::string> environment() const { return {"XDG_STATE_HOME=" + path("state")}; }

  Finished run(const std::string& out, const std::vector<std::string>& more = {}) const {
    return run_program(run_argv("small.json", out, more), environment());
  }
  std::vector<std::string> run_argv(const std::string& scenario, const std::string& out,
                                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run", path(scenario), "--out", path(out)};
    words.insert(words.end(), more.begin(), more.end());
    return plumbline_argv(words);
  }
  Finished results(std::vector<std::string> words) const {
    words.insert(words.begin(), "results");
    return run_program(plumbline_argv(words), environment());
  }
  json list() const {
    const Finished done = results({"list", "--json"});
    EXPECT_EQ(done.status, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
  size_t files() const {
    std::error_code code;
    size_t count = 0;
    for (fs::directory_iterator it(state(), code), end; !code && it != end; it.increment(code))
      ++count;
    return count;
  }

 private:
  ScratchFolder folder_;
};

TEST(History, ListsRunsNewestFirstAndShowsThem) {
  const Runs runs;
  EXPECT_THAT(runs.results({"list"}).out, HasSubstr("no runs yet"));
  ASSERT_EQ(runs.run("first").status, 0);
  ASSERT_EQ(runs.run("second").status, 0);
  const json list = runs.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["folder"], runs.path("second"));
  EXPECT_EQ(list[1]["folder"], runs.path("first"));
  EXPECT_EQ(list[0]["state"], "ok");
  EXPECT_EQ(list[0]["passed"], 1);
  EXPECT_EQ(list[0]["scenario"], "small");
  const std::string id = list[1]["id"];
  EXPECT_EQ(json::parse(read_file(runs.state() + "/" + id + ".json"))["id"], id);
  const auto records = read_file(runs.path("first/records.jsonl"));
  EXPECT_THAT(records, HasSubstr(id)) << "the id is that of the records";
  // A prefix of the id, and the newest by name.
  EXPECT_THAT(runs.results({"show", id.substr(0, 10)}).out,
              HasSubstr(runs.path("first/report.md")));
  EXPECT_THAT(runs.results({"show", "last"}).out, HasSubstr(runs.path("second/records.jsonl")));
  const json shown = json::parse(runs.results({"show", "last", "--json"}).out, nullptr, false);
  EXPECT_EQ(shown["reports"][0], runs.path("second/report.md"));
  EXPECT_THAT(runs.results({"list"}).out, HasSubstr(id.substr(0, 8)));
}

// The folder was left out at 80 columns, and hundreds of runs whose folder is gone hid the others.
TEST(History, TheListFitsTheTerminalAndFoldsRunsWhoseFolderIsGone) {
  const Runs runs;
  const std::string folder = "a-folder-with-a-very-long-name-in-which-the-results-are-kept";
  ASSERT_EQ(runs.run(folder).status, 0);
  ASSERT_EQ(runs.run("gone").status, 0);
  const json all = runs.list();
  ASSERT_EQ(all.size(), 2u);
  fs::remove_all(runs.path("gone"));
  const std::string last = all[0]["id"].get<std::string>().substr(0, 8);
  const std::string kept = all[1]["id"].get<std::string>().substr(0, 8);
  for (const size_t width : {60, 80, 120}) {
    std::vector<std::string> environment = runs.environment();
    environment.push_back("COLUMNS=" + std::to_string(width));
    const Finished done = run_program(plumbline_argv({"results", "list"}), environment);
    std::istringstream lines(done.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    EXPECT_THAT(done.out, HasSubstr("\n" + kept + "  "));
    const std::string shown = width == 60 ? "folder, cells" : width == 80 ? " ..." : folder;
    EXPECT_THAT(done.out, HasSubstr(shown));
    EXPECT_EQ(done.out.find("results-are-kept\n") != std::string::npos, width > 60);
    EXPECT_THAT(done.out, HasSubstr("1 run whose folder is gone: results list -v"));
    EXPECT_THAT(done.out, HasSubstr("last is " + last + " (its folder is gone)"));
    EXPECT_THAT(done.out, Not(HasSubstr("\n" + last)));
  }
  EXPECT_THAT(runs.results({"list", "-v"}).out, HasSubstr("\n" + last + "  "));
  EXPECT_THAT(runs.results({"list", "-v"}).out, HasSubstr("gone (gone)\n"));
  EXPECT_EQ(runs.list().size(), 2u);
}

TEST(History, TheWrongQuestionIsAUsageError) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  EXPECT_EQ(runs.results({"show"}).status, 1);
  EXPECT_THAT(runs.results({"show", "zzz"}).err, HasSubstr("there is no run 'zzz'"));
  EXPECT_THAT(runs.results({"list", "extra"}).err, HasSubstr("unexpected argument 'extra'"));
  EXPECT_THAT(runs.results({"lst"}).err, HasSubstr("did you mean list?"));
  EXPECT_THAT(runs.results({"prune"}).err, HasSubstr("--keep N"));
  EXPECT_THAT(runs.results({"prune", "--keep", "-1"}).err, HasSubstr("--keep"));
  EXPECT_THAT(runs.results({"prune", "--older-than", "soon"}).err, HasSubstr("30d"));
  EXPECT_THAT(runs.results({"prune", "--older-than", "d"}).err, HasSubstr("30d"));
  EXPECT_EQ(runs.files(), 1u);
}

TEST(History, NobodyElseSeesIt) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  const std::string file = runs.state() + "/" + runs.list()[0]["id"].get<std::string>() + ".json";
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(runs.path("state/plumbline")).permissions(), fs::perms::owner_all);
}

TEST(History, NoEntryWhereNoneIsWanted) {
  const Runs runs;
  ASSERT_EQ(runs.run("first", {"--no-history"}).status, 0);
  ASSERT_EQ(runs.run("second", {"--dry-run"}).status, 0);
  EXPECT_EQ(runs.files(), 0u);
}

TEST(History, ARunGoesOnWithoutIt) {
  const Runs runs;
  // Relative paths are to be ignored, so this is as if neither were set.
  const Finished homeless =
      run_program(runs.run_argv("small.json", "first"), {"XDG_STATE_HOME=relative", "HOME="});
  EXPECT_EQ(homeless.status, 0) << homeless.err;
  EXPECT_THAT(homeless.err, HasSubstr("XDG_STATE_HOME"));
  EXPECT_EQ(homeless.err.find("results list"), homeless.err.rfind("results list")) << "one note";
  std::ofstream(runs.path("file")) << "no folder";
  const Finished unwritable =
      run_program(runs.run_argv("small.json", "second"), {"XDG_STATE_HOME=" + runs.path("file")});
  EXPECT_EQ(unwritable.status, 0) << unwritable.err;
  EXPECT_THAT(unwritable.err, HasSubstr(runs.path("file")));
  EXPECT_EQ(run_program(plumbline_argv({"results", "list"}), {"XDG_STATE_HOME=x", "HOME="}).status,
            1);
}

TEST(History, AKilledRunIsUnfinishedAndALivingOneRunning) {
  const Runs runs;
  Program program(runs.run_argv("long.json", "first"), runs.environment());
  ASSERT_TRUE(program.wait_for_children(2)) << program.err();
  const std::vector<pid_t> ranks = program.children();
  EXPECT_EQ(runs.list()[0]["state"], "running");
  EXPECT_THAT(runs.results({"prune", "--keep", "0"}).out, HasSubstr("nothing to remove"));
  program.signal(SIGKILL);
  program.wait();
  EXPECT_TRUE(all_gone(ranks, 10'000));
  EXPECT_EQ(runs.list()[0]["state"], "unfinished");
  EXPECT_EQ(runs.list()[0]["exit_code"], nullptr);
  EXPECT_THAT(runs.results({"show", "last"}).out, HasSubstr("unfinished"));
}

TEST(History, AnInterruptedRunSaysSo) {
  const Runs runs;
  Program program(runs.run_argv("long.json", "first"), runs.environment());
  ASSERT_TRUE(program.wait_for_children(2)) << program.err();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 130);
  EXPECT_EQ(runs.list()[0]["state"], "interrupted");
}

TEST(History, TwoRunsAtOnceHaveTwoEntries) {
  const Runs runs;
  Program first(runs.run_argv("small.json", "first"), runs.environment());
  Program second(runs.run_argv("small.json", "second"), runs.environment());
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_EQ(second.wait(), 0) << second.err();
  const json list = runs.list();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["state"], "ok");
  EXPECT_EQ(list[1]["state"], "ok");
  EXPECT_EQ(runs.files(), 2u) << "no temporary file is left";
}

TEST(History, PruneRemovesWhatRunsWroteAndKeepsTheNewest) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  ASSERT_EQ(runs.run("second").status, 0);
  const Finished dry = runs.results({"prune", "--keep", "1", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("would remove"));
  EXPECT_EQ(runs.files(), 2u);
  EXPECT_TRUE(fs::exists(runs.path("first/records.jsonl")));
  EXPECT_THAT(runs.results({"prune", "--older-than", "1d"}).out, HasSubstr("nothing to remove"));
  const Finished done = runs.results({"prune", "--keep", "1"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_FALSE(fs::exists(runs.path("first")));
  EXPECT_TRUE(fs::exists(runs.path("second/records.jsonl")));
  EXPECT_EQ(runs.list().size(), 1u);
}

// Whatever stands in a folder that plumbline did not write there, keeps the whole folder.
TEST(History, PruneTouchesNothingForeign) {
  const Runs runs;
  ASSERT_EQ(runs.run("notes").status, 0);
  std::ofstream(runs.path("notes/notes.txt")) << "mine";
  ASSERT_EQ(runs.run("nested").status, 0);
  fs::create_directories(runs.path("nested/plots/mine"));
  ASSERT_EQ(runs.run("link").status, 0);
  fs::create_symlink(runs.path("small.json"), runs.path("link/records.csv"));
  ASSERT_EQ(runs.run("picture").status, 0);
  fs::create_directories(runs.path("picture/plots"));
  fs::create_symlink(runs.path("small.json"), runs.path("picture/plots/a.svg"));
  fs::create_directories(runs.path("own"));
  ASSERT_EQ(runs.run("own").status, 0);  // the folder was there before
  ASSERT_EQ(runs.run("moved").status, 0);
  fs::rename(runs.path("moved"), runs.path("elsewhere"));
  fs::create_directory_symlink(runs.path("elsewhere"), runs.path("moved"));
  const Finished done = runs.results({"prune", "--keep", "0"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(runs.path("notes/notes.txt") + " was not written by plumbline"));
  EXPECT_THAT(done.out, HasSubstr("it was there before the run"));
  for (const char* kept :
       {"notes/notes.txt", "notes/records.jsonl", "nested/plots/mine", "nested/records.jsonl",
        "link/records.csv", "link/records.jsonl", "own/records.jsonl", "picture/records.jsonl",
        "elsewhere/records.jsonl", "small.json"}) {
    EXPECT_TRUE(fs::exists(runs.path(kept))) << kept;
  }
  EXPECT_EQ(runs.list().size(), 0u);
}

TEST(History, PruneKeepsAFolderThatAKeptRunUses) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  ASSERT_EQ(runs.run("first", {"--resume"}).status, 0);
  const Finished done = runs.results({"prune", "--keep", "1"});
  EXPECT_THAT(done.out, HasSubstr("another run is in it"));
  EXPECT_TRUE(fs::exists(runs.path("first/records.jsonl")));
}

// An entry that was changed by somebody cannot lead the pruning anywhere else.
TEST(History, ForgedEntriesRemoveNothing) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  fs::create_directories(runs.path("precious"));
  std::ofstream(runs.path("precious/thesis.md")) << "years of work";
  int number = 0;
  for (const std::string& target : {runs.path("precious"), std::string("/"), std::string(""),
                                    std::string("."), runs.path("first") + "/../precious"}) {
    const std::string id = "00000000000000" + std::to_string(10 + number++);
    json entry = {{"plumbline_run", 1},
                  {"id", id},
                  {"folder", target},
                  {"made_folder", true},
                  {"started", "2001-01-01T00:00:00Z"},
                  {"exit_code", 0}};
    std::ofstream(runs.state() + "/" + id + ".json") << entry.dump();
  }
  EXPECT_EQ(runs.results({"prune", "--keep", "1"}).status, 0);
  EXPECT_TRUE(fs::exists(runs.path("precious/thesis.md")));
  EXPECT_TRUE(fs::exists(runs.path("first/records.jsonl")));
}

TEST(History, StrangeFilesAreToldAndLeftAlone) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  std::ofstream(runs.state() + "/torn.json") << R"({"plumbline_run": 1, "id": "to)";
  std::ofstream(runs.state() + "/other.json") << R"({"plumbline_run": 1, "id": "else"})";
  std::ofstream(runs.state() + "/huge.json")
      << R"({"plumbline_run": 1e99, "id": -5, "cells": 1e300})";
  std::ofstream(runs.state() + "/empty.json") << "";
  std::ofstream(runs.state() + "/bytes.json") << "\xff\xfe[[[[";
  ASSERT_EQ(mkfifo((runs.state() + "/pipe.json").c_str(), 0600), 0);
  const Finished done = runs.results({"list", "--json"});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(json::parse(done.out, nullptr, false).size(), 1u);
  EXPECT_THAT(done.err, HasSubstr("torn.json is no entry of a run"));
  EXPECT_THAT(done.err, HasSubstr("pipe.json is no entry of a run"));
  EXPECT_TRUE(fs::exists(runs.state() + "/torn.json"));
}

TEST(History, NamesOfOthersCannotMoveTheCursor) {
  const Runs runs;
  ASSERT_EQ(runs.run("first").status, 0);
  const std::string id = "00000000000000aa";
  const json entry = {{"plumbline_run", 1},
                      {"id", id},
                      {"folder", "/x\033[2Jy"},
                      {"scenario", "\033]0;evil\007"},
                      {"started", "2001\033[31m"},
                      {"command", {"a\nb"}},
                      {"cells", -5},
                      {"exit_code", 99999}};
  std::ofstream(runs.state() + "/" + id + ".json") << entry.dump();
  for (const auto& words : {std::vector<std::string>{"list"}, {"show", id}}) {
    EXPECT_EQ(runs.results(words).out.find('\033'), std::string::npos);
  }
}

TEST(RunFolder, KnowsWhatRunsWrite) {
  const Runs runs;
  const std::string scenario = R"({
    "plumbline": 1, "hosts": {"local": 2}, "launch": {"port_base": "auto"}, "probes": ["ip"],
    "expect": [{"wrong": 0}],
    "matrix": [{"op": "allreduce", "bytes": [8, 64], "stop": {"max_n": 50}},
               {"op": "link", "measure": "latency", "time": "50ms"}],
    "report": ["console", "csv", "markdown", "plots", "links"]})";
  std::ofstream(runs.path("small.json")) << scenario;
  ASSERT_EQ(runs.run("all", {"--for", "1s", "--every", "400ms"}).status, 0);
  const auto files = own_files(runs.path("all"));
  ASSERT_TRUE(files) << files.error().message();
  EXPECT_GE(files->size(), 6u);
  ASSERT_TRUE(remove_run_folder(runs.path("all")));
  EXPECT_FALSE(fs::exists(runs.path("all")));
}

}  // namespace
}  // namespace plumbline
