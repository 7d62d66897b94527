// The soak's loop on a clock that the test turns: the grid, idle time in turn, failures, and that
// memory does not grow with the number of rounds.
#include "scenarios/soak.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/clock.h"
#include "core/host/process_facts.h"
#include "tests/scenarios/support.h"
#include "tests/support/sanitized.h"

namespace plumbline::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMin = 60 * kSecond;

class TurnedClock : public SoakClock {
 public:
  int64_t now = 1'000'000 * kSecond;
  std::vector<int64_t> slept_ns;
  int64_t now_ns() override { return now; }
  bool sleep_until(int64_t ns, const std::function<bool()>& stop) override {
    if (stop()) return false;
    if (ns > now) slept_ns.push_back(ns - now);
    now = std::max(now, ns);
    return !stop();
  }
};

// Ranks whose operations take time on that clock.
class SoakedRanks : public CellRunner {
 public:
  explicit SoakedRanks(TurnedClock& clock) : clock_(&clock) {}
  int64_t cell_ns = kSecond;
  std::map<size_t, Status> start_fails;             // by number of the call
  std::map<size_t, Expected<Measurement>> answers;  // by number of the cell
  size_t interrupt_after = SIZE_MAX;                // cells
  std::vector<std::pair<std::string, int>> ran;     // cell id, cold operations
  std::vector<int64_t> ran_at;
  bool remember = true;

