// `plumbline tune` on two ranks of this machine, and how `auto` goes by its file from then on.
#include <gmock/gmock.h>

#include "core/file.h"
#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class TuneCommand : public testing::Test {
 protected:
  Finished run(std::vector<std::string> words) {
    words.insert(words.end(), {"--port-base", "auto"});
    return run_program(plumbline_argv(words), {"XDG_STATE_HOME=" + folder_.path("state")});
  }
  // With so little time that a few operations are all.
  Finished tune(std::vector<std::string> more) {
    std::vector<std::string> words = {"tune",       folder_.write("hosts.json", R"({"local": 2})"),
                                      "--op",       "allreduce",
                                      "-b",         "64",
                                      "-e",         "4K",
                                      "--max-time", "2s"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  Finished coll(std::vector<std::string> more, const std::string& ranks = "2") {
    std::vector<std::string> words = {"coll", "allreduce", "-b",     "64",      "-e", "64",
                                      "-n",   "3",         "--json", "--ranks", ranks};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::string took(const Finished& done) {
    const auto records = read_records(folder_.write("records.jsonl", done.out));
    if (!records || records->empty()) {
      ADD_FAILURE() << done.out << done.err;
      return {};
    }
    EXPECT_EQ(records->front().cell.algorithm, "auto");
    return records->front().measurement.resolved.algorithm;
  }
  // The file with this algorithm at all sizes of allreduce.
  static std::string with_algorithm(const std::string& text, const std::string& algorithm) {
    json tuning = json::parse(text);
    EXPECT_FALSE(tuning["table"].empty());
    for (json& row : tuning["table"]) row["algorithm"] = algorithm;
    return tuning.dump();
  }
  ScratchFolder folder_;
};

TEST_F(TuneCommand, AutoFollowsTheFileThatItKeeps) {
  const Finished tuned = tune({"--json"});
  ASSERT_EQ(tuned.status, 0) << tuned.out << tuned.err;
  const json result = json::parse(tuned.out);
  const std::string path = result["file"];
  EXPECT_THAT(path, AllOf(HasSubstr(folder_.path("state")), HasSubstr("tuning/auto-2-")));
  EXPECT_FALSE(result["held_out"].empty());
  EXPECT_EQ(json::parse(read_file(path)), result["tuning"]);
  EXPECT_GT(result["tuning"]["model"]["links"][0]["alpha_ns"], 0);

  // Hosts of a file that are this machine, and this machine without a file, are the same place.
  const std::string whole = read_file(path);
  for (const char* algorithm : {"double_tree", "ring:2"}) {
    ASSERT_TRUE(write_text_file(path, with_algorithm(whole, algorithm)));
    EXPECT_EQ(took(coll({})), algorithm);
    EXPECT_EQ(took(coll({"--hosts", folder_.path("hosts.json")})), algorithm);
  }
  EXPECT_EQ(took(coll({"--tuning", "none"})), "direct");
  EXPECT_EQ(took(coll({}, "3")), "recursive_doubling") << "other ranks";

  // In a run it is shown as what was chosen, and the record names the file.
  folder_.write("s.json", R"({"plumbline": 1, "question": "?", "probes": [], "hosts": {"local": 2},
    "launch": {"port_base": "auto"}, "matrix": [{"op": "allreduce", "bytes": 64, "kind": "latency",
    "stop": {"max_time": "50ms"}}], "report": ["console"], "roofs": false})");
  const Finished ran = run({"run", folder_.path("s.json"), "-o", folder_.path("out"), "-q"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("chosen"), HasSubstr("ring:2"),
                             HasSubstr("tuning=" + path + " (plumbline tune)")));
  EXPECT_THAT(read_file(folder_.path("out/records.jsonl")), HasSubstr(path));

  // A stale one is named in a line and left out.
  json stale = json::parse(whole);
  stale["version"] = "0.0.1";
  ASSERT_TRUE(write_text_file(path, stale.dump()));
  const Finished left = coll({});
  EXPECT_EQ(took(left), "direct");
  EXPECT_THAT(left.err, AllOf(HasSubstr("tuning " + path), HasSubstr("plumbline 0.0.1 has made")));
}

TEST_F(TuneCommand, AFileThatIsNamedIsUsedOrRefusedBeforeAnythingStarts) {
  const std::string path = folder_.path("own.json");
  const Finished tuned = tune({"-o", path});
  ASSERT_EQ(tuned.status, 0) << tuned.out << tuned.err;
  EXPECT_THAT(tuned.out, AllOf(HasSubstr("allreduce"), HasSubstr("predicted"), HasSubstr("off by"),
                               HasSubstr("Kept in " + path)));
  const std::string whole = read_file(path);
  const std::string forced = folder_.write("forced.json", with_algorithm(whole, "double_tree"));
  EXPECT_EQ(took(coll({"--tuning", forced})), "double_tree");
  json over_tcp = json::parse(read_file(forced));
  over_tcp["transport"] = "tcp";
  const std::string threads = folder_.write("threads.json", over_tcp.dump());
  EXPECT_EQ(took(coll({"--tuning", threads, "--ranks-in-process", "--transport", "tcp"})),
            "double_tree");
  EXPECT_THAT(coll({"--tuning", threads}).err, HasSubstr("it is of transport tcp, not of auto"));

  json foreign = json::parse(whole);
  foreign["machines"][1] = "another box";
  const std::pair<std::string, std::string> refused[] = {
      {folder_.write("foreign.json", foreign.dump()), "another box"},
      {folder_.write("torn.json", whole.substr(0, whole.size() / 2)), "torn.json"},
      {folder_.write("rign.json", with_algorithm(whole, "rign")), "rign"},
      {folder_.path("missing.json"), "missing.json"},
  };
  for (const auto& [file, said] : refused) {
    const Finished done = coll({"--tuning", file});
    EXPECT_EQ(done.status, 1) << file;
    EXPECT_EQ(done.out, "") << file;
    EXPECT_THAT(done.err, HasSubstr(said));
  }
  const Finished ranks = coll({"--tuning", forced}, "3");
  EXPECT_EQ(ranks.status, 1);
  EXPECT_THAT(ranks.err, HasSubstr("it is of 2 ranks, not of 3"));
}

TEST_F(TuneCommand, WhatMakesNoSenseIsRefused) {
  const std::pair<std::vector<std::string>, const char*> refused[] = {
      {{"tune", "--op", "allreduse"}, "did you mean 'allreduce'?"},
      {{"tune", "--op", "pingpong"}, "no operation with several algorithms"},
      {{"tune", "--ranks", "1"}, "--ranks"},
      {{"tune", "--ranks", "65"}, "from 2 to 64"},
      {{"tune", "-b", "1M", "-e", "1K"}, "larger than"},
      {{"tune", "-b", "0"}, "from 4"},
      {{"tune", "--max-time", "5"}, "60s"},
      {{"tune", "--max-time", "1ms"}, "from 1s"},
      {{"tune", "--algorithm", "ring"}, "tune compares all"},
      {{"tune", "no_such_hosts.json"}, "no_such_hosts.json"},
      {{"tune", "--seed", "x"}, "seed"},
  };
  for (const auto& [words, said] : refused) {
    const Finished done = run(words);
    EXPECT_EQ(done.status, 1) << words[1];
    EXPECT_THAT(done.err, HasSubstr(said));
  }
}

}  // namespace
}  // namespace plumbline
