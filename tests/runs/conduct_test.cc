// A run without a command line: a request goes in, files and an outcome come out, and whoever asked
// hears of it through three functions.
#include "runs/conduct.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/record/record.h"
#include "runs/history.h"
#include "runs/run_folder.h"
#include "tests/runs/listener.h"
#include "tests/scenarios/support.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTwoChecks =
    R"({"plumbline": 1, "question": "two?", "hosts": {"local": 1},
        "matrix": [{"kind": "check", "op": "allreduce", "bytes": [1000, 2000], "ranks": 2}],
        "report": ["console", "csv"]})";

RunRequest request_for(const std::string& folder, const std::string& text = kTwoChecks) {
  RunRequest request;
  request.program = test::program_path();
  request.scenario = scenario_test::parse(text);
  request.options = *OptionSet().with("port_base", "auto", "test");
  request.vocabulary = scenario_test::vocabulary();
  request.seed = 7;
  request.folder = folder;
  request.keep_history = false;
  request.command = {"a test"};
  return request;
}

Conducted run(RunRequest request, Caller& caller) {
  std::vector<PreparedRun> runs;
  auto prepared = prepare_run(std::move(request), caller);
  if (!prepared) {
    ADD_FAILURE() << prepared.error().errors.front().message();
    return {};
  }
  runs.push_back(std::move(*prepared));
  return conduct(std::move(runs), caller);
}

TEST(Conduct, ARunNeedsNoCommandLine) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path("out");
  Listener listener;
  const Conducted done = run(request_for(folder), listener);
  ASSERT_EQ(done.outcomes.size(), 1u);
  const RunOutcome& outcome = done.outcomes.front();
  EXPECT_EQ(done.code, 0);
  EXPECT_TRUE(outcome.reported);
  EXPECT_EQ(outcome.state.state, "finished");
  EXPECT_EQ(outcome.state.measured, 2u);
  EXPECT_EQ(outcome.counts.passed, 2u);
  EXPECT_NE(outcome.shown.find("allreduce"), std::string::npos) << outcome.shown;
  EXPECT_EQ(listener.finished(), 2);
  EXPECT_EQ(listener.overs(), 1);
  const auto records = read_records((fs::path(folder) / kRecordsFile).string());
  ASSERT_TRUE(records) << records.error().message();
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(records->front().environment.command, std::vector<std::string>{"a test"});
  EXPECT_EQ(records->front().run_id, outcome.run_id);
}

TEST(Conduct, ReportsAreShownOnlyToWhoWantsThem) {
  const ScratchFolder scratch;
  RunRequest request = request_for(scratch.path("out"));
  request.look.reset();
  Listener listener;
  const Conducted done = run(std::move(request), listener);
  ASSERT_EQ(done.outcomes.size(), 1u);
  EXPECT_EQ(done.outcomes.front().shown, "");
  EXPECT_EQ(done.outcomes.front().reports.size(), 1u);  // csv
}

TEST(Conduct, WhoAskedMayEndItAndResume) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path("out");
  Listener listener;
  listener.after_each = [&listener] { listener.wish = Wish::kEnd; };
  const Conducted cut = run(request_for(folder), listener);
  ASSERT_EQ(cut.outcomes.size(), 1u);
  EXPECT_EQ(cut.code, 130);
  EXPECT_EQ(cut.outcomes.front().state.state, "interrupted");
  EXPECT_EQ(cut.outcomes.front().state.measured, 1u);
  EXPECT_TRUE(listener.heard("incomplete")) << "whoever asked must be told";

  Listener second;
  RunRequest again = request_for(folder);
  again.resume = true;
  again.seed.reset();  // that of the first part
  const Conducted whole = run(std::move(again), second);
  ASSERT_EQ(whole.outcomes.size(), 1u);
  EXPECT_EQ(whole.code, 0);
  EXPECT_EQ(whole.outcomes.front().state.measured, 2u);
  EXPECT_EQ(whole.outcomes.front().counts.resumed, 1u);
}

TEST(Conduct, AFolderInUseIsRefusedBeforeAnythingStarts) {
  const ScratchFolder scratch;
  const std::string folder = scratch.path("out");
  Listener listener;
  ASSERT_EQ(run(request_for(folder), listener).code, 0);
  const Conducted done = run(request_for(folder), listener);
  EXPECT_EQ(done.code, 1);
  ASSERT_TRUE(done.refused);
  EXPECT_NE(done.refused->message().find("holds records of an earlier run"), std::string::npos);
  EXPECT_TRUE(done.outcomes.empty());
}

