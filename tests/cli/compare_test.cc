// `plumbline compare` and `run --repeat / --interleave` as users meet them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <map>

#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// One cell on two local ranks; `fault` is an option's text.
std::string scenario(const std::string& fault, const std::string& bytes = "[1024]") {
  return R"({"plumbline": 1, "question": "q", "hosts": {"local": 2}, "launch": {"port_base": "auto"},
  "roofs": false, "probes": [], "config": {"fault": ")" +
         fault +
         R"("}, "matrix": [{"kind": "latency", "op": "pingpong", "transport": "tcp", "bytes": )" +
         bytes + R"(, "stop": {"max_n": 200, "max_time": "40ms"}}], "report": ["csv"]})";
}

class CompareTest : public testing::Test {
 protected:
  CompareTest() {
    folder_.write("a.json", scenario("delay:ns=0"));
    // Many times the time of an operation, whatever else the machine does.
    folder_.write("slow.json", scenario("delay:us=20000"));
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  Finished plumbline(std::vector<std::string> arguments) const {
    return run_program(plumbline_argv(arguments));
  }
  std::vector<Record> records(const std::string& name) const {
    const auto read = read_records(path(name));
    EXPECT_TRUE(read) << read.error().message();
    return read ? *read : std::vector<Record>{};
  }

  ScratchFolder folder_;
};

TEST_F(CompareTest, TurnsFindAPlantedDelayAndMeasureItAgain) {
  const Finished done = plumbline({"run", "--interleave", path("a.json"), path("slow.json"),
                                   "--repeat", "6", "--recheck", "7", "--out", path("out"), "-q"});
  EXPECT_EQ(done.status, 5) << done.out << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("regress, measured again"), HasSubstr("compare.json"),
                              Not(HasSubstr("= Latency"))));
  for (const std::string side : {"a", "b"}) {
    const std::vector<Record> all = records("out/" + side + "/records.jsonl");
    ASSERT_THAT(all, SizeIs(13));
    std::map<int64_t, int> series;
    for (const Record& record : all) {
      ++series[record.launch->series];
      EXPECT_EQ(record.launch->side, side);
      EXPECT_EQ(record.seed, all.front().seed);
    }
    EXPECT_EQ(series[1], 6);
    EXPECT_EQ(series[2], 7);
  }
  const auto json = nlohmann::json::parse(read_file(path("out/compare.json")));
  EXPECT_EQ(json.at("verdict"), "regress");
  EXPECT_GT(json.at("rows").at(0).at("ratio").get<double>(), 2);

  // The same from the files, in all forms; and the other way round it is an improvement.
  const Finished again = plumbline({"compare", path("out"), "--json"});
  EXPECT_EQ(again.status, 5);
  EXPECT_EQ(nlohmann::json::parse(again.out).at("rows").at(0).at("p"),
            json.at("rows").at(0).at("p"));
  const Finished back = plumbline({"compare", path("out/a"), "--baseline", path("out/b")});
  EXPECT_EQ(back.status, 0) << back.out;
  EXPECT_THAT(back.out, HasSubstr("improve"));
  EXPECT_EQ(plumbline({"compare", path("out"), "--markdown"}).status, 5);
}

