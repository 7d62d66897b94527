// What the streams of numbered datagrams say about loss, and whether TCP feels any. Datagrams tell
// the direction and the share; but a filter may treat them unlike TCP (forbid them, ration them,
// or lose them by chance where the job's ports are let through), so that by themselves they only
// speak where TCP does not contradict. Pure functions, thread-safe.
#pragma once

#include <string>

#include "probes/rules/pair_facts.h"

namespace plumbline {

struct DatagramLoss {
  int64_t lost = 0, sent = 0;
  double share = 0, low = 0, high = 1;  // 95 % Wilson interval of the share
  bool measured = false;                // enough were sent, and some came through
  bool again = false;                   // by a second stream, alone and slower
  bool rationed = false;                // fewer get lost the slower they come: no loss by chance
  bool seen = false;                    // significantly above zero, and above the detection limit
};
// By the streams that ran alone where there are any. `pair` may be null.
DatagramLoss datagram_loss(const EvidenceSet& evidence, const PairEvidence* pair);

enum class TcpLosses { kUnknown, kNone, kSome };
// Whether TCP between the two, in either direction, met any loss: segments that did not arrive or
// were sent again, streams that broke, connections that took a second SYN.
TcpLosses tcp_losses(const PairView& view);

// May datagrams decide about this direction? Not where TCP gets through without any loss; where
// there is no word of TCP, only when measured twice.
bool datagrams_decide(const PairView& view);

// Is this direction known to lose nothing that could be seen: every segment of its paced streams
// arrived, or its datagrams did while those of the other direction got lost?
bool loses_nothing(const PairView& view);

}  // namespace plumbline
