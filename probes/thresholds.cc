#include "probes/thresholds.h"

#include <algorithm>
#include <iterator>

namespace plumbline {
namespace {

constexpr ThresholdRow kTable[] = {
    {Threshold::kRanksPerCore, "ranks_per_core", 1.0, "ranks per usable core",
     "a rank that waits for a core adds up to a scheduler tick (1 to 10 ms) to every operation"},
    {Threshold::kLoadPerCore, "load_per_core", 0.5, "1-minute load per usable core",
     "half of the cores busy with other work: ranks will often find theirs taken"},
    {Threshold::kClockCallNs, "clock_call", 200, "ns",
     "a clock read in user space takes 20 to 60 ns; more is a system call or an emulated timer, "
     "which disturbs what it measures"},
    {Threshold::kBufferShare, "buffer_share", 1.0, "granted / asked",
     "a socket buffer below what was asked for caps the bytes in flight"},
    {Threshold::kDescriptorsPerPeer, "descriptors_per_peer", 2, "descriptors",
     "a rank keeps one data and one control connection to every peer"},
    {Threshold::kSpareDescriptors, "spare_descriptors", 64, "descriptors",
     "listeners, pipes, files and libraries beside the connections"},
    {Threshold::kResolveMs, "resolve", 5000, "ms",
     "longest wait for the resolver; DNS clients try a second server after 5 s"},
    {Threshold::kConnectMs, "connect", 1500, "ms",
     "longest wait for a connection; a lost first SYN is sent again after 1 s (RFC 6298)"},
};

}  // namespace

std::span<const ThresholdRow> threshold_table() { return kTable; }

double threshold(Threshold id) {
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const ThresholdRow& r) { return r.id == id; });
  return row == std::end(kTable) ? 0 : row->value;
}

}  // namespace plumbline