TEST_F(CompareTest, TooFewLaunchesAreToldBeforeAnythingStarts) {
  const auto planned = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", "--interleave", path("a.json"), path("a.json"),
                                      "--dry-run"};
    words.insert(words.end(), more.begin(), more.end());
    return plumbline(words);
  };
  const Finished few = planned({"--repeat", "3"});
  EXPECT_EQ(few.status, 0);
  EXPECT_THAT(few.err, AllOf(HasSubstr("3 launches a side are too few to decide anything"),
                             HasSubstr("--repeat 6 is the least")));
  EXPECT_THAT(planned({"--repeat", "5"}).err, HasSubstr("--repeat 6 is the least"));
  EXPECT_EQ(planned({"--repeat", "6"}).err, "");
  EXPECT_EQ(planned({}).err, "");
  EXPECT_THAT(planned({"--repeat", "6", "--alpha", "0.001"}).err,
              AllOf(HasSubstr("too few to find a difference"), HasSubstr("--repeat 11")));
  EXPECT_THAT(planned({"--repeat", "6", "--recheck", "2"}).err, HasSubstr("--recheck 6"));
  // Many cells need more; checks and roofs are no question to launches.
  folder_.write("many.json", scenario("delay:ns=0", "[8, 16, 32, 64, 128]"));
  const Finished many = plumbline(
      {"run", "--interleave", path("many.json"), path("many.json"), "--repeat", "6", "--dry-run"});
  EXPECT_THAT(many.err, AllOf(HasSubstr("one of 5 cells"), HasSubstr("--repeat 8 is the least")));
  // And the run itself says it first.
  const Finished done = plumbline({"run", "--interleave", path("a.json"), path("a.json"),
                                   "--repeat", "1", "--out", path("few"), "-q"});
  EXPECT_EQ(done.err.rfind("plumbline: 1 launch a side is too few to decide anything", 0), 0u)
      << done.err;
  const Finished compared = plumbline({"compare", path("few")});
  EXPECT_THAT(compared.out.substr(0, compared.out.find('\n')), HasSubstr("undecided"));
  EXPECT_THAT(compared.out, Not(HasSubstr("nothing got slower")));
}

TEST_F(CompareTest, ALaunchASideIsUndecidedAndStrictSaysSo) {
  const Finished done = plumbline({"run", "--interleave", path("a.json"), path("a.json"),
                                   "--repeat", "1", "--out", path("out"), "-q"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("inconclusive"));
  EXPECT_EQ(plumbline({"compare", path("out"), "--strict"}).status, 6);
}

TEST_F(CompareTest, RepeatIsResumedLaunchByLaunch) {
  const std::vector<std::string> command = {"run",   path("a.json"), "--repeat", "3",
                                            "--out", path("out"),    "-q",       "--resume"};
  ASSERT_EQ(plumbline(command).status, 0);
  std::string text = read_file(path("out/records.jsonl"));
  const size_t second = text.find('\n', text.find("\"cell_id\"")) + 1;
  folder_.write("out/records.jsonl", text.substr(0, second));  // a killed run
  const Finished done = plumbline(command);
  EXPECT_EQ(done.status, 0) << done.err;
  const std::vector<Record> all = records("out/records.jsonl");
  ASSERT_THAT(all, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all[i].launch->number, static_cast<int64_t>(i) + 1);
  // Without --repeat it would be another run.
  const Finished other = plumbline({"run", path("a.json"), "--out", path("out"), "--resume"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("repeats its cells"));
}

TEST_F(CompareTest, CtrlCEndsInOrderAndKeepsWhatIsFinished) {
  folder_.write("long.json", scenario("delay:ns=0", "[8, 64, 512]"));
  Program program(plumbline_argv({"run", "--interleave", path("long.json"), path("long.json"),
                                  "--repeat", "1000", "--out", path("out"), "-q"}));
  for (const char* side : {"out/a/records.jsonl", "out/b/records.jsonl"}) {
    const std::string file = path(side);
    for (int i = 0; i < 400 && record_count(file) == 0; ++i) {
      usleep(50'000);
    }
  }
  const std::vector<pid_t> ranks = program.children();
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(), 130) << program.err();
  EXPECT_TRUE(all_gone(ranks, 5000));
  EXPECT_FALSE(records("out/a/records.jsonl").empty());
  // Whoever reads the comparison, now or later, learns that it is of a part only.
  EXPECT_THAT(program.err(), HasSubstr("of 3000 cells"));
  EXPECT_THAT(program.out(), HasSubstr("interrupted after"));
  EXPECT_THAT(read_file(path("out/compare.json")), HasSubstr("interrupted after"));
  EXPECT_THAT(plumbline({"compare", path("out")}).out, HasSubstr("interrupted after"));
}

TEST_F(CompareTest, OneEntryInTheListForBothSidesAndPruneRemovesBoth) {
  const std::vector<std::string> environment = {"XDG_STATE_HOME=" + path("state")};
  const auto results = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "results");
    return run_program(plumbline_argv(words), environment);
  };
  const Finished done =
      run_program(plumbline_argv({"run", "--interleave", path("a.json"), path("slow.json"),
                                  "--repeat", "2", "--out", path("both"), "-q"}),
                  environment);
  ASSERT_NE(done.status, 1) << done.err;
  const auto list = nlohmann::json::parse(results({"list", "--json"}).out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].at("folder"), path("both"));
  EXPECT_EQ(list[0].at("scenario"), "a and slow");
  EXPECT_EQ(list[0].at("cells"), 4);
  EXPECT_EQ(list[0].at("passed"), 4);
  EXPECT_THAT(results({"show", "last"}).out,
              AllOf(HasSubstr("compare.json"), HasSubstr("both/b/records.csv")));
  folder_.write("both/mine.txt", "mine");
  EXPECT_THAT(results({"prune", "--keep", "0", "--dry-run"}).out, HasSubstr("mine.txt"));
  std::filesystem::remove(path("both/mine.txt"));
  const Finished pruned = results({"prune", "--keep", "0"});
  EXPECT_EQ(pruned.status, 0) << pruned.err;
  EXPECT_FALSE(std::filesystem::exists(path("both"))) << pruned.out;
}

