// The runner against ranks that fail, restart, are interrupted, and leave files behind.
#include "scenarios/runner.h"

#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <deque>

#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

Measurement good(int64_t ns = 50'000) {
  Measurement m;
  for (int i = 0; i < 50; ++i) m.samples_ns.push_back(ns + i);
  for (const int64_t sample : m.samples_ns) m.hist.add(sample);
  m.iterations = 50;
  m.warmup_converged = true;
  m.verified = true;
  m.wrong = 0;
  m.stop_reason = "ci";
  return m;
}

Error broken(ErrorCode code, const std::string& what, const std::string& cause = "") {
  Error error;
  error.code = code;
  error.what = what;
  error.cause = cause;
  return error;
}

// Ranks that do what a script says: answers in order, good ones when the script has ended.
class FakeRanks : public CellRunner {
 public:
  std::deque<Status> starts;
  std::deque<Expected<Measurement>> answers;
  int interrupt_after = -1;                         // cells
  std::vector<std::pair<int, std::string>> worlds;  // as ensure_world was called
  std::vector<std::string> ran;                     // cell ids
  std::string transport_option;                     // empty = not said

  Status ensure_world(const WorldShape& world) override {
    worlds.emplace_back(world.ranks, world.transport);
    return next(starts, Status{});
  }
  Expected<Measurement> run(const PlanCell& cell) override {
    ran.push_back(cell.id);
    return next(answers, Expected<Measurement>(good()));
  }
  Environment environment() override {
    Environment environment;
    HostFacts host;
    host.hostname = "fake";
    host.cores_usable = 2;
    environment.hosts = {host};
    environment.control = "pipes";
    if (!transport_option.empty()) environment.options["transport"] = {transport_option, "flag"};
    return environment;
  }
  bool interrupted() const override {
    return interrupt_after >= 0 && static_cast<int>(ran.size()) >= interrupt_after;
  }

 private:
  template <typename T>
  static T next(std::deque<T>& script, T otherwise) {
    if (script.empty()) return otherwise;
    T value = std::move(script.front());
    script.pop_front();
    return value;
  }
};

// Six cells in two worlds; one of them cannot be done.
const char* const kMatrix = R"({"op": "allreduce", "bytes": 64, "algorithm": ["ring", "doubling"],
                                "ranks": [2, 3]},
                               {"op": "barrier", "ranks": [2, 3]})";

class RunnerTest : public testing::Test {
 protected:
  Scenario scenario_ = parse(with_matrix(kMatrix, R"(, "roofs": false, "question": "works?")"));
  Plan plan_ = plan_of(scenario_);
  FakeRanks ranks_;
  PlanRequest request() {
    PlanRequest out;
    out.scenario = &scenario_;
    out.plan = &plan_;
    out.run_id = "run-1";
    out.command = {"plumbline", "run"};
    return out;
  }
  RunSummary run() {
    auto summary = run_plan(request(), ranks_);
    EXPECT_TRUE(summary);
    return summary ? *summary : RunSummary{};
  }
};

TEST_F(RunnerTest, AllCellsAreRecordedInPlanOrder) {
  const RunSummary summary = run();
  EXPECT_EQ(summary.passed, 5u);
  EXPECT_EQ(summary.skipped, 1u);
  EXPECT_EQ(exit_code(summary), 0);
  ASSERT_EQ(summary.records.size(), plan_.cells.size());
  for (size_t i = 0; i < plan_.cells.size(); ++i) {
    const Record& record = summary.records[i];
    EXPECT_EQ(cell_id(record), plan_.cells[i].id);
    EXPECT_EQ(record.plan_hash, plan_.hash);
    EXPECT_EQ(record.seed, plan_.seed);
    EXPECT_EQ(record.run_id, "run-1");
    EXPECT_EQ(record.question, "works?");
    EXPECT_EQ(record.scenario, "test");
    EXPECT_EQ(record.suite_version, PLUMBLINE_VERSION);
    EXPECT_EQ(record.environment.command, (std::vector<std::string>{"plumbline", "run"}));
    EXPECT_FALSE(record.time.empty());
    if (plan_.cells[i].skip.empty()) {
      EXPECT_EQ(record.time_ns.n, 50u);
      EXPECT_EQ(record.algbw_Bps.has_value(), record.cell.op == "allreduce");
      // Three ranks on two cores.
      EXPECT_EQ(record.noise.verdict, record.cell.ranks == 3 ? "noisy" : "clean");
    } else {
      EXPECT_EQ(record.measurement.outcome, Outcome::kSkipped);
      EXPECT_EQ(record.measurement.reason, plan_.cells[i].skip);
    }
  }
  // No ranks are asked for a cell that is skipped.
  EXPECT_EQ(ranks_.worlds.size(), 5u);
  EXPECT_EQ(ranks_.ran.size(), 5u);
}