TEST(Conduct, TwoSidesAreMeasuredInTurnsAndCompared) {
  const ScratchFolder scratch;
  constexpr const char* kTimed =
      R"({"plumbline": 1, "question": "timed?", "roofs": false, "hosts": {"local": 1},
          "matrix": [{"kind": "latency", "op": "allreduce", "bytes": 8, "ranks": 2,
                      "stop": {"min_n": 5, "max_n": 5, "max_time": "100ms"}}],
          "report": ["console"]})";
  Listener listener;
  std::vector<PreparedRun> runs;
  for (const char* side : {"a", "b"}) {
    RunRequest request = request_for(scratch.path(side), kTimed);
    request.side = side;
    request.repeats = Repeats();
    request.repeats->launches = 2;
    request.repeats->two_sides = true;
    auto prepared = prepare_run(std::move(request), listener);
    ASSERT_TRUE(prepared) << prepared.error().errors.front().message();
    runs.push_back(std::move(*prepared));
  }
  const Conducted done = conduct(std::move(runs), listener);
  ASSERT_EQ(done.outcomes.size(), 2u);
  for (const RunOutcome& outcome : done.outcomes) {
    EXPECT_EQ(outcome.shown, "") << "the comparison is shown";
    EXPECT_EQ(outcome.state.measured, 2u);
  }
  ASSERT_TRUE(done.compared.comparison);
  EXPECT_EQ(done.compared.comparison->rows.size(), 1u);
  ASSERT_FALSE(done.compared.files.empty());
  EXPECT_TRUE(fs::exists(done.compared.files.front())) << done.compared.files.front();
}

// As `coll` asks: cells one by one, and nothing is kept.
RunRequest request_for_list(const std::vector<uint64_t>& sizes) {
  RunRequest request;
  request.program = test::program_path();
  request.scenario.name = "list";
  request.scenario.hosts = local_hosts(1);
  request.options = *OptionSet().with("port_base", "auto", "test");
  request.keep = Keep::kNothing;
  request.probes = false;
  request.cells = [sizes](const std::vector<ScenarioHost>&) {
    std::vector<PlanCell> cells;
    for (const uint64_t bytes : sizes) {
      PlanCell& planned = cells.emplace_back();
      planned.cell.kind = CellKind::kBandwidth;
      planned.cell.op = "allreduce";
      planned.cell.dtype = "u8";
      planned.cell.redop = "sum";
      planned.cell.ranks = 2;
      planned.cell.bytes = planned.cell.count = bytes;
      planned.fixed = FixedCount{3, 1};
    }
    return tl::expected<std::vector<PlanCell>, std::vector<Error>>(std::move(cells));
  };
  return request;
}

std::vector<uint64_t> sizes_of(const std::vector<Record>& records) {
  std::vector<uint64_t> sizes;
  for (const Record& record : records) sizes.push_back(record.cell.bytes);
  return sizes;
}

TEST(Conduct, AListOfCellsIsToldInItsOrderAndKeepsNothing) {
  RunRequest request = request_for_list({64, 8, 8});
  request.rounds = 2;
  Listener listener;
  const Conducted done = run(std::move(request), listener);
  ASSERT_EQ(done.outcomes.size(), 1u);
  const RunOutcome& outcome = done.outcomes.front();
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(outcome.counts.passed, 6u);
  EXPECT_EQ(outcome.state.state, "finished");
  EXPECT_EQ(outcome.state.measured, 6u);
  EXPECT_EQ(outcome.state.planned, 6u);
  EXPECT_EQ(sizes_of(listener.records()), (std::vector<uint64_t>{64, 8, 8, 64, 8, 8}));
  for (const Record& record : listener.records()) {
    EXPECT_EQ(record.measurement.iterations, 3u);
    EXPECT_EQ(record.run_id, outcome.run_id);
    EXPECT_EQ(record.plan_hash, "");
  }
  EXPECT_EQ(listener.overs(), 1);
  const std::vector<std::vector<RankSeat>> told = listener.seats();
  ASSERT_EQ(told.size(), 1u) << "once, before the first cell";
  ASSERT_EQ(told.front().size(), 2u);
  for (const RankSeat& seat : told.front()) {
    EXPECT_EQ(seat.host, "local0");
    EXPECT_GT(seat.pid, 0);
  }
  EXPECT_EQ(outcome.folder, "");
  EXPECT_EQ(outcome.records, "");
  EXPECT_TRUE(outcome.reports.empty());
  std::vector<std::string> notes;
  const auto history = read_history(notes);
  ASSERT_TRUE(history) << history.error().message();
  EXPECT_TRUE(std::none_of(history->begin(), history->end(),
                           [&](const HistoryEntry& entry) { return entry.id == outcome.run_id; }));
}

