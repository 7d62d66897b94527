// Which rules of the two hosts' packet filters stop a connection between them, at each of the four
// places where a filter can: the request leaving the sender, entering the receiver, the answer
// leaving the receiver, entering the sender. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "probes/filters/evaluate.h"
#include "probes/rules/pair_facts.h"

namespace plumbline {

enum class How { kDrop, kRejectIcmp, kRejectRst };

// Where on the way of a suffering packet it is lost: at its sender, between, at its receiver.
enum class StopPlace { kSender, kPath, kReceiver };

struct RuleHit {
  const HostEvidence* host = nullptr;      // whose filter it is
  const FilterRule* rule = nullptr;        // into that host's evidence; null when it is not known
  bool request = true;                     // stops the request; false: the answer
  StopPlace place = StopPlace::kReceiver;  // as seen from the packet that it stops
  How how = How::kDrop;
  bool redirects = false;
  bool certain = false;  // stops every such packet, and all its conditions are understood
  double share = 1.0;    // of such packets
};

// In the order in which the packets of a connection meet them. `length` of the packets in bytes; 0
// = that of a SYN.
std::vector<RuleHit> rule_hits(const PairView& view, int port, int length = 0,
                               const std::string& protocol = "tcp");

// A redirect to another port of the same host: it stops nothing by itself, and never silently.
bool leads_to_own_port(const RuleHit& hit);
// Does the rule name no address, so that it hits every peer alike?
bool hits_every_peer(const FilterRule& rule);
// Does it stop frames of any kind, address resolution included?
bool stops_every_frame(const FilterRule& rule);

}  // namespace plumbline