// Where a rank takes another transport than the cell names, the numbers are those of another cell.
TEST_F(RunnerTest, AMeasurementOverAnotherTransportIsAnErrorAndNoNumber) {
  scenario_ = parse(
      with_matrix(R"({"op": "barrier", "transport": ["memory", "auto"]})", R"(, "roofs": false)"));
  plan_ = plan_of(scenario_);
  for (int i = 0; i < 2; ++i) {
    Measurement measured = good();
    measured.resolved.transport = "tcp";
    ranks_.answers.emplace_back(std::move(measured));
  }
  const RunSummary summary = run();
  ASSERT_EQ(summary.records.size(), 2u);
  for (const Record& record : summary.records) {
    const bool asked = record.cell.transport == "memory";
    EXPECT_EQ(record.measurement.outcome, asked ? Outcome::kError : Outcome::kPassed);
    EXPECT_EQ(record.measurement.cause, asked ? "config.mismatch" : "");
    EXPECT_EQ(record.time_ns.n, asked ? 0u : 50u);
  }
  EXPECT_EQ(exit_code(summary), 2);
}

TEST_F(RunnerTest, AMeasurementOverAnotherTransportThanTheOptionAsksForIsAnErrorToo) {
  scenario_ = parse(with_matrix(R"({"op": "barrier"})", R"(, "roofs": false)"));
  plan_ = plan_of(scenario_);
  ranks_.transport_option = "memory";
  Measurement measured = good();
  measured.resolved.transport = "tcp";
  ranks_.answers.emplace_back(std::move(measured));
  const RunSummary summary = run();
  ASSERT_EQ(summary.records.size(), 1u);
  EXPECT_EQ(summary.records[0].measurement.outcome, Outcome::kError);
  EXPECT_EQ(summary.records[0].measurement.cause, "config.mismatch");
}

TEST_F(RunnerTest, AnErrorCellIsRecordedWithItsCauseAndTheRunGoesOn) {
  ranks_.answers.push_back(good());
  ranks_.answers.push_back(
      tl::unexpected(broken(ErrorCode::kPeerLost, "rank 1 died", "rank.dead")));
  ranks_.answers.push_back(tl::unexpected(broken(ErrorCode::kTimeout, "rank 0 waits for rank 1")));
  const RunSummary summary = run();
  EXPECT_EQ(summary.errors, 2u);
  EXPECT_EQ(summary.passed, 3u);
  EXPECT_EQ(exit_code(summary), 2);
  ASSERT_EQ(summary.records.size(), 6u);
  std::vector<const Record*> errors;
  for (const Record& record : summary.records) {
    if (record.measurement.outcome == Outcome::kError) errors.push_back(&record);
  }
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0]->measurement.cause, "rank.dead");
  EXPECT_NE(errors[0]->measurement.reason.find("rank 1 died"), std::string::npos);
  EXPECT_EQ(errors[0]->noise.verdict, "invalid");
  EXPECT_EQ(errors[1]->measurement.cause, "timeout");
  // ensure_world was asked again for the cell after each error.
  EXPECT_EQ(ranks_.worlds.size(), 5u);
}

TEST_F(RunnerTest, OneFailureToStartIsTriedAgain) {
  ranks_.starts.push_back(tl::unexpected(broken(ErrorCode::kBusy, "port 29600 is in use")));
  ranks_.starts.push_back({});
  ranks_.starts.push_back(tl::unexpected(broken(ErrorCode::kBusy, "port 29600 is in use")));
  const RunSummary summary = run();
  EXPECT_EQ(summary.passed, 5u);
  EXPECT_TRUE(summary.stopped.empty());
  EXPECT_EQ(exit_code(summary), 0);
  EXPECT_EQ(ranks_.worlds.size(), 7u);
}

// No silent retry.
TEST_F(RunnerTest, RanksThatAreStartedAgainAreToldOf) {
  ranks_.starts.push_back(tl::unexpected(broken(ErrorCode::kPeerLost, "rank 1 was killed")));
  std::vector<std::string> told;
  PlanRequest asked = request();
  asked.notice = [&](const std::string& text) { told.push_back(text); };
  ASSERT_TRUE(run_plan(asked, ranks_));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("ranks are started again: "), std::string::npos) << told[0];
  EXPECT_NE(told[0].find("rank 1 was killed"), std::string::npos) << told[0];
}

