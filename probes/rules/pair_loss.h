// What was measured of one direction, and what it is compared with: packet loss as the paced
// streams show it, and as numbered datagrams do; the search for the largest packet; rates of short
// streams and round trips. Datagrams tell the direction and the share of a loss; but a filter may
// treat them unlike TCP (forbid them, ration them, or lose them by chance where the job's ports are
// let through), so that by themselves they only speak where TCP does not contradict. Pure
// functions, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "probes/rules/pair_facts.h"

namespace plumbline {

// Fewest lost packets that are taken for more than an accident.
constexpr int64_t kFewestLost = 3;

struct LossShare {
  int64_t lost = 0, sent = 0;
  double share = 0;
  double low = 0, high = 0;  // 95 % Wilson interval of the share
  bool seen = false;         // significantly above zero, and above the detection limit
  bool exact = false;        // both ends counted: lost in this direction, wherever that was
};
// From the paced streams of this direction, those that ran alone where there are any: what the
// receiver did not get, or, where it did not tell, what had to be sent again.
LossShare paced_loss(const PairView& view);
// The smallest share that the check is made to find: 0.01, deep 0.0005.
double loss_limit(const EvidenceSet& evidence);
// 95 % Wilson interval for `hits` of `trials`: low and high.
std::pair<double, double> wilson_interval(int64_t hits, int64_t trials);
// "1.2 %".
std::string percent(double share);

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

struct MtuFault {
  int allowed = 0;          // bytes that both interfaces allow
  int largest = 0;          // bytes that arrived; 0 = unknown
  int lost = 0;             // smallest that vanished; 0 = unknown
  bool vanish = false;      // packets within the allowed size vanish without an ICMP error
  bool stall = false;       // a transfer came to a stop
  bool unfinished = false;  // a transfer did not end in time
  bool works = false;       // TCP came through all the same
};

// The smaller MTU of the two ends' interfaces; 0 = unknown.
int allowed_mtu(const PairView& view);
// A black hole in the direction of this pair; nullopt when there is none, or nothing was seen.
std::optional<MtuFault> mtu_fault(const PairView& view);

struct StreamRate {
  double bps = 0;                        // of the best one-way stream, bits per second; 0 = none
  double alone_least = 0;                // of those measured alone, if there are two; else 0
  double reference_least = 0;            // of another pair's, in turns with it, if there are three
  double reference_most = 0;             // of another pair's, in turns with it; 0 = none
  bool trusted = false;                  // measured alone, or twice alike
  const StreamEvidence* best = nullptr;  // into the evidence
  std::string limited_host, limit;       // the host whose CPU or buffer was full, and how; or empty
};
StreamRate one_way_rate(const PairView& view);

// Speed of the slower end's link.
struct LinkSpeed {
  double bps = 0;       // bits per second; 0 = not known of both ends
  bool stated = false;  // in the host file
};
LinkSpeed link_speed(const PairView& view);
// Kinds of both interfaces, "ethernet+ethernet": only pairs of one kind are compared.
std::string pair_kind(const PairView& view);
// The shortest of the small round trips over an idle link, else of echo, ns; 0 = none.
double idle_round_trip(const PairView& view);

}  // namespace plumbline