  Status ensure_world(const WorldShape&) override {
    const auto found = start_fails.find(starts_++);
    return found == start_fails.end() ? Status{} : found->second;
  }
  Expected<Measurement> run(const PlanCell& cell) override {
    if (remember) {
      ran.emplace_back(cell.id, cell.cold_operations);
      ran_at.push_back(clock_->now);
    }
    clock_->now += cell_ns;
    const auto found = answers.find(cells_++);
    if (found != answers.end()) return found->second;
    Measurement m;
    for (int i = 0; i < 2000; ++i) {
      m.samples_ns.push_back(50'000 + i);
      m.hist.add(50'000 + i);
    }
    m.wrong = 0;
    m.verified = true;
    m.stop_reason = "ci";
    return m;
  }
  Environment environment() override {
    Environment environment;
    HostFacts host;
    host.cores_usable = 8;
    environment.hosts = {host};
    return environment;
  }
  bool interrupted() const override { return cells_ >= interrupt_after; }

 private:
  TurnedClock* clock_;
  size_t starts_ = 0, cells_ = 0;
};

class SoakTest : public testing::Test {
 protected:
  SoakTest() { adopt(R"({"op": "allreduce", "bytes": [64, 128]}, {"op": "barrier"})"); }

  void adopt(const std::string& matrix) {
    scenario_ = parse(with_matrix(matrix, R"(, "roofs": false)"));
    plan_ = plan_of(scenario_);
  }
  SoakRequest request(const std::string& whole, const std::string& every,
                      const std::string& idle = "") {
    SoakRequest out;
    out.run.scenario = &scenario_;
    out.run.plan = &plan_;
    out.run.run_id = "r";
    out.plan = *parse_soak(whole, every, idle);
    out.clock = &clock_;
    out.tell = [this](SoakEvent event) { events_.push_back(event.text); };
    out.run.progress = [this](const RunProgress& progress) {
      if (progress.last != nullptr) marks_.push_back(*progress.last->soak);
    };
    return out;
  }
  SoakSummary soak(const SoakRequest& asked) {
    const int64_t start = clock_.now;
    const Expected<SoakSummary> done = run_soak(asked, ranks_);
    EXPECT_TRUE(done);
    for (int64_t& at : ranks_.ran_at) at -= start;
    return done ? *done : SoakSummary{};
  }

  Scenario scenario_;
  Plan plan_;
  TurnedClock clock_;
  SoakedRanks ranks_{clock_};
  std::vector<std::string> events_;
  std::vector<SoakMark> marks_;
};

TEST_F(SoakTest, RoundsStartOnTheGrid) {
  const SoakSummary done = soak(request("25m", "5m"));
  EXPECT_EQ(done.rounds, 5);
  EXPECT_EQ(done.late, 0);
  EXPECT_EQ(done.counts.passed, 15u);
  EXPECT_THAT(done.counts.records, IsEmpty());
  EXPECT_EQ(exit_code(done.counts), 0);
  ASSERT_EQ(ranks_.ran_at.size(), 15u);
  for (size_t round = 0; round < 5; ++round) {
    EXPECT_EQ(ranks_.ran_at[3 * round], static_cast<int64_t>(round) * 5 * kMin);
    for (size_t cell = 0; cell < 3; ++cell) {
      const SoakMark& mark = marks_[3 * round + cell];
      EXPECT_EQ(mark.round, static_cast<int64_t>(round) + 1);
      EXPECT_EQ(mark.idle_ns, 0);
      EXPECT_EQ(mark.at_ns, ranks_.ran_at[3 * round + cell] + kSecond);
      EXPECT_GT(mark.memory_bytes.value_or(0), 0u);
    }
  }
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(SoakTest, ALateRoundIsSaidAndTheGridStays) {
  ranks_.cell_ns = 4 * kMin;  // a round takes 12 min of 5
  const SoakSummary done = soak(request("30m", "5m"));
  EXPECT_EQ(done.rounds, 2);  // at 0 and at 15
  EXPECT_EQ(ranks_.ran_at[3], 15 * kMin);
  EXPECT_EQ(done.late, 4);  // 5, 10; 20, 25
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_THAT(events_[0], HasSubstr("round 1 took 12 min, longer than --every 5 min: 2 starts"));
}

TEST_F(SoakTest, IdleTimesTakeTurnsAndTheCellBehindThemIsTheOneBeforeThem) {
  const SoakSummary done = soak(request("10h", "5m", "1m,7m"));
  EXPECT_GT(done.idle_done, 20);
  std::map<std::pair<std::string, int64_t>, int> seen;
  for (size_t i = 0; i < ranks_.ran.size(); ++i) {
    if (ranks_.ran[i].second == 0) {
      EXPECT_EQ(marks_[i].idle_ns, 0);
      continue;
    }
    // Its own connections lay idle, for exactly so long.
    ASSERT_GT(i, 0u);
    EXPECT_EQ(ranks_.ran[i].first, ranks_.ran[i - 1].first);
    const int64_t idle = ranks_.ran_at[i] - (ranks_.ran_at[i - 1] + kSecond);
    EXPECT_EQ(idle, marks_[i].idle_ns);
    ++seen[{ranks_.ran[i].first, idle}];
  }
  // Three cells, two lengths, all in turn.
  ASSERT_EQ(seen.size(), 6u);
  const auto [least, most] = std::minmax_element(
      seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_LE(most->second - least->second, 1);
  // Idle time longer than the grid is told once.
  ASSERT_FALSE(events_.empty());
  EXPECT_THAT(events_[0], HasSubstr("and so on with every idle time like it"));
  EXPECT_EQ(std::count_if(events_.begin(), events_.end(),
                          [](const std::string& text) {
                            return text.find("passed over") != std::string::npos;
                          }),
            1);
}

TEST_F(SoakTest, IdleTimeThatDoesNotFitAnyMoreIsLeftOut) {
  const SoakSummary done = soak(request("12m", "5m", "6m"));
  EXPECT_EQ(done.idle_done, 1);
  EXPECT_THAT(events_.back(), HasSubstr("no time left for 6 min of idle time"));
}

TEST_F(SoakTest, WithoutConnectedRanksNothingLiesIdle) {
  Error broken;
  broken.code = ErrorCode::kPeerLost;
  broken.what = "rank 1 died";
  ranks_.answers.emplace(2, tl::unexpected(broken));  // the last cell of the first round
  const SoakSummary done = soak(request("10m", "5m", "1m"));
  EXPECT_EQ(done.idle_done, 1);  // of the second round
  EXPECT_EQ(done.counts.errors, 1u);
  EXPECT_EQ(exit_code(done.counts), 2);
  EXPECT_THAT(events_, ElementsAre(HasSubstr("rank 1 died"), HasSubstr("no connected ranks")));
}

TEST_F(SoakTest, RanksThatDoNotStartAreTriedAgainInTheNextRound) {
  const Error busy{ErrorCode::kBusy, "port 29600 is in use", 0, "", ""};
  ranks_.start_fails.emplace(0, tl::unexpected(busy));
  ranks_.start_fails.emplace(1, tl::unexpected(busy));
  const SoakSummary done = soak(request("15m", "5m"));
  EXPECT_EQ(done.rounds, 3);
  EXPECT_EQ(done.counts.passed, 6u);
  EXPECT_EQ(done.counts.errors, 1u);
  EXPECT_THAT(events_, ElementsAre(HasSubstr("started again: port 29600 is in use"),
                                   HasSubstr("2 times in a row: port 29600 is in use")));
}

TEST_F(SoakTest, RanksOfALauncherCannotAndThatEndsIt) {
  ranks_.start_fails.emplace(
      0, tl::unexpected(Error{ErrorCode::kAborted, "cannot be started again", 0, "", ""}));
  const SoakSummary done = soak(request("15m", "5m"));
  EXPECT_EQ(done.rounds, 1);
  EXPECT_THAT(done.counts.stopped, HasSubstr("cannot be started again"));
  EXPECT_EQ(exit_code(done.counts), 2);
}

TEST_F(SoakTest, AnInterruptEndsTheRoundOrTheWait) {
  for (const size_t after : {1u, 3u, 4u}) {
    ranks_ = SoakedRanks(clock_);
    ranks_.interrupt_after = after;
    const SoakSummary done = soak(request("8h", "5m", "1m"));
    EXPECT_TRUE(done.counts.interrupted);
    EXPECT_EQ(done.counts.passed, after);
    EXPECT_EQ(exit_code(done.counts), 130);
  }
}

TEST_F(SoakTest, SkippedCellsAreRecordedOnce) {
  adopt(R"({"op": "allreduce", "bytes": 64, "algorithm": ["ring", "doubling"], "ranks": [3]})");
  const SoakSummary done = soak(request("15m", "5m", "1m"));
  EXPECT_EQ(done.counts.skipped, 1u);
  EXPECT_EQ(done.counts.passed, 6u);  // ring in three rounds, and behind idle time
}

TEST_F(SoakTest, IdleNeedsACellThatCanFollowIt) {
  adopt(R"({"kind": "check", "op": "allreduce", "bytes": 64})");
  const Expected<SoakSummary> done = run_soak(request("15m", "5m", "1m"), ranks_);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("--idle"));
  EXPECT_FALSE(run_soak({}, ranks_));
}

// Every record holds 2000 samples and a histogram: three thousand rounds of three cells would be
// more than 150 MB, were they kept.
TEST_F(SoakTest, MemoryDoesNotGrowWithTheNumberOfRounds) {
  ranks_.remember = false;
  std::vector<uint64_t> resident;
  SoakRequest asked = request("50h", "1m");
  asked.run.progress = nullptr;
  asked.round_begins = [&](int64_t round) {
    if (round % 100 == 0) resident.push_back(resident_bytes().value_or(0));
  };
  const SoakSummary done = soak(asked);
  EXPECT_EQ(done.rounds, 3000);
  EXPECT_EQ(done.counts.passed, 9000u);
  EXPECT_THAT(done.counts.records, IsEmpty());
  ASSERT_EQ(resident.size(), 30u);
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory for a while";
  if (resident.front() == 0) GTEST_SKIP() << "this system does not tell the memory of a process";
  // From round 300 on, when buffers have grown to their size.
  EXPECT_LT(resident.back(), resident[2] + (4u << 20));
}

TEST(SoakFlags, TimesAsPeopleWriteThem) {
  const Expected<SoakPlan> plan = parse_soak("8h", "5m", "1m,5m,25m");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->for_ns, 8 * 60 * kMin);
  EXPECT_EQ(plan->every_ns, 5 * kMin);
  EXPECT_THAT(plan->idle_ns, ElementsAre(kMin, 5 * kMin, 25 * kMin));
  EXPECT_EQ(parse_soak("90s", "", "")->every_ns, 5 * kMin);
  EXPECT_THAT(parse_soak("90s", "", "")->idle_ns, IsEmpty());
}

TEST(SoakFlags, NonsenseIsRefusedWithTheFlagItStandsIn) {
  const std::vector<std::array<const char*, 4>> cases = {
      {"8", "5m", "", "--for '8'"},
      {"", "5m", "", "--for ''"},
      {"0s", "5m", "", "--for '0s'"},
      {"-3h", "5m", "", "--for '-3h'"},
      {"8h", "five", "", "--every 'five'"},
      {"8h", "5m", "1m,", "--idle ''"},
      {"8h", "5m", "1m;5m", "--idle"},
      {"1h", "5m", "2h", "longer than --for 1h"},
      {"1e9h", "5m", "", "--for '1e9h'"},
      {"1h", "1s", "1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s,1s", "at most 16"}};
  for (const auto& [whole, every, idle, expected] : cases) {
    const Expected<SoakPlan> plan = parse_soak(whole, every, idle);
    ASSERT_FALSE(plan) << whole << " " << every << " " << idle;
    EXPECT_THAT(plan.error().message(), HasSubstr(expected));
  }
}

TEST(SoakFlags, TimesInWords) {
  EXPECT_EQ(soak_time_text(1'500'000'000), "1.5 s");
  EXPECT_EQ(soak_time_text(90 * kSecond), "90 s");
  EXPECT_EQ(soak_time_text(5 * kMin), "5 min");
  EXPECT_EQ(soak_time_text(150 * kSecond), "2 min 30 s");
  EXPECT_EQ(soak_time_text(65 * kMin), "1 h 5 min");
  EXPECT_EQ(soak_time_text(8 * 60 * kMin), "8 h");
}

}  // namespace
}  // namespace plumbline::scenario_test
