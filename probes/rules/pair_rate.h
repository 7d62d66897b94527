// What the short streams and round trips of one direction say, and what they are compared with.
// Pure functions, thread-safe.
#pragma once

#include <string>

#include "probes/rules/pair_facts.h"

namespace plumbline {

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
// Median of the small round trips over an idle link, else of echo; 0 = none.
double idle_round_trip(const PairView& view);

}  // namespace plumbline
