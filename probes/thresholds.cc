#include "probes/thresholds.h"

namespace plumbline {
namespace {

constexpr ThresholdRow<Threshold> kTable[] = {
    {Threshold::kRanksPerCore, "ranks_per_core", 1.0, "ranks per usable core",
     "a rank that waits for a core adds up to a scheduler tick (1 to 10 ms) to every operation"},
    {Threshold::kLoadPerCore, "load_per_core", 0.5, "1-minute load per usable core",
     "half of the cores busy with other work: ranks will often find theirs taken"},
    {Threshold::kClockCallNs, "clock_call", 200, "ns",
     "a clock read in user space takes 20 to 60 ns; more is a system call or an emulated timer, "
     "which disturbs what it measures"},
    {Threshold::kBufferShare, "buffer_share", 1.0, "granted / asked",
     "a socket buffer below what was asked for caps the bytes in flight"},
    {Threshold::kBufferTuned, "buffer_tuned", 655360, "bytes",
     "10 Gbit/s over 0.5 ms keep 0.6 MB in flight; a socket that asks for no size must be able to "
     "grow so far"},
    {Threshold::kDescriptorsPerPeer, "descriptors_per_peer", 2, "descriptors",
     "a rank keeps one data and one control connection to every peer"},
    {Threshold::kSpareDescriptors, "spare_descriptors", 64, "descriptors",
     "listeners, pipes, files and libraries beside the connections"},
    {Threshold::kResolveMs, "resolve", 5000, "ms",
     "longest wait for the resolver; DNS clients try a second server after 5 s"},
    {Threshold::kConnectMs, "connect", 1500, "ms",
     "longest wait for a connection; a lost first SYN is sent again after 1 s (RFC 6298)"},
    {Threshold::kConntrackShare, "conntrack_share", 0.95, "connections tracked / most possible",
     "a full table drops the first packet of every new connection; a job opens hundreds at once"},
    {Threshold::kClockSkewMs, "clock_skew", 500, "ms beyond the uncertainty of the measurement",
     "logs and records of several hosts can no longer be put in order"},
    {Threshold::kCarrierChanges, "carrier_changes", 20, "changes since the interface exists",
     "a cable that is plugged in, and again after a restart or two of the other end, makes a few; "
     "a "
     "bad one makes them by the dozen"},
    {Threshold::kCarrierChangesDuring, "carrier_changes_during", 2, "changes during the check",
     "a signal that goes and comes flaps; one change alone may be a cable that was just plugged "
     "in"},
    {Threshold::kCarrierChangesSome, "carrier_changes_some", 6,
     "changes since the interface exists",
     "after that many, one more during the check means that the link flaps slowly, not that a "
     "cable "
     "was plugged in; such a link is watched for at least half of the slowest period"},
    {Threshold::kCarrierChangesAgain, "carrier_changes_again", 4,
     "changes since the interface exists",
     "a signal that is gone, and had gone and come back before, may come back once more: it is "
     "watched on"},
    {Threshold::kErrorsDuringCheck, "link_errors", 1, "errors during the check",
     "a sound wired link counts none in days"},
    {Threshold::kSpeedShare, "link_speed_share", 1.0, "negotiated / offered by hardware or peers",
     "a link below its own speed, or below the others of its kind, slows all ranks down"},
    {Threshold::kFasterLink, "faster_link", 1.5, "speed of the unused link / of the used one",
     "below that the difference rarely outweighs the change"},
    {Threshold::kLockedMemory, "locked_memory", 67108864, "bytes",
     "registered RDMA buffers are locked; 64 MiB hold the queues and buffers of a few peers"},
    {Threshold::kStallMs, "stall", 300, "ms",
     "longest pause of a transfer that works: a lost segment is sent again after 200 ms or more"},
    {Threshold::kLossQuick, "loss_quick", 0.01, "share of packets",
     "what a short paced stream can find with near certainty; less is not seen"},
    {Threshold::kLossDeep, "loss_deep", 0.0005, "share of packets",
     "what the long paced stream of --deep can find; less is not seen"},
    {Threshold::kLossExcluded, "loss_excluded", 0.05, "share of packets",
     "a stream that lost nothing passes when it was long enough to exclude more than this; a busy "
     "machine sends fewer packets"},
    {Threshold::kLossFail, "loss_fail", 0.2, "share of packets",
     "with a fifth lost, connections fail and TCP hardly moves"},
    {Threshold::kRateShare, "rate_share", 0.7, "of the link's speed, or of the best group's rate",
     "one TCP stream on a sound link of up to 100 Gbit/s reaches 90 % and more"},
    {Threshold::kRateFail, "rate_fail", 0.25, "of the speed in the host file",
     "who states a speed counts on it; below a quarter the link is not that link"},
    {Threshold::kRateRatio, "rate_ratio", 1.5, "faster / slower direction",
     "links are alike both ways; short streams differ by a few tens of percent at most"},
    {Threshold::kCpuFull, "cpu_full", 0.85, "CPU seconds per second",
     "a stream whose process takes a whole core is limited by it, not by the link"},
    {Threshold::kBufferFull, "buffer_full", 0.5, "share of busy time",
     "TCP_INFO: the stream waited for the window or the buffer more than for the network"},
    {Threshold::kSharedCoresBps, "shared_cores_rate", 4e9, "bits per second",
     "hosts that are namespaces of one machine copy through its cores: faster streams compete for "
     "those, and say nothing about a link"},
    {Threshold::kSharedCoresRatio, "shared_cores_ratio", 4, "other streams / this one",
     "both alone, in turns, again and again: busy cores slow both, a link only one"},
    {Threshold::kLatencyRatio, "latency_ratio", 3, "times the median of its kind",
     "switches and cables add microseconds; three times is another path or a queue"},
    {Threshold::kLatencyMs, "latency", 1, "ms", "wired neighbours answer in a fraction of it"},
    {Threshold::kTemperatureStep, "temperature_step", 10, "degrees Celsius",
     "a busy core warms by as much within seconds; a soak makes no event of less"},
};

}  // namespace

std::span<const ThresholdRow<Threshold>> threshold_table() { return kTable; }

double threshold(Threshold id) { return threshold_in(threshold_table(), id); }

}  // namespace plumbline
