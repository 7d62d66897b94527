#include "reports/links/link_thresholds.h"

#include <array>

#include "core/stats/rate_groups.h"

namespace plumbline {
namespace {

constexpr std::array kTable = {
    LinkThresholdRow{LinkThreshold::kRateFactor, "link_rate_factor", 1.5, "below the best group",
                     "links of one kind differ by some percent, the next kind by a factor of 2.5"},
    LinkThresholdRow{
        LinkThreshold::kLatencyFactor, "link_latency_factor", 3, "times the best group",
        "switches and cables add microseconds; three times is another path or a queue"},
    LinkThresholdRow{LinkThreshold::kLatencyNs, "link_latency_more", 100'000, "ns",
                     "a smaller difference is what waking a thread on a busy host costs"},
    LinkThresholdRow{LinkThreshold::kGroupGap, "link_group_gap", kRateGroupGap, "times worse",
                     "values that agree are a group; the next one further away begins another"},
    LinkThresholdRow{LinkThreshold::kGroupGapFew, "link_group_gap_few", kRateGroupGapFew,
                     "times worse",
                     "the same where the group is small, and its scatter hardly known"},
    LinkThresholdRow{LinkThreshold::kFewRates, "link_few_values", kFewInRateGroup, "values",
                     "fewer are a small group"},
    LinkThresholdRow{LinkThreshold::kGroupShare, "link_group_share", 0.25, "of the links",
                     "a smaller best group is the measure only where no more hosts and links are "
                     "slow than there are hosts: else it is merely faster"},
    LinkThresholdRow{LinkThreshold::kAsymmetry, "link_asymmetry", 1.5, "times the other direction",
                     "full-duplex links carry the same both ways within some percent"},
    LinkThresholdRow{LinkThreshold::kLoss, "link_loss", 0.002, "of the datagrams",
                     "a wired link loses next to none; TCP feels one in a thousand"},
    LinkThresholdRow{LinkThreshold::kLostDatagrams, "link_lost_datagrams", 5, "datagrams",
                     "fewer may be one hiccup"},
    LinkThresholdRow{LinkThreshold::kFullLink, "link_full", 1.25, "times the streams' rate",
                     "datagrams that arrive at no more than this filled the link: the rest had no "
                     "room"},
    LinkThresholdRow{LinkThreshold::kSpeedShare, "link_speed_share", 0.7, "of the link's speed",
                     "TCP over Ethernet attains 94 % of the speed; below 70 % something limits it"},
    LinkThresholdRow{LinkThreshold::kSpeedFail, "link_speed_fail", 0.25,
                     "of the speed in the host file",
                     "who states a speed counts on it; below a quarter the link is not that link"},
    LinkThresholdRow{LinkThreshold::kSameHop, "link_same_hop", 0.05, "as a fraction",
                     "hops of a ring that differ less are equally fast: then latency decides"},
    LinkThresholdRow{LinkThreshold::kSharedCoresBps, "link_shared_cores_rate", 4e9,
                     "bits per second",
                     "hosts that are namespaces of one machine copy through its cores: faster "
                     "streams compete for those, and say nothing about a link"},
    LinkThresholdRow{LinkThreshold::kSharedCoresFactor, "link_shared_cores_factor", 20,
                     "below the best group",
                     "where most links are above that rate: a stream that waits for a core is ten "
                     "times slower for a moment"},
    LinkThresholdRow{LinkThreshold::kSharedCoresTwice, "link_shared_cores_twice", 4,
                     "below the best group",
                     "the same where a link was measured twice, and is the slower both times"}};

}  // namespace

std::span<const LinkThresholdRow> link_threshold_table() { return kTable; }

double threshold(LinkThreshold id) { return threshold_in(link_threshold_table(), id); }

}  // namespace plumbline
