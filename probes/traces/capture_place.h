// On which host a capture was taken: decided once for a whole file, from all its flows, because one
// flow alone looks alike from both of its ends; and of two captures by the packets that are in
// both. Pure functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "probes/traces/analysis.h"
#include "probes/traces/common_packets.h"

namespace plumbline {

struct CapturePlace {
  // Addresses of the host. When not `decided`, at least one of them is: a file that only has flows
  // of two hosts does not tell by its addresses which of them captured it.
  std::set<IpAddress> addresses;
  bool decided = false;
  const char* told_by = "guess";  // "addresses", "direction", "flows", see TracePairFlow
};

struct CapturePlaces {
  CapturePlace first, second;

  // > 0: the flow's a is at the first place and b at the second, < 0: the reverse, 0: the places
  // are not known well enough, or the flow does not run between them.
  int side_of_first(const FlowState& flow) const;
  bool between(const FlowState& flow) const;
};

// `first_ips`: addresses of the host that has the first trace, when they are known; they override
// what the file says. kUsage when one of them is an address of neither trace.
Expected<CapturePlaces> find_places(const Analysis& first, const Analysis& second,
                                    const std::vector<std::string>& first_ips);

// > 0: the address that was asked about is nearer to the first capture; 0 = not told.
struct Told {
  int side = 0;
  const char* by = "undecided";  // see TracePairFlow::told_by
};

// At whose end two captures were taken, as the packets that are in both tell it: for each pair of
// addresses, which of the two is nearer to the first capture. Needs no clock that is right, and no
// beginning of a connection.
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
  void count_hops(const std::vector<CommonPacket>& common, const Analysis& first);
  void count_times(const std::vector<CommonPacket>& common, const Analysis& first);
  void count_presence(const std::vector<CommonPacket>& common, const Analysis& first,
                      const Analysis& second);

  std::map<IpPair, Pair> pairs_;
};

}  // namespace plumbline
