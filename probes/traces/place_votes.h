// At whose end two captures were taken, as the packets that are in both tell it: for each pair of
// addresses, which of the two is nearer to the first capture. Needs no clock that is right, and no
// beginning of a connection. Pure.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "probes/traces/analysis.h"
#include "probes/traces/common_packets.h"

namespace plumbline {

// > 0: the address that was asked about is nearer to the first capture; 0 = not told.
struct Told {
  int side = 0;
  const char* by = "undecided";  // see TracePairFlow::told_by
};

class PlaceVotes {
 public:
  PlaceVotes(const std::vector<CommonPacket>& common, const Analysis& first,
             const Analysis& second);
  // Is `one`, which speaks with `other`, nearer to the first capture?
  Told of(const IpAddress& one, const IpAddress& other) const;

 private:
  struct Votes {
    int64_t for_low = 0, against = 0;
    int side() const;
    void add(int64_t vote) { ++(vote > 0 ? for_low : against); }
  };
  struct Pair {
    Votes hops, times, presence;
  };
  using Key = std::pair<IpAddress, IpAddress>;  // the lower one first
  static Key key_of(const FlowState& flow);
  void count_hops(const std::vector<CommonPacket>& common, const Analysis& first);
  void count_times(const std::vector<CommonPacket>& common, const Analysis& first);
  void count_presence(const std::vector<CommonPacket>& common, const Analysis& first,
                      const Analysis& second);

  std::map<Key, Pair> pairs_;
};

}  // namespace plumbline
