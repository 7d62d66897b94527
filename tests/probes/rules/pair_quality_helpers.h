// What the tests of loss, rate and latency share: losses put into the evidence of a pair, and the
// causes that are found in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnosis.h"

namespace plumbline::test {

inline std::vector<Finding> find(const EvidenceSet& set) {
  return find_causes(set, pair_checks(set));
}

inline std::vector<std::string> causes(const EvidenceSet& set) { return named(find(set)); }

inline void lose_large(EvidenceSet& set, const std::string& from, const std::string& to,
                       int passes) {
  MtuEvidence& mtu = *pair(set, from, to).mtu;
  mtu.largest_delivered = passes;
  mtu.smallest_lost = passes + 1;
  mtu.transferred = 20'000;
  mtu.stalled_ns = 800 * kMilli;
}

inline void lose(EvidenceSet& set, const std::string& from, const std::string& to, int64_t lost,
                 int64_t sent = 600, int64_t duplicates = 0) {
  StreamEvidence paced = stream("paced");
  paced.segments_out = sent;
  paced.retransmitted = lost;
  paced.duplicate_reports = duplicates;
  auto& streams = pair(set, from, to).quality->streams;
  std::erase_if(streams, [](const StreamEvidence& s) { return s.kind == "paced"; });
  streams.push_back(paced);
}

}  // namespace plumbline::test
