#include <gmock/gmock.h>

#include <map>

#include "evidence_builder.h"
#include "probes/judges/judges.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

Check find(const std::vector<Check>& checks, const std::string& key) {
  for (const Check& check : checks) {
    if (check.key == key) return check;
  }
  ADD_FAILURE() << "no check " << key;
  return {};
}

TEST(JudgeMtu, OnePerOutcome) {
  struct Row {
    int largest, lost, told;
    int64_t transferred, stalled_ms;
    CheckOutcome outcome;
    const char* text;
  };
  constexpr int64_t kAll = 1 << 20;
  const Row rows[] = {
      {1500, 0, 0, kAll, 0, CheckOutcome::kPass, "packets of 1500 bytes arrive"},
      {1400, 0, 1400, kAll, 0, CheckOutcome::kPass, "says so"},
      {0, 0, 0, kAll, 0, CheckOutcome::kPass, "could not be measured"},
      {0, 0, 0, 0, 0, CheckOutcome::kUnknown, "no large packet"},
      {1400, 1401, 0, kAll, 0, CheckOutcome::kWarn, "vanish"},
      {1400, 1401, 0, 9000, 700, CheckOutcome::kFail, "stopped after"},
      {0, 60, 0, 9000, 700, CheckOutcome::kFail, "stopped after"},
  };
  for (const Row& row : rows) {
    EvidenceSet set = test::healthy_star(2);
    MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
    mtu.largest_delivered = row.largest;
    mtu.smallest_lost = row.lost;
    mtu.told = row.told;
    mtu.transferred = row.transferred;
    mtu.stalled_ns = row.stalled_ms * test::kMilli;
    const Check check = find(judge_mtu(set, {}), "mtu/mini1>mini2");
    EXPECT_EQ(check.outcome, row.outcome) << check.reason;
    EXPECT_THAT(check.reason, HasSubstr(row.text));
  }
}

TEST(JudgeMtu, SaysThatEvenTheSmallestWasNotAnswered) {
  EvidenceSet set = test::healthy_star(2);
  MtuEvidence& mtu = *test::pair(set, "mini1", "mini2").mtu;
  mtu.largest_delivered = 0;
  mtu.small_sent = mtu.small_lost = 5;
  const std::string words = "not even the smallest datagram was answered (5 tries)";
  Check check = find(judge_mtu(set, {}), "mtu/mini1>mini2");
  EXPECT_EQ(check.outcome, CheckOutcome::kPass);
  EXPECT_THAT(check.reason,
              HasSubstr("arrived; the largest packet could not be measured: " + words));
  mtu.transferred = 0;
  check = find(judge_mtu(set, {}), "mtu/mini1>mini2");
  EXPECT_EQ(check.outcome, CheckOutcome::kUnknown);
  EXPECT_EQ(check.reason, words);
  mtu.small_lost = 4;  // near miss: one was
  EXPECT_THAT(find(judge_mtu(set, {}), "mtu/mini1>mini2").reason, HasSubstr("no large packet"));
}

// What passes is a bound: few packets exclude little. On a sound network that was unknown.
TEST(JudgeQuality, LossPassesForWhatWasExcluded) {
  EvidenceSet set = test::healthy_star(2);
  auto& streams = test::pair(set, "mini1", "mini2").quality->streams;
  const auto outcome = [&](int64_t lost, int64_t sent) {
    StreamEvidence paced = test::stream("paced");
    paced.segments_out = sent;
    paced.retransmitted = lost;
    streams = {paced};
    return find(judge_quality(set, {}), "quality/mini1>mini2#loss");
  };
  EXPECT_EQ(outcome(0, 600).outcome, CheckOutcome::kPass);
  EXPECT_THAT(outcome(0, 600).reason, HasSubstr("no loss above 1 %"));
  EXPECT_THAT(outcome(0, 600).reason, HasSubstr("less is not seen"));
  EXPECT_EQ(outcome(0, 100).outcome, CheckOutcome::kPass);
  EXPECT_THAT(outcome(0, 100).reason, HasSubstr("no loss above 3.7 %")) << "too few to say 1 %";
  EXPECT_EQ(outcome(0, 50).outcome, CheckOutcome::kUnknown) << "too few to exclude 5 %";
  EXPECT_THAT(outcome(0, 50).reason, HasSubstr("(50 segments)"));
  EXPECT_EQ(outcome(20, 600).outcome, CheckOutcome::kWarn);
  EXPECT_EQ(outcome(200, 600).outcome, CheckOutcome::kFail);
  EXPECT_EQ(outcome(5, 0).outcome, CheckOutcome::kUnknown);
  EXPECT_EQ(outcome(900, 600).outcome, CheckOutcome::kFail) << "more than were sent";
}

TEST(JudgeQuality, RateAndRoundTrip) {
  EvidenceSet set = test::healthy_star(2);
  auto checks = judge_quality(set, {});
  EXPECT_EQ(find(checks, "quality/mini1>mini2#rate").outcome, CheckOutcome::kPass);
  EXPECT_EQ(find(checks, "quality/mini1>mini2#latency").outcome, CheckOutcome::kPass);

  PairEvidence& pair = test::pair(set, "mini1", "mini2");
  for (StreamEvidence& stream : pair.quality->streams) stream.bytes /= 10;
  EXPECT_EQ(find(judge_quality(set, {}), "quality/mini1>mini2#rate").outcome,
            CheckOutcome::kUnknown)
      << "measured once, beside others";
  for (StreamEvidence& stream : pair.quality->streams) stream.alone = true;
  EXPECT_EQ(find(judge_quality(set, {}), "quality/mini1>mini2#rate").outcome, CheckOutcome::kWarn);

  for (const char* name : {"mini1", "mini2"}) test::nic(set, name, "eth1").speed_bps.reset();
  const Check alone = find(judge_quality(set, {}), "quality/mini2>mini1#rate");
  EXPECT_THAT(alone.reason, HasSubstr("not known"));
  EXPECT_EQ(alone.outcome, CheckOutcome::kSkipped) << "nothing to compare with";
  pair.quality->streams.clear();
  pair.quality->round_trips_ns.clear();
  pair.ping.reset();
  checks = judge_quality(set, {});
  for (const char* what : {"loss", "rate", "latency"}) {
    EXPECT_EQ(find(checks, std::string("quality/mini1>mini2#") + what).outcome,
              CheckOutcome::kUnknown);
  }
}

TEST(JudgeQuality, OneMachineIsSkipped) {
  EvidenceSet set = test::healthy_local(2);
  for (PairEvidence& pair : set.pairs) {
    pair.mtu.reset();
    pair.quality.reset();
  }
  for (const auto judge : {judge_mtu, judge_quality}) {
    for (const Check& check : judge(set, {})) EXPECT_EQ(check.outcome, CheckOutcome::kSkipped);
  }
}

}  // namespace
}  // namespace plumbline
