// Where on its way a connection that fails is stopped: evidence of both ends (captures, half-open
// sockets, ICMP errors, the listener's word, filter rules, counters) narrows the place down for
// every blocked port of a pair. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "core/diagnosis/finding.h"
#include "probes/rules/pair_filters.h"

namespace plumbline {

// One port of one pair that cannot be used, and where its packets are stopped.
struct Block {
  const PairView* view = nullptr;  // not owned; of the pair whose `to` the port belongs to
  int port = 0;
  How how = How::kDrop;
  bool request = true;                   // the connecting host's packets suffer; false: the answers
  std::vector<StopPlace> places;         // that are left, never empty; one = known
  std::optional<RuleHit> hit;            // the rule that does it
  std::string device;                    // address of a device on the way that refuses
  const HostEvidence* router = nullptr;  // the same, where it is a host of ours
  bool latent = false;        // only read from the filters: no packet of ours came so far
  bool by_rule_only = false;  // latent, or nothing but a rule speaks for it: the link is broken
  bool proven = false;        // seen, not concluded from silence
  int packets = 1;            // requests that were sent in vain
  double confidence = 0.5;
  std::vector<Evidence> evidence;  // `check` is filled in later

  const std::string& sender() const { return request ? view->pair->from : view->pair->to; }
  const std::string& receiver() const { return request ? view->pair->to : view->pair->from; }
  bool known() const { return places.size() == 1; }
  bool at(StopPlace place) const { return places.size() == 1 && places[0] == place; }
};

// All blocked ports of this pair. The view must outlive the result.
std::vector<Block> locate_blocks(const PairView& view);

}  // namespace plumbline