TEST(Conduct, AListEndsWhenWhoAskedWantsIt) {
  Listener listener;
  listener.after_each = [&listener] { listener.wish = Wish::kEnd; };
  const Conducted cut = run(request_for_list({64, 8}), listener);
  EXPECT_EQ(cut.code, 130);
  EXPECT_EQ(sizes_of(listener.records()), std::vector<uint64_t>{64});
}

TEST(Conduct, AListIsNotBegunWithoutItsRanks) {
  RunRequest request = request_for_list({64, 8});
  request.program = "/no/such/plumbline";
  Listener listener;
  const Conducted done = run(std::move(request), listener);
  EXPECT_EQ(done.code, 2);
  EXPECT_TRUE(listener.seats().empty());
  EXPECT_EQ(listener.finished(), 0);
  EXPECT_TRUE(listener.heard("/no/such/plumbline")) << "whoever asked must be told";
}

TEST(Conduct, ARunOfAScenarioMayKeepNothingToo) {
  RunRequest request = request_for("");
  request.keep = Keep::kNothing;
  Listener listener;
  const Conducted done = run(std::move(request), listener);
  ASSERT_EQ(done.outcomes.size(), 1u);
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(listener.records().size(), 2u);
  EXPECT_EQ(done.outcomes.front().folder, "");
  EXPECT_EQ(done.outcomes.front().shown, "");
}

TEST(PrepareRun, WhatNeedsAFolderIsRefusedWithoutOne) {
  Listener listener;
  RunRequest request = request_for("");
  request.keep = Keep::kNothing;
  request.resume = true;
  const auto refused = prepare_run(std::move(request), listener);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 1);
  EXPECT_NE(refused.error().errors.front().message().find("need a folder"), std::string::npos);
}

TEST(PrepareRun, AListThatTheseHostsCannotTakeIsRefusedInItsOwnWords) {
  Listener listener;
  RunRequest request = request_for_list({});
  request.cells = [](const std::vector<ScenarioHost>& hosts) {
    return tl::expected<std::vector<PlanCell>, std::vector<Error>>(
        tl::unexpect, std::vector<Error>{Error{ErrorCode::kUsage, hosts.front().name, 0, "", ""},
                                         Error{ErrorCode::kUsage, "and more", 0, "", ""}});
  };
  const auto refused = prepare_run(std::move(request), listener);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 1);
  ASSERT_EQ(refused.error().errors.size(), 2u);
  EXPECT_EQ(refused.error().errors.front().what, "local0");
}

// The address of a coordinator is the first host's: where that one is left out, nobody has it.
TEST(PrepareRun, TheCoordinatorGoesWithTheHostWhoseAddressItIs) {
  const ScratchFolder scratch;
  const auto coordinator_without = [&](const std::string& name) {
    Listener listener;
    RunRequest request = request_for(scratch.path(name));
    request.scenario.hosts.push_back(request.scenario.hosts.back());
    request.scenario.hosts.back().name = "local2";
    request.scenario.coordinator = "192.168.4.11";
    request.exclude = {name};
    const auto prepared = prepare_run(std::move(request), listener);
    EXPECT_TRUE(prepared) << prepared.error().errors.front().message();
    return prepared ? prepared->scenario.coordinator : std::string("not prepared");
  };
  EXPECT_EQ(coordinator_without("local2"), "192.168.4.11");
  EXPECT_EQ(coordinator_without("local0"), "");
}

TEST(PrepareRun, WhatIsWrongIsAnErrorWithItsExitCode) {
  const ScratchFolder scratch;
  Listener listener;
  RunRequest none_left = request_for(scratch.path("x"));
  none_left.exclude = {"nobody"};
  const auto excluded = prepare_run(std::move(none_left), listener);
  ASSERT_FALSE(excluded);
  EXPECT_EQ(excluded.error().code, 1);
  EXPECT_NE(excluded.error().errors.front().message().find("nobody"), std::string::npos);

  RunRequest no_cell = request_for(scratch.path("x"));
  no_cell.rules.files = {scratch.write("rules.json", R"([{"where": "op=broadcast", "wrong": 0}])")};
  const auto hopeless = prepare_run(std::move(no_cell), listener);
  ASSERT_FALSE(hopeless);
  EXPECT_EQ(hopeless.error().code, 1);
  EXPECT_FALSE(fs::exists(scratch.path("x"))) << "nothing may be made before all is right";
}

TEST(PrepareRun, AStrangersProgramIsRefused) {
  const ScratchFolder scratch;
  Listener listener;
  RunRequest request = request_for(scratch.path("x"));
  request.scenario.hosts.front().binary = "/tmp/theirs";
  const auto refused = prepare_run(request, listener);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().errors.front().message().find("/tmp/theirs"), std::string::npos);
  request.permitted.binaries = true;
  EXPECT_TRUE(prepare_run(std::move(request), listener));
}

}  // namespace
}  // namespace plumbline
