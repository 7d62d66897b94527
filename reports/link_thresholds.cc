#include "reports/link_thresholds.h"

#include <array>

namespace plumbline {
namespace {

constexpr std::array kTable = {
    LinkThresholdRow{LinkThreshold::kRateFactor, "link_rate_factor", 1.5, "below the median",
                     "links of one kind differ by some percent, the next kind by a factor of 2.5"},
    LinkThresholdRow{
        LinkThreshold::kLatencyFactor, "link_latency_factor", 3, "times the median",
        "switches and cables add microseconds; three times is another path or a queue"},
    LinkThresholdRow{LinkThreshold::kLatencyNs, "link_latency_more", 100'000, "ns",
                     "a smaller difference is what waking a thread on a busy host costs"},
    LinkThresholdRow{LinkThreshold::kDeviations, "link_deviations", 3.5, "robust deviations",
                     "modified z-score of Iglewicz and Hoaglin (1993), over logarithms"},
    LinkThresholdRow{LinkThreshold::kFewestForSpread, "link_fewest_for_spread", 6, "values",
                     "the median deviation of fewer values says little: only the factor counts"},
    LinkThresholdRow{LinkThreshold::kLeastSpread, "link_least_spread", 0.05, "as a fraction",
                     "values that agree better than this do so by chance"},
    LinkThresholdRow{LinkThreshold::kLineShare, "link_line_share", 0.75, "of a row or column",
                     "when so many of a host's links are slow, and at least two, it is the host"},
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
    LinkThresholdRow{LinkThreshold::kSameHop, "link_same_hop", 0.05, "as a fraction",
                     "hops of a ring that differ less are equally fast: then latency decides"},
    LinkThresholdRow{LinkThreshold::kSharedCoresBps, "link_shared_cores_rate", 4e9,
                     "bits per second",
                     "hosts that are namespaces of one machine copy through its cores: faster "
                     "streams compete for those, and say nothing about a link"},
    LinkThresholdRow{LinkThreshold::kSharedCoresFactor, "link_shared_cores_factor", 20,
                     "below the median",
                     "where the median is above that rate: a stream that waits for a core is ten "
                     "times slower for a moment"}};

}  // namespace

std::span<const LinkThresholdRow> link_threshold_table() { return kTable; }

double threshold(LinkThreshold id) { return threshold_in(link_threshold_table(), id); }

}  // namespace plumbline