TEST_F(RunnerTest, TwoFailuresToStartEndTheRun) {
  ranks_.starts.push_back({});
  for (int i = 0; i < 2; ++i) {
    ranks_.starts.push_back(
        tl::unexpected(broken(ErrorCode::kBusy, "port 29600 is in use by ssh")));
  }
  const RunSummary summary = run();
  EXPECT_EQ(summary.passed, 1u);
  EXPECT_EQ(summary.records.size(), 1u);
  EXPECT_NE(summary.stopped.find("port 29600 is in use by ssh"), std::string::npos);
  EXPECT_NE(summary.stopped.find("2 times in a row"), std::string::npos);
  EXPECT_EQ(exit_code(summary), 2);
  EXPECT_EQ(ranks_.ran.size(), 1u);
}

TEST_F(RunnerTest, AnInterruptEndsAfterTheRunningCell) {
  ranks_.interrupt_after = 2;
  const RunSummary summary = run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(exit_code(summary), 130);
  EXPECT_EQ(ranks_.ran.size(), 2u);
  EXPECT_EQ(summary.passed, 2u);  // the second was complete when the interrupt was seen
}

TEST_F(RunnerTest, ACellThatWasCutShortIsNotRecorded) {
  Measurement cut = good();
  cut.stop_reason = "interrupted";
  ranks_.answers.push_back(good());
  ranks_.answers.push_back(cut);
  const RunSummary summary = run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.passed, 1u);
  EXPECT_EQ(ranks_.ran.size(), 2u);
}

TEST_F(RunnerTest, RanksThatDieOfAnInterruptAreNoError) {
  ranks_.answers.push_back(tl::unexpected(broken(ErrorCode::kPeerLost, "rank 1 is gone")));
  ranks_.interrupt_after = 1;
  const RunSummary summary = run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_EQ(summary.errors, 0u);
  EXPECT_TRUE(summary.records.empty());
  EXPECT_EQ(exit_code(summary), 130);
}

TEST_F(RunnerTest, AnInterruptWhileRanksStartIsNoError) {
  ranks_.starts.push_back(tl::unexpected(broken(ErrorCode::kInterrupted, "start of 2 ranks")));
  const RunSummary summary = run();
  EXPECT_TRUE(summary.interrupted);
  EXPECT_TRUE(summary.stopped.empty());
  EXPECT_EQ(ranks_.worlds.size(), 1u);
}

TEST_F(RunnerTest, WrongDataIsCountedAndGivesExitCode3) {
  Measurement wrong = good();
  wrong.outcome = Outcome::kFailed;
  wrong.wrong = 17;
  ranks_.answers.push_back(wrong);
  ranks_.answers.push_back(tl::unexpected(broken(ErrorCode::kTimeout, "late")));
  const RunSummary summary = run();
  EXPECT_EQ(summary.wrong, 17u);
  EXPECT_EQ(summary.failed, 1u);
  EXPECT_EQ(exit_code(summary), 3);
  EXPECT_EQ(summary.records[plan_.cells[0].skip.empty() ? 0 : 1].noise.verdict, "invalid");
}

TEST_F(RunnerTest, ResumeRunsWhatIsMissingAndNoMore) {
  const TempFolder folder;
  const std::string path = folder.path("records.jsonl");
  const auto store = [&] {
    auto file = RecordFile::open(path);
    ASSERT_TRUE(file) << file.error().message();
    PlanRequest r = request();
    r.file = &*file;
    const auto earlier = read_records(path);
    ASSERT_TRUE(earlier) << earlier.error().message();
    const auto done = finished_cells(*earlier, plan_, PLUMBLINE_VERSION);
    ASSERT_TRUE(done) << done.error().message();
    r.finished_ids = *done;
    const auto summary = run_plan(r, ranks_);
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->resumed, done->size());
  };
  ranks_.interrupt_after = 2;
  store();
  const size_t before = read_records(path)->size();
  EXPECT_LT(before, plan_.cells.size());
  ranks_.interrupt_after = -1;
  store();
  EXPECT_EQ(ranks_.ran.size(), 5u);  // each cell once
  EXPECT_EQ(std::set<std::string>(ranks_.ran.begin(), ranks_.ran.end()).size(), 5u);
  EXPECT_EQ(read_records(path)->size(), plan_.cells.size());
  store();  // nothing is left to do
  EXPECT_EQ(ranks_.ran.size(), 5u);
  EXPECT_EQ(read_records(path)->size(), plan_.cells.size());
}

