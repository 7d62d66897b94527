// A server of language models, asked by the program as a user would: its probe, its cells, what is
// resumed, and that the key is written nowhere.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/endpoint_server.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

class Serving : public testing::Test {
 protected:
  std::string scenario(const std::string& url, const std::string& keys = "",
                       const std::string& more = "") const {
    return folder_.write("s.json", R"({"plumbline": 1, "hosts": {"local": 1},
        "probes": [{"probe": "endpoint", "silence": 3, "url": ")" +
                                       url + "\"" + keys + R"(}],
        "matrix": [{"op": "endpoint", "url": ")" +
                                       url + "\"" + keys + R"(, "time": "50ms",
                    "outstanding": [1, 2, 4]}])" +
                                       more + "}");
  }
  std::vector<std::string> run_words(const std::string& file) const {
    return plumbline_argv({"run", file, "--out", folder_.path("out"), "--no-history"});
  }
  static Finished doctor(const std::string& file) {
    return run_program(plumbline_argv({"doctor", file, "--only", "endpoint", "--json"}));
  }
  static std::string causes(const Finished& done) {
    std::string out;
    const auto json = nlohmann::json::parse(done.out, nullptr, false);
    if (!json.is_object()) return "no JSON: " + done.out + done.err;
    for (const auto& finding : json["findings"]) {
      out += (out.empty() ? "" : " ") + finding["cause"].get<std::string>();
    }
    return out;
  }

  ScratchFolder folder_;
};

TEST_F(Serving, DoctorAsksTheServerThatTheScenarioNames) {
  EndpointServer server({});
  const Finished done = doctor(scenario(server.url()));
  EXPECT_EQ(done.status, 0) << done.out << done.err;
  EXPECT_EQ(causes(done), "");
  EXPECT_EQ(server.served().size(), 4U);
}

TEST_F(Serving, WhatCannotBeReachedIsExitCodeTwoAndWhatIsNoUrlOne) {
  int port = 0;
  {
    EndpointServer gone({});
    port = gone.port();
  }
  const Finished unreachable = doctor(scenario("http://127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(unreachable.status, 2) << unreachable.err;
  EXPECT_EQ(causes(unreachable), "endpoint.unreachable");
  const Finished malformed = doctor(scenario("http:/127.0.0.1"));
  EXPECT_EQ(malformed.status, 1);
  EXPECT_THAT(malformed.err, HasSubstr("does not begin with http://"));
  const Finished nothing = run_program(plumbline_argv({"doctor", "--only", "endpoint"}));
  EXPECT_EQ(nothing.status, 1);
  EXPECT_THAT(nothing.err, HasSubstr("needs the URL"));
  const Finished no_key =
      doctor(scenario("http://127.0.0.1", R"(, "key_from": "ENDPOINT_KEY_NO_SUCH")"));
  EXPECT_EQ(no_key.status, 1);
  EXPECT_THAT(no_key.err, HasSubstr("ENDPOINT_KEY_NO_SUCH"));
}

TEST_F(Serving, CellsAreMeasuredReportedJudgedAndResumed) {
  ServerScript script;
  script.first_token_ms = 50;
  script.gap_ms = 20;
  EndpointServer server(script);
  const std::string rules = R"(, "expect": [{"where": {"kind": "endpoint"}, "unanswered": 0,
      "p50": "<=10s", "tokens_per_s": ">=0.1"}, {"where": {"outstanding": 1}, "p50": "<=1ms"}])";
  const std::string file = scenario(server.url(), "", rules);
  const Finished done = run_program(run_words(file));
  EXPECT_EQ(done.status, 4) << done.out << done.err;
  EXPECT_THAT(done.out, HasSubstr("Serving"));
  EXPECT_THAT(done.out, HasSubstr("knee: "));
  const auto records = read_records(folder_.path("out/records.jsonl"));
  ASSERT_TRUE(records);
  EXPECT_EQ(records->size(), 3U);
  for (const Record& record : *records) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << record.measurement.reason;
    EXPECT_GE(*record.time_ns.min, 50e6);
    EXPECT_TRUE(ran_as_asked(record.cell, record.measurement, "shm"));
  }
  const size_t asked = server.served().size();
  std::vector<std::string> again = run_words(file);
  again.emplace_back("--resume");
  const Finished resumed = run_program(again);
  EXPECT_EQ(resumed.status, 4) << resumed.err;
  EXPECT_EQ(server.served().size(), asked + 4) << "the probe's questions alone: nothing was left";
}

// Not in a record, a report, an output, nor in the words of any process.
TEST_F(Serving, TheKeyIsWrittenNowhere) {
  ServerScript script;
  script.key = "s3cret-key";
  EndpointServer server(script);
  const std::string file = scenario(server.url(), R"(, "key_from": "ENDPOINT_KEY_TEST")");
  Program program(run_words(file), {"ENDPOINT_KEY_TEST=s3cret-key", "PLUMBLINE_LOG_LEVEL=debug"});
  std::string words;
  while (program.running()) {
    for (const pid_t child : program.children()) {
      words += read_file("/proc/" + std::to_string(child) + "/cmdline");
    }
  }
  ASSERT_EQ(program.wait(), 0) << program.out() << program.err();
  EXPECT_FALSE(server.served().empty());
  for (const ServedQuestion& question : server.served()) {
    EXPECT_EQ(question.authorization, "Bearer s3cret-key");
  }
  EXPECT_THAT(words, Not(HasSubstr("s3cret")));
  EXPECT_THAT(program.out() + program.err(), Not(HasSubstr("s3cret")));
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path("out"))) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_THAT(read_file(entry.path().string()), Not(HasSubstr("s3cret"))) << entry.path();
  }
  EXPECT_GT(files, 2U);
}

TEST_F(Serving, AServerThatIsStuckIsNamedAndNothingIsMeasured) {
  ServerScript script;
  script.fault = ServerFault::kSilent;
  EndpointServer server(script);
  const Finished done = run_program(run_words(scenario(server.url())));
  EXPECT_EQ(done.status, 2) << done.out << done.err;
  EXPECT_THAT(done.err, HasSubstr("endpoint.stalled"));
}

}  // namespace
}  // namespace plumbline