// Without a cell in common nothing was compared; "no change" would be a lie.
TEST_F(CompareTest, NothingInCommonIsAnError) {
  folder_.write("other.json", scenario("delay:ns=0", "[2048]"));
  ASSERT_EQ(plumbline({"run", path("a.json"), "--out", path("one"), "-q"}).status, 0);
  ASSERT_EQ(plumbline({"run", path("other.json"), "--out", path("two"), "-q"}).status, 0);
  const Finished done = plumbline({"compare", path("one"), path("two")});
  EXPECT_EQ(done.status, 1) << done.out;
  EXPECT_THAT(done.err, AllOf(HasSubstr("nothing to compare"), HasSubstr("--ignore")));
}

// What other tools printed is read as well, and compared by what they say.
TEST_F(CompareTest, OutputOfOtherToolsIsCompared) {
  const std::string osu = R"(# OSU MPI Latency Test v7.2
# Size          Latency (us)
1024                    )";
  folder_.write("old.txt", osu + "10.00\n");
  folder_.write("new.txt", osu + "30.00\n");
  const Finished done = plumbline({"compare", path("old.txt"), path("new.txt")});
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("inconclusive"), HasSubstr("+200")));
}

TEST_F(CompareTest, WrongUsesAreOneClearLine) {
  std::filesystem::create_directory(path("empty"));
  ASSERT_EQ(plumbline({"run", path("a.json"), "--out", path("out"), "-q"}).status, 0);
  const struct {
    std::vector<std::string> arguments;
    const char* says;
  } kRows[] = {
      {{"compare", path("out")}, "two sides"},
      {{"compare", path("out"), path("out"), path("out")}, "two sides"},
      {{"compare", path("out"), path("out") + "/."}, "both sides are"},
      {{"compare", path("out"), path("nothing")}, "nothing"},
      {{"compare", path("out"), path("empty")}, "records.jsonl"},
      {{"compare", path("out"), path("out"), "--alpha", "2"}, "--alpha '2'"},
      {{"compare", path("out"), path("out"), "--min-effect", "x%"}, "--min-effect 'x%'"},
      {{"compare", path("out"), path("out"), "--ignore", "algoritm"}, "did you mean algorithm"},
      {{"compare", path("a.json"), path("out")}, "a.json"},
      {{"run", path("a.json"), path("a.json")}, "one scenario"},
      {{"run", "--interleave", path("a.json")}, "two scenarios"},
      {{"run", path("a.json"), "--recheck", "3"}, "--interleave"},
      {{"run", path("a.json"), "--repeat", "0"}, "--repeat"},
      {{"run", path("a.json"), "--repeat", "3", "--for", "1m"}, "soak"},
  };
  for (const auto& row : kRows) {
    const Finished done = plumbline(row.arguments);
    EXPECT_EQ(done.status, 1) << row.says << done.out;
    EXPECT_THAT(done.err, HasSubstr(row.says));
  }
  const Finished dry = plumbline({"run", "--interleave", path("a.json"), path("slow.json"),
                                  "--repeat", "7", "--recheck", "3", "--dry-run"});
  EXPECT_EQ(dry.status, 0);
  EXPECT_THAT(dry.out, HasSubstr("7 launches of each side, in turns; 3 more"));
}

}  // namespace
}  // namespace plumbline
