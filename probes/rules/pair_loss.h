// Packet loss of one direction, as the paced streams show it. Pure functions, thread-safe.
#pragma once

#include <string>

#include "probes/rules/pair_facts.h"

namespace plumbline {

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

}  // namespace plumbline
