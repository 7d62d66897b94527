// `plumbline run --for` as users meet it: rounds, refusals, a rank that dies, Ctrl-C.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/clock.h"
#include "core/json.h"
#include "core/record/event.h"
#include "core/record/record.h"
#include "tests/support/program.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kShort = R"({
  "plumbline": 1, "question": "Does it stay the same?", "hosts": {"local": 2},
  "launch": {"port_base": "auto"}, "roofs": false, "probes": [],
  "matrix": [{"kind": "latency", "op": "allreduce", "bytes": [8, 4096], "stop": {"max_n": 50, "max_time": "50ms"}},
             {"kind": "link", "op": "link", "measure": "latency", "bytes": 64, "time": "50ms"}],
  "report": ["console"], "seed": 7
})";

std::vector<std::string> soak_argv(const ScratchFolder& folder, std::vector<std::string> more) {
  more.insert(more.begin(), {"run", folder.path("scenario.json"), "--out", folder.path("out")});
  return plumbline_argv(more);
}

std::vector<Record> records_in(const ScratchFolder& folder) {
  const auto records = read_records(folder.path("out/records.jsonl"));
  EXPECT_TRUE(records) << records.error().message();
  return records ? *records : std::vector<Record>{};
}

std::vector<SoakEvent> events_in(const ScratchFolder& folder) {
  std::vector<SoakEvent> out;
  const Status read = for_each_event(folder.path("out/events.jsonl"),
                                     [&](SoakEvent event) { out.push_back(std::move(event)); });
  EXPECT_TRUE(read) << read.error().message();
  return out;
}

TEST(Soak, RoundsIdleTimeAndReport) {
  const ScratchFolder folder;
  folder.write("scenario.json", kShort);
  const Finished done =
      run_program(soak_argv(folder, {"--for", "12s", "--every", "400ms", "--idle", "300ms,200ms"}));
  ASSERT_EQ(done.status, 0) << done.out << done.err;
  std::map<int64_t, int> cells;  // by round
  std::map<int64_t, int> idle;   // by length
  for (const Record& record : records_in(folder)) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed) << to_line(record);
    ASSERT_TRUE(record.soak);
    EXPECT_GT(record.soak->memory_bytes.value_or(0), 0u);
    if (record.soak->idle_ns == 0) {
      ++cells[record.soak->round];
      EXPECT_EQ(record.measurement.extra.count(kColdMeeting), 0u);
    } else {
      EXPECT_EQ(record.cell.kind,
                CellKind::kLatency);  // of a link cell nothing could be told apart
      EXPECT_EQ(record.measurement.extra.count(kColdMeeting), 1u);
      ++idle[record.soak->idle_ns];
    }
    // Nothing keeps the connections from lying idle.
    EXPECT_EQ(record.environment.options.at("keepalive_s").value, "0");
    EXPECT_EQ(record.environment.options.at("keepalive_s").origin, "flag --idle");
    if (record.cell.kind == CellKind::kLink) continue;
    for (const PerRank& rank : record.measurement.per_rank) {
      EXPECT_GT(rank.memory_bytes.value_or(0), 0u);
    }
  }
  EXPECT_GE(cells.size(), 2u);
  for (const auto& [round, count] : cells) EXPECT_EQ(count, 3) << round;
  EXPECT_GE(idle[300'000'000], 1);
  EXPECT_GE(idle[200'000'000], 1);
  EXPECT_THAT(done.out, HasSubstr("= Soak"));
  EXPECT_THAT(done.out, HasSubstr("After idle time"));
  EXPECT_THAT(done.out, HasSubstr("coordinator: "));
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/soak/soak.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("out/events.jsonl")));
  // The same from the files, and every other report reads them too.
  for (const char* report : {"console", "csv", "markdown"}) {
    const Finished again = run_program(plumbline_argv({"report", report, folder.path("out")}));
    EXPECT_EQ(again.status, 0) << again.err;
  }
  // Neither goes on: not as a soak, not as a plain run.
  const Finished resumed = run_program(soak_argv(folder, {"--for", "1s", "--resume"}));
  EXPECT_EQ(resumed.status, 1);
  EXPECT_THAT(resumed.err, HasSubstr("a soak cannot be resumed"));
  const Finished plain = run_program(soak_argv(folder, {"--resume"}));
  EXPECT_EQ(plain.status, 1);
  EXPECT_THAT(plain.err, HasSubstr("those of a soak"));
}

