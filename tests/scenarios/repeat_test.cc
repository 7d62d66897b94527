// The loop over launches against ranks that a script moves: order, marks, fresh ranks each time,
// resuming, failures and interrupts.
#include <gmock/gmock.h>

#include <algorithm>

#include "scenarios/runner.h"
#include "tests/scenarios/support.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Event {
  std::string side;
  std::string what;  // "start", "run", "end"
};

class LoggedRanks : public CellRunner {
 public:
  LoggedRanks(std::string side, std::vector<Event>& log) : side_(std::move(side)), log_(log) {}
  Status ensure_world(const WorldShape&) override {
    if (fails_to_start) return fail(ErrorCode::kTimeout, "nobody came");
    if (!std::exchange(stands_, true)) log_.push_back({side_, "start"});
    return {};
  }
  Expected<Measurement> run(const PlanCell&) override {
    log_.push_back({side_, "run"});
    Measurement m;
    for (int i = 0; i < 50; ++i) m.samples_ns.push_back(50'000 + i);
    for (const int64_t sample : m.samples_ns) m.hist.add(sample);
    m.wrong = 0;
    m.stop_reason = "ci";
    m.outcome = error ? Outcome::kError : Outcome::kPassed;
    return m;
  }
  Environment environment() override { return {}; }
  bool interrupted() const override {
    return interrupt_after >= 0 && static_cast<int>(log_.size()) >= interrupt_after;
  }
  void end() {
    stands_ = false;
    log_.push_back({side_, "end"});
  }

  bool fails_to_start = false, error = false;
  int interrupt_after = -1;  // events

 private:
  std::string side_;
  std::vector<Event>& log_;
  bool stands_ = false;
};

class RepeatTest : public testing::Test {
 protected:
  RepeatTest()
      : scenario_(parse(
            with_matrix(R"({"op": "allreduce", "bytes": [64, 128]})", R"(, "roofs": false)"))),
        plan_(plan_of(scenario_)) {}

  RepeatSide side(const std::string& name, LoggedRanks& ranks) {
    RepeatSide out;
    out.name = name;
    out.run.scenario = &scenario_;
    out.run.plan = &plan_;
    out.run.run_id = "r";
    out.run.progress = [this](const RunProgress& progress) {
      if (progress.last != nullptr) records_.push_back(*progress.last);
    };
    out.ranks = &ranks;
    out.end = [&ranks] { ranks.end(); };
    return out;
  }

  Scenario scenario_;
  Plan plan_;
  std::vector<Event> log_;
  LoggedRanks a_{"a", log_}, b_{"b", log_};
  std::vector<Record> records_;
};

TEST_F(RepeatTest, EveryLaunchHasFreshRanksAndSaysWhichItIs) {
  RepeatRequest request;
  request.sides = {side("", a_)};
  request.launches = 3;
  const auto done = run_repeated(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 3);
  EXPECT_EQ(done->counts.passed, 6u);
  EXPECT_THAT(done->counts.records, IsEmpty());
  std::vector<std::string> what;
  for (const Event& event : log_) what.push_back(event.what);
  EXPECT_THAT(what, ElementsAre("start", "run", "run", "end", "start", "run", "run", "end", "start",
                                "run", "run", "end"));
  ASSERT_THAT(records_, SizeIs(6));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(records_[i].launch->number, static_cast<int64_t>(i / 2) + 1);
    EXPECT_EQ(records_[i].launch->series, 1);
    EXPECT_EQ(records_[i].launch->side, "");
  }
}

TEST_F(RepeatTest, TwoSidesTakeTurnsInADrawnOrder) {
  RepeatRequest request;
  request.sides = {side("a", a_), side("b", b_)};
  request.launches = 20;
  request.seed = 5;
  ASSERT_TRUE(run_repeated(request));
  const std::vector<bool> swapped = second_side_first(20, 5);
  EXPECT_EQ(std::count(swapped.begin(), swapped.end(), true) % 20,  // neither all nor none
            std::count(swapped.begin(), swapped.end(), true));
  std::vector<std::string> starts;
  for (const Event& event : log_) {
    if (event.what == "start") starts.push_back(event.side);
  }
  ASSERT_THAT(starts, SizeIs(40));
  for (size_t pair = 0; pair < 20; ++pair) {
    EXPECT_EQ(starts[2 * pair], swapped[pair] ? "b" : "a");
    EXPECT_EQ(starts[2 * pair + 1], swapped[pair] ? "a" : "b");
  }
  for (const Record& record : records_) EXPECT_FALSE(record.launch->side.empty());
}

TEST_F(RepeatTest, OnlyWhatIsMissingIsMeasuredAgain) {
  RepeatRequest request;
  request.sides = {side("", a_)};
  request.launches = 2;
  ASSERT_TRUE(run_repeated(request));
  // The first launch is whole, of the second one cell ended in error.
  std::vector<Record> earlier = records_;
  earlier[3].measurement.outcome = Outcome::kError;
  records_.clear();
  request.sides.front().earlier = earlier;
  const auto resumed = run_repeated(request);
  ASSERT_TRUE(resumed);
  ASSERT_THAT(records_, SizeIs(1));
  EXPECT_EQ(cell_id(records_[0]), cell_id(earlier[3]));
  EXPECT_EQ(records_[0].launch->number, 2);
  EXPECT_EQ(resumed->counts.passed, 1u);
  // A second series is another matter.
  records_.clear();
  request.series = 2;
  ASSERT_TRUE(run_repeated(request));
  EXPECT_THAT(records_, SizeIs(4));
}

TEST_F(RepeatTest, ACellThatFailsDoesNotEndTheRun) {
  a_.error = true;
  RepeatRequest request;
  request.sides = {side("", a_)};
  request.launches = 2;
  const auto done = run_repeated(request);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->counts.errors, 4u);
  EXPECT_EQ(exit_code(done->counts), 2);
}

TEST_F(RepeatTest, RanksThatDoNotStartEndTheRunAndAreEndedAllTheSame) {
  b_.fails_to_start = true;
  RepeatRequest request;
  request.sides = {side("a", a_), side("b", b_)};
  request.launches = 5;
  const auto done = run_repeated(request);
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->counts.stopped.empty());
  EXPECT_LE(done->launches, 5);
  EXPECT_EQ(log_.back().what, "end");
  EXPECT_EQ(exit_code(done->counts), 2);
}

TEST_F(RepeatTest, AnInterruptEndsAllSides) {
  a_.interrupt_after = b_.interrupt_after = 7;
  RepeatRequest request;
  request.sides = {side("a", a_), side("b", b_)};
  request.launches = 5;
  const auto done = run_repeated(request);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->counts.interrupted);
  EXPECT_EQ(exit_code(done->counts), 130);
  EXPECT_LT(done->launches, 3);
  EXPECT_EQ(log_.back().what, "end");
}

TEST_F(RepeatTest, RefusesWhatMakesNoSense) {
  RepeatRequest request;
  EXPECT_FALSE(run_repeated(request));
  request.sides = {side("", a_)};
  request.launches = 0;
  EXPECT_FALSE(run_repeated(request));
  request.launches = kMostLaunches + 1;
  EXPECT_FALSE(run_repeated(request));
  request.launches = 1;
  request.sides.front().ranks = nullptr;
  EXPECT_FALSE(run_repeated(request));
  EXPECT_THAT(log_, IsEmpty());
}

}  // namespace
}  // namespace plumbline::scenario_test