TEST_F(RunnerTest, FinishedCellsMustFit) {
  std::vector<Record> records = run().records;
  EXPECT_EQ(finished_cells(records, plan_, PLUMBLINE_VERSION)->size(), 6u);
  records[0].measurement.outcome = Outcome::kError;  // to be tried again
  records[1].measurement.outcome = Outcome::kFailed;
  EXPECT_EQ(finished_cells(records, plan_, PLUMBLINE_VERSION)->size(), 5u);

  const auto version = finished_cells(records, plan_, "9.9.9");
  ASSERT_FALSE(version);
  EXPECT_NE(version.error().message().find(PLUMBLINE_VERSION), std::string::npos);
  EXPECT_NE(version.error().message().find("9.9.9"), std::string::npos);
  records[2].plan_hash = "0123456789abcdef0000";
  const auto hash = finished_cells(records, plan_, PLUMBLINE_VERSION);
  ASSERT_FALSE(hash);
  EXPECT_NE(hash.error().message().find("0123456789ab"), std::string::npos);
  EXPECT_NE(hash.error().message().find(plan_.hash.substr(0, 12)), std::string::npos);
}

TEST_F(RunnerTest, ProgressCountsUpAndTheEstimateDown) {
  PlanRequest r = request();
  size_t started = 0, ended = 0, last_done = 0;
  double last_eta = 1e9;
  r.progress = [&](const RunProgress& p) {
    EXPECT_EQ(p.total, plan_.cells.size());
    EXPECT_EQ(p.current == nullptr, p.last != nullptr);
    EXPECT_GE(p.done, last_done);
    EXPECT_GE(p.eta_s, 0);
    ++(p.current != nullptr ? started : ended);
    last_done = p.done;
    last_eta = p.eta_s;
  };
  ASSERT_TRUE(run_plan(r, ranks_));
  EXPECT_EQ(started, plan_.cells.size());
  EXPECT_EQ(ended, plan_.cells.size());
  EXPECT_EQ(last_done, plan_.cells.size());
  EXPECT_LT(last_eta, 0.001);
}

TEST_F(RunnerTest, AFileThatCannotBeWrittenEndsTheRun) {
  // No file of this process may grow: writing fails as on a full disk.
  const TempFolder folder;
  auto file = RecordFile::open(folder.path("records.jsonl"));
  ASSERT_TRUE(file) << file.error().message();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  PlanRequest r = request();
  r.file = &*file;
  const auto summary = run_plan(r, ranks_);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_TRUE(summary);
  EXPECT_NE(summary->stopped.find("records cannot be written"), std::string::npos);
  EXPECT_NE(summary->stopped.find(std::strerror(EFBIG)), std::string::npos) << summary->stopped;
  EXPECT_EQ(exit_code(*summary), 2);
  EXPECT_LE(ranks_.ran.size(), 1u);
}

TEST(RunnerExitCode, Table) {
  RunSummary s;
  EXPECT_EQ(exit_code(s), 2);  // nothing was measured
  s.skipped = 3;
  EXPECT_EQ(exit_code(s), 2);
  s.resumed = 1;
  EXPECT_EQ(exit_code(s), 0);
  s.resumed = 0;
  s.passed = 1;
  EXPECT_EQ(exit_code(s), 0);
  s.failed = 1;
  EXPECT_EQ(exit_code(s), 2);
  s.wrong = 1;
  EXPECT_EQ(exit_code(s), 3);
  s.interrupted = true;
  EXPECT_EQ(exit_code(s), 130);
}

TEST_F(RunnerTest, ASoakIsNotResumed) {
  PlanRequest asked = request();
  asked.mark = [](Record& record) { record.soak = SoakMark{3, 4, 0, 5}; };
  const auto summary = run_plan(asked, ranks_);
  ASSERT_TRUE(summary);
  ASSERT_TRUE(summary->records.front().soak);
  EXPECT_EQ(summary->records.front().soak->round, 3);
  const auto finished = finished_cells(summary->records, plan_, PLUMBLINE_VERSION);
  ASSERT_FALSE(finished);
  EXPECT_NE(finished.error().message().find("soak"), std::string::npos);
}

TEST(RunnerRequest, NeedsAPlan) {
  FakeRanks ranks;
  EXPECT_FALSE(run_plan({}, ranks));
}

}  // namespace
}  // namespace plumbline::scenario_test
