#include "reports/thresholds.h"

#include "core/stats/ring_orders.h"
#include "core/stats/stats.h"

namespace plumbline {
std::span<const ThresholdRow<LinkThreshold>> link_threshold_table() {
  using enum LinkThreshold;
  static constexpr ThresholdRow<LinkThreshold> kTable[] = {
      {kRateFactor, "link_rate_factor", 1.5, "below the best group",
       "links of one kind differ by some percent, the next kind by a factor of 2.5"},
      {kLatencyFactor, "link_latency_factor", 3, "times the best group",
       "switches and cables add microseconds; three times is another path or a queue"},
      {kLatencyNs, "link_latency_more", 100'000, "ns",
       "a smaller difference is what waking a thread on a busy host costs"},
      {kGroupGap, "link_group_gap", kRateGroupGap, "times worse",
       "values that agree are a group; the next one further away begins another"},
      {kGroupGapFew, "link_group_gap_few", kRateGroupGapFew, "times worse",
       "the same where the group is small, and its scatter hardly known"},
      {kFewRates, "link_few_values", kFewInRateGroup, "values", "fewer are a small group"},
      {kGroupShare, "link_group_share", 0.25, "of the links",
       "a smaller best group is the measure only where no more hosts and links are "
       "slow than there are hosts: else it is merely faster"},
      {kAsymmetry, "link_asymmetry", 1.5, "times the other direction",
       "full-duplex links carry the same both ways within some percent"},
      {kLoss, "link_loss", 0.002, "of the datagrams",
       "a wired link loses next to none; TCP feels one in a thousand"},
      {kLostDatagrams, "link_lost_datagrams", 5, "datagrams", "fewer may be one hiccup"},
      {kFullLink, "link_full", 1.25, "times the streams' rate",
       "datagrams that arrive at no more than this filled the link: the rest had no "
       "room"},
      {kSpeedShare, "link_speed_share", 0.7, "of the link's speed",
       "TCP over Ethernet attains 94 % of the speed; below 70 % something limits it"},
      {kSpeedFail, "link_speed_fail", 0.25, "of the speed in the host file",
       "who states a speed counts on it; below a quarter the link is not that link"},
      {kSameHop, "link_same_hop", kLikeHops, "as a fraction",
       "hops of a ring that differ less are equally fast: then latency decides"},
      {kSharedCoresBps, "link_shared_cores_rate", 4e9, "bits per second",
       "hosts that are namespaces of one machine copy through its cores: faster "
       "streams compete for those, and say nothing about a link"},
      {kSharedCoresFactor, "link_shared_cores_factor", 20, "below the best group",
       "where most links are above that rate: a stream that waits for a core is ten "
       "times slower for a moment"},
      {kSharedCoresTwice, "link_shared_cores_twice", 4, "below the best group",
       "the same where a link was measured twice, and is the slower both times"}};
  return kTable;
}

std::span<const ThresholdRow<SoakThreshold>> soak_threshold_table() {
  using enum SoakThreshold;
  static constexpr ThresholdRow<SoakThreshold> kTable[] = {
      {kStepChance, "soak_step_chance", 0.005, "chance",
       "that noise alone gives such a step; of a thousand calm series no more than ten may have "
       "one"},
      {kStepShare, "soak_step_share", 0.05, "of the level before it",
       "less is within what a machine does by itself, and of no use to anybody"},
      {kStepSuperiority, "soak_step_superiority", 0.85, "share of pairs",
       "of a value before and one behind the step that lie in its direction: levels 1.5 standard "
       "deviations apart, with room for outliers"},
      {kStepRounds, "soak_step_rounds", 3, "rounds on each side",
       "one or two odd rounds are outliers, not a level"},
      {kEventRounds, "soak_event_rounds", 1, "rounds",
       "an event this near to a step stands beside it: hosts are looked at several times a round"},
      {kGrowthBytes, "soak_growth", 1048576, "bytes",
       "allocators take and return memory in such steps"},
      {kGrowthShare, "soak_growth_share", 0.02, "of the memory at first",
       "the same for large processes"},
  };
  return kTable;
}

double threshold(LinkThreshold id) { return threshold_in(link_threshold_table(), id); }
double threshold(SoakThreshold id) { return threshold_in(soak_threshold_table(), id); }

StepRule soak_step_rule() {
  StepRule rule;
  rule.alpha = threshold(SoakThreshold::kStepChance);
  rule.least_share = threshold(SoakThreshold::kStepShare);
  rule.least_superiority = threshold(SoakThreshold::kStepSuperiority);
  rule.least_rounds = static_cast<size_t>(threshold(SoakThreshold::kStepRounds));
  return rule;
}

}  // namespace plumbline