TEST(Soak, FlagsThatMakeNoSenseStartNothing) {
  const ScratchFolder folder;
  folder.write("scenario.json", kShort);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--every", "5m"}, "--every goes with --for"},
      {{"--idle", "5m"}, "--idle goes with --for"},
      {{"--for", "soon"}, "--for 'soon'"},
      {{"--for", "8h", "--every", "0s"}, "--every '0s'"},
      {{"--for", "8h", "--idle", "1m,,2m"}, "--idle ''"},
      {{"--for", "1m", "--idle", "1h"}, "longer than --for 1m"},
      {{"--for", "8h", "--only", "kind=link", "--idle", "1m"}, "--idle: no cell"}};
  for (const auto& [flags, expected] : cases) {
    const Finished done = run_program(soak_argv(folder, flags));
    EXPECT_EQ(done.status, 1) << expected;
    EXPECT_THAT(done.err, HasSubstr(expected));
    EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
  }
}

TEST(Soak, DryRunSaysHowManyRounds) {
  const ScratchFolder folder;
  folder.write("scenario.json", kShort);
  const Finished done = run_program(
      soak_argv(folder, {"--for", "8h", "--every", "5m", "--idle", "1m,25m", "--dry-run"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("for 8 h: at most 96 rounds, one every 5 min"));
  EXPECT_THAT(done.out, HasSubstr("idle time after each: 60 s, 25 min, in turn"));
  EXPECT_THAT(done.out, Not(HasSubstr("takes longer than that")));
  const Finished tight =
      run_program(soak_argv(folder, {"--for", "8h", "--every", "100ms", "--dry-run"}));
  EXPECT_THAT(tight.out, HasSubstr("takes longer than that"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST(Soak, ARankThatDiesCostsACellAndTheNextRoundGoesOn) {
  const ScratchFolder folder;
  folder.write("scenario.json", kShort);
  Program program(soak_argv(folder, {"--for", "6s", "--every", "1s"}));
  const Deadline deadline = Deadline::after_ms(20'000);
  // Between two rounds: the ranks are the youngest children, the agents came first.
  while (record_count(folder.path("out/records.jsonl")) == 0 && !deadline.passed()) {
    usleep(10'000);
  }
  const std::vector<pid_t> children = program.children();
  ASSERT_GE(children.size(), 3u);
  ASSERT_EQ(kill(children.back(), SIGKILL), 0);
  EXPECT_EQ(program.wait(30'000), 2) << program.err();
  size_t errors = 0, passed_behind = 0;
  for (const Record& record : records_in(folder)) {
    if (record.measurement.outcome == Outcome::kError) {
      ++errors;
      passed_behind = 0;
    } else {
      ++passed_behind;
    }
  }
  EXPECT_GE(errors, 1u);
  EXPECT_GE(passed_behind, 3u);
  bool told = false;
  for (const SoakEvent& event : events_in(folder)) {
    told = told || (event.kind == "cell" && event.text.find("ended in error") != std::string::npos);
  }
  EXPECT_TRUE(told);
  EXPECT_THAT(program.out(), HasSubstr("ended in error"));
}

TEST(Soak, AnInterruptBetweenTheRoundsEndsInOrder) {
  const ScratchFolder folder;
  folder.write("scenario.json", kShort);
  Program program(soak_argv(folder, {"--for", "8h", "--every", "1h"}));
  const Deadline deadline = Deadline::after_ms(20'000);
  while (record_count(folder.path("out/records.jsonl")) < 3 && !deadline.passed()) {
    usleep(10'000);
  }
  const std::vector<pid_t> children = program.children();
  usleep(300'000);
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(30'000), 130) << program.err();
  EXPECT_EQ(records_in(folder).size(), 3u);
  EXPECT_THAT(program.out(), HasSubstr("1 rounds"));
  EXPECT_THAT(program.out(), HasSubstr("interrupted"));
  for (const pid_t child : children) EXPECT_NE(kill(child, 0), 0) << child;
}

}  // namespace
}  // namespace plumbline
